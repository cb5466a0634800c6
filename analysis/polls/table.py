"""A survey as a table: one row per question and group, with the share of the group that chose each option.

A file of Parley's form is a CSV (lists as JSON, or joined by |) or a JSONL file with these columns or keys:

question  the text of the question            options  what can be chosen, in the order shown
group     the name of the group of people     shares   the share of each option, summing to 1 (or 100)
n         people asked (optional)             values   the place of each option on a scale (optional; null: on no scale)
text      the words that name the group to the model (optional)
country   yes if the group is a country (optional)

The invented survey `planted` has four groups of an invented town, whose truth is the oracle's law of answers.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parley.agents.respondent import LETTERS, Group
from parley.llm.backends.oracle.people_laws import PLANTED_SURVEY
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import derive, digest, stream

NEEDED = ("question", "options", "group", "shares")
KNOWN = (*NEEDED, "n", "values", "text", "country")
NEAR = 0.02
"""How far shares may be from a sum of 1 because of rounding."""
TWICE = "the same question and group again"
YES, NO = ("yes", "true", "1"), ("no", "false", "0", "")


class SurveyRow(NamedTuple):
    """What a group answered. shares sum to 1. n: people asked (NaN: unknown). values: places on a scale; empty without one."""

    question: str
    options: tuple[str, ...]
    group: Group
    shares: tuple[float, ...]
    n: float = math.nan
    values: tuple[float, ...] = ()

    @property
    def asked(self) -> tuple[str, tuple[str, ...]]:
        """What a question is known by: its text and its options."""
        return self.question, self.options


@dataclass(frozen=True)
class SurveyTable:
    """Rows, the form of the file that they are from, and how many rows of the file were left out, by reason."""

    rows: tuple[SurveyRow, ...]
    form: str
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def questions(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each question once, in the order of the file."""
        return list(dict.fromkeys(row.asked for row in self.rows))

    @property
    def fingerprint(self) -> str:
        """A digest of all rows."""
        return digest(*[json.dumps([*row[:2], *row.group, *row[3:]]) for row in self.rows]).hex()

    def select(self, groups: Sequence[str], questions: int | None, seed: int) -> SurveyTable:
        """Return the rows of some groups (none named: all), and of so many questions drawn with the seed (None: all).

        Errors: UserError for a group that the file does not have.
        """
        group_names = list(dict.fromkeys(row.group.name for row in self.rows))
        for name in groups:
            if name not in group_names:
                raise unknown_name("group", name, group_names)
        rows = [row for row in self.rows if not groups or row.group.name in groups]
        all_questions = list(dict.fromkeys(row.asked for row in rows))
        if questions is not None and questions < len(all_questions):
            drawn = set(stream(seed, "questions of a survey").sample(all_questions, questions))
            rows = [row for row in rows if row.asked in drawn]
        return SurveyTable(tuple(rows), self.form, self.skipped)


def make_table(rows: Iterable[SurveyRow | str], form: str, path: Path) -> SurveyTable:
    """Return a table; a text in the place of a row is the reason why a row of the file is left out.

    Of two rows with the same question and group only the first is kept. Errors: UserError without a row.
    """
    row_by_key: dict[object, SurveyRow] = {}
    skipped: Counter[str] = Counter()
    for row in rows:
        if isinstance(row, str):
            skipped[row] += 1
        elif (key := (row.asked, row.group.name)) in row_by_key:
            skipped[TWICE] += 1
        else:
            row_by_key[key] = row
    if not row_by_key:
        raise UserError(f"{path} has no row that can be used: {', '.join(skipped) or 'it is empty'}")
    return SurveyTable(tuple(row_by_key.values()), form, dict(skipped))


def read_own_form(records: Mapping[int, Mapping[str, Any]], path: Path) -> SurveyTable:
    """Read the form of Parley. Errors: UserError that names the row and what to correct."""
    for number, record in records.items():
        if missing := [name for name in NEEDED if record.get(name) in (None, "")]:
            raise UserError(
                f"{path}, row {number}, lacks {missing[0]}: a row has {', '.join(NEEDED)}, and may have n, values, text, country"
            )
        if unknown := [name for name in record if name not in KNOWN]:
            raise unknown_name(f"column of {path}", str(unknown[0]), KNOWN)
    rows = [_own_row(record, f"{path}, row {number}") for number, record in records.items()]
    table = make_table(rows, "Parley", path)
    if table.skipped:
        raise UserError(f"{path} has a question twice for the same group: leave one of the rows out")
    return table


