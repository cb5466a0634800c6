"""Steps from turn to turn beside people's: by hand, on the known-truth speaker, on the public traces where they are at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parley.analysis.human.fidelity import FEW, FEW_ROOMS, fidelity, steps
from parley.analysis.human.readers import COLUMNS, Source, persuasiontrace, toward_majority
from parley.analysis.human.rooms import each_turn, of_run
from parley.analysis.tables import load

TRACES = Path(__file__).parents[2].parent / "shared" / "data" / "mit" / "persuasiontrace_human_belief_traces.csv"


def source(ways: Sequence[Sequence[float]], name: str = "people") -> Source:
    """One talk a row: the belief before, and after each turn; the other side is above."""
    rows = [("c", str(number), "", way[0], way[-1], math.nan, 1.0, tuple(way[1:])) for number, way in enumerate(ways)]
    people = pd.DataFrame(rows, columns=COLUMNS)
    return Source(name, people, toward_majority(people), "talk", "nowhere")


def test_steps_by_hand() -> None:
    """0.5 0.7 0.7 0.4 toward 0: -0.2, 0, 0.3; who has no side or no turns has no steps."""
    people = source([(0.5, 0.7, 0.7, 0.4), (0.5,), (0.2, 0.3)]).people
    people["side"] = [-1.0, 1.0, math.nan]
    assert steps(people).all.round(9).tolist() == [-0.2, 0.0, 0.3]


def test_the_peoples_own_steps_have_score_one_and_standing_still_zero() -> None:
    """Distance 0 from themselves; who never moves is as far as the mean length of their steps (0.2 and 0 in turn: 0.1)."""
    people = source([(0.5, 0.7, 0.7), (0.2, 0.4, 0.4)] * 6)
    same, still = (fidelity(run, [people]).iloc[0] for run in (people, source([(0.5, 0.5)] * 12, "still")))
    assert (same["distance"], same["score"]) == (0.0, 1.0)
    assert (still["distance"], still["still"], still["score"]) == (
        pytest.approx(0.1),
        pytest.approx(0.1),
        pytest.approx(0),
    )
    wrong = fidelity(source([(0.7, 0.5, 0.5)] * 12), [people]).iloc[0]
    assert wrong["score"] == pytest.approx(-1)  # as large steps, the wrong way: twice as far as who never moves


def test_too_few_talks_are_a_reason_and_no_number() -> None:
    found = fidelity(source([(0.5, 0.7)] * 12), [source([(0.5, 0.7)] * 9)]).iloc[0]
    assert (found["reason"], found["talks"]) == (FEW, 9)
    assert math.isnan(found["score"])
    few = fidelity(source([(0.5, 0.7)] * 9), [source([(0.5, 0.7)] * 12)]).iloc[0]
    assert (few["reason"], few["talks"], few["rooms"]) == (FEW_ROOMS, 12, 9)


def test_agents_have_a_step_for_each_turn_that_they_heard(ran: Callable[..., Path]) -> None:
    """Two people, two rounds: each heard two turns, after which it was asked; what it said after its own turns does not count."""
    tables = load(ran("persuasion_trace"))
    told = each_turn(tables)
    assert (len(told), len(tables.attitudes)) == (3 * 2 * 4, 3 * 2 * 3)
    people = of_run(tables).people
    assert set(people["turns"].map(len)) == {2}
    room, seat = people.iloc[0][["group", "person"]]
    own = tables.utterances[(tables.utterances["room"] == room) & (tables.utterances["seat"] == seat)]["iteration"]
    mine = told[(told["room"] == room) & (told["seat"] == seat) & ~told["iteration"].isin(own)]
    assert [value * 10 for value in people.iloc[0]["turns"]] == pytest.approx(mine["attitude"].tolist())


def test_a_run_without_such_a_probe_has_its_rounds_as_turns(ran: Callable[..., Path]) -> None:
    tables = load(ran("persuasion_trace", also=""))
    assert each_turn(tables).empty
    assert set(of_run(tables).people["turns"].map(len)) == {1}


def test_the_human_traces() -> None:
    """71 talks with believable turns: never moving is 0.114 away from them, halves of them 0.03 from each other."""
    if not TRACES.exists():
        pytest.skip("the public traces are no part of this checkout (shared/data/mit)")
    people = persuasiontrace(TRACES)
    found = fidelity(people, [people]).set_index("condition").loc["all"]
    assert (found["talks"], found["steps"], found["score"]) == (71, 217, 1.0)
    assert found["still"] == pytest.approx(np.abs(steps(people.people).all).mean())
    assert found["halves"] < 0.05 < found["still"]
