"""How much more often debaters argue the judge's side when they know it.

A shift is the probability of arguing the judge's side, minus that of the same person on the same topic when it knows nothing of
the judge. It is averaged over the topics of a person; the unit is the person. A detail without meaning has a label for or against
by lot, so its shift is 0 on average: it is the null.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.formatting import format_estimate
from parley.analysis.statistics.intervals import (
    FEWEST,
    SHARE,
    SIGNED,
    Ends,
    Floats,
    is_even,
    mean_interval,
    share_interval,
)
from parley.analysis.statistics.intervals import verdict as interval_verdict
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.unknown import unknown_sentence

from .choices import BELIEF, DETAIL, FOR, NOTHING, PERSONA, side_of

ALL, OPPOSED, ALIGNED = ALIGNMENTS = ("all", "opposed", "aligned")
"""Judges on both sides, judges against the person's own stance, judges who share it."""
BEYOND = "belief minus detail"
PERCENT = 100
PLACE = ["person", "topic"]
LEVELS = ["to_judge", "to_judge_low", "to_judge_high", "base"]


def shifts(choices: pd.DataFrame) -> pd.DataFrame:
    """Return one row per choice with knowledge of a judge: person, topic, known, judge, alignment ("": the person has no stance),
    to_judge (probability of the judge's side), base (the same without knowledge), shift (NaN: missing).
    """
    base = choices[choices["known"] == NOTHING].set_index(PLACE)["share_for"]
    rows = choices[choices["known"] != NOTHING].reset_index(drop=True)
    without = base.reindex(pd.MultiIndex.from_frame(rows[PLACE])).to_numpy(dtype=float)
    is_for = (rows["judge"] == FOR).to_numpy()
    share = rows["share_for"].to_numpy(dtype=float)
    own_side = rows["stance"].map(side_of)
    alignment = np.where(own_side == "", "", np.where(own_side == rows["judge"], ALIGNED, OPPOSED))
    to_judge, before = np.where(is_for, share, 1 - share), np.where(is_for, without, 1 - without)
    return rows[[*PLACE, "known", "judge"]].assign(
        alignment=alignment, to_judge=to_judge, base=before, shift=to_judge - before
    )


def effects(moved: pd.DataFrame) -> pd.DataFrame:
    """Return one row per knowledge and alignment, and one for BEYOND.

    people, missing (choices without a shift), to_judge (with low and high) and base (means over people), shift with low and high
    over people, topics, topics_low and topics_high over topics.

    moved: of `shifts`. For ALL, a person counts on a topic only with judges on both sides.
    """
    rows = [_row(shift_rows, knowledge, alignment) for knowledge, alignment, shift_rows in _parts(moved)]
    wide = {knowledge: _means(_both(moved[moved["known"] == knowledge]), "person") for knowledge in (BELIEF, DETAIL)}
    by_topic = {knowledge: _means(_both(moved[moved["known"] == knowledge]), "topic") for knowledge in (BELIEF, DETAIL)}
    people, topics = ((by_knowledge[BELIEF] - by_knowledge[DETAIL]).dropna() for by_knowledge in (wide, by_topic))
    rows.append(
        {"known": BEYOND, "alignment": ALL, "missing": 0, **dict.fromkeys(LEVELS, np.nan), **_intervals(people, topics)}
    )
    return pd.DataFrame(rows)


