"""--dry-run tells what a run then takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from data_checks import check_each
from standins import opinionated

from parley.llm.backends.fake import Fake
from parley.llm.backends.gguf.speed import MachineCosts
from parley.llm.prices import Price, dollars
from parley.llm.request import Reply, Usage
from parley.model import run_plan
from parley.model.cost_estimate import Check, estimate_cost, estimate_lines
from parley.model.debate import DebateModel
from parley.model.events import Acted, Called, Intervened, Rated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.run_plan import plan_run, rehearse_run
from parley.model.run_time import estimate_time, machine_lines, measured_rate
from parley.model.scenario import Scenario, load_preset, preset_names
from parley.model.scenario_run import RunSpec, run_scenario
from parley.studies.consensus_phases.events import TookSide
from parley.studies.games.events import Moved
from parley.studies.herding.events import Decided


class Thinker(Fake):
    """gpt-5, which thinks so many tokens before each answer."""

    def __init__(self, tokens: int):
        super().__init__(lambda asked: Reply("5" if asked.answers else "Yes.", notes={"thinking_tokens": tokens}))

    @property
    def identity(self) -> Mapping[str, str]:
        return {"backend": "openai", "model": "gpt-5"}


MEDIA = ("platform", "herd_effect", "group_polarisation", "spread", "emotion_spread", "hurricane", "inflammatory")
"""Where people choose how many calls there are."""
ENDING = ("trust_game", "negotiation")
"""Where what players do decides how many moves there are."""
OTHERS = ("two_topics", "readers")
"""Its stages name two topics; a judge is asked about each different line, and how many differ depends on what is said."""
EXCITED = "public_opinion"
"""Where what people do also decides who is active: a post excites those who follow its author."""


@pytest.mark.thorough
@check_each("survey", ["rounds", "ends", "never"])
@check_each("name", [name for name in preset_names() if name not in (*MEDIA, EXCITED, *ENDING, *OTHERS)])
def test_the_plan_is_what_happens(small: Callable[..., Scenario], name: str, survey: str) -> None:
    scenario, recorder = (
        small(name, survey=survey, sides="own"),
        MemoryRecorder(),
    )  # who has no side to argue for asks nothing
    model = DebateModel(scenario, backend=Fake(opinionated), recorder=recorder)
    model.run()
    replies = sum(isinstance(event, Utterance | Decided | Moved | TookSide) for event in recorder.events)
    kinds = [replies, sum(isinstance(event, Rated) and event.asked > 0 for event in recorder.events)]
    plan = plan_run(scenario)
    assert (plan.agents, plan.rooms, plan.replies, plan.ratings) == (len(model.agents), len(model.rooms), *kinds)
    assert plan.calls == sum(isinstance(event, Called) for event in recorder.events)


@pytest.mark.thorough
@check_each("name", MEDIA)
def test_the_plan_of_a_medium_has_its_visits_and_ratings(small: Callable[..., Scenario], name: str) -> None:
    """A visit needs one to three calls by what people choose; the plan has two, an act and a text."""
    scenario, recorder = small(name, survey="rounds"), MemoryRecorder()
    model = DebateModel(scenario, backend=Fake(opinionated), recorder=recorder)
    model.run()
    visits = {(event.room, event.iteration) for event in recorder.events if isinstance(event, Acted)}
    ratings = sum(isinstance(event, Rated) for event in recorder.events)
    plan = plan_run(scenario)
    assert (plan.agents, plan.rooms, plan.ratings) == (len(model.agents), len(model.rooms), ratings)
    assert plan.acts == plan.replies == len(visits)
    assert plan.others == 0


@pytest.mark.parametrize("name", ENDING)
def test_the_plan_of_a_game_has_every_move_that_can_be(small: Callable[..., Scenario], name: str) -> None:
    """Where the first sends nothing the second is not asked, and an accepted offer ends the game: both make fewer calls."""
    calls = []
    for place in (0.5, 0.0):
        recorder = MemoryRecorder()
        answer = Fake(lambda asked, at=place: asked.answers[int(at * len(asked.answers))] if asked.answers else "Yes.")
        DebateModel(small(name), backend=answer, recorder=recorder).run()
        calls.append(sum(isinstance(event, Called) for event in recorder.events))
    assert calls[0] == plan_run(small(name)).calls > calls[1]
    assert f"  at most {calls[0]} calls to oracle: at most " in "\n".join(estimate_lines(small(name), {}))
    together = "\n".join(estimate_lines(small("public_goods"), {}))
    assert "at most" not in together.partition(" calls to ")[0]


def test_the_plan_of_a_large_network_is_counted_at_smaller_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run of 100,000 people took minutes. Calls are exact; tokens depend on links that are drawn, so they are near."""
    scenario = load_preset("network", {"llm": "oracle", "size": 600, "repetitions": 2, "rounds": 2})
    quick = plan_run(scenario)
    monkeypatch.setattr(run_plan, "SIZES", (600, 1200))
    whole = plan_run(scenario)
    assert (quick.agents, quick.rooms, quick.calls) == (whole.agents, whole.rooms, whole.calls)
    assert quick.calls_by_voice == whole.calls_by_voice
    assert quick.usage.prompt_tokens == pytest.approx(whole.usage.prompt_tokens, rel=0.05)


