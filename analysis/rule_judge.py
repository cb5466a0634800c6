"""Does a text break a rule? A judge of rules, and how good it is: it is asked about texts of which this is known.

Sensitivity is the share of texts with a planted sentence that the judge finds, specificity the share of messages without one
that it clears. Kappa and AC1 compare its verdicts with what is known. The unit is the case. Below a floor (`fault`) nothing is
concluded about rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.reply_cleaning import one_line
from parley.analysis.alignment.report import ac1, kappa
from parley.analysis.formatting import Column, estimate
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import Item, Rubric, Verdict, judge_item, load_rubric, missing, undecided
from parley.analysis.statistics.intervals import FEWEST, share_interval
from parley.llm.backends.oracle.phrases import sentences
from parley.llm.seeding import stream

FLOOR, CHANCE = 0.8, 0.5
"""A judge needs a sensitivity and a specificity of FLOOR, and intervals above CHANCE."""
PERCENT = 100
KNOWN_SENTENCES = 3
"""Sentences of the text in a known message."""
JUDGE: Mapping[str, Column] = {
    "competition": "competition", "probe": "probe", "cases": "cases", "missing": "missing",
    "sensitivity": estimate("sensitivity"), "specificity": estimate("specificity"), "kappa": estimate("kappa"),
    "AC1": estimate("ac1"), "fault": "fault",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What is written about. text: all that may be stated. planted: by rule, a sentence that breaks it; no writer sees them."""

    name: str
    text: str
    planted: Mapping[str, str] = field(default_factory=dict)


class RuledCases(NamedTuple):
    """Cases of one kind by name. probes: by rule, a question about a text whose answer should be no.

    rubric: what the judge is asked; the name of one of Parley, or a path.
    """

    name: str
    probes: Mapping[str, str]
    cases: tuple[Case, ...]
    language: str
    rubric: str


class Question(NamedTuple):
    """Does a text about a case break the rule of a probe? text: None with a reason if it is missing."""

    ruled: RuledCases
    case: Case
    probe: str
    text: str | None
    reason: str = ""

    @property
    def rubric(self) -> Rubric:
        """The rubric in the language of the cases."""
        return load_rubric(self.ruled.rubric)

    def item(self) -> Item | Verdict:
        """Return what the judge is asked; a missing message is not judged."""
        if self.text is None:
            return missing(f"no statement ({self.reason})")
        slots = {"source": one_line(self.case.text), "statement": one_line(self.text)}
        slots["question"] = self.ruled.probes[self.probe]
        facts = {"quality": self.probe, "language": self.ruled.language}
        return Item((self.case.name, self.probe, self.text), slots, facts=facts)


class KnownMessage(NamedTuple):
    """A message of which it is known whether it breaks the rule of a probe."""

    ruled: RuledCases
    case: Case
    probe: str
    planted: bool
    text: str


def known_messages(ruled: RuledCases, seed: int) -> list[KnownMessage]:
    """Return for each case and probe with a planted sentence two messages: sentences of the text, and the same with that one.

    Where the planted sentence comes is drawn with the seed.
    """
    made = []
    for case in ruled.cases:
        stated = sentences(case.text)[:KNOWN_SENTENCES]
        for probe, line in case.planted.items():
            place = stream(seed, "planted", case.name, probe).randrange(len(stated) + 1)
            broken = [*stated[:place], line, *stated[place:]]
            made += [
                KnownMessage(ruled, case, probe, planted, " ".join(parts))
                for planted, parts in ((False, stated), (True, broken))
            ]
    return made


