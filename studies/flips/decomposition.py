"""Movement and flips of ratings in each arm, split into six parts that sum to the movement in the debates.

A pair is an agent and one of the two items: the topic's claim, and its opposite. Its rating before the first round and its last
one are attitudes of 0-10. A pair flips if they are on different sides of the middle. It moves by the points that it goes toward
the other side of the middle (below 0: away from it). A pair that begins on the middle has no other side, and is left out.

An agent that agrees with everything can flip only where it disagreed at first. Where it agreed at first (a *guarded* pair), a
flip cannot be agreement. So with the share F of all pairs that flip, and the share G of guarded pairs,

    instability   G(alone)                acquiescence   F(full) - G(full)
    presence      G(empty) - G(alone)     reasons        G(lines from other rooms) - G(stance only)
    conformity    G(stance only) - G(empty)     response    G(full) - G(lines from other rooms)

sum to F(full), in every group of personas. Example: of 100 pairs 50 are guarded; 5 of these flip and 15 of the others, so
F = .20, G = .10, and acquiescence is .10. The unit is the block (a group of personas), averaged over its topics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.card.records import ConditionRecords
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import (
    NO_VARIATION,
    SHARE,
    Floats,
    interval,
    mean_interval,
    p_of_mean,
    why_no_interval,
)
from parley.analysis.statistics.null import Null
from parley.analysis.unknown import clause
from parley.llm.seeding import stream

from .arms import ITEMS

MIDDLE, ALIKE = 5.0, 1e-9
ARMS = ("alone", "empty", "stance", "shuffled", "three")
"""The arms from nothing to all; each has one thing more than the one before. `three` are the debates in full."""
FULL, MOVEMENT, ACQUIESCENCE = "three", "movement", "acquiescence"
PARTS = ("instability", "presence", "conformity", "reasons", "response")
"""What each arm of ARMS has more than the arm before."""
MEASURES = {"flip": "ratings that flip across the middle", "points": "points toward the other side"}
PAIR = ["block", "topic", "party", "agent", "probe"]
UNIT = "group"
DEALS, LEVEL = 1999, 0.05


def pairs(study: ConditionRecords, arms: Sequence[str] = ARMS) -> pd.DataFrame:
    """Return one row per arm and pair: arm, PAIR, first, last (0-10; NaN: missing), guarded, flip (0 or 1), points, reason.

    reason: why the pair says nothing in this arm ("": it does): `missing` (a rating), or `middle` (it begins there).
    """
    frame = pd.concat([_pairs_of(study, arm) for arm in arms], ignore_index=True)
    start, end = frame["first"] - MIDDLE, frame["last"] - MIDDLE
    is_rated, away = start.notna() & end.notna(), start.abs() > ALIKE
    directions = {
        (topic, probe): load_topic(topic).probe(probe).polarity for topic in set(frame["topic"]) for probe in ITEMS
    }
    agrees = start * [directions[key] for key in zip(frame["topic"], frame["probe"], strict=True)] > 0
    return frame.assign(
        guarded=agrees,
        flip=(start * end < 0).astype(float),
        points=-np.sign(start) * (end - start),
        reason=np.where(~is_rated, "missing", np.where(away, "", "middle")),
    )


def _pairs_of(study: ConditionRecords, arm: str) -> pd.DataFrame:
    """Return the first and last ratings of an arm; an arm that is run party by party has in each run its party's agents."""
    runs = [name for name in study.records if name.partition(" ")[0] == arm]
    frames = []
    for name in runs:
        parties = [name.partition(" ")[2]] if " " in name else list(study.parties)
        rated = study.ratings(name, further=True)
        rated = rated[rated["party"].isin(parties) & rated["probe"].isin(ITEMS)]
        wide = rated.pivot(index=PAIR, columns="round", values="level")
        ends = pd.DataFrame({"first": wide[wide.columns.min()], "last": wide[wide.columns.max()]})
        frames.append(ends.reset_index().assign(arm=arm))
    return pd.concat(frames, ignore_index=True)


def usable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the pairs that say something in every arm."""
    whole = frame.groupby(PAIR)["reason"].transform(lambda reasons: (reasons == "").sum())
    return frame[whole == frame["arm"].nunique()]


def components(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return one row per block: PARTS, acquiescence, and movement, their sum. frame: that of `usable`.

    The share of guarded pairs that flip is a ratio over all blocks of an arm and a topic. A block's value is linear in its own
    sums (m - R g, over the mean of g): their mean is the ratio and their spread its error, also where blocks have few pairs.
    """
    parts = frame.assign(
        guarded_value=frame[measure] * frame["guarded"], guarded=frame["guarded"].astype(float), whole=frame[measure]
    )
    cells = parts.groupby(["arm", "topic", "block"], sort=False)[["guarded_value", "guarded", "whole"]].mean()
    both = cells.groupby(["arm", "topic"], sort=False)[["guarded_value", "guarded"]].transform("mean")
    ratio = both["guarded_value"] / both["guarded"].where(both["guarded"] > 0)
    cells["value"] = ratio + (cells["guarded_value"] - ratio * cells["guarded"]) / both["guarded"]
    means = cells.groupby(["arm", "block"], sort=False)[["value", "whole"]].mean()
    content = means["value"].unstack("arm").reindex(columns=list(ARMS))
    rows = content.diff(axis=1)
    rows[ARMS[0]] = content[ARMS[0]]
    rows.columns = list(PARTS)
    movement = means["whole"].unstack("arm").reindex(columns=list(ARMS))[FULL]
    return rows.assign(acquiescence=movement - content[FULL], movement=movement)


