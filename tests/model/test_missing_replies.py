"""A run of which nothing can be read stops at once and says why; what is missing is always told on the console."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from data_checks import check_each
from standins import opinionated

import run
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.llm.router import RoutedBackend
from parley.model.debate import DebateModel
from parley.model.files import PARTIAL, RECORD
from parley.model.missing_replies import MissingTally, TallyKey, Unreadable
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

Small = Callable[..., Scenario]


def seven(request: Request) -> str:
    """Speaks, and rates in the words of another language."""
    return "Eine Sieben, glaube ich, oder acht." if request.answers else opinionated(request)


def mute(request: Request) -> str | Reply:
    """Rates, and fails whenever it is to speak."""
    return opinionated(request) if request.answers else Reply.failed("bad_request", "400: System role not supported")


@pytest.mark.parametrize(
    ("backend", "round_", "told"),
    [
        (seven, 0, "6 of 6 ratings (attitude) are missing, mostly for several_numbers"),
        (mute, 1, "6 of 6 replies are missing, mostly for bad_request (6), as in '400: System role not supported'"),
    ],
)
def test_it_stops_after_the_first_survey_or_round_and_goes_on_when_told(
    small: Small, tmp_path: Path, backend: Callable[[Request], str | Reply], round_: int, told: str
) -> None:
    """All rounds were asked and paid for; now one line with the reason, and a folder that can be gone on with."""
    scenario = small()
    outcome = run_scenario(RunSpec(scenario, tmp_path / "run"), backend=Fake(backend))
    assert told in (outcome.stopped or "")
    assert outcome.unread
    assert "\n" not in (outcome.stopped or "")
    assert (tmp_path / "run" / PARTIAL).exists()
    model = DebateModel(scenario, backend=Fake(backend), collect_errors=True)
    model.step()
    assert (model.round, type(model.error)) == (round_, Unreadable)
    with pytest.raises(UserError, match="--keep-going"):
        DebateModel(scenario, backend=Fake(backend)).run()
    on = RunSpec(scenario, tmp_path / "run", budget=Budget(keep_going=True))
    whole = run_scenario(on, backend=Fake(backend))
    other = run_scenario(RunSpec(scenario, tmp_path / "b", budget=Budget(keep_going=True)), backend=Fake(backend))
    assert whole.stopped is None
    assert whole.replayed == outcome.asked
    assert (tmp_path / "run" / RECORD).read_bytes() == other.record.read_bytes()


def test_each_model_is_judged_by_itself_and_scripted_partners_are_not(small: Small) -> None:
    """One dead model of two is found; a stand-in that says fixed lines has no ratings by design, and is not counted."""
    scenario = small(llms=("democrat=openai:gemma",))
    both = RoutedBackend(Fake(opinionated), {"democrat": Fake(seven)})
    with pytest.raises(Unreadable, match=r"openai:gemma: 2 of 2 ratings \(attitude\)"):
        DebateModel(scenario, backend=both)
    scenario = small(llms=("democrat=fake",))
    model = DebateModel(scenario, backend=RoutedBackend(Fake(opinionated), {"democrat": Fake(seven)}))
    assert model.tally.line == "missing  0 of 4 ratings"


def test_a_server_that_goes_away_in_the_middle_stops_it_too(small: Small) -> None:
    """From the second survey on where at least 20 were asked: a few missing ones of a small room stop nothing."""
    calls = 0

    def leaves(request: Request) -> str | Reply:
        nonlocal calls
        calls += 1
        return opinionated(request) if calls <= 60 else Reply.failed("unreachable", "connection refused")

    with pytest.raises(Unreadable, match="30 of 30 replies are missing, mostly for unreachable"):
        DebateModel(small(repetitions=10, rounds=2, survey="ends"), backend=Fake(leaves)).run()
    calls = 0
    DebateModel(small(repetitions=6, rounds=2, survey="ends"), backend=Fake(leaves)).run()


@check_each(
    ("asked", "lost", "stops"),
    [(1, 1, True), (3, 3, True), (3, 2, False), (19, 19, True), (20, 19, False), (100, 95, False), (100, 96, True)],
)
def test_nearly_nothing_is_fewer_than_one_in_twenty(asked: int, lost: int, stops: bool) -> None:
    """The threshold that the manual page names."""
    found = MissingTally()
    for number in range(asked):
        found.count(TallyKey("", "ratings"), "no_number" if number < lost else None, "Well.")
    try:
        found.check((), {"": "m"}, {})
    except Unreadable:
        assert stops
    else:
        assert not stops


def test_what_is_missing_is_one_line_and_a_warning_from_a_fifth_on() -> None:
    """Always there, by reason, the commonest first; nothing where nothing was asked."""
    found = MissingTally()
    assert found.line == ""
    for reason in [*["refusal"] * 2, "no_number", *[None] * 27]:
        found.count(TallyKey("", "ratings", "attitude"), reason)
    found.count(TallyKey("", "replies"), None)
    assert found.line == "missing  3 of 30 ratings (10%: refusal 2, no_number 1), 0 of 1 replies"
    for _ in range(5):
        found.count(TallyKey("democrat", "ratings", "attitude"), "refusal")
    assert found.line.splitlines()[1].startswith("WARNING  ")


def test_nobody_is_counted_who_was_not_asked(small: Small) -> None:
    """Muted, absent, and without a side: their silence is no failure of a model's."""
    scenario = small(rounds=1, interventions="mute round=1 to=all")
    model = DebateModel(scenario, backend=Fake(opinionated))
    model.run()
    assert model.tally.line == "missing  0 of 12 ratings"


