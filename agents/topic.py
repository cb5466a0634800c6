"""Topics as data: what the debate is about and how an attitude toward it is asked. A new topic is one file in agents/topics/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType

from agents.attitude import LABELLED, Reading, Scale, read_rating
from agents.datafiles import HERE, build, read_toml
from llm.errors import UserError, unknown
from llm.template import prompt

TOPICS = HERE / "topics"
PROMPTS = HERE / "prompts"


@dataclass(frozen=True)
class Probe:
    """One survey question: what it measures (`construct`), on which scale, and its polarity on the topic's axis."""

    name: str
    construct: str
    scale: Scale
    question: str
    polarity: int = 1
    sentence: str = ""

    def ask(self, frame: str) -> str:
        """The survey question as it is put to an agent in a `frame` (debate, conversation)."""
        slots = {
            "frame": frame,
            "question": self.question,
            "low": self.scale.low,
            "high": self.scale.high,
            "anchors": self.scale.anchors,
        }
        if self.scale.kind == LABELLED:
            form = self.sentence.replace("{label}", "[word]").replace("{number}", "[number]")
            return prompt(PROMPTS, "survey_labelled").fill(**slots, sentence=form)
        return prompt(PROMPTS, "survey_numeric").fill(**slots)

    def read(self, text: str | None, reader: str = "strict") -> Reading:
        return read_rating(text, self.scale, reader)

    def attitude(self, rating: float) -> float:
        """A rating of this probe on the topic's 0-10 axis."""
        return self.scale.attitude(rating, self.polarity)


@dataclass(frozen=True)
class Topic:
    """`axis` says what 0-10 means (severity, agreement); `high_party` is the party that rates higher."""

    slug: str
    title: str
    axis: str
    high_party: str
    question: str
    probes: Mapping[str, Probe]

    @cached_property
    def heading(self) -> str:
        return self.title[0].upper() + self.title[1:]

    def probe(self, name: str) -> Probe:
        if name not in self.probes:
            raise unknown(f"probe of topic {self.slug}", name, self.probes)
        return self.probes[name]


@cache
def scales(path: Path = HERE / "scales.toml") -> Mapping[str, Scale]:
    """The shared scales by name."""
    return {name: _scale(name, values, path.name) for name, values in read_toml(path).items()}


def _scale(name: str, values: dict, where: str) -> Scale:
    labels = {int(point): label for point, label in values.get("labels", {}).items()}
    return build(Scale, {**values, "name": name, "labels": MappingProxyType(labels)}, f"scale {name} of {where}")


def slugs(folder: Path = TOPICS) -> list[str]:
    """The names of all topics."""
    return sorted(path.stem for path in folder.glob("*.toml"))


@cache
def load_topic(slug: str, folder: Path = TOPICS) -> Topic:
    """The topic called `slug`. Errors: UserError on an unknown slug or a broken file."""
    if slug not in slugs(folder):
        raise unknown("topic", slug, slugs(folder))
    values = read_toml(folder / f"{slug}.toml")
    own = {name: _scale(name, entry, f"{slug}.toml") for name, entry in values.pop("scales", {}).items()}
    known = {**scales(), **own}
    probes = {name: _probe(name, entry, known, slug) for name, entry in values.get("probes", {}).items()}
    return build(Topic, {**values, "slug": slug, "probes": MappingProxyType(probes)}, f"topic {slug}")


def _probe(name: str, entry: dict, known: Mapping[str, Scale], slug: str) -> Probe:
    scale = str(entry.get("scale"))
    if scale not in known:
        raise unknown(f"scale of probe {name} in topic {slug}", scale, known)
    if known[scale].kind == LABELLED and "{label}" not in entry.get("sentence", ""):
        raise UserError(f"probe {name} in topic {slug}: a labelled scale needs a sentence with {{label}}")
    return build(Probe, {**entry, "name": name, "scale": known[scale]}, f"probe {name} of topic {slug}")
