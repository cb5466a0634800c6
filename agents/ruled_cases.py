"""What a judge of rules reads about: cases, each with a text, and rules, each with a question on what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


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
