"""The sentence banks: sentences by grade, and the grade of a sentence heard."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from parley.llm.request import Reply
from parley.llm.seeding import digest

FOLDER = Path(__file__).parent / "banks"
GRADES = (0, 2, 4, 6, 8, 10)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SLOT = re.compile(r"\{(\w+)\}")


def sentences(text: str) -> list[str]:
    """Return the sentences of a line. The banks hold no abbreviation with a full stop, so a full stop ends a sentence."""
    return _SENTENCE_END.split(text.strip())


def expand(template: str, slots: dict[str, list[str]]) -> list[str]:
    """Return every filling of a template: "in {a}" with a = [x, y] gives "in x", "in y"."""
    names = list(dict.fromkeys(_SLOT.findall(template)))
    fillings = itertools.product(*[slots[name] for name in names])
    return [template.format(**dict(zip(names, filling, strict=True))) for filling in fillings]


@dataclass(frozen=True)
class TopicBank:
    """The sentences of a topic. `recognise` are the phrases that show that a text is about it."""

    slug: str
    title: str
    recognise: tuple[str, ...]
    stance: str
    labels: tuple[str, ...]
    propositions: dict[str, int]
    by_grade: dict[int, tuple[tuple[str, ...], ...]]
    fillers: tuple[str, ...]

    def stance_sentence(self, point: int) -> str:
        """Return the sentence that answers a survey, and that debaters also say: point 0-10 as a word."""
        return self.stance.replace("{label}", self.labels[point])

    @cached_property
    def grades(self) -> dict[str, float]:
        """The grade of every sentence of this topic: the six grades, and 0-10 for the stance sentence."""
        graded = {sentence: float(grade) for grade, bank in self.by_grade.items() for form in bank for sentence in form}
        return graded | {self.stance_sentence(point): float(point) for point in range(len(self.labels))}

    @cached_property
    def forms(self) -> dict[str, str]:
        """The first filling of a sentence's form, by sentence: two sentences of one form have the same."""
        return {sentence: form[0] for bank in self.by_grade.values() for form in bank for sentence in form}

    def direction(self, text: str) -> int | None:
        """Return the direction (1 or -1) of the longest proposition in a text in small letters; None without one."""
        phrases = [phrase for phrase in self.propositions if phrase in text]
        return self.propositions[max(phrases, key=len)] if phrases else None

    def grade(self, line: str) -> float | None:
        """Return the mean grade of the sentences of a line that the bank knows; None when it knows none."""
        grades = [self.grades[sentence] for sentence in sentences(line) if sentence in self.grades]
        return sum(grades) / len(grades) if grades else None


@cache
def data(name: str) -> dict[str, Any]:
    """Return a bank file as a dict."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def topics() -> dict[str, TopicBank]:
    """Return every topic bank by slug: topics of debates, and items of news (`banks/news`)."""
    paths = sorted(path for folder in ("topics", "news") for path in (FOLDER / folder).glob("*.toml"))
    return {path.stem: _load_topic(path.parent.name, path.stem) for path in paths}


def _load_topic(folder: str, slug: str) -> TopicBank:
    raw = data(f"{folder}/{slug}")
    slots, templates = raw["slots"], raw["grades"]
    return TopicBank(
        slug=slug,
        title=raw["title"],
        recognise=tuple(raw["recognise"]),
        stance=raw["stance"],
        labels=tuple(raw["labels"]),
        propositions={entry["phrase"]: entry["direction"] for entry in raw["propositions"]},
        by_grade={grade: tuple(tuple(expand(form, slots)) for form in templates[f"g{grade}"]) for grade in GRADES},
        fillers=tuple(itertools.chain.from_iterable(slots.values())),
    )


@cache
def recognised(text: str) -> str | None:
    """Return the slug of the topic that a text is about: the one whose phrase comes first in it."""
    return first_phrase(text, {slug: (bank.title, *bank.recognise) for slug, bank in topics().items()})


def first_phrase(text: str, phrases: dict[str, Iterable[str]]) -> str | None:
    """Return the name whose phrase comes first in a text; where two start together, the one with the longer phrase."""
    lower = text.lower()
    places = [
        (lower.find(phrase), -len(phrase), name)
        for name, known in phrases.items()
        for phrase in known
        if phrase in lower
    ]
    return min(places)[2] if places else None


@cache
def fingerprint() -> str:
    """Return a digest of all bank files: part of the model's identity."""
    files = sorted(FOLDER.rglob("*.toml"))
    return digest(*[part for path in files for part in (path.name, path.read_text(encoding="utf-8"))]).hex()


def unknown_sentence(text: str) -> Reply:
    """Return the named failure of a text that holds no sentence of the banks."""
    return Reply.failed("no_known_sentence", text[:120])
