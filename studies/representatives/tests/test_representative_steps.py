"""Representatives beside their people at each step: likeness by hand, a planted law that is found, and a blind null."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from synthetic import episodes

import run
from parley.analysis.deliberation.episode import write_episodes
from parley.analysis.deliberation.run_episodes import episodes_of_run
from parley.llm.backends.hf.reward import RATING, Head, write_head
from parley.llm.errors import UserError
from parley.studies.representatives.ballot_equivalence import compare_ballots
from parley.studies.representatives.step_cases import RATED, read_sessions
from parley.studies.representatives.step_report import sentences, write_steps
from parley.studies.representatives.step_study import (
    WHO,
    StepResult,
    StepStudy,
    mean_distance,
    order_likeness,
    step_table,
)

ASKED = ["--scenario", "consensus_habermas", "--llm", "oracle,leaning=1", "--set", "episodes=2", "--set", "size=3"]
BALLOTS = ["--set", "mediator=habermas,candidates=3,ballots=own", "--set", "vote=final"]


def deliberate(folder: Path, *more: str) -> Path:
    assert run.main([*ASKED, *BALLOTS, "--repetitions", "3", *more, "--out", str(folder)]) == 0
    return folder


def rows_of(own: list[float], stranger: list[float], twice: list[float]) -> pd.DataFrame:
    """One person a session."""
    names = {
        "step": "vote",
        "session": [f"s{number}" for number in range(len(own))],
        "why_own": "",
        "why_stranger": "",
        "why_twice": "",
    }
    return pd.DataFrame(names | dict(zip(WHO, (own, stranger, twice), strict=True)))


def test_likeness_by_hand() -> None:
    """The same is 1 and the opposite the least; a ballot that ties all has none; payoffs that one of two lacks do not count."""
    assert [order_likeness("ballot", (0, 1, 2), order, 3) for order in ((0, 1, 2), (2, 1, 0))] == [1, -1]
    assert math.isnan(order_likeness("ballot", ((0, 1, 2),), (0, 1, 2), 3))
    assert [order_likeness("vote", (0, 1), order, 2) for order in ((0, 1), ((0, 1),), (1, 0))] == [1, 0.5, 0]
    assert order_likeness("vote", ((0, 1),), ((0, 1),), 2) == 1
    assert mean_distance([1, 2, None], [4, None, 1]) == 3
    assert mean_distance([None], [1]) is None


def test_what_is_said_follows_from_the_intervals() -> None:
    """Nearer, farther, neither; with four sessions, and without a second answer of the person, the unknown is named."""
    near, far = [0.9, 0.8, 1.0, 0.9, 0.8, 1.0], [0.1, 0.2, 0.0, 0.2, 0.1, 0.1]
    said = list(sentences(step_table(rows_of(near, far, near))))
    assert said == [
        "Votes of representatives are nearer to the person's own than a stranger's: 0.78 nearer (95% interval 0.63 to 0.94).",
        "It is unknown how far below the ceiling representatives' votes are, because nothing varies.",
    ]
    assert "farther from" in next(sentences(step_table(rows_of(far, near, near))))
    assert "not clearly nearer" in next(sentences(step_table(rows_of(near, near[::-1], near))))
    assert "fewer than 5 sessions" in next(sentences(step_table(rows_of(near[:4], far[:4], near[:4]))))
    nothing = [math.nan] * 6
    assert list(sentences(step_table(rows_of(near, far, nothing))))[1] == (
        "It is unknown how far below the ceiling representatives' votes are, because the person cannot be asked again."
    )
    (unknown,) = sentences(step_table(rows_of(nothing, far, nothing)))
    assert "fewer than 5 sessions" in unknown


def test_a_session_counts_once_however_many_people_it_has() -> None:
    """Five people of one session are one unit: without this, one group would look like evidence."""
    rows = rows_of([0.9, 0.8, 1.0, 0.7, 0.9], [0.1, 0.2, 0.3, 0.2, 0.1], [1.0] * 5).assign(session="one")
    assert set(step_table(rows)["sessions"]) == {1}
    assert "unknown" in next(sentences(step_table(rows)))


def test_of_other_episodes_a_vote_is_the_order_of_the_ratings(tmp_path: Path) -> None:
    """A file has no requests: opinions, votes by ratings, no ceiling. The brief of an opinion holds none on this question."""
    path = write_episodes(episodes(2, size=3, each=2), tmp_path / "episodes.jsonl")
    found = read_sessions(path, 0)
    assert {case.step for case in found.cases} == {"opinion", RATED}
    assert {case.request for case in found.cases} == {None}
    for case in found.cases:
        if case.step == "opinion":
            assert (case.brief.opinion, case.brief.draft, case.brief.critique) == ("", "", "")
            assert case.text == case.voice.opinion
        else:
            ratings = case.voice.agreement
            higher = np.sign(ratings["revision"] - ratings["draft"])
            assert case.order == {0: ((0, 1),), 1: (1, 0), -1: (0, 1)}[int(higher)]
        assert case.brief.others != case.stranger.others


def test_a_payoff_that_no_opinion_has_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`own` is the recorded rating: it says nothing of what another opinion would have given."""
    assert (
        run.main(
            [
                "study",
                "representatives",
                "steps",
                "x",
                "--llm",
                "oracle",
                "--payoff",
                "own",
                "--out",
                str(tmp_path / "o"),
            ]
        )
        == 2
    )
    assert "cannot be read from an opinion" in capsys.readouterr().err
    with pytest.raises(UserError):
        read_sessions(tmp_path, 0)