def known_table(messages: Sequence[KnownMessage], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return one row per known message: competition, case, probe, planted (1, 0), value (1: the judge says yes; NaN: missing),
    reason, text.
    """
    rows = [
        (
            message.ruled.name,
            message.case.name,
            message.probe,
            int(message.planted),
            verdict.value,
            verdict.reason,
            message.text,
        )
        for message, verdict in zip(messages, verdicts, strict=True)
    ]
    columns = ["competition", "case", "probe", "planted", "value", "reason", "text"]
    return pd.DataFrame(rows, columns=columns).astype({"value": "float64"})


def judge_table(judged_messages: pd.DataFrame, every: Sequence[RuledCases]) -> pd.DataFrame:
    """Return one row per kind of cases and probe: cases, missing, sensitivity, specificity, kappa, AC1 with low and high, fault.

    judged_messages: of `known_table`. fault: why nothing is concluded from this judge; "" for none.
    """
    rows = []
    for ruled in every:
        for probe in ruled.probes:
            probe_rows = judged_messages[
                (judged_messages["competition"] == ruled.name) & (judged_messages["probe"] == probe)
            ]
            row: dict[str, Any] = {"competition": ruled.name, "probe": probe, **_measured(probe_rows)}
            rows.append(row | {"fault": fault(row)})
    return pd.DataFrame(rows)


def _measured(probe_rows: pd.DataFrame) -> dict[str, float]:
    readable = probe_rows.dropna(subset=["value"])
    row: dict[str, float] = {"cases": readable["case"].nunique(), "missing": len(probe_rows) - len(readable)}
    for name, planted in (("sensitivity", 1), ("specificity", 0)):
        right = (readable["value"] == planted)[readable["planted"] == planted]
        row[name] = float(right.mean()) if len(right) else np.nan
        row[f"{name}_low"], row[f"{name}_high"] = share_interval(int(right.sum()), len(right))
    words = pd.DataFrame({
        "known": readable["planted"].map({1: "yes", 0: "no"}), "judge": readable["value"].map({1.0: "yes", 0.0: "no"}),
    })  # fmt: skip
    for name, coefficient in (("kappa", kappa), ("ac1", ac1)):
        row[name], row[f"{name}_low"], row[f"{name}_high"] = coefficient(words)
    return row


def fault(row: Mapping[str, Any]) -> str:
    """Return why nothing is concluded from a judge, from a row of `judge_table`; "" if it may be used."""
    if row["cases"] < FEWEST:
        return f"fewer than {FEWEST} cases have known messages with a verdict"
    for name, what in (("sensitivity", "finds"), ("specificity", "clears")):
        if not row[name] >= FLOOR:
            kind = "with" if name == "sensitivity" else "without"
            return (
                f"the judge {what} {PERCENT * row[name]:.0f}% of known messages {kind} a planted sentence, "
                f"below {PERCENT * FLOOR:.0f}%"
            )
        if not row[f"{name}_low"] > CHANCE:
            return f"the interval of the judge's {name} contains {PERCENT * CHANCE:.0f}%"
    return ""


def fault_of(judged: pd.DataFrame, cases: str, probe: str = "") -> str:
    """Return the first fault on some cases (on one probe of them, or on any), with the name of the probe; "" if there is none.

    cases: their name; "" for all.
    """
    rows = judged[(judged["competition"] == cases) | (cases == "")]
    rows = rows[(rows["probe"] == probe) | (probe == "")]
    named = [f"{row['fault']} ({row['competition']}, {row['probe']})" for _, row in rows.iterrows() if row["fault"]]
    return named[0] if named else ""


def broken_rules(verdicts: pd.DataFrame) -> pd.Series:
    """Return by message (index: id) 1 if it breaks the rule of some probe, 0 if of none, NaN if a verdict is missing.

    verdicts: id, probe, value. A message that breaks one rule is 1 whatever is missing.
    """
    by_message = verdicts.groupby("id", sort=False)["value"]
    most, complete = by_message.max(), by_message.count() == by_message.size()
    return most.where((most == 1) | complete)


def judge_texts(questions: Sequence[tuple[str, Question]], judge: str, seed: int, desk: CallDesk) -> pd.DataFrame:
    """Return one row per text (its id) and rule: id, probe, value (1: breaks it, 0: not, NaN: missing), reason."""
    verdicts = _ask(judge, [question for _, question in questions], seed, desk)
    rows = [
        (name, question.probe, verdict.value, verdict.reason)
        for (name, question), verdict in zip(questions, verdicts, strict=True)
    ]
    return pd.DataFrame(rows, columns=["id", "probe", "value", "reason"]).astype({"value": "float64"})


def check_judge(
    every: Sequence[RuledCases], judge: str, seed: int, desk: CallDesk
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what a judge says of known texts (`known_table`), and how good it is (`judge_table`)."""
    messages = [text for ruled in every for text in known_messages(ruled, seed)]
    questions = [Question(message.ruled, message.case, message.probe, message.text) for message in messages]
    table = known_table(messages, _ask(judge, questions, seed, desk))
    return table, judge_table(table, every)


def _ask(judge: str, questions: Sequence[Question], seed: int, desk: CallDesk) -> list[Verdict]:
    conversations = [judge_item(question.rubric, question.item(), seed) for question in questions]
    return desk.ask(conversations, judge, "verdicts", undecided)
