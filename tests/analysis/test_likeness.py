"""Parts of human-likeness: by hand, on samplers of known truth, on public data if present."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.analysis.human import likeness, scoring
from parley.analysis.human.likeness import PEOPLE, compare_part, compare_parts
from parley.analysis.human.readers import Source, salvi, toward_majority

SALVI = Path(__file__).parents[2].parent / "shared" / "data" / "cc_by_sa" / "salvi_rct_750_pre_post_agreement.csv"
PARTS = {part.title: part for part in PEOPLE}
RNG = np.random.default_rng(0)


def pairs(number: int, seed: int, pull: float = 0.5, alike: float = 0.8) -> list[np.ndarray]:
    """Groups of two, mostly on the upper side, who start alike by a share and then move a part of the way to their partner."""
    rng, groups = np.random.default_rng(seed), []
    for _ in range(number):
        common = rng.beta(5, 2)
        before = np.clip(alike * common + (1 - alike) * rng.random(2) + rng.normal(0, 0.12, 2), 0, 1)
        partner = before[::-1]
        after = np.clip(before + pull * (partner - before) + rng.normal(0, 0.03, 2), 0, 1)
        groups.append(np.column_stack([before, after, np.sign(partner - before), partner]))
    return groups


def test_parts_by_hand() -> None:
    """Sizes, direction and slopes of three pairs; the spread within groups is that of values 0.1 apart."""
    rows = np.array(
        [[0.2, 0.4, 1, 0.6], [0.6, 0.5, -1, 0.2], [0.1, 0.1, 1, 0.9], [0.9, 0.8, -1, 0.1], [0.5, 0.6, 1, 0.8]]
    )
    groups = [rows[:2], rows[2:4], rows[4:]]
    assert set(likeness.change_sizes(groups).round(9)) == {0.0, 0.1, 0.2}
    assert likeness.direction(groups).round(9).tolist() == [1.0]
    design = np.column_stack([np.ones(5), rows[:, 0], rows[:, 3]])
    slopes = np.linalg.lstsq(design, rows[:, 1] - rows[:, 0], rcond=None)[0]
    assert likeness.partner_slope(groups) == pytest.approx(slopes[2:])
    assert likeness.own_slope(groups) == pytest.approx(np.polyfit(rows[:, 0], rows[:, 1] - rows[:, 0], 1)[:1])
    within = np.sqrt((0.1**2 / 2 + 0.7**2 / 2) / 2) / np.std([0.4, 0.5, 0.1, 0.8])
    assert likeness.inner_spread(groups) == pytest.approx([within])
    assert np.isnan(likeness.inner_spread([rows[4:]])).all()


def test_nulls_keep_everything_but_their_part() -> None:
    """Dealing keeps all values; a scale of five points stays one, with points as often as each other."""
    groups = pairs(30, 1)
    rows = np.concatenate(groups)
    dealt = np.concatenate(likeness.deal_partners(groups, RNG))
    assert sorted(dealt[:, 3]) == sorted(rows[:, 3])
    assert (dealt[:, :3] == rows[:, :3]).all()
    changes = np.concatenate(likeness.deal_changes(groups, RNG))
    assert np.allclose(np.sort(changes[:, 1] - changes[:, 0]), np.sort(rows[:, 1] - rows[:, 0]))
    assert [len(group) for group in likeness.deal_people(groups, RNG)] == [2] * 30
    points = [np.round(group * 4) / 4 for group in groups * 20]
    even = np.concatenate(likeness.spread_evenly(points, RNG, 0))[:, 0]
    assert set(even) == {0, 0.25, 0.5, 0.75, 1}
    still = np.concatenate(likeness.hold_still(groups, RNG))
    assert (still[:, 0] == still[:, 1]).all()


@pytest.mark.parametrize("title", list(PARTS))
def test_people_of_the_same_law_reach_the_ceiling_and_the_null_does_not(
    title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: all seven parts are there. Other people of the law score about 1, people without the part about 0."""
    monkeypatch.setattr(likeness, "DRAWS", 40)
    monkeypatch.setattr(likeness, "NULLS", 39)
    part, people = PARTS[title], pairs(250, 2)
    same = compare_part(part, pairs(120, 3), people, "c")
    assert same["reason"] == ""
    assert scoring.verdict(same) == "as near to people as other people are"
    null = compare_part(part, without(part), people, "c")
    assert scoring.verdict(null) == "no nearer to people than the null is"


