"""Topics as data: what the debate is about and how an attitude toward it is asked. A new topic is one file in agents/topics/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType

from agents.attitude import LABELLED, Reading, Scale, read_rating
from agents.datafiles import HERE, build, read_toml, section
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

    def __post_init__(self) -> None:
        if self.polarity not in (1, -1):
            raise UserError(f"probe {self.name}: polarity must be 1 or -1, not {self.polarity}")

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

    @property
    def prefix(self) -> str:
        """How the answer begins before its label: "I think racism is a " (nothing on a numeric scale)."""
        return self.sentence.partition("{label}")[0] if self.scale.kind == LABELLED else ""

    def read(self, text: str | None, reader: str = "strict") -> Reading:
        return read_rating(text, self.scale, reader)

    def attitude(self, rating: float) -> float:
        """A rating of this probe on the topic's 0-10 axis."""
        return self.scale.attitude(rating, self.polarity)


@dataclass(frozen=True)
class Topic:
    """`axis` says what 0-10 means (severity, agreement); `high_party` is the party that rates higher.

    `question` and `case` open a structured debate: what it is to answer, and the situation it is asked in ("" for none).
    `base` is the topic that this one is another case of (run.py case): what is known of that holds for this.
    `in_backstories`: whether who writes a persona is asked to state a position on it (agents/recruit.py).
    """

    slug: str
    title: str
    axis: str
    high_party: str
    question: str
    probes: Mapping[str, Probe]
    case: str = ""
    base: str = ""
    in_backstories: bool = True

    @property
    def root(self) -> str:
        """The slug under which examples, sentences and what a model was taught are kept."""
        return self.base or self.slug

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
    return _scales(read_toml(path), path.name)


def _scales(entries: dict, where: str) -> dict[str, Scale]:
    return {name: _scale(name, section(entries, name, where), f"scale {name} of {where}") for name in entries}


def _scale(name: str, values: dict, where: str) -> Scale:
    labels = section(values, "labels", where)
    for point, label in labels.items():
        if not point.removeprefix("-").isdecimal() or not isinstance(label, str):
            raise UserError(f"{where}: a label is a whole number and a text, not {point} = {label!r}")
    named = {int(point): label for point, label in labels.items()}
    return build(Scale, {**values, "name": name, "labels": MappingProxyType(named)}, where)


def slugs(folder: Path = TOPICS) -> list[str]:
    """The names of all topics."""
    return sorted(path.stem for path in folder.glob("*.toml"))


@cache
def load_topic(slug: str, folder: Path = TOPICS) -> Topic:
    """The topic called `slug`. Errors: UserError on an unknown slug or a broken file."""
    if slug not in slugs(folder):
        raise unknown("topic", slug, slugs(folder))
    values = read_toml(folder / f"{slug}.toml")
    known = {**scales(), **_scales(section(values, "scales", f"topic {slug}"), f"{slug}.toml")}
    values.pop("scales", None)
    entries = section(values, "probes", f"topic {slug}")
    if not entries:
        raise UserError(f"topic {slug} lacks probes: a [probes.NAME] table for each survey question")
    probes = {name: _probe(name, section(entries, name, f"topic {slug}"), known, slug) for name in entries}
    return build(Topic, {**values, "slug": slug, "probes": MappingProxyType(probes)}, f"topic {slug}")


def _probe(name: str, entry: dict, known: Mapping[str, Scale], slug: str) -> Probe:
    scale = str(entry.get("scale"))
    if scale not in known:
        raise unknown(f"scale of probe {name} in topic {slug}", scale, known)
    if known[scale].kind == LABELLED and "{label}" not in str(entry.get("sentence")):
        raise UserError(f"probe {name} in topic {slug}: a labelled scale needs a sentence with {{label}}")
    return build(Probe, {**entry, "name": name, "scale": known[scale]}, f"probe {name} of topic {slug}")
