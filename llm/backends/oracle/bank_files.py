"""What the bank files of a society have to hold. A wrong file is a UserError of one line with its place in the file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parley.llm.errors import UserError

SLOT = re.compile(r"\{(\w+)\}")


class _File(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class PartyEntry(_File):
    """What the speaker reads of a party in society.toml."""

    words: list[str] = []
    side: float | None = None
    label: str = ""


class SocietyFile(_File):
    """society.toml, as far as the speaker reads it."""

    parties: dict[str, PartyEntry]
    language: str = "en"
    demonym: str = ""


class Proposition(_File):
    """A claim in small letters, and whether a yes to it is the high end of the axis (1) or the low one (-1)."""

    phrase: str
    direction: int


class Grades(_File):
    """Sentences by grade; each grade has at least one."""

    g0: list[str] = Field(min_length=1)
    g2: list[str] = Field(min_length=1)
    g4: list[str] = Field(min_length=1)
    g6: list[str] = Field(min_length=1)
    g8: list[str] = Field(min_length=1)
    g10: list[str] = Field(min_length=1)


class TopicFile(_File):
    """oracle/topics/NAME.toml."""

    title: str
    recognise: list[str]
    stance: str
    labels: list[str] = Field(min_length=11, max_length=11)
    propositions: list[Proposition]
    grades: Grades
    slots: dict[str, list[str]] = {}


class TopicParameters(_File):
    """The planted numbers of a topic (llm/backends/oracle/dynamics.py)."""

    bias: float
    kappa: float
    mu: float
    sigma: float
    epsilon: float
    start: dict[str, float]
    stubbornness: dict[str, float] = {}
    quirk: float | None = None
    positions: dict[str, list[float]] = {}


class ParametersFile(_File):
    """oracle/parameters.toml."""

    quirk: float
    levels: dict[str, float]
    topics: dict[str, TopicParameters]


class CommonFile(_File):
    """oracle/common.toml, with the sentences of the language."""

    identity: dict[str, list[str]]


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
    known = values.get("slots", {})
    for grade, forms in values["grades"].items():
        for form in forms:
            if unknown := [slot for slot in SLOT.findall(form) if slot not in known]:
                raise UserError(f"{path}: grades.{grade}: [slots] does not fill {{{unknown[0]}}} of {form!r}")


def check_identity(values: dict[str, Any], parties: list[str], path: Path) -> None:
    """Errors: UserError for a party that says of itself nothing."""
    check_file(CommonFile, values, path)
    for party in parties:
        if not values["identity"].get(party):
            raise UserError(f"{path}: [identity] has no lines for {party}")
