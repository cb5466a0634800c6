"""The findings of a run in plain sentences, and how many ratings are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import pandas as pd

from parley.analysis.contrasts import OWN, TO_AND_FRO, Sides, amount, span
from parley.analysis.formatting import count_phrase, escape_markdown
from parley.analysis.metrics import applies
from parley.analysis.metrics._cells import KEYS, NO_AGENT, NO_GAP, UNSURE, cells, count_signs
from parley.analysis.metrics.broken_replies import BROKEN
from parley.analysis.metrics.drift import bounds
from parley.analysis.rating_value import NO_DISTRIBUTION
from parley.analysis.reply_faults import warnings
from parley.analysis.scores.table import MANY
from parley.analysis.statistics.intervals import FEWEST, too_few
from parley.analysis.tables import Tables, asked_for
from parley.analysis.unknown import unknown_sentence
from parley.model.titles import group_title, join_phrases, seat_title

MEANING = "The model's own opinion is the average first rating of Default agents, who have no party."
CAUSES = (
    "Movement toward the model's own opinion can come from the model or from agents who influence each other; `python "
    "run.py audit --llm MODEL` separates these two causes."
)
MOST_TOPICS = 4
"""Up to this number of topics each is named with its numbers where there is no verdict."""
NAN = float("nan")
RULES, FEW_SENTENCES = "oracle", "The rule-based speaker has few sentences, so"
Row = Mapping[Any, Any]
Results = Mapping[str, pd.DataFrame]


def findings(tables: Tables, results: Results, measured: Mapping[str, ModuleType]) -> list[str]:
    """Return the findings in Markdown, in the order in which a reader asks: warnings, what moved, why, what is missing, and all
    else. results: the metrics' tables by name.
    """
    moved = [*_movements(tables, results["drift"]), *_left_out(tables, results["drift"])] if "drift" in results else []
    further = [
        metric.headline(_with_labels(results[name], tables))
        for name, metric in measured.items()
        if hasattr(metric, "headline") and applies(metric, tables) and len(results[name])
    ]
    if (
        tables.header.model.get("backend") == RULES
    ):  # it has few sentences, so many people repeat them: no fault of a debate
        further = [line.replace(BROKEN, FEW_SENTENCES) for line in further]
    meaning = [MEANING] if CAUSES in moved else []
    lines = [*moved, missing_ratings(tables), *meaning, *further, *warnings(tables.attitudes)]
    return sorted(filter(None, lines), key=lambda line: not line.startswith("**"))  # warnings are bold


def _with_labels(table: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """Return the table of a metric with the label of each party in place of its name in files."""
    if "party" not in table:
        return table
    return table.assign(party=[escape_markdown(seat_title(str(party), tables.names)) for party in table["party"]])


def missing_ratings(tables: Tables) -> str:
    """Return how many ratings are missing, as a sentence."""
    asked = asked_for(tables.attitudes)
    ratings, unread = len(asked), int(asked["rating"].isna().sum())
    if not ratings:
        return "There are no ratings."
    if unread == ratings:
        return f"All {ratings:,} ratings are missing, so nothing can be said about opinions."
    lost = f"{unread:,} of {ratings:,} ratings are missing{f' ({unread / ratings:.1%})' if unread else ''}"
    flat = int((asked["reason"] == NO_DISTRIBUTION).sum())
    return (
        f"{lost}; {flat:,} of {ratings:,} ratings have no distribution of answers and are left out of all means."
        if flat
        else f"{lost}."
    )


def _movements(tables: Tables, drifts: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence per group and party, then why agents may move to the model's own opinion."""
    several = drifts["group"].nunique() > 1
    for (group, party), rows in drifts.groupby(["group", "party"], sort=False):
        where = f' in the group "{group_title(str(group), tables.names)}"' if several else ""
        who = f"{tables.plural(str(party))}{where}"
        lines = rows.to_dict("records")
        yield escape_markdown(_one_topic(who, lines[0]) if len(lines) == 1 else _several_topics(tables, who, rows))
    if drifts.empty and len(tables.attitudes):
        yield unknown_sentence("how far the opinions of parties moved", "no party has ratings from two surveys")
    if count_signs(drifts, "drift")[0]:
        yield CAUSES


def _left_out(tables: Tables, drifts: pd.DataFrame) -> Iterator[str]:
    """Yield which movements with a verdict could go the other way, whatever the ratings of the agents left out are."""
    sides = drifts.set_index(list(KEYS))
    unsure = []
    for cell in cells(tables):
        row = sides.loc[tuple(cell.keys.values())] if tuple(cell.keys.values()) in sides.index else None
        if (
            row is None
            or row["missing"] <= MANY * len(cell.attitudes)
            or not (row["drift_low"] > 0 or row["drift_high"] < 0)
        ):
            continue
        low, high = bounds(cell)
        if low <= 0 <= high:
            where = f" on {tables.title(cell.topic)}" if len(tables.topics) > 1 else ""
            unsure.append(f"{tables.plural(cell.party)}{where}")
    if unsure:
        yield escape_markdown(
            f"The computed movement of {join_phrases(unsure)} leaves out more than {MANY:.0%} of the agents, because a rating "
            "is missing. With the missing ratings, the movement could also be zero or have the opposite direction."
        )


