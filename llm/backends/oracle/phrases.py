"""The sentence banks as they are used: sentences by grade, and the grade of a sentence heard."""

from __future__ import annotations

import itertools
import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from parley.llm.seeding import digest

FOLDER = Path(__file__).parent / "banks"
GRADES = (0, 2, 4, 6, 8, 10)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SLOT = re.compile(r"\{(\w+)\}")


def sentences(text: str) -> list[str]:
    """The sentences of a line. The banks hold no abbreviation with a full stop, so a full stop ends a sentence."""
    return _SENTENCE_END.split(text.strip())


def expand(template: str, slots: dict[str, list[str]]) -> list[str]:
    """Every filling of a template: "in {a}" with a = [x, y] gives "in x", "in y"."""
    names = list(dict.fromkeys(_SLOT.findall(template)))
    fillings = [
        dict(zip(names, filling, strict=True)) for filling in itertools.product(*[slots[name] for name in names])
    ]
    return [template.format(**filling) for filling in fillings]


@dataclass(frozen=True)
class TopicBank:
    """One topic's sentences. `recognise` are the phrases by which a text is known to be about it."""

    slug: str
    title: str
    recognise: tuple[str, ...]
    stance: str
    labels: tuple[str, ...]
    propositions: dict[str, int]
    by_grade: dict[int, tuple[tuple[str, ...], ...]]
    fillers: tuple[str, ...]

    def stance_sentence(self, point: int) -> str:
        """The sentence in which a survey is answered and that debaters also say: point 0-10 as a word."""
        return self.stance.replace("{label}", self.labels[point])

    @cached_property
    def grades(self) -> dict[str, float]:
        """Grade of every sentence that can be said on this topic: the six grades, and 0-10 for the stance sentence."""
        known = {
            sentence: float(grade) for grade, bank in self.by_grade.items() for forms in bank for sentence in forms
        }
        return known | {self.stance_sentence(point): float(point) for point in range(len(self.labels))}

    @cached_property
    def forms(self) -> dict[str, str]:
        """The first filling of a sentence's form, by sentence: two sentences of one form have the same."""
        return {sentence: forms[0] for bank in self.by_grade.values() for forms in bank for sentence in forms}

    def direction(self, text: str) -> int | None:
        """Direction on the axis of the longest proposition that a text in small letters holds: 1 or -1; None: it holds none."""
        known = [phrase for phrase in sorted(self.propositions, key=len, reverse=True) if phrase in text]
        return self.propositions[known[0]] if known else None

    def grade(self, line: str) -> float | None:
        """Mean grade of the sentences of a line that the bank knows; None when it knows none."""
        known = [self.grades[sentence] for sentence in sentences(line) if sentence in self.grades]
        return sum(known) / len(known) if known else None


@cache
def data(name: str) -> dict[str, Any]:
    """A bank file as a dict."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def topics() -> dict[str, TopicBank]:
    """Every topic bank by slug: topics of debates, and items of news (`banks/news`)."""
    found = sorted(path for folder in ("topics", "news") for path in (FOLDER / folder).glob("*.toml"))
    return {path.stem: _topic(path.parent.name, path.stem) for path in found}


def _topic(folder: str, slug: str) -> TopicBank:
    raw = data(f"{folder}/{slug}")
    by_grade = {
        grade: tuple(tuple(expand(template, raw["slots"])) for template in raw["grades"][f"g{grade}"])
        for grade in GRADES
    }
    propositions = {entry["phrase"]: entry["direction"] for entry in raw["propositions"]}
    fillers = tuple([filler for slot in raw["slots"].values() for filler in slot])
    return TopicBank(
        slug,
        raw["title"],
        tuple(raw["recognise"]),
        raw["stance"],
        tuple(raw["labels"]),
        propositions,
        by_grade,
        fillers,
    )


@cache
def recognised(text: str) -> str | None:
    """Slug of the topic a text is about: the one whose phrase comes first in it (the longer phrase where two start together)."""
    lower = text.lower()
    found = [
        (lower.find(phrase), -len(phrase), slug)
        for slug, bank in topics().items()
        for phrase in (bank.title, *bank.recognise)
        if phrase in lower
    ]
    return min(found)[2] if found else None


@cache
def fingerprint() -> str:
    """Digest of all bank files: part of the model's identity."""
    return digest(
        *[part for path in sorted(FOLDER.rglob("*.toml")) for part in (path.name, path.read_text(encoding="utf-8"))]
    ).hex()
