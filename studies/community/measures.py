"""What a change of rules does: posts that break rules, replies and words, as differences within rooms.

The unit is the room. A room has the same people, topics and seeds under each set of rules. In a what-if the unit is the
continuation of one post, so what is found holds for that post alone.

Can a judge distinguish posts of people from those of the model? Pairs of one of each, in both orders; 50% is the ceiling. A share
of 50% says that this judge cannot distinguish them; an interval around 50% says only that it is not shown to. The null is pairs
of two posts of people, of which one is called the tested one: its share is 50% whatever the judge can do. The unit is the pair;
each post is in one pair of a kind at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.reply_cleaning import one_line
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import Item, Verdict, judge_item, load_rubric, undecided
from parley.analysis.rule_judge import broken_rules
from parley.analysis.statistics.intervals import (
    FEWEST,
    NO_VARIATION,
    POSITIVE,
    SHARE,
    Ends,
    bounds_of_difference,
    clustered_share_interval,
    share_interval,
    why_no_interval,
    with_interval,
)
from parley.analysis.studies.paired_conditions import PAIR, compare_conditions, mean_row
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError
from parley.llm.seeding import stream

from .members import rubric_file
from .rooms import AFTER, ANSWERED, BEFORE, KINDS, PLAIN, REWORDED, Written

ANY, REPLIES, WORDS = "any rule", "replies", "words"
"""Measures besides the rules: share of posts that break some rule; replies in a thread; words in a post."""
DIFFERENCES = {"change": (AFTER, BEFORE), "wording": (REWORDED, AFTER), "again": (REWORDED, BEFORE)}
"""The change of rules; the null: the same rules in other words; the change once more, in other words."""


def room_table(posts: Sequence[Written], verdicts: pd.DataFrame, rules: Sequence[str]) -> pd.DataFrame:
    """Return one row per condition and room: condition, PAIR, threads (begun), then a column for each of the rules, ANY, REPLIES
    and WORDS (NaN: unknown).

    Shares are those of the posts with a verdict, 0 to 1. REPLIES: replies in a thread, by the members whose decision can be read.
    posts: all of a study. verdicts: id, probe, value.
    """
    broken = verdicts.pivot(index="id", columns="probe", values="value").reindex(columns=list(rules))
    broken[ANY] = broken_rules(verdicts)
    rows = []
    for (condition, room), room_posts in _groups(posts).items():
        written = [post for post in room_posts if post.is_post]
        shares = broken.reindex([post.id for post in written]).mean()
        words = [len(post.text.split()) for post in written if post.text is not None]
        begun = [post for post in written if post.place == 0 and post.text is not None]
        names = {"condition": condition, PAIR[0]: "community", PAIR[1]: room, "threads": len(begun)}
        rows.append(
            names
            | shares.to_dict()
            | {REPLIES: _replies(room_posts), WORDS: float(np.mean(words)) if words else np.nan}
        )
    return pd.DataFrame(rows, columns=["condition", *PAIR, "threads", *rules, ANY, REPLIES, WORDS])


def _groups(posts: Sequence[Written]) -> dict[tuple[str, int], list[Written]]:
    groups: dict[tuple[str, int], list[Written]] = {}
    for post in posts:
        groups.setdefault((post.condition, post.room), []).append(post)
    return groups


def _replies(posts: Sequence[Written]) -> float:
    """Return replies in a thread: the share of readable decisions for a reply, times the members who were asked in a thread."""
    decisions = [post for post in posts if post.place > 0]
    replies = [decision.replies for decision in decisions if decision.replies is not None]
    threads = len({decision.topic for decision in decisions})
    return float(np.mean(replies)) * len(decisions) / threads if replies else np.nan


def effect_table(rooms: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Return one row per measure: measure; for each condition its mean over rooms, with _low and _high; for each of DIFFERENCES
    the mean difference within rooms, with _low and _high, _rooms (pairs) and _reason (why there is no interval; "" for none).

    rooms: of `room_table`. Intervals of shares end at 0 and 1, those of their differences at -1 and 1.
    """
    frames = {str(name): condition_rooms for name, condition_rooms in rooms.groupby("condition", sort=False)}
    rows = []
    for measure in measures:
        row: dict[str, Any] = {"measure": measure}
        bounds = POSITIVE if measure in (REPLIES, WORDS) else SHARE
        for compared in compare_conditions(frames, measure, bounds).to_dict("records"):
            row |= {f"{compared['condition']}{end}": compared[f"{source}"] for end, source in ENDS.items()}
        for name, (condition, base) in DIFFERENCES.items():
            row |= _difference(frames[condition], frames[base], measure, name, bounds)
        rows.append(row)
    return pd.DataFrame(rows)


ENDS = {"": "value", "_low": "low", "_high": "high"}


def _difference(changed: pd.DataFrame, base: pd.DataFrame, measure: str, name: str, bounds: Ends) -> dict[str, Any]:
    between = changed.set_index(PAIR)[measure] - base.set_index(PAIR)[measure]
    differences = between.dropna().to_numpy(dtype=float)
    row = mean_row(differences, name, f"{name}_", bounds_of_difference(bounds))
    return {**row, f"{name}_rooms": len(differences), f"{name}_reason": why_no_interval(differences)}


