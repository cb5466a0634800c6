"""Steering words struck out: does what agents do need what the prompt tells them to do?

The debates in full are run a second time on equal seeds, without settings and sentences of personas that say how to behave
(analysis/steering.py). Each row is the debates in full minus the debates without:

    flips        share of ratings that flip across the middle
    points       points that ratings go toward the other side of the middle
    agreement    points of 0-10 of the last rating, toward agreement with the claim

Example: 20% of ratings flip in full and 12% without: steering words turn 8% of ratings. The unit is the block (a group of
personas), averaged over its agents and topics. A pair of agent and question counts if it says something in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.card.records import ConditionRecords
from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import NO_VARIATION
from parley.analysis.unknown import clause

from .arms import STATEMENT
from .decomposition import FULL, difference_row, is_shown, pairs, usable

ARM = "unsteered"
EFFECTS = ("flips", "points", "agreement")
NOTHING = "Steering words: nothing was struck out, because no setting and no sentence of a persona tells agents how to behave."
SAYS: Mapping[str, tuple[str, str]] = {
    "flips": ("the share of ratings that flip", "percentage points"),
    "agreement": ("agreement after the debate", "points"),
}
"""What a sentence is about, and its unit."""


def compared(study: ConditionRecords) -> pd.DataFrame:
    """Return the pairs of both arms, as `decomposition.pairs` does; no row if the arm was not run (nothing to strike out)."""
    return pairs(study, (FULL, ARM)) if ARM in study.records else pairs(study, (FULL,)).iloc[:0]


def changes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per block with a column for each of EFFECTS: in full minus without steering words.

    frame: that of `compared`; pairs that say nothing in one of the arms are left out.
    """
    frame = usable(frame)
    if frame.empty:
        return pd.DataFrame(columns=list(EFFECTS), dtype=float)
    main = frame["probe"] == STATEMENT
    agree = {topic: load_topic(str(topic)).probe(STATEMENT).polarity == 1 for topic in set(frame["topic"])}
    toward = frame["last"].where(frame["topic"].map(agree).astype(bool), 10 - frame["last"]).where(main)
    cells = frame.assign(flips=frame["flip"], agreement=toward).groupby(["arm", "block", "topic"], sort=False)
    means = cells[list(EFFECTS)].mean().groupby(["arm", "block"], sort=False).mean().unstack("arm")
    return pd.DataFrame({name: means[name][FULL] - means[name][ARM] for name in EFFECTS})


def effects(units: pd.DataFrame) -> pd.DataFrame:
    """Return one row per effect: effect, units, estimate, low, high, reason, null_low, null_high, p, p_holm.

    null_low, null_high: where 95% of estimates lie if each block's change is as likely to have the other sign. units: those of
    `changes`.
    """
    rows = pd.DataFrame(
        [{"effect": name, **difference_row(units[name].dropna().to_numpy(dtype=float))} for name in EFFECTS]
    )
    return rows.assign(p_holm=holm(rows["p"].to_numpy(dtype=float)))


def sentences(study: ConditionRecords, table: pd.DataFrame) -> list[str]:
    """Return in a sentence each what steering words do to flips and to agreement; one sentence if nothing was struck out."""
    if ARM not in study.records:
        return [NOTHING]
    rows = table.set_index("effect").to_dict("index")
    return [_sentence(rows[name], *SAYS[name], 100 if name == "flips" else 1) for name in SAYS]


def _sentence(row: Mapping[Any, Any], about: str, unit: str, scale: int) -> str:
    estimate = scale * row["estimate"], scale * row["low"], scale * row["high"]
    size = amount(estimate, HIGHER, unit)
    if row["reason"] == NO_VARIATION:
        every = f"in each of {row['units']} groups (no variation, so no interval)"
        return f"Steering words: with steering words {about} is {size}, {every}."
    if row["reason"]:
        return f"Steering words: the effect of steering words on {about} is unknown, because {clause(row['reason'])}."
    if not is_shown(row):
        return f"Steering words: it is not shown that steering words change {about}: {size}."
    return f"Steering words: with steering words {about} is {size}."
