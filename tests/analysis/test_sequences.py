"""The order of steps and two kinds of people: by hand, on a generator of known truth, on the public traces if present."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parley.analysis.human import kinds, scoring, sequences
from parley.analysis.human.readers import COLUMNS, Source, persuasiontrace, toward_majority
from parley.analysis.human.trajectories import Trajectories, hold_still, shuffle_steps, trajectories
from parley.llm.errors import UserError

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "mit"
TRACES, SUMMARY = DATA / "persuasiontrace_human_belief_traces.csv", DATA / kinds.PUBLISHED[0]


def speakers(number: int, seed: int, movers: float = 0.4, memory: float = 0.5, turns: int = 4) -> Trajectories:
    """People of two kinds: who stays takes steps of 0.02, who moves jumps by 0.3 and then keeps a share `memory` of each step."""
    rng = np.random.default_rng(seed)
    beliefs = [rng.uniform(0.2, 0.5, number)]
    moves, step = rng.random(number) < movers, np.zeros(number)
    for turn in range(turns):
        push = np.where(moves, 0.3 if turn == 0 else 0.0, 0.0)
        step = push + memory * step + rng.normal(0, np.where(moves, 0.06, 0.02))
        beliefs.append(np.clip(beliefs[-1] + step, 0, 1))
    return Trajectories(np.array([str(at) for at in range(number)], dtype=object), np.column_stack(beliefs))


def test_trajectories_by_hand() -> None:
    """Toward 0 the belief is mirrored; a gap ends the trajectory; who has no turn before it has none."""
    rows = [("c", "a", "", 0.2, 0.4, math.nan, -1.0, (0.4, math.nan, 0.1)), ("c", "b", "", 0.5, 0.5, math.nan, 1.0, (0.6, 0.7)),
            ("c", "d", "", 0.5, 0.5, math.nan, 1.0, (math.nan, 0.7))]  # fmt: skip
    ways = trajectories(pd.DataFrame(rows, columns=COLUMNS))
    assert ways.groups.tolist() == ["a", "b"]
    assert ways.beliefs[0, :2].round(9).tolist() == [0.8, 0.6]
    assert math.isnan(ways.beliefs[0, 2])
    assert ways.turns.tolist() == [1, 2]


def test_features_by_hand() -> None:
    """Steps of 0.1 and 0.3: a quarter of the talk is half of the first step, three quarters half of the second."""
    found = kinds.features(Trajectories(np.array(["a"], dtype=object), np.array([[0.2, 0.3, 0.6, math.nan]])))[0]
    assert found[[4, 9, 14, 19, 20]].round(9).tolist() == [0.05, 0.1, 0.25, 0.4, 2.0]


def test_step_rows_and_nulls_by_hand() -> None:
    """Each step with the belief and the step before it; shuffled steps are the same steps; nobody who never moves has another."""
    ways = Trajectories(np.array(["a", "b"], dtype=object), np.array([[0.5, 0.6, 0.4], [0.5, 0.55, math.nan]]))
    rows = sequences.step_rows(ways)
    assert rows[:, [0, 2]].round(9).tolist() == [[0.5, 0.1], [0.6, -0.2], [0.5, 0.05]]
    assert rows[1, 1] == pytest.approx(0.1)
    assert np.isnan(rows[[0, 2], 1]).all()
    mixed = sequences.step_rows(shuffle_steps(ways, np.random.default_rng(1)))
    assert sorted(mixed[:, 2].round(9)) == [-0.2, 0.05, 0.1]
    assert not sequences.step_rows(hold_still(ways))[:, 2].any()


def scores(own: Trajectories, people: Trajectories) -> pd.DataFrame:
    return pd.DataFrame(sequences.compare_samples(own, people, "planted")).set_index("part")


@pytest.mark.thorough
def test_the_same_law_is_as_near_as_people_and_the_nulls_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a run of the same law scores about 1 in every part; people's own steps shuffled, and never moving, do not."""
    monkeypatch.setattr(sequences, "DRAWS", 60)
    people = speakers(160, 1)
    same = scores(speakers(160, 2), people)
    assert set(same["reason"]) == {""}
    assert (same["score"] > 0.75).all()
    assert (same["score_high"] > 0.9).all()
    shuffled = scores(shuffle_steps(people, np.random.default_rng(3)), people)
    assert (shuffled["score"] < 0.35).all()
    still = scores(hold_still(people), people)
    assert (still["score"].dropna() < 0.1).all()
    assert (still.loc[["autocorrelation", "sizes"], "reason"] == scoring.NO_VALUE).all()