def continuation_table(posts: Sequence[Written], verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return one row per continuation: condition (of KINDS), PAIR, broken, replies.

    broken: 1 if some reply breaks a rule, 0 if none does, NaN if that is unknown.
    """
    broken = broken_rules(verdicts) if len(verdicts) else pd.Series(dtype=float)
    rows = []
    for (kind, number), continuation in _groups(posts).items():
        breaks = [broken.get(post.id, np.nan) for post in continuation if post.is_post]
        unread = any(post.replies is None for post in continuation)
        value = 1.0 if 1.0 in breaks else np.nan if unread or np.isnan(breaks).any() else 0.0
        rows.append([kind, "post", number, value, _replies(continuation)])
    return pd.DataFrame(rows, columns=["condition", *PAIR, "broken", "replies"])


def what_if_row(table: pd.DataFrame) -> Mapping[str, Any]:
    """Return for each of KINDS the share of continuations in which a reply breaks a rule (Wilson's interval: _low, _high;
    _count), and the difference with its interval over continuations, and its reason.

    table: of `continuation_table`.
    """
    row: dict[str, Any] = {}
    for kind in KINDS:
        broken = table.loc[table["condition"] == kind, "broken"].dropna()
        row |= with_interval(kind, broken.mean(), share_interval(int(broken.sum()), len(broken)))
        row[f"{kind}_count"] = len(broken)
    answered, base = (table[table["condition"] == kind] for kind in (ANSWERED, PLAIN))
    row |= _difference(answered, base, "broken", "change", SHARE)
    few = f"fewer than {FEWEST} continuations"
    return row | {"change_reason": row["change_reason"] and (few if row["change_rooms"] < FEWEST else NO_VARIATION)}


REAL, NULL = "a post of a person and one of the model", "two posts of people (null)"
MOST = 100
"""Pairs of a kind."""
ORDERS = 2


class PostPair(NamedTuple):
    """Two posts. tested: of a person."""

    kind: str
    tested: str
    other: str


def read_posts(path: Path) -> list[str]:
    """Return the different posts of a file (column `text`).

    Errors: UserError for a file that does not fit, and fewer than two posts.
    """
    table = read_table(path, ["text"], "studies/community/README.md")
    texts = list(dict.fromkeys(one_line(text) for text in table["text"] if text.strip()))
    if len(texts) < 2:
        raise UserError(
            f"{path} has {len(texts)} different posts: give at least two, one in each row of the column text"
        )
    return texts


def draw_pairs(real: Sequence[str], generated: Sequence[str], seed: int) -> list[PostPair]:
    """Return pairs of both kinds, at most MOST of each, drawn with a seed; no post comes twice in a kind."""
    people = stream(seed, "posts of people").sample(list(real), len(real))
    written = list(dict.fromkeys(generated))
    model = stream(seed, "posts of the model").sample(written, len(written))
    pairs = [PostPair(REAL, *both) for both in zip(people, model, strict=False)][:MOST]
    halves = zip(people[::2], people[1::2], strict=False)
    return pairs + [PostPair(NULL, *both) for both in halves][:MOST]


def ask_origin(pairs: Sequence[PostPair], language: str, judge: str, seed: int, desk: CallDesk) -> pd.DataFrame:
    """Return one row per pair: kind, tested, other, value, reason.

    value: 1 if the judge takes the tested one for a person's in both orders, 0.5 in one, 0 in none, NaN if it is missing.
    """
    rubric = load_rubric(rubric_file("origin", language))
    conversations = [
        judge_item(rubric, Item((pair.kind, pair.tested, pair.other), {}, pair=(pair.tested, pair.other)), seed)
        for pair in pairs
    ]
    verdicts: list[Verdict] = desk.ask(conversations, judge, "origins", undecided)
    rows = [(*pair, verdict.value, verdict.reason) for pair, verdict in zip(pairs, verdicts, strict=True)]
    return pd.DataFrame(rows, columns=["kind", "tested", "other", "value", "reason"]).astype({"value": "float64"})


def origin_table(judged: pd.DataFrame) -> pd.DataFrame:
    """Return one row per kind: kind, pairs, missing, share (0 to 1) with low and high over pairs."""
    rows: list[dict[str, Any]] = []
    for kind in (REAL, NULL):
        values = judged.loc[judged["kind"] == kind, "value"]
        judged_values = values.dropna().to_numpy(dtype=float)
        low, high = clustered_share_interval(ORDERS * judged_values, np.full(len(judged_values), float(ORDERS)))
        share = float(judged_values.mean()) if len(judged_values) else np.nan
        row = {"kind": kind, "pairs": len(judged_values), "missing": int(values.isna().sum())}
        rows.append(row | {"share": share, "low": low, "high": high})
    return pd.DataFrame(rows)


def why_unknown(row: Any) -> str:
    """Return why the share of a row of `origin_table` has no interval; "" if it has one."""
    return f"fewer than {FEWEST} pairs could be judged" if pd.isna(row["low"]) else ""