def test_the_console_has_it_at_the_end_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2 and one line on the errors' side where nothing can be read; exit 0 and the line of what is missing where told to."""
    command = [
        "--scenario",
        "two_way",
        "--topic",
        "racism",
        "--repetitions",
        "1",
        "--rounds",
        "1",
        "--out",
        str(tmp_path),
    ]
    assert run.main([*command, "--llm", "fake"]) == 2
    told = capsys.readouterr()
    assert "missing  3 of 3 ratings (100%: unscripted 3)\nWARNING" in told.out
    assert told.err.startswith("run.py: fake: 3 of 3 ratings (attitude) are missing, mostly for unscripted")
    assert len(told.err.splitlines()) == 1
    assert run.main([*command, "--llm", "fake", "--keep-going"]) == 0
    assert "missing  5 of 5 ratings" in capsys.readouterr().out


def test_a_sweep_counts_over_its_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cells of which nothing can be read are unfinished, after three in a row no more are tried, and the sum is told."""
    command = ["sweep", "--scenario", "two_way", "--topic", "racism", "--repetitions", "1", "--rounds", "1"]
    where = ["--workers", "1", "--seeds", "0:5", "--out", str(tmp_path)]
    assert run.main([*command, *where, "--llm", "fake"]) == 2
    told = capsys.readouterr()
    assert "0 of 5 are finished" in told.out
    assert "missing  9 of 9 ratings" in told.out
    assert "3 cells in a row had no readable answer" in told.err
    assert run.main([*command, *where, "--llm", "fake", "--keep-going"]) == 0
    assert "missing  25 of 25 ratings" in capsys.readouterr().out


@pytest.mark.thorough
@check_each(
    ("rubric", "preset"),
    [("", "two_way"), ("appeal", "two_way"), ("sentiment", "two_way"), ("deviation", "news_evolution")],
)
def test_a_judge_that_says_nothing_is_asked_twenty_times(
    rubric: str, preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not about every statement; what is missing is counted at the end where it goes on all the same."""
    changes = {"two_way": {"topic": "racism", "repetitions": 3}, "news_evolution": {"size": 12, "repetitions": 1}}
    run_scenario(RunSpec(load_preset(preset).with_settings({"llm": "oracle"} | changes[preset]), tmp_path))
    asking = ["study", "judge", str(tmp_path), *(["--rubric", rubric] if rubric else []), "--llm", "fake"]
    assert run.main(asking) == 2
    assert "fake: 20 of 20 verdicts are missing, mostly for unscripted" in capsys.readouterr().err
    assert run.main([*asking, "--keep-going"]) == 0
    assert re.search(r"missing  (\d\d) of \1 ", capsys.readouterr().out)