def _own_row(record: Mapping[str, Any], where: str) -> SurveyRow:
    options = tuple(str(option).strip() for option in _listed(record["options"], where, "options"))
    if reason := option_fault(options):
        raise UserError(f"{where}: {reason}")
    shares = [_number(share, where, "shares") for share in _listed(record["shares"], where, "shares")]
    total = math.fsum(shares)
    if len(shares) != len(options):
        raise UserError(
            f"{where}: there are {len(options)} options and {len(shares)} shares: give one share per option"
        )
    if min(shares) < 0 or not (abs(total - 1) <= NEAR or abs(total - 100) <= 100 * NEAR):
        raise UserError(f"{where}: shares add up to {total:g}, but must be 0 or more and add up to 1 (or 100)")
    values = [
        math.nan if value in (None, "", "null") else _number(value, where, "values")
        for value in _listed(record.get("values") or [], where, "values")
    ]
    if values and len(values) != len(options):
        raise UserError(
            f"{where}: there are {len(options)} options and {len(values)} values: give one per option, or none"
        )
    people = record.get("n")
    n = math.nan if people in (None, "") else _number(people, where, "n")
    if n <= 0:
        raise UserError(f"{where}: n must be more than 0; leave it empty if it is unknown")
    country = str(record.get("country") or "").strip().lower()
    if country not in (*YES, *NO):
        raise UserError(f"{where}: country is {country!r}, but must be yes or no")
    group = Group(str(record["group"]).strip(), str(record.get("text") or "").strip(), country in YES)
    question = str(record["question"]).strip()
    return SurveyRow(question, options, group, tuple(share / total for share in shares), n, tuple(values))


def option_fault(options: Sequence[str]) -> str:
    """Return what is wrong with the options of a question; "" if nothing is."""
    if not 2 <= len(options) <= len(LETTERS):
        return f"a question needs 2 to {len(LETTERS)} options, not {len(options)}"
    if len({option.lower() for option in options}) < len(options) or "" in options:
        return "two options are the same, or one is empty"
    return ""


def _listed(value: object, where: str, name: str) -> list[Any]:
    """Return a list of JSON, a list as text of JSON, or texts joined by |."""
    if isinstance(value, list | tuple):
        return list(value)
    text = str(value).strip()
    if not text.startswith("["):
        return [word.strip() for word in text.split("|")] if text else []
    try:
        return list(json.loads(text))
    except ValueError as error:
        raise UserError(f'{where}: {name} is not a list: write ["Yes", "No"] or Yes|No') from error


def _number(value: object, where: str, name: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{where}: {name} has {value!r}, which is not a number")
    return number


PLANTED = "planted"
"""The name of this survey on the command line, given in place of a file."""
GROUPS = ("people of the harbour", "people of the old town", "people of the hills", "students of Lindmoor")
SUBJECTS = (
    "the tram", "the library", "the harbour", "the market", "the schools", "the hospital", "the parks", "the theatre",
    "the town council", "the water works", "the swimming pool", "the police", "the newspaper", "the ferries",
    "the football club", "the housing office", "the museum", "the fire brigade", "the bakeries", "the cycle paths",
    "the town festival", "the street lights", "the sports halls", "the allotments",
)  # fmt: skip
OPTIONS = ("Very satisfied", "Somewhat satisfied", "Somewhat dissatisfied", "Very dissatisfied")
PEOPLE = 400


def planted_survey(people: int = PEOPLE, seed: int = 0) -> SurveyTable:
    """Return the survey: answers of `people` people a group and question, drawn from the law.

    The groups answer as the law says; the seed draws who was asked.
    """
    return make_table(_rows(people, seed), PLANTED, Path(PLANTED))


def _rows(people: int, seed: int) -> Iterator[SurveyRow]:
    rng = np.random.default_rng(derive(seed, "planted survey"))
    for subject in SUBJECTS:
        question = f"How satisfied are you with {subject} of Lindmoor?"
        for name in GROUPS:
            counts = rng.multinomial(people, PLANTED_SURVEY.shares(question, OPTIONS, name))
            shares = tuple((counts / people).tolist())
            yield SurveyRow(question, OPTIONS, Group(name), shares, float(people), (1.0, 2.0, 3.0, 4.0))
