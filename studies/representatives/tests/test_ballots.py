"""Own and predicted ballots, the final vote, and the report on them: a planted accuracy is found, and a guess is none."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

import run
from parley.analysis.deliberation.episode_readers import read_all
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model import events
from parley.model.recorder import read_lines
from parley.studies.representatives.ballot_report import write_ballots
from parley.studies.representatives.ballots import (
    BY_LOT,
    FORESEEN,
    Contest,
    accuracy_table,
    rank_correlation,
    read_ballots,
    rule_table,
    vote_row,
)
from parley.studies.representatives.step_report import write_steps
from parley.studies.representatives.step_study import StepStudy, compare_steps

ASKED = ["--scenario", "consensus_habermas", "--topic", "public_health,housing"]


def deliberate(folder: Path, llm: str, *more: str) -> Path:
    both = ["--set", "mediator=habermas,candidates=5,ballots=both", "--set", "vote=final"]
    assert run.main([*ASKED, *both, "--llm", llm, *more, "--out", str(folder)]) == 0
    return folder


def mumble(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the oracle answer every request for a ballot or a vote without letters."""
    complete = Oracle.complete

    def without_letters(self: Oracle, requests: Sequence[Request]) -> list[Reply]:
        replies = complete(self, requests)
        return [
            Reply("I cannot say.") if one.purpose == "ballot" else reply
            for one, reply in zip(requests, replies, strict=True)
        ]

    monkeypatch.setattr(Oracle, "complete", without_letters)


def test_rules_by_hand() -> None:
    """Two members, three candidates: 0 beats all of one and none of the other; 1 is the second of both."""
    contest = Contest("s", "room", 1, 3, {}, {1: (0, 1, 2), 2: (2, 1, 0)})
    rows = rule_table([contest], "own").set_index("rule")
    assert rows.loc["maximin", ["mean", "worst"]].tolist() == [0.5, 0.5]
    assert rows.loc["borda", "mean"] == 0.5  # all have two points, and the lot decides
    assert rows.loc[BY_LOT, ["same", "mean", "worst"]].tolist() == pytest.approx([1 / 3, 0.5, 1 / 6])
    assert FORESEEN not in rows.index
    assert rows["worst_low"].isna().all()  # one session has no interval


def test_a_rule_is_counted_over_the_sessions_that_have_it() -> None:
    """Of seven sessions one has no predicted ballots: the winner on predicted ballots has a value over six sessions."""
    own = {1: (0, 1, 2), 2: (2, 1, 0)}
    contests = [Contest(f"s{number}", "room", number, 3, own if number else {}, own) for number in range(7)]
    rows = rule_table(contests, "own").set_index("rule")
    assert rows.loc["maximin", "sessions"] == 7
    assert rows.loc[FORESEEN, "sessions"] == 6
    assert rows.loc[FORESEEN, "mean"] == 0.5


def test_accuracy_by_hand() -> None:
    """The prediction of member 1 is exact, that of member 2 reversed; a ballot of ties has no tau."""
    contest = Contest("s", "room", 1, 3, {1: (0, 1, 2), 2: (0, 1, 2)}, {1: (0, 1, 2), 2: (2, 1, 0)})
    rows = accuracy_table([contest]).set_index("ballots")
    assert rows.loc["the member's own", "tau"] == 0
    assert rows.loc["difference", "reason"] == "fewer than 5 sessions"
    tied = contest._replace(own={1: ((0, 1, 2),), 2: ((0, 1, 2),)})
    assert accuracy_table([tied])["pairs"].tolist() == [0, 0, 0]
    assert rank_correlation((0, 1, 1), (0, 1, 2)) == pytest.approx(0.8165, abs=1e-4)


def test_a_vote_without_sessions_is_unknown() -> None:
    assert vote_row([])["reason"] == "fewer than 5 sessions"
    even = [{"session": str(n), "room": "", "revision": 0.5} for n in range(6)]
    assert vote_row(even)["reason"] == "no variation"


