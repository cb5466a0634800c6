"""Topics as data: what the debate is about and how an attitude toward it is asked. A new topic is one file, wherever it
lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from parley.agents.datafiles import HERE, build_from_table, read_toml, require_section
from parley.agents.scales import LABELLED, Reading, Scale, read_rating
from parley.llm.errors import UserError, unknown_name
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.seeding import stream

TOPICS = HERE / "topics"
PROMPTS = HERE / "prompts"
NEWS = "news"
"""Items of news: topics in a folder of their own, whose axis is belief. What goes through all topics does not go
through them.
"""
PUBLIC, TURNS = ":public", ":turns"
"""Behind a probe's name: the same question, asked before everybody; asked after every turn."""
Audience = Literal["private", "public"]
FORECAST = "forecast"
_AGREE = "How much do you agree that "


@dataclass(frozen=True)
class Probe:
    """One survey question: what it measures (`construct`), on which scale, and its polarity on the topic's axis.

    Polarity 0: it measures something else than the topic's axis (agents/probes.toml). `audience` is who is said to hear
    the answer; nobody does, whatever is said. In a private deliberation the question asks for agreement with a text:
    `position`, an answer to the question under discussion, or `statement`, one of the mediator.
    """

    name: str
    construct: str
    scale: Scale
    question: str
    polarity: int = 1
    sentence: str = ""
    audience: Audience = "private"
    position: str = ""
    statement: str = ""

    def __post_init__(self) -> None:
        if self.polarity not in (1, -1, 0):
            raise UserError(f"probe {self.name}: polarity must be 1, -1 or 0, not {self.polarity}")
        if self.audience not in get_args(Audience):
            raise unknown_name(f"audience of probe {self.name}", self.audience, get_args(Audience))

    def ask(self, frame: str, order: Sequence[int] = ()) -> str:
        """The survey question as it is put to an agent in a `frame` (debate, conversation).

        order: the points as its answers are listed (from low to high); the range and what a point means stay as they
        are.
        """
        slots = {
            "frame": frame,
            "question": self.question,
            "low": self.scale.low,
            "high": self.scale.high,
            "anchors": self.scale.told(order) if order else self.scale.anchors,
        }
        if self.scale.kind == LABELLED:
            form = self.sentence.replace("{label}", "[word]").replace("{number}", "[number]")
            return prompt(PROMPTS, f"survey_labelled{self._suffix}").fill(**slots, sentence=form)
        return prompt(PROMPTS, f"survey_numeric{self._suffix}").fill(**slots)

    @property
    def _suffix(self) -> str:
        return "_public" if self.audience == "public" else ""

    @property
    def facts(self) -> Facts:
        """What the survey question states, whatever the words around it."""
        facts: Facts = {"question": self.question, "construct": self.construct, "scale": self.scale}
        if self.sentence:
            facts["sentence"] = self.sentence
        if self.position:
            facts["position"] = self.position
        if self.statement:
            facts["statement"] = self.statement
        return facts

    @property
    def on_axis(self) -> bool:
        """Whether an answer is an attitude toward the topic."""
        return self.polarity != 0

    @property
    def prefix(self) -> str:
        """How the answer begins before its label: "I think racism is a " (nothing on a numeric scale)."""
        return self.sentence.partition("{label}")[0] if self.scale.kind == LABELLED else ""

    def read(self, text: str | None, reader: str = "strict") -> Reading:
        return read_rating(text, self.scale, reader)

    def attitude(self, rating: float) -> float:
        """A rating of this probe on the topic's 0-10 axis. Errors: ValueError when it measures something else."""
        if not self.on_axis:
            raise ValueError(f"probe {self.name} is not on the topic's axis")
        return self.scale.attitude(rating, self.polarity)