def estimates(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per measure and part: measure, part, units, estimate, low, high, null_low, null_high, p, p_holm, reason,
    share, share_low, share_high, share_reason.

    low, high: 95% interval over blocks. null_low, null_high: where 95% of estimates lie if each block's part is as likely to
    have the other sign. p: of no effect, corrected by Holm for those of the five differences that vary; instability and movement
    are none, and have neither. share: of the movement, by the jackknife; missing (share_reason) unless the movement's interval
    is above 0. frame: that of `usable`.
    """
    return pd.concat([_estimates_of(components(frame, measure), measure) for measure in MEASURES], ignore_index=True)


def _estimates_of(units: pd.DataFrame, measure: str) -> pd.DataFrame:
    movement = units[MOVEMENT].to_numpy(dtype=float)
    why = _no_shares(movement)
    rows = pd.DataFrame([{"measure": measure, **_row(units, measure, str(column), why)} for column in units.columns])
    rows["p_holm"] = holm(rows["p"].to_numpy(dtype=float))
    return rows


def _no_shares(movement: Floats) -> str:
    """Return why parts have no share of the movement; "": they have."""
    if why := why_no_interval(movement, UNIT):
        return why
    return "" if mean_interval(movement)[0] > 0 else "no movement is distinguishable from 0"


def _row(units: pd.DataFrame, measure: str, column: str, why: str) -> dict[str, Any]:
    values = units[column].to_numpy(dtype=float)
    row = {"part": column, **difference_row(values)}
    if column in (PARTS[0], MOVEMENT):  # no differences
        row |= dict.fromkeys(("null_low", "null_high", "p"), math.nan)
        if measure == "flip":  # but shares
            row["low"], row["high"] = mean_interval(values, bounds=SHARE)
    return row | _share(units[[column, MOVEMENT]].to_numpy(dtype=float), why)


def difference_row(values: Floats) -> dict[str, Any]:
    """Return units, estimate, low, high, reason, null_low, null_high and p of a mean difference. values: one per block.

    low, high: 95% interval over blocks. reason: why it is missing, else "". null_low, null_high: see `null_range`; NaN, as is
    p, without an interval.
    """
    low, high = mean_interval(values)
    reason = why_no_interval(values, UNIT)
    null_low, null_high = (math.nan, math.nan) if reason else null_range(values)
    return {
        "units": len(values),
        "estimate": float(values.mean()) if len(values) else math.nan,
        "low": low,
        "high": high,
        "reason": reason,
        "null_low": null_low,
        "null_high": null_high,
        "p": p_of_mean(values),
    }


def is_shown(row: Mapping[Any, Any]) -> bool:
    """Return whether a difference is shown: its corrected p is below the level, and its estimate is outside of its null."""
    inside = row["null_low"] - ALIKE <= row["estimate"] <= row["null_high"] + ALIKE
    return bool(row["p_holm"] < LEVEL and not inside)


def null_range(values: Floats) -> tuple[float, float]:
    """Return the middle 95% of the mean of values whose signs are drawn anew, DEALS times."""
    rng = np.random.default_rng(stream(0, "flips", len(values)).getrandbits(32))
    means = (rng.choice([-1.0, 1.0], size=(DEALS, len(values))) * values).mean(axis=1)
    return Null(means).band


def _share(both: Floats, why: str) -> dict[str, Any]:
    """Return a part's share of the movement. both: (units, 2), the part and the movement."""
    if why:
        return {"share": math.nan, "share_low": math.nan, "share_high": math.nan, "share_reason": why}
    low, high = interval(both, lambda draws: draws[..., 0].mean(axis=-1) / draws[..., 1].mean(axis=-1), None)
    share = float(both[:, 0].mean() / both[:, 1].mean())
    return {"share": share, "share_low": low, "share_high": high, "share_reason": ""}


def sentences(table: pd.DataFrame) -> list[str]:
    """Return what each part of the flips is, in a sentence each; what is unknown says why."""
    rows = table[table["measure"] == "flip"].to_dict("records")
    return [_sentence(row) for row in rows]


SAYS: Mapping[str, str] = {
    "instability": "without any message of a partner",
    "presence": "because partners speak, whatever they say",
    "conformity": "because partners state their positions",
    "reasons": "because partners give reasons",
    "response": "because partners answer one another in their own room",
    "acquiescence": "because agents agree with whatever they are asked",
    "movement": "in the full debates",
}


def _sentence(row: Mapping[Any, Any]) -> str:
    part_name, says = str(row["part"]), SAYS[str(row["part"])]
    name, amount = part_name.capitalize(), f"{abs(100 * row['estimate']):.1f}%"
    if row["reason"] == NO_VARIATION:
        return (
            f"{name}: {amount} of ratings{' fewer' * (row['estimate'] < 0)} flip {says}, in each of {row['units']} groups (no "
            "variation, so no interval)."
        )
    if row["reason"]:
        return f"{name}: how many ratings flip {says} is unknown, because {clause(row['reason'])}."
    span = f"{100 * row['low']:.1f}% to {100 * row['high']:.1f}%"
    if part_name not in (PARTS[0], MOVEMENT) and not is_shown(row):
        return f"{name}: it is not shown that ratings flip {says} ({span} of ratings)."
    return f"{name}: {amount} of ratings{' fewer' * (row['estimate'] < 0)} flip {says} ({span})."


def left_out(frame: pd.DataFrame) -> Iterator[tuple[str, int]]:
    """Yield each reason with the number of pairs that are left out because of it; a pair counts once, for its first reason."""
    reasons = frame[frame["reason"] != ""].drop_duplicates(PAIR)["reason"]
    yield from ((str(reason), int(count)) for reason, count in reasons.value_counts(sort=False).items())