def test_the_plan_of_an_intervention_for_a_share_has_every_room(small: Callable[..., Scenario]) -> None:
    """Who leaves is drawn in each room: the plan multiplied what happened in the first one, and the cost bound with it."""
    scenario = small(repetitions=8, rounds=1, interventions=("leave round=1 share=0.3",))
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=Fake(opinionated), recorder=recorder).run()
    assert plan_run(scenario).calls == sum(isinstance(event, Called) for event in recorder.events)
    run, rehearsed = (
        [event for event in events if isinstance(event, Intervened)]
        for events in (recorder.events, rehearse_run(scenario))
    )
    assert run == rehearsed
    assert run


def test_the_plan_of_an_excited_medium_is_not_too_low(small: Callable[..., Scenario]) -> None:
    """The plan has a post for each visit, and each post excites: so it has at least as many visits as the run."""
    scenario, recorder = small(EXCITED, survey="rounds", size=20, rounds=6), MemoryRecorder()
    DebateModel(scenario, backend=Fake(opinionated), recorder=recorder).run()
    plan = plan_run(scenario)
    assert (
        plan.acts >= len({(event.room, event.iteration) for event in recorder.events if isinstance(event, Acted)}) > 0
    )
    assert plan.ratings == sum(isinstance(event, Rated) for event in recorder.events)


def test_the_papers_size() -> None:
    """40 rooms x 3 agents x 5 rounds x 4 topics are 2,400 replies and 2,880 ratings."""
    plan = plan_run(load_preset("three_way"))
    assert (plan.agents, plan.rooms, plan.replies, plan.ratings) == (480, 160, 2400, 2880)


def test_tokens_grow_with_the_length_of_replies(small: Callable[..., Scenario]) -> None:
    short, long = plan_run(small(words=20)), plan_run(small(words=100))
    assert long.usage.completion_tokens > 3 * short.usage.completion_tokens
    assert long.usage.prompt_tokens > short.usage.prompt_tokens


def test_a_person_can_read_it() -> None:
    text = "\n".join(
        estimate_lines(load_preset("echo_chamber").with_settings({"topic": "racism", "repetitions": 1}), {})
    )
    assert (
        "4 rooms, 10 agents and 1 reference room (one agent answers the surveys alone); topics 1, repetitions 1" in text
    )


def test_whom_everybody_speaks_through_is_no_partner(small: Callable[..., Scenario]) -> None:
    """With `--llm fake` the whole run was called replies of scripted partners; beside a model, those of partners alone."""
    alone, beside = small(llm="fake"), small(llm="fake", llms=("democrat=fake",))
    assert plan_run(alone).scripted_calls == 0
    assert "scripted partners" not in "\n".join(estimate_lines(alone, {}))
    assert plan_run(beside).scripted_calls == 2 * (2 + 3)  # of two rooms one seat: a line a round, a rating a survey


def test_summaries_are_planned_too(small: Callable[..., Scenario]) -> None:
    """Of 285 calls 255 were planned: agents that sum up what they forget ask for each summary."""
    scenario, recorder = small(memory="summary:2", rounds=4), MemoryRecorder()
    DebateModel(scenario, backend=Fake(opinionated), recorder=recorder).run()
    asked = sum(isinstance(event, Called) for event in recorder.events)
    assert plan_run(scenario).notes > 0
    assert plan_run(scenario).calls == asked


