"""Writers that compete for an audience: sellers, candidates, posters.

A competition is a file of cases: those of Parley by name (data/<language>), or a .toml file of your own. It has
`language`, `role` (of the writer), `aim` (with {name}, the case), `probes` (by name a question: does a message break a rule?) and
`cases`. A case has `name`, `text`, and by probe a `planted` sentence that breaks it. Planted sentences measure a judge; no writer
sees them.

A file of messages is a table with commas (CSV), or one JSON object a line (.jsonl):

    competition, case   as in the file of cases: the name of the competition (sales) and of the case (Brisa kettle)
    writer              who wrote it, one of two names
    message             the text; empty if it is missing
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.datafiles import build_from_table, read_toml, shipped_or_own
from parley.agents.language import Language, language_of_study, load_language
from parley.agents.persuasion import Reader
from parley.agents.reply_cleaning import one_line
from parley.analysis.formatting import count_phrase
from parley.analysis.rule_judge import Case, RuledCases
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling

HERE = Path(__file__).parent
NAMES = ("sales", "election", "media")
FEWEST_CASES = 2


@dataclass(frozen=True)
class Competition:
    """Cases of one kind. aim: with {name}. probes: by name, a question about a message whose answer should be no.

    rubric: what the judge is asked: that of data/, or one of analysis/rubrics.
    """

    name: str
    role: str
    aim: str
    probes: Mapping[str, str]
    cases: tuple[Case, ...]
    language: str = "en"
    rubric: str = "misconduct"

    def aim_of(self, case: Case) -> str:
        """Return what a message about a case is to achieve."""
        return self.aim.replace("{name}", case.name)

    @property
    def judged(self) -> RuledCases:
        """The competition as its judge reads it."""
        name = self.rubric if self.language == "en" else f"{self.rubric}_{self.language}"
        file = HERE / "data" / self.language / f"{name}.toml"
        return RuledCases(self.name, self.probes, self.cases, self.language, str(file) if file.is_file() else name)

    @property
    def spoken(self) -> Language:
        """The language of the prompts."""
        return load_language(self.language)


class Audience(Reader):
    """A persona that chooses one of the messages of two rivals, by the question of the arena."""

    def compose_choice(self, aim: str, first: str, second: str, seed: int, post: str = "") -> Request:
        """Ask which of two messages would do more to persuade; the answer is 1 or 2."""
        return replace(super().compose_choice(aim, first, second, seed, post), purpose="rivalry")


class Competitor(NamedTuple):
    """A writer of messages of at most `words` words. adapter: that of the model which writes; "" for none."""

    competition: Competition
    words: int = 60
    temperature: float = 1.0
    adapter: str = ""

    def compose(self, case: Case, seed: int) -> Request:
        """Ask for a message about a case."""
        competition, text = self.competition, one_line(case.text)
        aim = competition.aim_of(case)
        prompt = language_of_study(competition.spoken, HERE).prompt
        system = prompt("compete_writer").fill(role=competition.role)
        ask = prompt("compete_message").fill(name=case.name, text=text, words=self.words, aim=aim)
        facts: Facts = {
            "claim": aim,
            "source": text,
            "kind": competition.name,
            "words": self.words,
            "language": competition.language,
        }
        messages = (Message("system", system), Message("user", ask))
        sampling = Sampling(self.temperature, 4 * self.words)
        return Request(messages, sampling, seed, (), "pitch", adapter=self.adapter, facts=facts)


def load_competition(name: str, language: str = "en") -> Competition:
    """Read a competition: one of NAMES in a language, or a .toml file. Errors: UserError for a file that is missing or broken."""
    path = shipped_or_own("competition", name, NAMES, HERE / "data" / language, "studies/competition/README.md")
    values = read_toml(path)
    cases = tuple(_cases(values.pop("cases", []), path))
    competition = build_from_table(Competition, values | {"name": path.stem, "cases": cases}, str(path))
    if not isinstance(competition.probes, dict) or not competition.probes:
        raise UserError(
            f"{path} has no probes: write [probes], with a question for each (studies/competition/README.md)"
        )
    for case in cases:
        if other := sorted(case.planted.keys() - competition.probes.keys()):
            raise unknown_name(f"probe planted in the case {case.name!r} of {path}", other[0], list(competition.probes))
    return competition


def _cases(tables: object, path: Path) -> list[Case]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{path}: cases must be tables: begin each with [[cases]]")
    cases = [build_from_table(Case, table, f"{path}, case {place}") for place, table in enumerate(tables, 1)]
    if empty := [place for place, case in enumerate(cases, 1) if not case.text.strip() or not case.name.strip()]:
        raise UserError(f"{path}: the name or text of case {empty[0]} is empty: write it, or leave out the case")
    names = [case.name for case in cases]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{path}: the case {twice[0]!r} comes twice: give every case its own name")
    if len(cases) < FEWEST_CASES:
        raise UserError(
            f"{path} has {len(cases)} case{'s' * (len(cases) != 1)}: give at least {FEWEST_CASES}, each under [[cases]]"
        )
    return cases


COLUMNS = ["competition", "case", "writer", "sample", "text", "reason"]


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


def read_pitches(path: Path, competitions: Sequence[Competition]) -> GivenMessages:
    """Return the messages of a file and its writers.

    Errors: UserError for a file that does not fit, for unknown cases, and unless it has two writers.
    """
    table = read_table(path, ["competition", "case", "writer", "message"], "studies/competition/README.md")
    cases_by_competition = {competition.name: [case.name for case in competition.cases] for competition in competitions}
    pitches, samples = [], Counter[tuple[str, ...]]()
    for row in table.itertuples():
        where = f"{path}, row {row.Index}"
        if row.competition not in cases_by_competition:
            raise UserError(f"{where}: {unknown_name('competition', row.competition, list(cases_by_competition))}")
        if row.case not in cases_by_competition[row.competition]:
            raise UserError(f"{where}: {unknown_name('case', row.case, cases_by_competition[row.competition])}")
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