def test_people_without_order_give_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """Null: where the people's steps are shuffled themselves, no part says that anything is like people."""
    monkeypatch.setattr(sequences, "DRAWS", 40)
    people = shuffle_steps(speakers(120, 1), np.random.default_rng(5))
    found = scores(speakers(120, 2), people)
    assert found["reason"].isin([scoring.SAME_AS_NULL, scoring.FAR_HALVES]).all()
    assert "score" not in found or found["score"].isna().all()


def test_too_few_talks_or_rooms_are_a_reason_and_no_number() -> None:
    people, few = speakers(40, 1), speakers(9, 2)
    assert scores(few, people)["reason"].tolist() == [sequences.FEW_ROOMS]
    assert scores(people, speakers(19, 2))["reason"].tolist() == [kinds.FEW_TALKS]


@pytest.mark.thorough
def test_planted_kinds_are_found_and_people_alike_have_none() -> None:
    """40% were made movers: the kinds find them again, and explain more than in shuffled steps; equal people have no kinds."""
    people = speakers(150, 4)
    found = kinds.find_kinds(people)
    assert found is not None
    planted = np.random.default_rng(4)
    planted.uniform(0.2, 0.5, 150)
    assert (kinds.is_mover(people, found) == (planted.random(150) < 0.4)).mean() > 0.97
    assert kinds.explained_by_chance(people, found)[1] <= 0.02
    assert kinds.find_kinds(hold_still(speakers(30, 1))) is None
    drift = speakers(150, 4, movers=0.0, memory=0.0)
    alike = kinds.find_kinds(drift)
    assert alike is not None
    assert kinds.explained_by_chance(drift, alike)[1] > 0.05


def source(ways: Sequence[Sequence[float]], name: str) -> Source:
    rows = [("c", str(number), "", way[0], way[-1], math.nan, 1.0, tuple(way[1:])) for number, way in enumerate(ways)]
    people = pd.DataFrame(rows, columns=COLUMNS)
    return Source(name, people, toward_majority(people), "talk", "nowhere")


def test_shares_of_kinds_have_intervals_over_talks() -> None:
    """Ten of thirty people move by half, all agents of the run stay: a third (with an interval) beside none."""
    people = source([(0.4, 0.9 if at % 3 == 0 else 0.41 + at / 1000) for at in range(30)], "people")
    row = kinds.compare_kinds(source([(0.4, 0.4)] * 12, "run"), [people], None).iloc[0]
    assert (row["moving"], row["run_moving"], row["talks"], row["rooms"]) == (pytest.approx(1 / 3), 0.0, 30, 12)
    assert 0.1 < row["moving_low"] < 1 / 3 < row["moving_high"] < 0.6


def test_the_published_clusters_come_out_of_the_traces() -> None:
    """The public table: 44 talks stay (0.039 at the last turn), 40 move (0.437); the traces have four decimals."""
    if not SUMMARY.exists():
        pytest.skip("the public traces are no part of this checkout (shared/data/mit)")
    found = kinds.compare_published(SUMMARY, TRACES)
    assert found["n"].tolist() == found["published_n"].tolist() == [44, 40]
    assert found["first"].to_numpy() == pytest.approx(found["published_first"].to_numpy(), abs=2e-5)
    assert found["end"].to_numpy() == pytest.approx(found["published_end"].to_numpy(), abs=2e-5)


def test_a_published_kind_without_a_number_is_refused_in_one_line(tmp_path: Path) -> None:
    """An empty n says which row to mend."""
    (tmp_path / "summary.csv").write_text("n,mean_first_delta,mean_end_delta\n44,0.1,0.1\n,0.2,0.4\n", encoding="utf-8")
    with pytest.raises(UserError, match="row 3: n is empty: enter"):
        kinds.compare_published(tmp_path / "summary.csv", tmp_path / "none.csv")


def test_shuffled_human_steps_do_not_score_high() -> None:
    """On the public traces only the memory of sizes can be scored, and shuffled human steps do not have it."""
    if not TRACES.exists():
        pytest.skip("the public traces are no part of this checkout (shared/data/mit)")
    people = trajectories(persuasiontrace(TRACES).people)
    found = scores(shuffle_steps(people, np.random.default_rng(3)), people)
    assert found.index[found["reason"] == ""].tolist() == ["sizes"]
    assert found.loc["sizes", "score"] < 0.2
    assert found.loc["sizes", "score_high"] < 0.9
    assert (found.loc["sizes", "people_value"], found.loc["sizes", "p"]) == (pytest.approx(0.45, abs=0.01), 0.005)