def test_the_page_names_the_model_that_scored(tmp_path: Path) -> None:
    """With --payoff trained:FOLDER no judge is asked: the page names no judge, and does not warn of the oracle as one."""
    write_head(tmp_path, Head({"model": "any"}, False, 4.0, 1.0, False, RATING))
    rows, pages = rows_of([0.9], [0.1], [1.0]).assign(participant="p"), []
    for place, payoff in enumerate((f"trained:{tmp_path}", "judge")):
        settings = StepStudy("openai:gpt", payoff=payoff, judge="oracle")
        pages.append(
            write_steps(StepResult(rows, compare_ballots([]), []), settings, tmp_path / str(place)).read_text(
                encoding="utf-8"
            )
        )
    assert "scored by a model trained on ratings" in pages[0]
    assert "oracle" not in pages[0]
    assert "scored by oracle" in pages[1]
    assert "Of our own: oracle" in pages[1]


@pytest.mark.thorough
def test_what_a_representative_did_is_not_the_persons(tmp_path: Path) -> None:
    """Represented people have no opinion and no critique in the episodes, and nothing of theirs is compared."""
    steps = "represents=opinion,critique,ballot,vote"
    more = ["--repetitions", "1", "--set", "represented=all", "--set", steps, "--set", "knows=O"]
    folder = deliberate(tmp_path / "run", *more)
    found = {episode.id: [voice.reasons for voice in episode.voices] for episode in episodes_of_run(folder)}
    last = {name for name, reasons in found.items() if reasons[0]}
    assert len(last) == len(found) / 2
    for name in last:
        assert {one[form] for one in found[name] for form in ("opinion", "critique")} == {"represented"}
    assert {case.episode.id for case in read_sessions(folder, 0).cases} == set(found) - last


@pytest.mark.thorough
def test_a_planted_person_is_found_and_a_blind_representative_claims_nothing(tmp_path: Path) -> None:
    """Six sessions. With the planted law a representative is near and a stranger's is not; blind ones are near to no one."""
    folder = deliberate(tmp_path / "run")
    pages = {}
    for name, llm in (("near", "oracle,leaning=1"), ("blind", "oracle,leaning=1,blind=1")):
        out = tmp_path / name
        assert run.main(["study", "representatives", "steps", str(folder), "--llm", llm, "--out", str(out)]) == 0
        pages[name] = (out / "steps.md").read_text(encoding="utf-8")
        table = pd.read_csv(out / "steps.csv").set_index(["step", "measure"])
        assert table.loc[("ballot", "twice"), "value"] == 1  # the speaker ranks alike when it is asked again
        assert (table["sessions"] == 6).all()
        changes = pd.read_csv(out / "changes.csv").set_index(["step", "profile", "who"])
        assert changes.loc[("ballot", "all", "twice"), "same_by_all"] == 1
    for step in ("Opinions", "Ballots"):
        assert f"- {step} of representatives are nearer to the person's own than a stranger's" in pages["near"]
        assert f"- {step} of representatives are not clearly nearer" in pages["blind"]
    again = pages["near"], [path.stat().st_mtime_ns for path in (tmp_path / "near").glob("journal.sqlite")]
    assert (
        run.main(
            [
                "study",
                "representatives",
                "steps",
                str(folder),
                "--llm",
                "oracle,leaning=1",
                "--out",
                str(tmp_path / "near"),
            ]
        )
        == 0
    )
    assert (tmp_path / "near" / "steps.md").read_text(encoding="utf-8") == again[0]
