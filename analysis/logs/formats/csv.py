"""Any table of ratings or texts, CSV or JSON lines, long or wide, with a map that names the columns.

Long: one row per rating, with the column `round`. Wide: one row per person, with a column per round ([wide.rating]). Several
files are read as one log: ratings in one, texts in the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parley.analysis.formatting import count_phrase
from parley.analysis.logs.log import ONE_ROOM, Line, Log, Person, Rating, finite_number, read_round
from parley.analysis.logs.mapping import PAGE, LogMap
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError

ABOUT = "tables with ratings or texts (.csv, .jsonl), and --map"
RATING = "rating"
ROLE = "role"
NUMBERS = ("round", "rating", "attitude", "expected")
SILENT = ("system", "developer", "tool", "function")
"""Roles of chat messages that no agent wrote."""
NO_REASON = "empty in the log"


def read(paths: Sequence[Path], given: LogMap) -> Log:
    """Return the tables as a log. Errors: UserError of one line that names the file, and what it lacks."""
    if given.path is None or "agent" not in given.columns:
        raise UserError(f"a table needs --map MAP.toml with [columns] agent, and rating or text ({PAGE})")
    people: dict[tuple[str, str], Person] = {}
    ratings: list[Rating] = []
    lines: list[Line] = []
    silent = 0
    for path in paths:
        table = _Table(path, given)
        for row in table.rows():
            person = table.person(row)
            people[person.room, person.name] = _united(people.get((person.room, person.name)), person)
            ratings += table.ratings(row, person)
            lines += table.lines(row, person)
        silent += table.silent
    lacks = {"calls": "a table has no calls of a model"}
    if silent:
        lacks["prompts"] = f"{count_phrase(silent, 'message')} of the roles {', '.join(SILENT)} left out"
    questions = list(dict.fromkeys(rating.question for rating in ratings))
    scales = {name: scale for name in questions if (scale := given.scale_of(name))}
    with_attitude = {rating.question for rating in ratings if rating.attitude is not None}
    main = given.main or next((name for name in questions if name in scales or name in with_attitude), "")
    if given.main and given.main not in questions:
        raise UserError(
            f"{given.path}: main = {given.main!r} is no question of the log, which has {', '.join(questions)}"
        )
    return Log(
        "an unknown framework", list(people.values()), ratings, sorted(lines, key=lambda line: line.round), main=main,
        scales=scales, lacks=lacks, topics_of_parley=bool(given.society),
    )  # fmt: skip


def _united(first: Person | None, other: Person) -> Person:
    """Return what two rows say of a person; the first row that says something counts."""
    return Person(*(mine or theirs for mine, theirs in zip(first, other, strict=True))) if first else other


class _Table:
    """One file of the user with its map."""

    def __init__(self, path: Path, given: LogMap) -> None:
        wide = {what: columns for what, columns in given.wide.items() if what not in given.columns}
        agent, rounds = given.columns["agent"], [name for columns in wide.values() for name in columns.values()]
        numbers = [given.columns[what] for what in NUMBERS if what in given.columns]
        numbers += wide.get("rating", {}).values()
        self.path, self.silent = path, 0
        only = {*given.columns.values(), *rounds, ROLE}
        self.frame = read_table(path, [agent], PAGE, numbers=numbers, only=only)
        self.columns = {what: name for what, name in given.columns.items() if name in self.frame}
        self.wide = {what: columns for what, columns in wide.items() if set(columns.values()) & set(self.frame)}
        self._check(given)

    def _check(self, given: LogMap) -> None:
        needed = [given.columns.get(what, "") for what in ("rating", "attitude", "text")]
        needed += [name for columns in given.wide.values() for name in columns.values()]
        if not (self.wide or {"rating", "attitude", "text"} & set(self.columns)):
            names = ", ".join(filter(None, needed)) or "none is named in [columns] or [wide.rating]"
            raise UserError(f"{self.path} has no column of ratings or texts: {given.path} names {names} ({PAGE})")
        for what, columns in self.wide.items():
            if lacking := [name for name in columns.values() if name not in self.frame]:
                raise UserError(f"{self.path} lacks the column {lacking[0]}, which {given.path} names in [wide.{what}]")
        if "round" in given.columns and "round" not in self.columns and not self.wide:
            raise UserError(f"{self.path} lacks the column {given.columns['round']}, which {given.path} names as round")

    def rows(self) -> Iterator[dict[Any, Any]]:
        """Yield each row with the names of [columns], its number as "", and the columns of [wide] as ("wide", column)."""
        wide = [name for columns in self.wide.values() for name in columns.values()]
        for number, row in self.frame.to_dict("index").items():
            if row.get(ROLE) in SILENT:
                self.silent += 1
                continue
            row = {name: None if value != value else value for name, value in row.items()}
            named = {what: row[name] for what, name in self.columns.items()}
            yield {**named, **{("wide", name): row[name] for name in wide}, "": number}

    def where(self, row: Mapping[Any, Any], column: str) -> str:
        return f"{self.path}, row {row['']}: {column}"

    def person(self, row: Mapping[Any, Any]) -> Person:
        if not row["agent"]:
            raise UserError(f"{self.where(row, self.columns['agent'])} is empty: each row needs an agent")
        named = [row.get(what, "") for what in ("topic", "group", "party", "seat", "model")]
        return Person(row.get("room", "") or ONE_ROOM, row["agent"], *named)

    def ratings(self, row: Mapping[Any, Any], person: Person) -> Iterator[Rating]:
        question = row.get("question", "") or self.columns.get("rating", RATING)
        if not self.wide.get("rating") and not {"rating", "attitude"} & set(self.columns):
            return
        for round_, value in self._cells(row, "rating"):
            attitude, expected = (self._number(row, name) for name in ("attitude", "expected"))
            reason = None if value is not None or attitude is not None else row.get("reason", "") or NO_REASON
            shares = self._shares(row)
            value = attitude if value is None and "rating" not in self.columns and not self.wide else value
            name = RATING if self.wide and "question" not in self.columns else question
            yield Rating(person.room, person.name, round_, name, value, reason, None, attitude, expected, shares)

    def lines(self, row: Mapping[Any, Any], person: Person) -> Iterator[Line]:
        if not (self.wide.get("text") or "text" in self.columns):
            return
        for round_, text in self._cells(row, "text"):
            rated = row.get("rating") is not None or row.get("attitude") is not None
            if text or not rated:  # a rating without a text is a survey, in which no one spoke
                reason = None if text else row.get("reason", "") or NO_REASON
                yield Line(person.room, person.name, round_, text or None, reason, row.get("form", "") or "reply")

    def _cells(self, row: Mapping[Any, Any], what: str) -> Iterator[tuple[int, Any]]:
        """Yield round and cell: one per round of [wide], else the one of the row."""
        if wide := self.wide.get(what):
            yield from ((round_, row["wide", name]) for round_, name in sorted(wide.items()))
            return
        column = self.columns.get("round")
        round_ = read_round(row["round"], self.where(row, column)) if column else 0 if what == "rating" else 1
        yield round_, row.get(what)

    def _number(self, row: Mapping[Any, Any], what: str) -> float | None:
        """Return an attitude of the log itself. Errors: UserError outside of 0 to 10."""
        if what not in self.columns:
            return None
        number: float | None = row[what]
        if number is not None and not 0 <= number <= 10:
            raise UserError(
                f"{self.where(row, self.columns[what])} is {number:g}, but must be between 0 and 10: name the column "
                "as rating"
            )
        return number

    def _shares(self, row: Mapping[Any, Any]) -> tuple[float, ...] | None:
        if not (text := row.get("probabilities", "")):
            return None
        try:
            shares = [finite_number(share) for share in json.loads(text)]
            if None in shares:
                raise ValueError("a share is no number")
            return tuple(share for share in shares if share is not None)
        except (ValueError, TypeError, RecursionError) as error:
            where = self.where(row, self.columns["probabilities"])
            raise UserError(f"{where} is {text[:80]!r}, but must be a list of numbers such as [0.2, 0.8]") from error