@pytest.mark.thorough
def test_members_rank_by_themselves_and_vote(tmp_path: Path) -> None:
    """One own ballot for each predicted one, and one vote a member; with own ballots nothing is predicted."""
    folder = deliberate(tmp_path / "both", "oracle,apart=3", "--repetitions", "1", "--set", "episodes=1")
    record = list(read_lines(folder / "record.jsonl"))
    counts = {kind: sum(event.kind == kind for event in record) for kind in ("ranked", "balloted", "voted")}
    assert counts == {"ranked": 20, "balloted": 20, "voted": 10}
    own = [event for event in record if isinstance(event, events.Balloted)]
    assert any(isinstance(place, tuple) for event in own for place in event.order or ())  # a tie
    only = ["--set", "mediator=habermas,candidates=3,ballots=own", "--repetitions", "1", "--set", "episodes=1"]
    assert run.main([*ASKED, *only, "--llm", "oracle,apart=3", "--out", str(tmp_path / "own")]) == 0
    kinds = {event.kind for event in read_lines(tmp_path / "own" / "record.jsonl")}
    assert "balloted" in kinds
    assert not {"ranked", "voted"} & kinds
    assert ", own: " in (folder / "transcript.md").read_text(encoding="utf-8")


def test_an_unreadable_ballot_is_asked_again_and_then_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three replies without letters: no ballot, a reason, and the three replies; the vote is counted as missing, too."""
    mumble(monkeypatch)
    folder = deliberate(tmp_path, "oracle,apart=3", "--repetitions", "1", "--set", "episodes=1")
    found = read_ballots([folder])
    assert found.asked == {"predicted": 20, "own": 20, "vote": 10}
    assert {kind: sum(count for (of, _), count in found.missing.items() if of == kind) for kind in found.asked} == {
        "predicted": 0, "own": 20, "vote": 10,
    }  # fmt: skip
    own = [event for event in read_lines(folder / "record.jsonl") if isinstance(event, events.Balloted)]
    assert all(event.order is None and event.asked == 3 and len(event.earlier) == 2 for event in own)


def test_only_runs_that_asked_for_no_ballot_are_told_how_to_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose ballots are all unreadable has a page with the missing counts; a run without ballots is refused."""
    mumble(monkeypatch)
    asked = [*ASKED, "--llm", "oracle", "--repetitions", "1", "--set", "episodes=1", "--set", "size=2"]
    own = ["--set", "mediator=habermas,candidates=2,ballots=own"]
    assert run.main([*asked, *own, "--out", str(tmp_path / "own")]) == 0
    found = read_ballots([tmp_path / "own"])
    assert (found.asked, found.missing.total()) == ({"own": found.missing.total()}, found.asked["own"])
    write_ballots(found, tmp_path)
    page = (tmp_path / "ballots.md").read_text(encoding="utf-8")
    assert "own ballots are missing" in page
    assert (
        "It is unknown what a rule of choice changes, because no choice has two candidates and a readable ballot."
        in page
    )
    assert run.main([*asked, "--set", "mediator=draft_revise", "--out", str(tmp_path / "none")]) == 0
    with pytest.raises(UserError, match="no run has a ballot"):
        read_ballots([tmp_path / "none"])


