"""A fact check that a model writes: what it reads, what is heard of it, what is missing, and that a resume asks nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from data_checks import check_each
from standins import opinionated

from parley.agents.fact_checker import FactChecker
from parley.agents.language import ENGLISH
from parley.agents.speech import Speech
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.phrases import banks
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.llm.router import RoutedBackend
from parley.model.debate import DebateModel
from parley.model.events import Event, Intervened, Utterance
from parley.model.interventions import parse_intervention
from parley.model.recorder import MemoryRecorder
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario

Small = Callable[..., Scenario]
LINE = "fact_check round=2 to=democrat llm=oracle,mu=0 lines=4"
VOICE = "oracle,mu=0"


def held(
    scenario: Scenario, answer: Callable[[Request], str | Reply], speak: Callable[[Request], str] = opinionated
) -> list[Event]:
    recorder = MemoryRecorder()
    backend = RoutedBackend(Fake(speak), {VOICE: Fake(answer)})
    DebateModel(scenario, backend=backend, recorder=recorder).run()
    return recorder.events


def of(found: list[Event], kind: type) -> list:
    return [event for event in found if isinstance(event, kind)]


def test_it_reads_the_latest_public_lines_and_those_meant_hear_it(small: Small) -> None:
    """The last four lines of its own room as they were said, no persona; what it writes is in the Democrats' prompts alone."""
    asked: list[Request] = []
    spoken: list[Request] = []

    def speak(request: Request) -> str:
        spoken.append(request)
        return opinionated(request)

    found = held(
        small(rounds=2, interventions=LINE), lambda request: asked.append(request) or "That is\nnot so.", speak
    )
    acts, said = of(found, Intervened), of(found, Utterance)
    assert len(asked) == len(acts) == 2
    for request, act in zip(asked, acts, strict=True):
        lines = [turn.text for turn in said if (turn.room, turn.round) == (act.room, 1)]
        assert [line for line in lines if f": {line}\n" in request.messages[1].content] == lines
        assert (act.text, act.by, act.reason, len(act.agents)) == ("That is not so.", "Fact Check", None, 1)
        assert (request.voice, request.purpose, request.sampling.temperature) == (VOICE, "check", 0.0)
        assert "Republican" not in request.messages[0].content
    told = {request.messages[0] for request in spoken if "Fact Check: That is not so." in request.messages[-1].content}
    assert len(told) == 2


def test_it_reads_no_more_than_it_may(small: Small) -> None:
    """Of six lines the last four."""
    asked: list[Request] = []
    scenario = small(rounds=3, repetitions=1, interventions=LINE.replace("round=2", "round=3"))
    found = held(scenario, lambda request: asked.append(request) or "No.")
    lines = [turn.text for turn in of(found, Utterance) if turn.round < 3]
    assert [line for line in lines if f": {line}\n" in asked[0].messages[1].content] == lines[-4:]


@check_each(
    ("reply", "reason"),
    [
        (Reply("Nothing to correct."), "nothing_to_correct"),
        (Reply("**Nothing to correct**, all is well."), "nothing_to_correct"),
        (Reply("  "), "empty"),
        (Reply("As an AI language model, I cannot role-play."), "refusal"),
        (Reply.failed("timeout"), "timeout"),
    ],
)
def test_what_it_does_not_write_is_missing(small: Small, reply: Reply, reason: str) -> None:
    """None with the reason, and nobody hears anything: the debate goes on as it was."""
    scenario = small(rounds=2, interventions=LINE)
    found = held(scenario, lambda request: reply)
    assert {(event.text, event.reason) for event in of(found, Intervened)} == {(None, reason)}
    assert [turn.text for turn in of(found, Utterance)] == [
        turn.text for turn in of(held(small(rounds=2), lambda _: ""), Utterance)
    ]


def test_before_anything_was_said_there_is_nothing_to_check(small: Small) -> None:
    """It is not asked."""
    asked: list[Request] = []
    found = held(
        small(interventions=LINE.replace("round=2", "round=1")), lambda request: asked.append(request) or "No."
    )
    assert {event.reason for event in of(found, Intervened)} == {"nothing_said"}
    assert not asked


def test_it_writes_no_lines_of_others() -> None:
    """A model that goes on as somebody in the room is cut there; a long correction ends with a sentence."""
    checker = FactChecker("Fact Check", 5, "")
    assert checker.read(Reply("Fact Check: It is not.\nAnn: I see!"), ["Ann"], ENGLISH) == Speech("It is not.", None)
    assert checker.read(Reply("One two three. Four five six."), [], ENGLISH) == Speech("One two three.", None)