def test_a_full_plan_is_a_bound(small: Callable[..., Scenario]) -> None:
    """Replies as long as max_tokens allows, ratings asked as often as may be; the cost is told as about and at most."""
    scenario = small(max_tokens=300, llm="openai:gpt-4o-mini")
    plan = plan_run(scenario)
    (most,) = plan.most_tokens.values()
    assert most.prompt_tokens > plan.usage.prompt_tokens
    assert most.completion_tokens >= plan.replies * 300
    told = "\n".join(estimate_cost([(plan, 2)], [{"": Price(1.0, 2.0)}]))
    assert "at most about" in told
    assert re.search(r"cost about \$0\.\d+, at \$1 and \$2 per million tokens", told)


def test_a_plan_says_the_cost_with_and_without_prompt_caching(small: Callable[..., Scenario]) -> None:
    """By hand: the part of prompts that repeats, at the price of cached tokens. In a batch, half of all and no cache."""
    scenario = small(llm="openai:gpt-4o-mini")
    plan, recorder = plan_run(scenario), MemoryRecorder()
    DebateModel(scenario.replace(repetitions=1), backend=Fake(opinionated), recorder=recorder).run()
    called = [event for event in recorder.events if isinstance(event, Called)]
    repeats = sum(event.sent_before for event in called) / sum(event.prompt_chars for event in called)
    assert plan.repeated == pytest.approx(repeats, abs=0.1)
    assert 0.2 < plan.repeated < 1
    price = Price(1000.0, 2000.0, 100.0, 0.5)
    told = "\n".join(estimate_cost([(plan, 1)], [{"": price}]))
    whole = (plan.usage.prompt_tokens * 1000 + plan.usage.completion_tokens * 2000) / 1e6
    saved = round(plan.repeated * plan.usage.prompt_tokens) * 900 / 1e6
    assert f"cost about {dollars(whole)}, at" in told
    assert (
        f"with prompt caching about {dollars(whole - saved)}, if the server reuses the {plan.repeated:.0%} of" in told
    )
    assert "caching" not in "\n".join(estimate_cost([(plan, 1)], [{"": Price(1000.0, 2000.0)}]))
    batched = replace(plan, scenario=small(llm="openai:gpt-4o-mini,batch=yes"))
    told = "\n".join(estimate_cost([(batched, 1)], [{"": price}]))
    assert (
        f"cost about {dollars(whole / 2)}, at $1000 and $2000 per million tokens in and out, in batches 50% of that"
        in told
    )
    assert "caching" not in told
    assert f"openai:gpt-4o-mini is asked in batches: about {plan.steps} batches wait one after another" in told


def test_what_is_not_known_is_said(small: Callable[..., Scenario]) -> None:
    """A model without a price had no line on its cost, and no word why; thinking tokens were in no estimate; time neither."""
    told = "\n".join(estimate_lines(small(llm="openai:gpt-5"), {"": None}))
    assert "no price is known for openai:gpt-5: give --price IN,OUT" in told
    calls = plan_run(small(llm="openai:gpt-5")).calls
    most = float(f"{4000 * calls:.2g}")
    assert f"if openai:gpt-5 thinks before it answers, at most {most:,.0f} tokens out (4,000 a call)" in told
    assert "time not known" in told
    assert "up to 30 more calls if replies and ratings have to be asked again" in told


