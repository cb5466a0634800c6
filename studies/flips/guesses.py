"""Do agents guess what is studied, and do those who guess right go where the study seems to want them?

After the last survey each agent is asked, in private and never to be remembered, what is studied (six options, one of them right,
in an order drawn for every agent), and which change of its agreement the researchers expect (less, none, more).

    right      the probability that the model gives to the right option; 1 or 0 where it does not tell probabilities
    toward     the agent's movement over the debate in the direction that it expects: points of 0-10 toward agreement, times 1 for
               more and -1 for less; an agent that expects no change has none

Example: an agent expects more agreement and moves from 4 to 6: toward is 2. If it expects less, toward is -2. The unit of the
share is the block (a group of personas), averaged over its agents; its null takes another option, drawn for each block, as the
right one, so that agents of a room may guess alike. The difference in `toward` between agents that chose the right
option and the others has a jackknife interval over blocks; its null shuffles the choices among agents of the same topic and
party, who are in different rooms.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.claim_questions import GUESSES, OPTIONS, RIGHT
from parley.agents.topic import load_topic
from parley.analysis.card.records import ConditionRecords
from parley.analysis.contrasts import MORE, amount
from parley.analysis.statistics.intervals import (
    ALIKE,
    FEWEST,
    NO_VARIATION,
    Floats,
    interval,
    mean_interval,
    too_few,
    why_few,
    why_no_interval,
)
from parley.analysis.statistics.null import Null
from parley.analysis.unknown import clause
from parley.llm.seeding import stream

from .arms import STATEMENT
from .decomposition import FULL, LEVEL, UNIT

CHANCE = 1 / OPTIONS
NO_CHANGE = 2
DEALS = 1999
PLACES = [f"option {number}" for number in range(1, OPTIONS + 1)]
KEYS = ["block", "room", "topic", "party", "agent"]
SHARE, DIFFERENCE = "share of right guesses", "movement toward the expected change"


def guesses(study: ConditionRecords) -> pd.DataFrame:
    """Return one row per agent of the debates in full: KEYS, PLACES, chose (1: the right option), way, toward, reason.

    PLACES: the probability of each option; the right one is the first. way: the expected change, -1, 0 or 1. reason: why the
    guess is missing ("": it is not). Missing numbers are NaN.
    """
    studied, expected = (_answers(study, probe) for probe in GUESSES)
    rated = study.ratings(FULL)
    rated = rated[(rated["probe"] == STATEMENT) & rated["party"].isin(study.parties)]
    wide = rated.pivot(index=KEYS, columns="round", values="level")
    agree = np.array(
        [load_topic(str(topic)).probe(STATEMENT).polarity for topic in wide.index.get_level_values("topic")]
    )
    moved = (wide[wide.columns.max()] - wide[wide.columns.min()]) * agree
    frame = pd.DataFrame({"moved": moved}).join(studied).join(expected["rating"].rename("expected"))
    way = frame["expected"] - NO_CHANGE
    rows = frame.assign(chose=(frame["rating"] == RIGHT).astype(float).where(frame["rating"].notna()), way=way)
    rows["toward"] = (way * rows["moved"]).where(way != 0)
    return rows.reset_index()[[*KEYS, *PLACES, "chose", "way", "toward", "reason"]]


def _answers(study: ConditionRecords, probe: str) -> pd.DataFrame:
    """Return the answers to a question at the end, by KEYS: rating, PLACES, reason ("" where there is none)."""
    frames = []
    for batch, tables in enumerate(study.records[FULL], 1):
        rows = tables.probes[tables.probes["probe"] == probe]
        blocks = [f"{batch}/{number}" for number in rows["repetition"]]
        frames.append(rows.assign(block=blocks, room=f"{batch}/" + rows["room"].astype(str)))
    rows = pd.concat(frames, ignore_index=True)
    shares = np.array([_shares(row) for row in rows[["rating", "probabilities"]].to_dict("records")]).reshape(
        -1, OPTIONS
    )
    rows[PLACES] = shares
    return rows.assign(reason=rows["reason"].fillna("")).set_index(KEYS)[["rating", *PLACES, "reason"]]


def _shares(row: Mapping[Any, Any]) -> Floats:
    """Return the probability of each option; 1 and 0 without probabilities; NaN for a missing answer."""
    shares = row["probabilities"]
    if isinstance(shares, str):
        shares = json.loads(shares)
    if isinstance(shares, (list, tuple, np.ndarray)) and len(shares):
        return np.asarray([*shares, *[0.0] * (OPTIONS - len(shares))], dtype=float)  # `expected` has fewer options
    if pd.isna(row["rating"]):
        return np.full(OPTIONS, math.nan)
    return np.asarray(np.arange(1, OPTIONS + 1) == row["rating"], dtype=float)


def estimates(frame: pd.DataFrame) -> pd.DataFrame:
    """Return two rows, SHARE and DIFFERENCE: quantity, units, agents, estimate, low, high, null_low, null_high, p, reason.

    null_low, null_high: where 95% of estimates lie by chance. frame: that of `guesses`.
    """
    return pd.DataFrame([_share(frame), _difference(frame)])


def _row(quantity: str, units: int, agents: int, **values: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("estimate", "low", "high", "null_low", "null_high", "p"), math.nan)
    return {"quantity": quantity, "units": units, "agents": agents, **empty, "reason": "", **values}


def _share(frame: pd.DataFrame) -> dict[str, Any]:
    guessed = frame.dropna(subset=PLACES)
    blocks = guessed.groupby("block")[PLACES].mean().to_numpy(dtype=float)
    values = blocks[:, RIGHT - 1]
    low, high = mean_interval(values, bounds=(0.0, 1.0))
    mean = float(values.mean()) if len(values) else math.nan
    row = _row(
        SHARE, len(values), len(guessed), estimate=mean, low=low, high=high, reason=why_no_interval(values, UNIT)
    )
    return row if len(values) < FEWEST else row | _by_chance(blocks, mean)


def _by_chance(blocks: Floats, share: float) -> dict[str, float]:
    """Return null_low, null_high and p of a share, if the right option is drawn for each block. blocks: (blocks, OPTIONS)."""
    rng = np.random.default_rng(stream(0, "options", len(blocks)).getrandbits(32))
    drawn = rng.integers(0, OPTIONS, size=(DEALS, len(blocks)))
    means = blocks[np.arange(len(blocks)), drawn].mean(axis=1)
    return Null(means, CHANCE).row(share)


def _difference(frame: pd.DataFrame) -> dict[str, Any]:
    rows = frame.dropna(subset=["toward", "chose"]).sort_values(KEYS)
    blocks, chose = rows["block"].nunique(), rows["chose"].to_numpy(dtype=float)
    if blocks < FEWEST:
        groups = frame["block"].nunique()
        lost = (
            f": agents of only {blocks} of {groups} say both what is studied and which change"
            if groups >= FEWEST
            else ""
        )
        return _row(DIFFERENCE, blocks, len(rows), reason=too_few(UNIT) + lost)
    if min(chose.sum(), (1 - chose).sum()) < FEWEST:
        return _row(
            DIFFERENCE,
            blocks,
            len(rows),
            reason=f"fewer than {FEWEST} agents guess right, or fewer than {FEWEST} guess wrong",
        )
    toward = rows["toward"].to_numpy(dtype=float)
    if np.ptp(toward) <= ALIKE:
        return _row(DIFFERENCE, blocks, len(rows), estimate=0.0, reason=NO_VARIATION)
    sums = pd.DataFrame({"a": toward * chose, "b": chose, "c": toward * (1 - chose), "d": 1 - chose})
    per_block = sums.groupby(rows["block"].to_numpy()).sum().to_numpy(dtype=float)
    sizes = (per_block[:, [1, 3]] / per_block[:, [1, 3]].sum(axis=0)).sum(axis=1)
    low, high = interval(per_block, _contrast, sizes)
    difference = float(_contrast(per_block[None])[0])
    dealt = _dealt(toward, chose, rows.groupby(["topic", "party"]).ngroup().to_numpy())
    null = Null(dealt).row(difference)
    reason = "" if math.isfinite(low) else why_few(blocks, UNIT, sizes) or "the difference depends on one group"
    return _row(DIFFERENCE, blocks, len(rows), estimate=difference, low=low, high=high, **null, reason=reason)


def _contrast(sums: Floats) -> Floats:
    """Return the mean of those who guess right minus that of the others. sums: (draws, blocks, 4)."""
    a, b, c, d = np.moveaxis(sums.sum(axis=1), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(a / b - c / d, dtype=float)


def _dealt(toward: Floats, chose: Floats, strata: np.ndarray) -> Floats:
    """Return DEALS differences, with the choices shuffled within each topic and party."""
    rng = np.random.default_rng(stream(0, "guesses", len(toward)).getrandbits(32))
    deals = np.repeat(chose[None], DEALS, axis=0)
    for stratum in np.unique(strata):
        place = strata == stratum
        deals[:, place] = rng.permuted(deals[:, place], axis=1)
    count = deals.sum(axis=1)
    both = deals @ toward
    return np.asarray(both / count - (toward.sum() - both) / (len(toward) - count), dtype=float)


def sentences(table: pd.DataFrame) -> list[str]:
    """Return what is known of guesses in a sentence each; what is unknown says why."""
    share, difference = table.to_dict("records")
    return [_share_sentence(share), _difference_sentence(difference)]


def _share_sentence(row: Mapping[Any, Any]) -> str:
    amount, chance = f"{100 * row['estimate']:.0f}%", f"{100 * CHANCE:.0f}% expected by chance"
    if row["reason"] == NO_VARIATION:
        return (
            f"Guessing: {amount} of guesses of what is studied are right, in each of {row['units']} groups ({chance})."
        )
    if row["reason"]:
        return f"Guessing: how many agents guess what is studied is unknown, because {clause(row['reason'])}."
    null = f"{100 * row['null_low']:.0f}% to {100 * row['null_high']:.0f}%"
    span = f"{100 * max(0.0, row['low']):.0f}% to {100 * min(1.0, row['high']):.0f}%; {chance}, with a range of {null}"
    if row["p"] >= LEVEL or row["low"] <= CHANCE <= row["high"]:
        return f"Guessing: it is not shown that agents guess what is studied better or worse than by chance ({span})."
    way = "more" if row["estimate"] > CHANCE else "fewer"
    return f"Guessing: {amount} of guesses of what is studied are right, {way} than by chance ({span})."


def _difference_sentence(row: Mapping[Any, Any]) -> str:
    says = "agents that guess right move more toward the change that they expect than agents that guess wrong"
    if row["reason"] == NO_VARIATION:
        return (
            "Demand: agents that guess right move exactly as far toward the change that they expect as agents that guess "
            f"wrong, in each of {row['units']} groups (no variation, so no interval)."
        )
    if row["reason"]:
        return f"Demand: whether {says} is unknown, because {clause(row['reason'])}."
    shuffled = f"shuffled {row['null_low']:.2f} to {row['null_high']:.2f}"
    size = amount((row["estimate"], row["low"], row["high"]), MORE, of=shuffled)
    if row["p"] >= LEVEL or row["low"] <= 0 <= row["high"]:
        return f"Demand: it is not shown that {says}: {size}."
    way = MORE.of(row["estimate"])
    return f"Demand: {says.replace('more', way)}: {size}."
