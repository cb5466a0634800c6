"""How persuasive replies are: personas compare each kind of reply with the one without passages.

The reply without passages is the draft of the reply whose claims are replaced, so its row is the question of PersuaBot (2024):
does a reply lose persuasiveness when quotations replace its claims? Each pair is asked in both orders. The unit is the post.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from parley.agents.language import language_of_study
from parley.agents.persuasion import Reader
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_estimate
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.persuasion.comparisons import COLUMNS, Match, ask_readers, compare, draw_people, pair_values
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, SHARE, SIGNED
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.unknown import unknown_sentence
from parley.studies.corrections.corrector import HERE
from parley.studies.corrections.measures import ALONE, EVIDENCE, REPLACED, SHUFFLED, SWAPPED, CorrectionStudy

COMPARED = (REPLACED, EVIDENCE, SHUFFLED, SWAPPED)
EVEN, PERCENT = 0.5, 100
ABOUT = (
    "Personas compare replies to the same post with the reply without passages (the draft of `replaced`), in both orders, and "
    "choose the reply that would do more to convince people that the claim is false. At 50%, neither reply is preferred. The "
    "conditions `shuffled` and `swapped` are the nulls: a panel that also prefers replies of these conditions judges by the "
    "presence of quotations, not by their content. Brackets hold 95% intervals over posts, and then over people."
)
SHOWN: dict[str, Column] = {
    "condition": "condition", "posts": "posts", "missing": "missing", "preferred (%)": estimate("preferred", 1, PERCENT),
    "over people (%)": estimate("people", 1, PERCENT),
}  # fmt: skip


def draw_panel(study: CorrectionStudy, personas: str, people: int) -> list[Reader]:
    """Return the readers of a panel. Errors: UserError if the set has fewer people."""
    return [Reader(person, study.posts.language) for person in draw_people(personas, people, study.seed)]


def ask_panel(
    study: CorrectionStudy, replies: pd.DataFrame, panel: Sequence[Reader], model: str, desk: CallDesk
) -> pd.DataFrame:
    """Return two rows per reader and pair of replies: `post`, `condition`, and the columns of a comparison.

    replies: of `measure`. model: who plays the readers. Pairs of which a reply is missing are not asked for.
    """
    texts = {
        (int(row.post), int(row.sample), str(row.condition)): str(row.text)
        for row in replies[replies["text"].notna()].itertuples()
    }
    kept = [key for key in texts if key[2] in COMPARED and (*key[:2], ALONE) in texts]
    conversations, matches, about = [], [], []
    for post, sample, condition in kept:
        claim = study.posts.posts[post - 1].text
        aim = language_of_study(study.posts.language, HERE).fill("persuade_refute", claim=claim)
        for reader in panel:
            match = Match(reader, _name(post, sample, ALONE), _name(post, sample, condition))
            pair = {_name(post, sample, name): texts[post, sample, name] for name in (ALONE, condition)}
            conversations.append(compare(match, pair, aim, study.seed, claim))
            matches.append(match)
            about += 2 * [(post, condition)]
    table = ask_readers(matches, conversations, model, desk)
    return pd.concat([pd.DataFrame(about, columns=["post", "condition"]), table], axis=1)


def preferences(table: pd.DataFrame, posts: int) -> pd.DataFrame:
    """Return one row per condition: posts, missing (posts without an answer in both orders), preferred (share of comparisons in
    which this reply is preferred to the one without passages), with low and high over posts; people: the same, over people.
    """
    by_post, by_person = (_shares(table, unit) for unit in ("post", "member"))
    rows = []
    for condition in COMPARED:
        values, people = (frame[condition].dropna().to_numpy(dtype=float) for frame in (by_post, by_person))
        counts = {"condition": condition, "posts": len(values), "missing": posts - len(values)}
        rows.append(
            {**counts, **mean_row(values, "preferred", bounds=SHARE), **mean_row(people, "people", "people_", SHARE)}
        )
    return pd.DataFrame(rows)


def _shares(table: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return the share that prefers each kind of reply to that without passages: a row per unit, a column per condition."""
    parts = []
    for condition in COMPARED:
        comparisons = table[table["condition"] == condition]
        ids = sorted({*comparisons["first"], *comparisons["second"]}, key=lambda name: not name.endswith(ALONE))
        pairs = pair_values(comparisons[COLUMNS], ids).dropna(subset=["value"])
        units = pairs.assign(post=pairs["b"].map(lambda name: name.partition(".")[0]))[unit]
        parts.append((1 - pairs["value"]).groupby(units).mean().rename(condition))
    return pd.concat(parts, axis=1)


def verdict(table: pd.DataFrame) -> str:
    """Return whether replacing the claims of a draft by quotations makes it more or less persuasive for the panel, and whether
    any other quotations do as much.
    """
    shares = _shares(table, "post")
    replaced = shares[REPLACED].dropna().to_numpy(dtype=float)
    row, people = mean_row(replaced, bounds=SHARE), _shares(table, "member")[REPLACED].count()
    if np.isnan(row["low"]) or people < FEWEST:
        few = next(
            (what for what, number in (("posts have", len(replaced)), ("people gave", people)) if number < FEWEST), ""
        )
        reason = f"fewer than {FEWEST} {few} answers" if few else "the answers do not vary"
        return unknown_sentence("whether replies with replaced claims are as persuasive as their drafts", reason)
    sentence = f"The panel prefers replies with replaced claims to their drafts in {_percent(row)}% of comparisons"
    if row["low"] <= EVEN <= row["high"]:
        return f"{sentence}, which cannot be distinguished from 50%."
    sentence += (
        f": replies with replaced claims are {'more' if row['estimate'] > EVEN else 'less'} persuasive for the panel. "
    )
    null = mean_row((shares[REPLACED] - shares[SHUFFLED]).dropna().to_numpy(dtype=float), bounds=SIGNED)
    if np.isnan(null["low"]):
        return (
            f"{sentence}It is unknown whether this preference depends on quotations that fit the post, because too few posts "
            "have both kinds of replies."
        )
    gap = f"fitting minus other quotations is {_percent(null)} percentage points"
    if null["low"] <= 0 <= null["high"]:
        return f"{sentence}It is not shown that quotations have to fit the post: {gap}."
    return f"{sentence}Quotations have to fit the post: {gap}."


def _percent(row: Mapping[str, float]) -> str:
    value, low, high = (PERCENT * row[name] for name in ("estimate", "low", "high"))
    return format_estimate(value, low, high, 1)


def add_panel(report: Report, table: pd.DataFrame, posts: int, model: str) -> None:
    """Add what the panel prefers, and its tables: comparisons, preferences."""
    preferred = preferences(table, posts)
    report.section("How persuasive the replies are", ABOUT)
    report.plain(f"The panel: {count_phrase(table['member'].nunique(), 'persona')}, played by {model}.")
    lost = table["reason"][table["share"].isna()]
    report.missing(len(lost), len(table), "answers are missing", count_table(lost))
    report.add(verdict(table))
    report.table(preferred, SHOWN)
    report.data(comparisons=table, preferences=preferred)


def _name(post: int, sample: int, condition: str) -> str:
    return f"{post}.{sample} {condition}"
