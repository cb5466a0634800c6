"""Plans, insights that cite memories, and interviews in a run: asked when due, recorded, private, and true to the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from standins import opinionated

from parley.agents.memory import Trace
from parley.agents.reasoning import cited_numbers
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Concluded, Event, Interviewed, Private, Utterance
from parley.model.files import RECORD
from parley.model.recorder import MemoryRecorder
from parley.model.run_plan import plan_run
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

SMALL = {"repetitions": 2, "rounds": 6, "llm": "oracle"}


def run(backend: Any = None, **settings: Any) -> list[Event]:
    recorder = MemoryRecorder()
    DebateModel("days", backend=backend or Oracle(), recorder=recorder, **SMALL | settings).run()
    return recorder.events


class Listening(Oracle):
    """The oracle, which keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Request] = []

    def complete(self, requests: Any) -> list[Reply]:
        self.asked += requests
        return super().complete(requests)


def text_of(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def test_a_citation_of_an_unknown_memory_is_no_citation() -> None:
    """A wrong number would hang an insight on a memory that it does not follow from."""
    assert cited_numbers("All agree. (1, 3)", 3) == ("All agree.", [1, 3])
    assert cited_numbers("All agree [because of 2 and 2].", 3) == ("All agree.", [2])
    assert cited_numbers("All agree (0)", 3) == ("All agree", [])
    assert cited_numbers("All agree (4)", 3) == ("All agree", [])
    assert cited_numbers("All (but 2) agree.", 3) == ("All (but 2) agree.", [])


def test_depth_by_hand() -> None:
    """Lines have 0; what cites a line 1, what cites that 2; an insight without evidence has none, nor has what cites it."""
    line = Trace("Bob", "Trees.", 1, 5.0)
    first = Trace(None, "Bob likes trees.", 2, 10.0, True, 1, (line,))
    second = Trace(None, "Bob is green.", 3, 10.0, True, 2, (line, first))
    bare = Trace(None, "Who knows.", 3, 10.0, True, 3)
    assert [one.depth for one in (line, first, second, bare)] == [0, 1, 2, None]
    assert Trace(None, "So what.", 4, 10.0, True, 4, (line, bare)).depth is None


def test_a_plan_at_the_start_of_each_day() -> None:
    """Days of three rounds in six: two plans for each agent, before its first turn of the day."""
    plans = [event for event in run(interview="") if isinstance(event, Private) and event.purpose == "plan"]
    assert {(plan.agent, plan.round) for plan in plans} == {(agent, day) for agent in range(1, 7) for day in (1, 4)}
    assert all(plan.text and plan.reason is None for plan in plans)


def test_the_plan_is_in_all_prompts_of_its_owner_until_the_next_and_in_no_others() -> None:
    """A plan that others read would be speech; a plan that its owner does not see would do nothing."""
    marks: dict[str, str] = {}
    seen: dict[str, set[str]] = {}

    def speak(request: Request) -> str:
        prompt = text_of(request)
        for mark, owner in marks.items():
            if mark in prompt:
                seen.setdefault(mark, set()).add(request.purpose)
                assert owner == request.messages[0].content
        if request.purpose != "plan":
            return opinionated(request)
        mark = f"secret{len(marks)}end"
        marks[mark] = request.messages[0].content
        return mark

    run(Fake(speak), repetitions=1, interview="", memory="whole", reflect=0, evidence=False)
    assert len(marks) == 6
    assert all({"speech"} <= purposes for purposes in seen.values())
    assert (
        sum("plan" in purposes for purposes in seen.values()) == 3
    )  # the next plan is written with the last one in sight


def test_an_unreadable_plan_is_missing_and_the_older_one_is_not_used() -> None:
    """Otherwise an agent would follow yesterday's plan, and the record would say that it has none."""
    count = iter(range(100))

    def speak(request: Request) -> str:
        if request.purpose == "plan":
            return "My plan." if next(count) < 3 else " "
        assert "My plan." not in text_of(request) or len(spoken) < 9
        spoken.append(request)
        return opinionated(request)

    spoken: list[Request] = []
    events = run(Fake(speak), repetitions=1, interview="", memory="whole", reflect=0, evidence=False, survey="never")
    plans = [event for event in events if isinstance(event, Private)]
    assert [plan.reason for plan in plans] == [None] * 3 + ["empty"] * 3


def test_insights_cite_what_was_remembered() -> None:
    """Every parent is an earlier insight of the same agent, and every line was said in the room before."""
    events = run(interview="")
    made: dict[tuple[int, int], Concluded] = {}
    said: set[str] = set()
    for event in events:
        if isinstance(event, Utterance) and event.text:
            said.add(event.text)
        elif isinstance(event, Concluded):
            depths = [made[event.agent, parent].depth for parent in event.parents] + [0] * bool(event.lines)
            assert event.depth == 1 + max(depth for depth in depths if depth is not None)
            assert all(any(text in line for text in said) for line in event.lines)
            made[event.agent, event.number] = event
    assert max(one.depth or 0 for one in made.values()) >= 2


def test_the_oracle_recalls_what_its_prompt_holds_and_nothing_else() -> None:
    """This is what makes its recall known: each answer is in its prompt, and without memory none of the truths is."""
    listening = Listening()
    events = run(listening)
    asked = [request for request in listening.asked if request.purpose == "interview"]
    answers = [event for event in events if isinstance(event, Interviewed)]
    assert len(asked) == len(answers) > 100
    for request, answer in zip(asked, answers, strict=True):
        prompt = text_of(request)
        assert all(part in prompt for part in (*request.facts["insights"], *request.facts["remembered"]))
        assert request.facts["plan"] in prompt
        if answer.condition == "without memory" and answer.about != "self":
            assert answer.truth not in prompt
        if answer.condition == "without planning" and answer.about == "plan":
            assert answer.truth not in prompt
        if answer.condition == "full" and answer.about == "plan":
            assert answer.text == answer.truth


def test_nothing_to_recall_is_not_asked() -> None:
    """An agent that never planned has no right answer: nothing is invented, and the record says so."""
    answers = [one for one in run(plan=0, reflect=0, evidence=False) if isinstance(one, Interviewed)]
    about = {one.about for one in answers if one.reason == "nothing_to_recall"}
    assert about == {"plan", "insight"}
    assert {one.condition for one in answers if one.text} == {"full", "full again", "without memory"}


def test_an_interview_leaves_no_trace_and_costs_what_the_plan_says(tmp_path: Path) -> None:
    """With and without interviews the debates are the same; a repeated run asks nothing again."""
    spec = load_preset("days", SMALL)
    outcome = run_scenario(RunSpec(spec, tmp_path / "a", tuple(SMALL)))
    before = (tmp_path / "a" / RECORD).read_bytes()
    (tmp_path / "a" / RECORD).unlink()
    run_scenario(RunSpec(spec, tmp_path / "a", tuple(SMALL)))
    assert (tmp_path / "a" / RECORD).read_bytes() == before
    lines = [event for event in run() if isinstance(event, Utterance)]
    assert lines == [event for event in run(interview="") if isinstance(event, Utterance)]
    assert plan_run(spec).calls > 200
    assert outcome is not None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"interview": "nonsense"}, "nonsense"),
        ({"reflect": 0}, "evidence needs conclusions"),
        ({"plan": -1}, "plan is -1, but must be a finite number of at least 0"),
    ],
)
def test_a_wrong_setting_is_one_line(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        load_preset("days", settings)
