"""Own and predicted ballots, the final vote, and the report on them: a planted accuracy is found, and a guess is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import run
from parley.analysis.deliberation.ballots import (
    BY_LOT,
    FORESEEN,
    Contest,
    accuracy_table,
    rank_correlation,
    read_ballots,
    rule_table,
    vote_row,
)
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.request import Reply, Request
from parley.model import events
from parley.model.recorder import read_lines

ASKED = ["--scenario", "consensus_habermas", "--topic", "public_health,housing"]


def deliberate(folder: Path, llm: str, *more: str) -> Path:
    both = ["--set", "mediator=habermas,candidates=5,ballots=both", "--set", "vote=final"]
    assert run.main([*ASKED, *both, "--llm", llm, *more, "--out", str(folder)]) == 0
    return folder


def test_rules_by_hand() -> None:
    """Two members, three candidates: 0 beats all of one and none of the other; 1 is the second of both."""
    contest = Contest("s", "room", 1, 3, {}, {1: (0, 1, 2), 2: (2, 1, 0)})
    rows = rule_table([contest], "own").set_index("rule")
    assert rows.loc["maximin", ["mean", "worst"]].tolist() == [0.5, 0.5]
    assert rows.loc["borda", "mean"] == 0.5  # all have two points, and the lot decides
    assert rows.loc[BY_LOT, ["same", "mean", "worst"]].tolist() == pytest.approx([1 / 3, 0.5, 1 / 6])
    assert FORESEEN not in rows.index
    assert rows["worst_low"].isna().all()  # one session has no interval


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
    complete = Oracle.complete

    def mumble(self: Oracle, requests: Sequence[Request]) -> list[Reply]:
        replies = complete(self, requests)
        return [
            Reply("I cannot say.") if one.purpose == "ballot" else reply
            for one, reply in zip(requests, replies, strict=True)
        ]

    monkeypatch.setattr(Oracle, "complete", mumble)
    folder = deliberate(tmp_path, "oracle,apart=3", "--repetitions", "1", "--set", "episodes=1")
    found = read_ballots([folder])
    assert found.asked == {"predicted": 20, "own": 20, "vote": 10}
    assert {kind: sum(count for (of, _), count in found.missing.items() if of == kind) for kind in found.asked} == {
        "predicted": 0, "own": 20, "vote": 10,
    }  # fmt: skip
    own = [event for event in read_lines(folder / "record.jsonl") if isinstance(event, events.Balloted)]
    assert all(event.order is None and event.asked == 3 and len(event.earlier) == 2 for event in own)


def test_members_of_recorded_episodes_are_not_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["representatives", "substitute", str(tmp_path), "--llm", "oracle", "--mediator", "habermas,ballots=own"]
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
        assert run.main(["representatives", "ballots", str(folder), "--out", str(tmp_path / f"report {known}")]) == 0
        page = (tmp_path / f"report {known}" / "ballots.md").read_text(encoding="utf-8")
        assert ("fit the member better than other members" in page) == known
        assert ("do not clearly fit the member better" in page) != known
