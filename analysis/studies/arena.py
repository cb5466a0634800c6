"""The arena: which message persuades a panel of personas most, and does rewriting make messages more persuasive?

Every persona compares messages in pairs, each pair in both orders. Counterpart of PersuasionArena (Measuring and Improving
Persuasiveness of Large Language Models, 2024). docs/arena.md lists the departures. The unit is the person for the scores of
messages, and the message for what rewriting gains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.language import Language, load_language
from parley.agents.persuasion import Aim, Reader, Writer, read_message
from parley.agents.speech import Speech
from parley.analysis.bootstrap import FEWEST
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
from parley.analysis.journaled_calls import CallDesk, check_manifest
from parley.analysis.persuasion import bradley_terry, rewritings
from parley.analysis.persuasion.comparisons import (
    COLUMNS,
    Match,
    agreement_table,
    compare,
    comparison_table,
    draw_matches,
    draw_people,
    length_row,
    pair_values,
    place_row,
)
from parley.analysis.persuasion.message_files import FEWEST_MESSAGES
from parley.analysis.report import Report
from parley.llm.backends import identity_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

PERCENT = 100


@dataclass(frozen=True)
class Arena:
    """What is compared by whom. texts: messages by id; where there are none, `count` messages are written first.

    pairs: pairs that each person compares (0: all). whom: you or group (agents/persuasion.py). rewrite: also test rewritings.
    """

    aim: str
    texts: Mapping[str, str] = field(default_factory=dict)
    count: int = 6
    personas: str = "voters"
    panel: int = 20
    pairs: int = 0
    whom: str = "you"
    words: int = 60
    temperature: float = 1.0
    rewrite: bool = False
    seed: int = 0
    language: str = "en"

    def __post_init__(self) -> None:
        if not self.texts and self.count < FEWEST_MESSAGES:
            raise UserError(f"--write must be at least {FEWEST_MESSAGES}, because messages are compared in pairs")

    @property
    def spoken(self) -> Language:
        """The language of the prompts."""
        return load_language(self.language)

    @property
    def calls(self) -> int:
        """The most calls: to write, both orders of each pair, and the same for each rewriting next to its message."""
        count = len(self.texts) or self.count
        pairs = min(self.pairs, math.comb(count, 2)) if self.pairs else math.comb(count, 2)
        rewritten = count * len(rewritings.FORMS) * (1 + 2 * self.panel) if self.rewrite else 0
        return (0 if self.texts else count) + 2 * self.panel * pairs + rewritten

    def readers(self) -> list[Reader]:
        """Return the panel."""
        people = draw_people(self.personas, self.panel, self.seed)
        return [Reader(person, self.spoken, self.whom, self.temperature) for person in people]


class Outcome(NamedTuple):
    """All messages that were compared, how many were not written and why, the comparisons, and those of rewritings."""

    texts: dict[str, str]
    unwritten: list[str]
    comparisons: pd.DataFrame
    rewritten: Sequence[rewritings.Rewriting] = ()
    blind: pd.DataFrame | None = None


def run_arena(arena: Arena, panel: str, writer: str, desk: CallDesk) -> Outcome:
    """Return what the panel answers. panel, writer: models. Errors: UserError on a folder of another arena; Unreadable."""
    with lock_folder(desk.folder):
        models = {"panel": identity_spec(panel), "writer": identity_spec(writer)}
        check_manifest(desk.folder / "arena.json", models | asdict(arena), "arena")
        readers = arena.readers()
        texts, unwritten = (dict(arena.texts), []) if arena.texts else _write_messages(arena, writer, desk)
        if len(texts) < FEWEST_MESSAGES:
            raise UserError(
                f"{writer} wrote {len(texts)} of {arena.count} messages ({count_table(unwritten)}): name another --writer, "
                "or give a file with messages"
            )
        matches = draw_matches(readers, list(texts), arena.pairs, arena.seed)
        comparisons = _compare(matches, texts, arena, panel, desk, "comparisons")
        if not arena.rewrite:
            return Outcome(texts, unwritten, comparisons)
        written = _rewrite(arena, texts, writer, desk)
        every = texts | {one.id: one.text for one in written if one.text is not None}
        again = rewritings.rewriting_matches(readers, written)
        return Outcome(
            texts,
            unwritten,
            comparisons,
            written,
            _compare(again, every, arena, panel, desk, "comparisons of rewritings"),
        )


def _write_messages(arena: Arena, writer: str, desk: CallDesk) -> tuple[dict[str, str], list[str]]:
    """Return the messages that the writer wrote, by id, and the reasons of those that are missing."""
    author = Writer(arena.spoken, arena.words)

    def write_one(number: int) -> Conversation[Speech]:
        seed = derive(arena.seed, "message", number)
        return read_message((yield from ask(author.compose_message(Aim(arena.aim), seed))))

    numbers = range(1, arena.count + 1)
    written = desk.ask([write_one(number) for number in numbers], writer, "messages", lambda one: one.reason)
    texts = {f"m{number}": one.text for number, one in zip(numbers, written, strict=True) if one.text is not None}
    return texts, [one.reason for one in written if one.reason]


def _rewrite(arena: Arena, texts: Mapping[str, str], writer: str, desk: CallDesk) -> list[rewritings.Rewriting]:
    author = Writer(arena.spoken, arena.words)
    asked = [
        rewritings.rewrite(author, arena.aim, name, text, form, arena.seed)
        for name, text in texts.items()
        for form in rewritings.FORMS
    ]
    return desk.ask(asked, writer, "rewritings", lambda one: one.reason or None)


def _compare(
    matches: Sequence[Match], texts: Mapping[str, str], arena: Arena, panel: str, desk: CallDesk, title: str
) -> pd.DataFrame:
    asked = [compare(match, texts, arena.aim, arena.seed) for match in matches]
    answers = desk.ask(asked, panel, title, lambda both: next((reason for _, reason in both if reason), None))
    return comparison_table(matches, answers)


def write(
    outcome: Outcome, arena: Arena, panel: str, writer: str, folder: Path, votes: pd.DataFrame | None = None
) -> Path:
    """Write arena.md, its tables and its figure; return the path of the page. votes: those of people (message_files.py)."""
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
        f"{compared} of {len(ids)} messages in both "
        "orders. Brackets are 95% confidence intervals."
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
        "Bradley-Terry scores, in logits around 0: of two messages whose scores are 1 apart, the higher one is preferred in 73% "
        "of comparisons. Intervals are over people, so they say what another panel drawn from the same set would prefer."
    )
    report.section("Scores", about)
    reason = bradley_terry.why_unknown(values, ids)
    if reason:
        report.plain(
            f"The scores are unknown: {reason}. Compare more pairs (--pairs), or give more messages in common."
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
        return "the effect of the place is unknown: no pair was read in both orders."
    return (
        f"the message shown first is chosen in {_share_above_half(row, 'place')}% of comparisons; without an effect of the place "
        f"in 50%. The order decided {_percent(row['decided'])} of pairs, and {_percent(row['ties'])} are ties, which count half."
    )


def _length_line(row: Mapping[str, float]) -> str:
    if not row["people"]:
        return "the effect of the length is unknown: no messages of different length were compared."
    few = f"fewer than {FEWEST} people compared them" if row["people"] < FEWEST else "all people answered alike"
    why = f"Whether the length matters is unknown: {few}."
    if not math.isnan(row["low"]):
        why = "If the interval does not contain 50, length may explain the scores of these messages; it need not be the cause."
    return (
        f"the longer message of a pair is preferred in {_share_above_half(row, 'longer')}% of comparisons; without an effect of "
        f"the length in 50%. {why}"
    )


def _share_above_half(row: Mapping[str, float], key: str) -> str:
    """Return the share in percent with its interval, from what it is above one half."""
    value, low, high = (PERCENT * (0.5 + row[name]) for name in (key, "low", "high"))
    return format_estimate(value, low, high, 1)


def _percent(share: float) -> str:
    return f"{format_number(PERCENT * share, 0)}%"


def _add_rewritings(report: Report, outcome: Outcome) -> None:
    assert outcome.blind is not None
    every = [*outcome.texts, *(one.id for one in outcome.rewritten)]
    pairs = pair_values(outcome.blind, every)
    gains = rewritings.gain_table(pairs, outcome.texts, outcome.rewritten)
    summary = rewritings.summary_table(gains, pairs)
    about = (
        "Each message is compared blind with what the writer made of it. Gain: the percentage of comparisons in which the new "
        "message is preferred, minus 50. A paraphrase and a copy are the nulls: their gain is 0 unless wording alone decides."
    )
    report.section("Does rewriting make messages more persuasive?", about)
    report.data(rewritings=gains, gains=summary, blind=outcome.blind[COLUMNS], rewritten=_texts_of(outcome))
    unwritten = [one.reason for one in outcome.rewritten if one.text is None]
    report.missing(len(unwritten), len(outcome.rewritten), "rewritings are missing", count_table(unwritten))
    _missing(report, outcome.blind)
    report.add(rewritings.verdict(summary))
    report.table(summary, GAINS)


def _texts_of(outcome: Outcome) -> pd.DataFrame:
    rows = [(one.message, one.form, one.text, one.reason) for one in outcome.rewritten]
    return pd.DataFrame(rows, columns=["message", "form", "text", "reason"])


def _add_votes(report: Report, votes: pd.DataFrame, values: pd.DataFrame, ids: Sequence[str]) -> None:
    people = pair_values(votes, ids, both=False)
    scores, agreement = bradley_terry.score_messages(people, ids), agreement_table(values, people)
    about = (
        "Votes of your file. Agreement: share of a person's votes that fall on the message which the panel prefers, or which "
        "most other people prefer (the ceiling). Chance is 0.5; intervals are over the people who voted."
    )
    report.section("People's votes", about)
    report.data(votes=votes, people_scores=scores, agreement=agreement)
    lost = int(votes["share"].isna().sum())
    report.add(f"{lost} of {len(votes):,} votes are missing; {int((votes['share'] == 0.5).sum()):,} are ties.")
    if agreement["estimate"].isna().all():
        report.plain(
            "Agreement is unknown: no vote is on a pair for which the panel, or another person, has a preference."
        )
    report.table(agreement, AGREEMENT)
    if reason := bradley_terry.why_unknown(people, ids):
        report.plain(f"The scores of people are unknown: {reason}.")
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