@dataclass(frozen=True)
class Topic:
    """`axis` says what 0-10 means (severity, agreement, belief); `high_party` is the party that rates higher ("":
    none).

    `question` and `case` open a structured debate: what it is to answer, and the situation it is asked in ("" for
    none). `base` is the topic that this one is another case of (run.py case): what is known of that holds for this.
    `in_backstories`: whether who writes a persona is asked to state a position on it (agents/persona_generator.py).
    `positions`: those that the personas of a party are given there, in the words of the survey; for a party without one
    the writer chooses.
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
    positions: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """The slug under which examples, sentences and what a model was taught are kept."""
        return self.base or self.slug

    @cached_property
    def heading(self) -> str:
        return self.title[0].upper() + self.title[1:]

    @property
    def claim(self) -> str:
        """The proposition that its agreement probe asks about. Errors: UserError when the probe is not of that form."""
        question = self.probe("agreement").question
        if not question.startswith(_AGREE):
            raise UserError(f"topic {self.slug}: its agreement probe must begin with {_AGREE!r} to be judged")
        return question.removeprefix(_AGREE).rstrip("?")

    def probe(self, name: str) -> Probe:
        """One of its own probes or of those for any topic, or one of these with PUBLIC or TURNS behind its name.

        NAME@SCALE, with or without these, is the same question on another numeric scale of its construct.
        """
        known = {**shared_probes(), **self.probes}
        told = name.removesuffix(PUBLIC).removesuffix(TURNS)
        bare, at, scale = told.partition("@")
        if bare not in known or name not in (told, f"{told}{PUBLIC}", f"{told}{TURNS}"):
            raise unknown_name(f"probe of topic {self.slug}", name, known)
        audience: Audience = "public" if name.endswith(PUBLIC) else known[bare].audience
        return replace(with_scale(known[bare], scale) if at else known[bare], name=name, audience=audience)


def answer_order(probe: Probe, order: str, seed: int) -> tuple[int, ...]:
    """The points of a probe's scale as they are listed: `given` (from low to high), `reversed`, or `shuffled` by a
    seed.
    """
    points = probe.scale.points
    if order == "shuffled":
        return tuple(stream(seed, "listing").sample(points, len(points)))
    return points[::-1] if order == "reversed" else points


def forecast_probe(probe: Probe, frame: str) -> Probe:
    """The question what one expects to answer to a probe at the end."""
    asked = prompt(PROMPTS, "forecast").fill(frame=frame, question=probe.question)
    return replace(probe, name=FORECAST, question=asked)


def with_scale(probe: Probe, scale: str) -> Probe:
    """The question of a probe on another numeric scale of its construct. Errors: UserError on one that is none."""
    lead = f"{probe.construct}_"
    known = [one for one, found in scales().items() if found.kind != LABELLED and one.startswith(lead)]
    if scale not in known:
        raise unknown_name(f"scale for probe {probe.name}", scale, known)
    return replace(probe, scale=scales()[scale])


@cache
def scales(path: Path = HERE / "scales.toml") -> Mapping[str, Scale]:
    """The shared scales by name."""
    return _scales(read_toml(path), path.name)


@cache
def shared_probes(path: Path = HERE / "probes.toml") -> Mapping[str, Probe]:
    """The probes that can be asked on any topic, by name."""
    entries = read_toml(path)
    return {name: _probe(name, require_section(entries, name, path.name), scales(), path.stem) for name in entries}


def _scales(entries: dict, where: str) -> dict[str, Scale]:
    return {
        name: scale_of_table(name, require_section(entries, name, where), f"scale {name} of {where}")
        for name in entries
    }


def scale_of_table(name: str, values: dict, where: str) -> Scale:
    labels = require_section(values, "labels", where)
    for point, label in labels.items():
        if not point.removeprefix("-").isdecimal() or not isinstance(label, str):
            raise UserError(f"{where}: a label is a whole number and a text, not {point} = {label!r}")
    named = {int(point): label for point, label in labels.items()}
    return build_from_table(Scale, {**values, "name": name, "labels": MappingProxyType(named)}, where)


def topic_names(folder: Path = TOPICS) -> list[str]:
    """The names of all topics of debates."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def news_names(folder: Path = TOPICS) -> list[str]:
    """The names of all items of news, which are believed or not."""
    return topic_names(folder / NEWS)


def topic_file(slug: str, folder: Path = TOPICS) -> Path:
    """The file of a topic of debates or an item of news, or the file at a path (`./mine.toml`). Errors: UserError."""
    if "/" in slug or slug.endswith(".toml"):
        if not Path(slug).is_file():
            raise UserError(
                f"there is no topic file {slug}: give a path to a .toml file, or a name ({', '.join(topic_names(folder))})"
            )
        return Path(slug)
    if slug not in (known := [*topic_names(folder), *news_names(folder)]):
        raise unknown_name("topic", slug, known)
    return folder / (NEWS if slug in news_names(folder) else "") / f"{slug}.toml"


@cache
def load_topic(slug: str, folder: Path = TOPICS) -> Topic:
    """The topic or item called `slug`, or in the file at that path. Errors: UserError on an unknown or broken one."""
    values = read_toml(topic_file(slug, folder))
    known = {**scales(), **_scales(require_section(values, "scales", f"topic {slug}"), f"{slug}.toml")}
    values.pop("scales", None)
    entries = require_section(values, "probes", f"topic {slug}")
    if not entries:
        raise UserError(f"topic {slug} lacks probes: a [probes.NAME] table for each survey question")
    probes = {name: _probe(name, require_section(entries, name, f"topic {slug}"), known, slug) for name in entries}
    positions = _positions(require_section(values, "positions", f"topic {slug}"), f"topic {slug}")
    return build_from_table(
        Topic, {**values, "slug": slug, "probes": MappingProxyType(probes), "positions": positions}, f"topic {slug}"
    )


def _positions(entries: dict, where: str) -> Mapping[str, str]:
    """The position of each party. Errors: UserError on one that is no text."""
    for party, position in entries.items():
        if not isinstance(position, str) or not position.strip():
            raise UserError(f"positions of {where}: {party} must be a text such as 'a small problem', not {position!r}")
    return MappingProxyType(dict(entries))


def _probe(name: str, entry: dict, known: Mapping[str, Scale], slug: str) -> Probe:
    scale = str(entry.get("scale"))
    if scale not in known:
        raise unknown_name(f"scale of probe {name} in topic {slug}", scale, known)
    if known[scale].kind == LABELLED and "{label}" not in str(entry.get("sentence")):
        raise UserError(f"probe {name} in topic {slug}: a labelled scale needs a sentence with {{label}}")
    return build_from_table(Probe, {**entry, "name": name, "scale": known[scale]}, f"probe {name} of topic {slug}")