def test_time_goes_by_the_latest_run_of_the_model(
    small: Callable[..., Scenario], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured, never guessed; a run of another model says nothing."""
    monkeypatch.setattr("parley.model.run_time.RUNS", tmp_path)
    run_scenario(RunSpec(small(), tmp_path / "a"))
    assert measured_rate("openai:gpt-5") is None
    found = measured_rate("oracle")
    assert found is not None
    assert "calls a second, as in" in estimate_time({"oracle": Usage(0, 0)}, 1000)


def test_two_speeds_are_one_range_with_its_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`about 5 min` by tokens stood one line above `about 3 min` by calls, and both named the latest run."""
    rates: list[tuple[float, Path] | None] = [(0.14, Path("runs/a")), None]
    monkeypatch.setattr("parley.model.run_time.measured_rate", lambda spec: rates[0])
    costs = MachineCosts(10**9, 300.0, "weights", True)
    monkeypatch.setattr("parley.model.run_time.run_costs", lambda spec, usage: costs)
    used = {"smollm2": Usage(1000, 1000), "fake": Usage(0, 0)}
    assert estimate_time(used, 25) == (
        "  time about 3 min to 5 min on this machine (3 min by calls, 8.4 calls a minute, as in runs/a; "
        "5 min by tokens, with the speed of the latest gguf model here)"
    )
    rates.pop(0)
    costs = costs._replace(measured=False)
    assert estimate_time(used, 25) == "  time about 5 min on this machine (by tokens, by a first guess of the speed)"


def test_memory_that_programs_can_get_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """`only 0.4 GB are free` counted memory that the system had lent to its cache, and did not say what to do."""
    costs = MachineCosts(2 * 10**9, 300.0, "weights", True)
    monkeypatch.setattr("parley.model.run_time.run_costs", lambda spec, usage: costs)
    lines = []
    for available in (3e9, 1e9):
        memory = SimpleNamespace(free=4e8, available=available)
        monkeypatch.setattr("parley.model.run_time.psutil.virtual_memory", lambda memory=memory: memory)
        lines.append(next(machine_lines({"smollm2": Usage(0, 0)}, 25)))
    advice = "; only 1.0 GB are available: close other programs, or keep less, as in --llm smollm2,context=2048,keep=64"
    assert lines == ["  memory up to 2.0 GB (weights)", f"  memory up to 2.0 GB (weights){advice}"]


def test_the_check_of_a_new_model_is_planned(small: Callable[..., Scenario]) -> None:
    """`22 calls` and `35 s` stood there for 106 calls: the questions to a new model were in no plan."""
    check, calls = Check("openai:gpt-4o-mini", 84, Usage(1_000_000, 84)), plan_run(small()).calls
    scenario, prices = small(llm=check.spec), {"": Price(1.0, 1.0)}
    lines = "\n".join(estimate_lines(scenario, prices, [check]))
    said = "  + 84 calls once, to check whether openai:gpt-4o-mini plays people (--no-qualify leaves these calls out): "
    assert f"{said}{84 + calls:,} calls in all" in lines
    assert "about 1,000,000 tokens in" in lines
    assert "  + " not in "\n".join(estimate_lines(scenario, prices))


def test_thoughts_go_by_the_latest_run_of_the_model(
    small: Callable[..., Scenario], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """30 calls that thought 300 tokens each: so many more are told, with their cost; who thinks nothing has no line."""
    monkeypatch.setattr("parley.model.run_time.RUNS", tmp_path)
    scenario = small(llm="openai:gpt-5")
    tokens = 300 * plan_run(scenario).calls
    for thought in (300, 0):
        run_scenario(RunSpec(scenario, tmp_path / f"{thought}"), backend=Thinker(thought))
        told = "\n".join(estimate_cost([(plan_run(scenario), 1)], [{"": Price(1.0, 10.0)}]))
        line = (
            f"about {float(f'{tokens:.2g}'):,.0f} tokens out (300 a call), a cost of {dollars(tokens / 1e5)}, for what"
        )
        assert (line in told) == (thought > 0)
        assert ("thinks before" in told) == (thought > 0)


@check_each("line", ["mute round=1 to=democrat", "leave round=1 to=democrat", "join round=2 to=democrat"])
def test_who_is_silent_or_absent_is_not_counted(small: Callable[..., Scenario], line: str) -> None:
    """Formulas counted the replies and ratings of agents that were muted or had left."""
    scenario, recorder = small("three_way", interventions=line), MemoryRecorder()
    DebateModel(scenario, backend=Fake(opinionated), recorder=recorder).run()
    assert plan_run(scenario).calls == sum(isinstance(event, Called) for event in recorder.events)


def test_an_intervention_in_one_room_is_planned_in_that_room_alone(small: Callable[..., Scenario]) -> None:
    """A dry run of the first repetition alone refused a room of the third."""
    room = "racism/republican+democrat+default/002"
    muted = [
        small("three_way", topic="racism", repetitions=3, interventions=line)
        for line in ("", f"mute round=1 to=democrat rooms={room}")
    ]
    everywhere, there = [plan_run(scenario).replies for scenario in muted]
    assert there == everywhere - 2  # its two rounds


def test_the_plan_counts_the_calls_of_each_model(small: Callable[..., Scenario]) -> None:
    """All calls were said to go to the first model. 9 of 30 seats, each with 2 replies and 3 ratings, are 45 calls."""
    lines = list(estimate_lines(small("three_way", repetitions=10, llm="oracle", llms=("30%=fake",)), {}))
    assert any("150 calls to oracle (105) and fake (45):" in line for line in lines), lines