def without(part: likeness.Part) -> list[np.ndarray]:
    """Return 120 groups of two without the part."""
    return np.split(np.concatenate(part.null(pairs(120, 3), RNG)), 120)


def test_nothing_is_claimed_where_people_are_like_the_null(monkeypatch: pytest.MonkeyPatch) -> None:
    """People without a part score nothing there, whatever the run is; so do few people, and few rooms."""
    monkeypatch.setattr(likeness, "DRAWS", 40)
    part = PARTS["change by partner's opinion"]
    row = compare_part(part, pairs(100, 4), pairs(250, 5, pull=0), "c")
    assert row["reason"] in (scoring.SAME_AS_NULL, scoring.FAR_HALVES)
    assert compare_part(part, pairs(100, 4), pairs(19, 5), "c")["reason"] == likeness.FEW
    assert compare_part(part, pairs(1, 4), pairs(30, 5), "c")["reason"] == likeness.FEW_ROOMS
    nine = compare_part(part, pairs(100, 4), pairs(250, 5), "c", np.array_split(np.arange(100), 9))
    assert (nine["reason"], nine["rooms"]) == (likeness.FEW_ROOMS, 9)


def test_a_run_without_turns_has_no_part_about_turns(ran: Callable[..., Path], tmp_path: Path) -> None:
    """`run.py study human` writes the table with a verdict per part and no total; a part without a score says why."""
    people = salvi_file(tmp_path)
    traces_file(people.parent)
    assert (
        run.main(["study", "human", str(ran("two_way")), "--data", str(people.parent), "--out", str(tmp_path / "out")])
        == 0
    )
    table = pd.read_csv(tmp_path / "out" / "likeness.csv")
    assert list(dict.fromkeys(table["part"])) == list(PARTS)
    directions = table["part"] == "direction of change"
    assert table.loc[~directions, "verdict"].str.startswith("is unknown: fewer than").all()
    assert table.loc[directions, "verdict"].str.startswith("is unknown: sides of these people were assigned").all()
    assert "## Parts of human-likeness" in (tmp_path / "out" / "human.md").read_text()


def salvi_file(folder: Path) -> Path:
    """Write a small file in the form of Salvi's, and return its path."""
    rows = [
        (number, "Human-Human", side, 1 + number % 5, 5 - number % 3) for number in range(8) for side in ("PRO", "CON")
    ]
    names = ["debate_id", "treatment_type", "participant_side", "agreement_pre_likert", "agreement_post_likert"]
    path = folder / "data" / SALVI.name
    path.parent.mkdir()
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    return path


def traces_file(folder: Path) -> None:
    """Write talks in the form of PersuasionTrace's, with a belief after each turn."""
    rows = [
        f"{at},2026-01-0{at % 9 + 1},False,False,False,True,{at / 20},{at / 15},{at / 18:.2f};{at / 15:.2f}"
        for at in range(8)
    ]
    names = "round,export_date,control_dialogue,audio,participant_proposition,persuader_supports,initial_belief,final_belief"
    text = "\n".join([f"{names},belief_after_each_turn", *rows])
    (folder / "persuasiontrace_human_belief_traces.csv").write_text(text, encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.skipif(not SALVI.is_file(), reason="the public data are not beside the checkout")
def test_half_of_real_people_is_as_near_as_the_other_half() -> None:
    """Real debates of two people: half of them, as a run, is never less near to the other half than other people."""
    source = salvi(SALVI)
    people = source.people[source.people["condition"] == "Human-Human"]
    first = people["group"].isin(people["group"].unique()[::2])
    halves = [Source("half", part, toward_majority(part), "debate", "") for part in (people[first], people[~first])]
    table = compare_parts(halves[0], [halves[1]], pd.DataFrame(columns=["people", "condition"]), turns=False)
    known = table[table["reason"] == ""]
    assert set(known["verdict"]) == {"as near to people as other people are"}
    assert "size of change" in set(known["part"])
