"""What the bank files of a society have to hold. A wrong file is a UserError of one line with its place in the file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parley.llm.errors import UserError
from parley.llm.file_cache import read_once

SLOT = re.compile(r"\{(\w+)\}")


Line = Annotated[str, Field(min_length=1)]
"""A text that is not empty."""


class BankFile(BaseModel):
    """A file, or a part of one, whose values must have their types already."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class SocietyFile(BankFile):
    """society.toml, as far as the speaker reads it."""

    debaters: list[str] = []
    language: str = "en"
    demonym: str = ""


class OraclePart(BankFile):
    """The part [oracle] of a party's file (docs/oracle.md). Tables by topic: start, stubbornness, levels."""

    model_config = ConfigDict(extra="forbid")

    identity: list[Line] = []
    votes: list[Line] = []
    asked: list[Line] = []
    start: dict[str, float] = {}
    stubbornness: dict[str, float] = {}
    levels: dict[str, Annotated[list[float], Field(min_length=4, max_length=4)]] = {}
    answers: dict[str, str] = {}
    themes: dict[str, list[Line]] = {}
    backstory: dict[str, list[Line]] = {}
    enhanced: dict[str, list[Line]] = {}


class PartyFile(BankFile):
    """parties/<code>.toml, as far as the speaker reads it."""

    label: Line
    person: Line
    words: list[Line] = []
    side: float | None = Field(default=None, ge=-1, le=1)
    oracle: OraclePart = OraclePart()


class Proposition(BankFile):
    """A claim in small letters, and whether a yes to it is the high end of the axis (1) or the low one (-1)."""

    phrase: str
    direction: int


class Grades(BankFile):
    """Sentences by grade; each grade has at least one."""

    g0: list[str] = Field(min_length=1)
    g2: list[str] = Field(min_length=1)
    g4: list[str] = Field(min_length=1)
    g6: list[str] = Field(min_length=1)
    g8: list[str] = Field(min_length=1)
    g10: list[str] = Field(min_length=1)


class TopicFile(BankFile):
    """oracle/topics/NAME.toml."""

    title: str
    recognise: list[str]
    stance: str
    labels: list[str] = Field(min_length=11, max_length=11)
    propositions: list[Proposition]
    grades: Grades
    slots: dict[str, list[str]] = {}


class TopicParameters(BankFile):
    """The planted numbers of a topic (llm/backends/oracle/dynamics.py). Those of a party are in its own file (party_files.py)."""

    model_config = ConfigDict(extra="forbid")

    bias: float
    kappa: float
    mu: float
    sigma: float
    epsilon: float
    quirk: float | None = None


class ParametersFile(BankFile):
    """oracle/parameters.toml, with the levels of the language."""

    quirk: float
    levels: dict[str, float]
    reworded_levels: dict[str, float] = {}
    topics: dict[str, TopicParameters]


class CommonFile(BankFile):
    """oracle/common.toml, with the sentences of the language."""

    identity: dict[str, list[str]]


@read_once(lambda path: path)
def read_file(path: Path) -> dict[str, Any]:
    """Return a TOML file as a dict; an empty one if there is no file. Errors: UserError if it is broken."""
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}") from error


def check_file(kind: type[BaseModel], values: dict[str, Any], path: Path) -> None:
    """Errors: UserError that names the file, the key and what is wrong with it."""
    try:
        kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {place}: {first['msg'][0].lower()}{first['msg'][1:]}") from error


def check_topic_file(values: dict[str, Any], path: Path) -> None:
    """Check the sentences of a topic. Errors: UserError, also for a {slot} that [slots] does not fill."""
    check_file(TopicFile, values, path)
    slots = values.get("slots", {})
    for grade, forms in values["grades"].items():
        for form in forms:
            if unknown := [slot for slot in SLOT.findall(form) if slot not in slots]:
                raise UserError(f"{path}: grades.{grade}: [slots] has no words for {{{unknown[0]}}} of {form!r}")


def check_identity(values: dict[str, Any], parties: list[str], path: Path) -> None:
    """Errors: UserError for a party that says of itself nothing."""
    check_file(CommonFile, values, path)
    for party in parties:
        if not values["identity"].get(party):
            raise UserError(f"{path}: [identity] has no lines for {party}")