def test_what_a_representative_ranks_is_no_ballot_of_its_member(tmp_path: Path) -> None:
    """Represented ballots and votes are missing as the members' own; the pages of the run name their writers."""
    folder = tmp_path / "run"
    steps = ["--scenario", "representatives", "--llm", "oracle,apart=3", "--repetitions", "1", "--set", "size=2"]
    steps += ["--set", "mediator=habermas,candidates=3,ballots=own,rule=maximin", "--set", "vote=final"]
    represents = ["--set", "represents=ballot,vote", "--set", "represented=all"]
    assert run.main([*steps, *represents, "--out", str(folder)]) == 0
    record = list(read_lines(folder / "record.jsonl"))
    forms = Counter(event.form for event in record if isinstance(event, events.Represented))
    found = read_ballots([folder])
    assert {kind: found.missing[kind, "represented"] for kind in ("own", "vote")} == {
        "own": forms["ballot"], "vote": forms["vote"],
    }  # fmt: skip
    assert forms["ballot"] > 0
    assert sum(len(contest.own) for contest in found.contests) == found.asked["own"] - forms["ballot"] > 0
    assert len(found.votes) == found.asked["vote"] - forms["vote"] > 0
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert f"| rankings by representatives | {forms['ballot']} |" in summary
    assert f"| own rankings | {found.asked['own'] - forms['ballot']} |" in summary
    assert "the rule `maximin` put more than one candidate first" in summary
    assert (folder / "transcript.md").read_text(encoding="utf-8").count(", by a representative: ") == forms["ballot"]


def test_folders_of_the_same_name_are_different_runs(tmp_path: Path) -> None:
    """`seed1/run` and `seed2/run` are two runs with sessions of their own, in all commands that read several runs."""
    folders = [tmp_path / "seed1" / "run", tmp_path / "seed2" / "run"]
    asked = [*ASKED, "--llm", "oracle", "--repetitions", "1", "--set", "episodes=1", "--set", "size=2"]
    ballots = ["--set", "mediator=habermas,candidates=2,ballots=own"]
    assert run.main([*asked, *ballots, "--out", str(folders[0])]) == 0
    shutil.copytree(folders[0], folders[1])
    number = 2 * len({contest.session for contest in read_ballots(folders[:1]).contests})
    assert number
    said = "A persona takes part in up to"
    for runs, again in ((folders[:1], False), (folders, True)):
        assert (said in write_ballots(read_ballots(runs), tmp_path).read_text(encoding="utf-8")) == again
    assert len({contest.session for contest in read_ballots(folders).contests}) == number
    assert len({episode.session for episode in read_all(folders)}) == number
    desk = CallDesk(tmp_path / "steps", lambda *_: nullcontext(lambda steps: None))
    study = StepStudy(llm="oracle", again=False)
    result = compare_steps(folders, study, desk)
    assert said in write_steps(result, study, tmp_path).read_text(encoding="utf-8")
    assert set(result.cases["session"].str.rpartition("/")[0].str.split("/").str[:2].str.join("/")) == {
        "seed1/run",
        "seed2/run",
    }
    with pytest.raises(UserError, match="is given more than once"):
        read_ballots(folders[:1] * 2)


def test_members_of_recorded_episodes_are_not_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "study",
        "representatives",
        "substitute",
        str(tmp_path),
        "--llm",
        "oracle",
        "--mediator",
        "habermas,ballots=own",
    ]
    assert run.main([*words, "--out", str(tmp_path / "out")]) == 2
    assert "set ballots=predicted" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_planted_accuracy_is_found_and_a_guess_is_none(tmp_path: Path) -> None:
    """Predictions from opinions fit the member (tau above .5, far above others'); with guesses=1 nothing is left."""
    for llm, known in (("oracle,apart=3", True), ("oracle,apart=3,guesses=1", False)):
        folder = deliberate(tmp_path / str(known), llm, "--repetitions", "3")
        gap = accuracy_table(read_ballots([folder]).contests).set_index("ballots").loc["difference"]
        assert (gap["low"] > 0.4) == known
        assert (gap["low"] <= 0 <= gap["high"]) != known
        assert (
            run.main(["study", "representatives", "ballots", str(folder), "--out", str(tmp_path / f"report {known}")])
            == 0
        )
        page = (tmp_path / f"report {known}" / "ballots.md").read_text(encoding="utf-8")
        assert ("fit the member better than other members" in page) == known
        assert ("do not clearly fit the member best" in page) != known