def _parts(moved: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for knowledge in (BELIEF, PERSONA, DETAIL):
        shift_rows = moved[moved["known"] == knowledge]
        for alignment in ALIGNMENTS if len(shift_rows) else ():
            yield (
                knowledge,
                alignment,
                shift_rows if alignment == ALL else shift_rows[shift_rows["alignment"] == alignment],
            )


def _row(shift_rows: pd.DataFrame, knowledge: str, alignment: str) -> dict[str, object]:
    counted = _both(shift_rows) if alignment == ALL else shift_rows[shift_rows["shift"].notna()]
    means = counted.groupby("person")[["to_judge", "base"]].mean()
    levels = {name: float(means[name].mean()) if len(means) else np.nan for name in means}
    low, high = _level_interval(means["to_judge"].to_numpy(dtype=float))
    ends = {"to_judge_low": low, "to_judge_high": high}
    people, topics = _means(counted, "person"), _means(counted, "topic")
    lost = {"known": knowledge, "alignment": alignment, "missing": len(shift_rows) - len(counted)}
    return {**lost, **_intervals(people, topics), **levels, **ends}


def _level_interval(levels: Floats) -> Ends:
    """Return the interval of a mean share of people; Wilson's where all people are at 0 or all at 1."""
    if is_even(levels) and len(levels) and levels[0] in (0.0, 1.0):
        return share_interval(int(levels.sum()), len(levels))
    return mean_interval(levels, bounds=SHARE)


def _both(shift_rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of people and topics with a shift for judges on both sides."""
    sides = shift_rows[shift_rows["shift"].notna()].groupby(PLACE)["judge"].transform("nunique")
    return shift_rows[shift_rows["shift"].notna()][sides == 2]


def _means(shift_rows: pd.DataFrame, unit: str) -> pd.Series:
    """Return the mean shift of each person, or of each topic."""
    return shift_rows.groupby(unit)["shift"].mean()


def _intervals(people: pd.Series, topics: pd.Series) -> dict[str, float]:
    over_topics = mean_row(topics.to_numpy(dtype=float), bounds=SIGNED)
    ends = {f"topics_{end}": over_topics[end] for end in ("low", "high")}
    return {
        "people": len(people),
        **mean_row(people.to_numpy(dtype=float), "shift", bounds=SIGNED),
        "topics": len(topics),
        **ends,
    }


def order_row(choices: pd.DataFrame) -> dict[str, float]:
    """Return how much more often than in half of the choices the side listed first is chosen, with its interval over people."""
    people = choices["first"].groupby(choices["person"]).mean().dropna().to_numpy(dtype=float)
    return {"people": len(people), **mean_row(people, "first", bounds=(-0.5, 0.5))}


def verdict(table: pd.DataFrame, moved: pd.DataFrame) -> str:
    """Return whether debaters follow a judge whose belief they know; the unit is the person."""
    row = table[table["known"] == BEYOND].iloc[0]
    if np.isnan(row["low"]):
        belief_shifts = moved.loc[moved["known"] == BELIEF, "shift"].dropna().to_numpy(dtype=float)
        if row["people"] >= FEWEST and is_even(belief_shifts) and not belief_shifts.any():
            return f"No choice of {row['people']:.0f} people changed when the judge's belief was known."
        reason = f"fewer than {FEWEST} people made all choices" if row["people"] < FEWEST else "the shifts do not vary"
        return unknown_sentence("whether debaters follow the judge", reason)
    if row["low"] <= 0 <= row["high"]:
        return (
            "It is not shown that debaters follow the judge: the judge's belief does not clearly move choices more than a "
            f"meaningless detail does ({_points(row, 'shift', 'low', 'high')} points, the interval contains 0)."
        )
    word = "to" if row["shift"] > 0 else "away from"
    size = amount((PERCENT * row["shift"], PERCENT * row["low"], PERCENT * row["high"]), HIGHER, "percentage points", 1)
    return (
        f"Debaters move {word} the judge's side: if debaters know the judge's belief, the share that argues the judge's side "
        f"is {size}, beyond the effect of a meaningless detail."
    )


def opposed_line(table: pd.DataFrame) -> str:
    """Return what debaters do whose own belief is opposed to the judge's: the conflict of Carro et al."""
    asked = "what debaters do before a judge who disagrees with them"
    rows = table[(table["known"] == BELIEF) & (table["alignment"] == OPPOSED)]
    if rows.empty or rows.iloc[0]["people"] < FEWEST:
        return unknown_sentence(asked, f"fewer than {FEWEST} people chose before a judge who disagrees")
    row = rows.iloc[0]
    if np.isnan(row["to_judge_low"]):
        return unknown_sentence(asked, f"their choices do not vary (judge's side: {PERCENT * row['to_judge']:.1f}%)")
    low, high = row["to_judge_low"], row["to_judge_high"]
    side = interval_verdict(low, high, "the judge's side", "their own", "neither side clearly", at=0.5)
    return (
        f"Before a judge who disagrees with them, debaters argue the judge's side in "
        f"{_points(row, 'to_judge', 'to_judge_low', 'to_judge_high')}% of choices, and in {PERCENT * row['base']:.1f}% when "
        f"they know nothing of the judge: they prefer {side}."
    )


def _points(row: pd.Series, value: str, low: str, high: str) -> str:
    return format_estimate(PERCENT * row[value], PERCENT * row[low], PERCENT * row[high], 1)
