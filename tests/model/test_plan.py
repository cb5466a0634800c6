"""--dry-run tells what a run then takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from standins import opinionated

from llm.backends.fake import Fake
from model.debate import DebateModel
from model.events import Called, Rated, Utterance
from model.plan import count, lines, plan
from model.recorder import InMemory
from model.scenario import Scenario, load_preset, preset_names


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("survey", ["rounds", "ends", "never"])
def test_the_plan_is_what_happens(small: Callable[..., Scenario], name: str, survey: str) -> None:
    scenario, recorder = (
        small(name, survey=survey, sides="own"),
        InMemory(),
    )  # who has no side to argue for asks nothing
    model = DebateModel(scenario, backend=Fake(opinionated), recorder=recorder)
    model.run()
    kinds = [sum(isinstance(event, kind) for event in recorder.events) for kind in (Utterance, Rated)]
    assert count(scenario) == (len(model.agents), len(model.rooms), *kinds)
    assert plan(scenario).calls == sum(isinstance(event, Called) for event in recorder.events)


def test_the_papers_size() -> None:
    """40 rooms x 3 agents x 5 rounds x 4 topics are 2,400 replies and 2,880 ratings."""
    assert count(load_preset("three_way")) == (480, 160, 2400, 2880)


def test_tokens_grow_with_the_length_of_replies(small: Callable[..., Scenario]) -> None:
    short, long = plan(small(words=20)), plan(small(words=100))
    assert long.usage.completion_tokens > 3 * short.usage.completion_tokens
    assert long.usage.prompt_tokens > short.usage.prompt_tokens


def test_a_person_can_read_it() -> None:
    text = "\n".join(lines(load_preset("echo_chamber").with_settings({"topics": "racism", "repetitions": 1}), {}))
    assert "5 rooms, 11 agents; topics 1, repetitions 1, rounds 5" in text


def test_whom_everybody_speaks_through_is_no_partner(small: Callable[..., Scenario]) -> None:
    """With `--llm fake` the whole run was called lines of scripted partners; beside a model it is those of the partners alone."""
    alone, beside = small(llm="fake"), small(llm="fake", llms=("democrat=fake",))
    assert plan(alone).unpaid(alone) == 0
    assert "scripted partners" not in "\n".join(lines(alone, {}))
    assert plan(beside).unpaid(beside) == 2 * (2 + 3)  # of two rooms one seat: a line a round, a rating a survey
