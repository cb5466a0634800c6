"""Messages of rivals: those that writers wrote, those of a user's file, and known messages that measure a judge.

A file of messages is a table with commas (CSV), or one JSON object a line (.jsonl):

    competition, case   as in the file of cases: the name of the competition (sales) and of the case (Brisa kettle)
    writer              who wrote it, one of two names
    message             the text; empty if it is missing
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.competition import Case, Competition
from parley.analysis.formatting import count_phrase
from parley.analysis.table_files import read_table
from parley.llm.backends.oracle.phrases import sentences
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import stream

COLUMNS = ["competition", "case", "writer", "sample", "text", "reason"]
KNOWN_SENTENCES = 3
"""Sentences of the text in a known message."""


class Pitch(NamedTuple):
    """A message about a case. text: None with a reason if it is missing. sample: counts the messages of a writer about a case."""

    competition: str
    case: str
    writer: str
    sample: int
    text: str | None
    reason: str = ""

    @property
    def id(self) -> str:
        """The name of the message: `sales/Brisa kettle/writer/1`."""
        return f"{self.competition}/{self.case}/{self.writer}/{self.sample}"


class GivenMessages(NamedTuple):
    """The messages of a file, and its two writers in the order of their first rows."""

    pitches: list[Pitch]
    writers: tuple[str, str]


class KnownMessage(NamedTuple):
    """A message of which it is known whether it breaks the rule of a probe."""

    competition: Competition
    case: Case
    probe: str
    planted: bool
    text: str


def known_messages(competition: Competition, seed: int) -> list[KnownMessage]:
    """Return for each case and probe with a planted sentence two messages: sentences of the text, and the same with that one.

    Where the planted sentence comes is drawn with the seed.
    """
    made = []
    for case in competition.cases:
        stated = sentences(case.text)[:KNOWN_SENTENCES]
        for probe, line in case.planted.items():
            place = stream(seed, "planted", case.name, probe).randrange(len(stated) + 1)
            broken = [*stated[:place], line, *stated[place:]]
            made += [
                KnownMessage(competition, case, probe, planted, " ".join(parts))
                for planted, parts in ((False, stated), (True, broken))
            ]
    return made


def read_pitches(path: Path, competitions: Sequence[Competition]) -> GivenMessages:
    """Return the messages of a file and its writers.

    Errors: UserError for a file that does not fit, for unknown cases, and unless it has two writers.
    """
    table = read_table(path, ["competition", "case", "writer", "message"], "docs/competition.md")
    known = {own.name: [case.name for case in own.cases] for own in competitions}
    pitches, samples = [], Counter[tuple[str, ...]]()
    for row in table.itertuples():
        where = f"{path}, row {row.Index}"
        if row.competition not in known:
            raise UserError(f"{where}: {unknown_name('competition', row.competition, list(known))}")
        if row.case not in known[row.competition]:
            raise UserError(f"{where}: {unknown_name('case', row.case, known[row.competition])}")
        key = (str(row.competition), str(row.case), str(row.writer))
        samples[key] += 1
        pitches.append(Pitch(*key, samples[key], str(row.message) or None, "" if row.message else "missing"))
    writers = list(dict.fromkeys(pitch.writer for pitch in pitches))
    if len(writers) != 2 or not all(writers):
        raise UserError(
            f"{path} has {count_phrase(len(writers), 'writer')}: the column writer needs two names, one for each rival"
        )
    return GivenMessages(pitches, (writers[0], writers[1]))


def pitch_table(pitches: Sequence[Pitch]) -> pd.DataFrame:
    """Return one row per message: COLUMNS."""
    return pd.DataFrame(pitches, columns=COLUMNS)
