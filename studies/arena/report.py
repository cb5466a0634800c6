"""The report of the arena: scores, place and length, rewritings, and votes of people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from parley.analysis.figures import dot_plot
from parley.analysis.formatting import (
    Column,
    count_phrase,
    count_table,
    estimate,
    format_estimate,
    format_number,
    number,
)
from parley.analysis.persuasion import bradley_terry
from parley.analysis.persuasion.comparisons import COLUMNS, length_row, pair_values, place_row
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST
from parley.analysis.unknown import clause, unknown_sentence
from parley.studies.arena import measures as rewritings
from parley.studies.arena.contest import Arena, Outcome
from parley.studies.arena.measures import agreement_table

PERCENT = 100


def write(
    outcome: Outcome, arena: Arena, panel: str, writer: str, folder: Path, votes: pd.DataFrame | None = None
) -> Path:
    """Write arena.md, its tables and its figure; return the path of the page. votes: those of people (writer.py)."""
    report = Report(folder, "arena", "Which message persuades most?")
    ids, values = list(outcome.texts), pair_values(outcome.comparisons, list(outcome.texts))
    scores = bradley_terry.score_messages(values, ids)
    messages = pd.DataFrame({"message": ids, "text": outcome.texts.values()})
    report.data(messages=messages, comparisons=outcome.comparisons[COLUMNS], scores=scores)
    report.plain(f"Aim: {arena.aim}")
    members = outcome.comparisons["member"].nunique()
    compared = f"{count_phrase(arena.pairs, 'pair')}, drawn for each persona," if arena.pairs else "all pairs"
    report.add(
        f"Panel: {count_phrase(members, 'persona')} of the set {arena.personas}, played by {panel}. Each compared "
        f"{compared} of {len(ids)} messages in both orders. Brackets are 95% confidence intervals."
    )
    report.disclaim_models(*dict.fromkeys((panel, writer) if outcome.rewritten or not arena.texts else (panel,)))
    if outcome.unwritten:
        report.missing(len(outcome.unwritten), arena.count, "messages were not written", count_table(outcome.unwritten))
    _missing(report, outcome.comparisons)
    _add_scores(report, scores, values, ids)
    _add_rivals(report, outcome.comparisons, values, outcome.texts)
    if outcome.blind is not None:
        _add_rewritings(report, outcome)
    if votes is not None:
        _add_votes(report, votes, values, ids)
    report.section("The messages")
    report.table(messages, {"message": "message", "text": "text"})
    return report.write()


def _missing(report: Report, table: pd.DataFrame) -> None:
    lost = table["reason"][table["share"].isna()]
    report.missing(len(lost), len(table), "answers are missing", count_table(lost))


def _add_scores(report: Report, scores: pd.DataFrame, values: pd.DataFrame, ids: Sequence[str]) -> None:
    about = (
        "Bradley-Terry scores are in logits around 0: if the scores of two messages are 1 apart, the message with the higher "
        "score is preferred in 73% of comparisons. Intervals are over people, so they describe other panels drawn from the "
        "set of personas."
    )
    report.section("Scores", about)
    if reason := bradley_terry.why_unknown(values, ids):
        report.plain(
            f"The scores are unknown, because {clause(reason)}. Compare more pairs (--pairs), or give more messages in common."
        )
    else:
        report.add(bradley_terry.clear_difference(values, ids))
        caption = "Bradley-Terry scores of messages, intervals over people"
        ranked = scores.sort_values("score", ascending=False)
        title = "Scores of messages"
        report.figure(dot_plot(ranked, ["message"], "score", "score (logits)", caption, title), "scores", title)
    report.table(scores.sort_values("score", ascending=False), SCORES)


def _add_rivals(report: Report, table: pd.DataFrame, values: pd.DataFrame, texts: Mapping[str, str]) -> None:
    """Add what else may decide: the place of a message, and its length."""
    place, length = place_row(table, list(texts)), length_row(values, texts)
    report.section("What else may decide")
    report.lines((
        f"- Place: {_place_line(place)} Every pair is asked in both orders, so the place alone cannot raise a score.",
        f"- Length: {_length_line(length)}",
    ))  # fmt: skip


def _place_line(row: Mapping[str, float]) -> str:
    if not row["people"]:
        return "the effect of the place is unknown, because no pair was read in both orders."
    return (
        f"the message shown first is chosen in {_share_above_half(row, 'place')}% of comparisons; without an effect of the "
        f"place, 50% is expected. The order decided {_percent(row['decided'])} of pairs, and {_percent(row['ties'])} are "
        "ties, which count half."
    )


def _length_line(row: Mapping[str, float]) -> str:
    if not row["people"]:
        return "the effect of the length is unknown, because no messages of different length were compared."
    few = f"fewer than {FEWEST} people compared them" if row["people"] < FEWEST else "all people answered alike"
    why = unknown_sentence("whether the length matters", few)
    if not math.isnan(row["low"]):
        why = "If the interval does not contain 50, length may explain the scores of messages."
    return (
        f"the longer message of a pair is preferred in {_share_above_half(row, 'longer')}% of comparisons; without an effect "
        f"of the length, 50% is expected. {why}"
    )


def _share_above_half(row: Mapping[str, float], key: str) -> str:
    """Return the share in percent with its interval, from what it is above one half."""
    value, low, high = (PERCENT * (0.5 + row[name]) for name in (key, "low", "high"))
    return format_estimate(value, low, high, 1)


def _percent(share: float) -> str:
    return f"{format_number(PERCENT * share, 0)}%"


def _add_rewritings(report: Report, outcome: Outcome) -> None:
    assert outcome.blind is not None
    every = [*outcome.texts, *(rewriting.id for rewriting in outcome.rewritten)]
    pairs = pair_values(outcome.blind, every)
    gains = rewritings.gain_table(pairs, outcome.texts, outcome.rewritten)
    summary = rewritings.summary_table(gains, pairs)
    about = (
        "The panel compares each message with its rewritten versions, without labels. Gain is the percentage of comparisons in "
        "which the new message is preferred, minus 50. Copies and paraphrases show the gain without improvement. A copy has the "
        "same text as the message, so its gain differs from 0 only by chance. A paraphrase gains only if the panel reacts to "
        "its wording."
    )
    report.section("Does rewriting make messages more persuasive?", about)
    report.data(
        rewritings=gains, gains=summary, blind=outcome.blind[COLUMNS], rewritten=pd.DataFrame(outcome.rewritten)
    )
    unwritten = [rewriting.reason for rewriting in outcome.rewritten if rewriting.text is None]
    report.missing(len(unwritten), len(outcome.rewritten), "rewritings are missing", count_table(unwritten))
    _missing(report, outcome.blind)
    report.add(rewritings.verdict(summary))
    report.table(summary, GAINS)


def _add_votes(report: Report, votes: pd.DataFrame, values: pd.DataFrame, ids: Sequence[str]) -> None:
    people = pair_values(votes, ids, both=False)
    scores, agreement = bradley_terry.score_messages(people, ids), agreement_table(values, people)
    about = (
        "The table compares the panel with the votes of your file. Agreement is the share of a person's votes that go to the "
        "message that the panel prefers. The ceiling is the share that go to the message that most other people prefer. "
        "Agreement by chance is 0.5; intervals are over the people who voted."
    )
    report.section("People's votes", about)
    report.data(votes=votes, people_scores=scores, agreement=agreement)
    lost = int(votes["share"].isna().sum())
    report.add(f"{lost} of {len(votes):,} votes are missing; {int((votes['share'] == 0.5).sum()):,} votes are ties.")
    if agreement["estimate"].isna().all():
        report.plain(
            "Agreement is unknown, because the panel and other people have no preference on any pair with a vote."
        )
    report.table(agreement, AGREEMENT)
    if reason := bradley_terry.why_unknown(people, ids):
        report.plain(unknown_sentence("the scores of people", reason, "are"))
    report.table(scores.sort_values("score", ascending=False), SCORES)


def _gain_over_people(row: Mapping[str, float]) -> str:
    value, low, high = (PERCENT * row[name] for name in ("gain", "people_low", "people_high"))
    return format_estimate(value, low, high, 1)


SCORES: Mapping[str, Column] = {
    "message": "message", "score": estimate("score"), "share of comparisons won": "wins", "people": "people",
    "comparisons": "comparisons",
}  # fmt: skip


GAINS: Mapping[str, Column] = {
    "rewriting": "form", "messages": "messages", "missing": "missing", "gain (over messages)": estimate("gain", 1, PERCENT),
    "gain (over people)": _gain_over_people,
    "doublings of length": number("longer"), "gain at equal length": estimate("level", 1, PERCENT),
}  # fmt: skip


AGREEMENT: Mapping[str, Column] = {"agreement with": "measure", "people": "people", "share": estimate("estimate")}