def _one_topic(who: str, row: Row) -> str:
    """Return how far a party moved on one topic.

    The verdict needs an interval: toward, away, or no movement that differs from chance. Without one, only what was seen.
    """
    if pd.isna(row["start"]):
        return _unknown_movement(who, row)
    if pd.isna(row["drift"]):
        return f"The mean opinion of {who} {_from_to(row)}. {_no_verdict(row)}"
    points, gap = row["drift"], abs(row["default"] - row["start"])
    estimate = points, row["drift_low"], row["drift_high"]
    began = f"The opinions of {who} began {_short(gap)} points from {OWN}"
    if row["drift_low"] > 0:
        past = " and beyond it" if row["drift_low"] > gap else ""
        unsure = "" if past or points <= gap else f"; it is uncertain whether opinions moved beyond {OWN}"
        return f"{began} and moved {amount(estimate, Sides(f'toward it{past}', ''), digits=1)}{unsure}."
    if row["drift_high"] < 0:
        return f"{began} and moved {amount(estimate, Sides('', 'away from it'), digits=1)}."
    moved = amount(estimate, TO_AND_FRO, digits=1)
    if pd.isna(row["drift_low"]):
        same = "did not move in any room" if abs(points) < 0.005 else f"moved {moved}, by the same amount in every room"
        return f"The opinions of {who} {same}, so there is no interval."
    ends, moved = span(*estimate, Sides("toward", "away"), 1), amount((points, NAN, NAN), TO_AND_FRO, digits=1)
    return (
        f"It is uncertain whether the opinions of {who} moved, because the 95% interval of the movement includes zero "
        f"(estimate {moved}, interval {ends})."
    )


def _several_topics(tables: Tables, who: str, rows: pd.DataFrame) -> str:
    """Return on how many topics a party moved which way, and how far."""
    toward, away = rows[rows["drift_low"] > 0], rows[rows["drift_high"] < 0]
    rest = rows.drop(index=[*toward.index, *away.index])
    parts = [
        f"{way} {OWN} on {_of_topics(len(moved), len(rows))}, by {_span_of(moved['drift'].abs())} points"
        for way, moved in (("toward", toward), ("away from", away))
        if len(moved)
    ]
    if parts:
        return f"The opinions of {who} moved {' and '.join(parts)}{_uncertain(tables, rest)}."
    if rows["drift"].notna().any():
        return f"The opinions of {who} did not move detectably toward or away from {OWN} on any of {len(rows)} topics."
    if rows["start"].isna().all():
        return _unknown_movement(who, rows.iloc[0])
    seen = rows.dropna(subset="start")
    from_to = [
        f"from {_short(row['start'])} to {_short(row['end'])} points on {tables.title(row['topic'])}"
        for row in seen.to_dict("records")
    ]
    more = f" (and {len(from_to) - MOST_TOPICS} more topics)" if len(from_to) > MOST_TOPICS else ""
    return f"The mean opinion of {who} changed {join_phrases(from_to[:MOST_TOPICS])}{more}. {_no_verdict(seen.iloc[0])}"


def _of_topics(count: int, of: int) -> str:
    return ("both topics" if of == 2 else f"all {of} topics") if count == of else f"{count} of {of} topics"


def _uncertain(tables: Tables, rest: pd.DataFrame) -> str:
    """Return on which topics a party may have moved either way."""
    if rest.empty:
        return ""
    named = (
        join_phrases([tables.title(topic) for topic in rest["topic"]])
        if len(rest) <= MOST_TOPICS
        else f"{len(rest)} topics"
    )
    return f"; on {named} the direction is uncertain"


def _no_verdict(row: Row) -> str:
    """Return why the movement of a party has no verdict: too few rooms, then what else is not known."""
    few = row["rooms"] < FEWEST
    chance = (
        f"With {count_phrase(int(row['rooms']), 'room')} (fewer than {FEWEST}), this change may be chance"
        if few
        else ""
    )
    if row["reason"] == too_few():
        return f"{chance}, and nothing can be concluded."
    if row["reason"] in (UNSURE, NO_GAP):
        why = f"The agents began so near {OWN} that the direction toward it is unknown."
    else:
        why = unknown_sentence(f"whether this change is toward {OWN}", _reason(row))
    return f"{chance}. {why}" if few else why


def _unknown_movement(who: str, row: Row) -> str:
    return unknown_sentence(f"how far the opinions of {who} moved", _reason(row))


def _from_to(row: Row) -> str:
    """Return how a mean changed: `rose from 6.9 to 7.4 points`."""
    start, end = _short(row["start"]), _short(row["end"])
    if start == end:
        return f"stayed at {start} points"
    return f"{'rose' if row['end'] > row['start'] else 'fell'} from {start} to {end} points"


def _reason(row: Row) -> str:
    """Return the reason of a row within a sentence."""
    reason = row["reason"] if isinstance(row["reason"], str) else NO_AGENT
    return reason.replace("the Default's first rating", OWN)


def _span_of(values: pd.Series) -> str:
    low, high = _short(values.min()), _short(values.max())
    return low if low == high else f"{low} to {high}"


def _short(value: float) -> str:
    """Return a number of points with one decimal.

    >>> _short(3.61), _short(-0.01), _short(10)
    ('3.6', '0.0', '10.0')
    """
    return f"{round(float(value), 1) + 0.0:.1f}"