@check_each(
    ("line", "words"),
    [
        ("fact_check round=1", "or name the model that writes it"),
        ("fact_check round=1 text=x llm=oracle", "or name the model that writes it"),
        ("fact_check round=1 llm=oracle lines=0", "lines must be between 1 and 64"),
    ],
)
def test_what_is_mistyped_is_told(line: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        parse_intervention(line)


def test_the_known_truth_speaker_corrects_toward_what_it_holds(small: Small) -> None:
    """Planted: a sentence of the grade of its bias (8 on racism) where the mean of what was said is more than 1 from it."""
    found = []
    for seats in ("republican,republican", "default,democrat"):
        scenario = small(
            "two_way",
            seats=seats,
            rounds=2,
            repetitions=6,
            llm="oracle,mu=0,kappa=0",
            interventions="fact_check round=2 llm=oracle",
        )
        recorder = MemoryRecorder()
        DebateModel(scenario, recorder=recorder).run()
        found.append(of(recorder.events, Intervened))
    bank = banks().topics["racism"]
    assert {bank.grade(event.text) for event in found[0]} == {8.0}
    assert {event.reason for event in found[1]} >= {"nothing_to_correct"}
    assert banks().words("corrects_nothing") == "Nothing to correct."


def test_its_call_is_journaled_counted_and_resumed(small: Small, tmp_path: Path) -> None:
    """One call of agent 0 a room, in the record and in the plan; cut short it goes on, and asks nothing twice."""
    scenario = small(rounds=2, interventions="fact_check round=2 llm=oracle")
    whole = run_scenario(RunSpec(scenario, tmp_path / "whole"))
    assert run_scenario(RunSpec(scenario, tmp_path / "cut", budget=Budget(calls=14))).stopped
    resumed = run_scenario(RunSpec(scenario, tmp_path / "cut"))
    assert resumed.record.read_text() == whole.record.read_text()
    assert resumed.asked + resumed.replayed == whole.asked
    assert plan_run(scenario).others == 2
    assert whole.record.read_text().count('"purpose":"check"') == 2


def test_where_nothing_is_public_it_is_refused(small: Small) -> None:
    with pytest.raises(UserError, match="private deliberations have none"):
        small("consensus", topic="", interventions="fact_check round=1 llm=oracle")


def test_a_checker_with_evidence_quotes_it_or_says_nothing(small: Small, tmp_path: Path) -> None:
    """It is shown the passage, the source is named in the line, and a quotation that is in no passage is never heard."""
    (tmp_path / "study.md").write_text(
        "# Study\n\nEqual resumes about racism were answered unequally.\n\nBread is dark."
    )
    line = f"{LINE} evidence={tmp_path} passages=1"
    for quoted, text, reason in (
        ("were answered unequally", 'So: "were answered unequally" (study.md 1)', None),
        ("were answered equally", None, "false_quotation"),
    ):
        asked: list[Request] = []
        found = held(
            small(rounds=2, interventions=line),
            lambda request, asked=asked, quoted=quoted: asked.append(request) or f'So: "{quoted}" [1]',
            lambda request: "I say racism was answered." if request.purpose == "speech" else opinionated(request),
        )
        assert {(event.text, event.reason) for event in of(found, Intervened)} == {(text, reason)}
        assert all("[1] Equal resumes about racism" in request.messages[1].content for request in asked)


def test_without_a_passage_about_it_a_checker_with_evidence_is_not_asked(small: Small, tmp_path: Path) -> None:
    (tmp_path / "bread.txt").write_text("Xylophones.")
    asked: list[Request] = []
    found = held(small(rounds=2, interventions=f"{LINE} evidence={tmp_path}"), lambda one: asked.append(one) or "No.")
    assert {event.reason for event in of(found, Intervened)} == {"no_evidence"}
    assert not asked
    with pytest.raises(UserError, match="is not a folder"):
        small(rounds=2, interventions=f"{LINE} evidence={tmp_path}/none")
    for words in ("text=x evidence=a", "llm=oracle evidence=a passages=0"):
        with pytest.raises(UserError, match=r"evidence only works if a model writes|passages must be at least 1"):
            parse_intervention(f"fact_check round=1 {words}")
