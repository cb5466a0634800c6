"""Survey questions as data: scale, direction, wording; those for any topic, and forms of one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from parley.agents.datafiles import build_from_table, require_section
from parley.agents.language import ENGLISH, Language
from parley.agents.scales import LABELLED, Reading, Scale, read_rating
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.seeding import stream

PUBLIC, TURNS, END = ":public", ":turns", ":end"
"""Suffixes of a probe's name: the same question, answered in public, after every turn, or only once after the last survey."""
Audience = Literal["private", "public"]
PHRASES = "phrases"
FROM_CLAIM = ("agreement", "belief")
"""The constructs whose sentence follows from a claim."""
FORECAST = "forecast"
EMOTIONS = ("valence", "arousal")
"""The survey questions on emotion (probes.toml of a language)."""


@dataclass(frozen=True)
class Probe:
    """One survey question.

    construct  what it measures
    polarity   its direction on the topic's axis; 0: it measures something else (probes.toml of the language)
    audience   who hears the answer, according to the question; in fact no one does
    position   in a private deliberation: the answer to the question under discussion that is to be agreed with
    statement  the same for a statement of the mediator
    state      how the agent is reminded of its answer, with {label}; "": by question and number (prompt `recall`)
    negated    whether it asks for agreement with the opposite of a claim
    options    whether the labels of its scale are options without an order: always listed in an order drawn by the seed
    view       what the interviewer says to think of the claim: for, against; "": nothing
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
    state: str = ""
    negated: bool = False
    view: str = ""
    options: bool = False
    language: Language = field(default=ENGLISH, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.polarity not in (1, -1, 0):
            raise UserError(f"probe {self.name}: polarity is {self.polarity}, but must be 1, -1 or 0")
        if self.audience not in get_args(Audience):
            raise unknown_name(f"audience of probe {self.name}", self.audience, get_args(Audience))
        if self.state and ("{label}" not in self.state or set(self.scale.points) - set(self.scale.labels)):
            raise UserError(f"probe {self.name}: state needs {{label}}, and a scale with a label for every point")

    def ask(self, frame: str, order: Sequence[int] = ()) -> str:
        """Return the survey question as an agent reads it.

        frame: debate, conversation. order: the points in the order in which the answers are listed (default: from low
        to high).
        """
        slots: dict[str, Any] = {
            "frame": frame,
            "question": self.question,
            "low": self.scale.low,
            "high": self.scale.high,
            "anchors": self.scale.name_points(order or self.scale.points, *map(self.language.words, ("means", "and"))),
        }
        words = "labelled" if "{number}" in self.sentence else PHRASES
        kind = "options" if self.options else words if self.scale.kind == LABELLED else "numeric"
        if kind == PHRASES:  # they are not listed: a small model repeats what it reads
            slots = {"frame": frame, "question": self.question}
        if kind == "options":
            labels = [self.scale.labels[point] for point in order or self.scale.points]
            slots = {"frame": frame, "question": self.question, "anchors": ", ".join(labels)}
        if kind in ("options", "labelled"):
            label, number = (f"[{self.language.words(slot)}]" for slot in ("label", "number"))
            slots["sentence"] = self.sentence.replace("{label}", label).replace("{number}", number)
        return self.language.prompt(f"survey_{kind}{'_public' if self.audience == 'public' else ''}").fill(**slots)

    def recall(self, rating: float) -> str:
        """Return the sentence that reminds an agent of its rating: `Right now you feel bad.`"""
        if self.state:
            return self.state.replace("{label}", self.scale.labels[round(rating)])
        words = map(self.language.words, ("means", "and"))
        slots = {
            "question": self.question,
            "answer": f"{rating:g}",
            "anchors": self.scale.name_points(self.scale.points, *words),
        }
        return self.language.prompt("recall").fill(**slots)

    @property
    def facts(self) -> Facts:
        """What the survey question states, for the oracle."""
        texts = {
            "sentence": self.sentence,
            "position": self.position,
            "statement": self.statement,
            "interviewer": self.view,
        }
        facts: Facts = {"question": self.question, "construct": self.construct, "scale": self.scale}
        if self.negated:
            facts["negated"] = True
        if self.on_axis:
            facts["toward"] = self.polarity * self.scale.polarity
        return cast(Facts, facts | {name: text for name, text in texts.items() if text})

    @property
    def on_axis(self) -> bool:
        """Whether an answer is an attitude toward the topic."""
        return self.polarity != 0

    @property
    def begin(self) -> str:
        """How a number is begun ("My rating:") where a model goes on from the beginning of its reply; "" for labels."""
        return "" if self.scale.kind == LABELLED else self.language.words("my_rating")

    @property
    def prefix(self) -> str:
        """How the answer begins before its label: "I think racism is a " (nothing on a numeric scale)."""
        return self.sentence.partition("{label}")[0] if self.scale.kind == LABELLED else ""

    def read(self, text: str | None, reader: str = "strict") -> Reading:
        return read_rating(text, self.scale, reader)

    def attitude(self, rating: float) -> float:
        """Return a rating on the topic's 0-10 axis. Errors: ValueError if the probe measures something else."""
        if not self.on_axis:
            raise ValueError(f"probe {self.name} does not measure the attitude to the topic")
        return self.scale.attitude(rating, self.polarity)


def answer_order(probe: Probe, order: str, seed: int) -> tuple[int, ...]:
    """Return the points of a scale as they are listed: `given` (from low to high), `reversed`, or `shuffled` by a seed.

    Options are always shuffled.
    """
    points = probe.scale.points
    if order == "shuffled" or probe.options:
        return tuple(stream(seed, "listing").sample(points, len(points)))
    return points[::-1] if order == "reversed" else points


def forecast_probe(probe: Probe, frame: str) -> Probe:
    """Return the question which answer to a probe the agent expects to give at the end."""
    question = probe.language.prompt("forecast").fill(frame=frame, question=probe.question)
    return replace(probe, name=FORECAST, question=question)


def phrased(probe: Probe, probes: Mapping[str, Probe], claim: str = "") -> Probe:
    """Return a question whose answer is a phrase that ends a sentence: "I think climate change is a large problem."

    It is NAME_phrases of the topic or the language; the sentence of agreement and belief follows from the claim. A question whose
    answers are words already stays as it is. Errors: UserError where there are no phrases.
    """
    if probe.scale.kind == LABELLED:
        return probe
    if phrase_probe := probes.get(f"{probe.name}_{PHRASES}"):
        return phrase_probe
    scale = scales(probe.language).get(f"{probe.construct}_{PHRASES}")
    if probe.construct not in FROM_CLAIM or scale is None or not claim:
        raise UserError(
            f"survey question {probe.name} has no phrases: set asked=numbers, or add [probes.{probe.name}_{PHRASES}] to its file"
        )
    sentence = probe.language.words(f"{probe.construct}_phrase").replace("{claim}", claim)
    return replace(probe, scale=scale, sentence=sentence)


def in_phrases(name: str) -> str:
    """Return the name of a survey question in phrases: `agreement:public` is `agreement@phrases:public`.

    >>> in_phrases("attitude"), in_phrases("agreement:public"), in_phrases("attitude@phrases")
    ('attitude@phrases', 'agreement@phrases:public', 'attitude@phrases')
    """
    base, mark, rest = name.partition(":")
    return f"{base.partition('@')[0]}@{PHRASES}{mark}{rest}"


def in_numbers(name: str) -> str:
    """Return the name of a survey question that is not asked in phrases.

    >>> in_numbers("agreement@phrases:public"), in_numbers("attitude@severity_1_7")
    ('agreement:public', 'attitude@severity_1_7')
    """
    return name.replace(f"@{PHRASES}", "")


def with_scale(probe: Probe, scale: str) -> Probe:
    """Return a probe on another numeric scale of its construct. Errors: UserError if there is no such scale."""
    shared = scales(probe.language)
    numeric = [name for name, shared_scale in shared.items() if shared_scale.kind != LABELLED]
    construct_scales = [name for name in numeric if name.startswith(f"{probe.construct}_")]
    if scale not in construct_scales:
        raise unknown_name(f"scale for probe {probe.name}", scale, construct_scales)
    return replace(probe, scale=shared[scale])


@cache
def scales(language: Language = ENGLISH) -> Mapping[str, Scale]:
    """Return the scales of a language by name. Languages have the same scales with other labels."""
    return build_scales(dict(language.data("scales")), f"scales.toml of {language.code}")


@cache
def shared_probes(language: Language = ENGLISH) -> Mapping[str, Probe]:
    """Return the probes for any topic, by name."""
    return build_probes(
        dict(language.data("probes")), scales(language), f"probes.toml of {language.code}", "probes", language
    )


def build_scales(entries: dict, where: str) -> dict[str, Scale]:
    """Return the scales of a file by name. where: its name. Errors: UserError."""
    return {
        name: scale_of_table(name, require_section(entries, name, where), f"scale {name} of {where}")
        for name in entries
    }


def scale_of_table(name: str, values: dict, where: str) -> Scale:
    """Make a scale from its table. Errors: UserError."""
    labels = require_section(values, "labels", where)
    for point, label in labels.items():
        if not point.removeprefix("-").isdecimal() or not isinstance(label, str):
            raise UserError(f"{where}: {point} = {label!r} must be a whole number with a text as its label")
    by_point = MappingProxyType({int(point): label for point, label in labels.items()})
    return build_from_table(Scale, {**values, "name": name, "labels": by_point}, where)


def build_probes(
    entries: dict, scales: Mapping[str, Scale], where: str, slug: str, language: Language
) -> dict[str, Probe]:
    """Return the probes of a file by name. scales: those that probes may use. slug: the topic. Errors: UserError."""
    probes = {}
    for name in entries:
        entry = require_section(entries, name, where)
        scale = str(entry.get("scale"))
        if scale not in scales:
            raise unknown_name(f"scale of probe {name} in topic {slug}", scale, scales)
        if scales[scale].kind == LABELLED and "{label}" not in str(entry.get("sentence")):
            raise UserError(f"probe {name} in topic {slug}: a labelled scale needs a sentence with {{label}}")
        values = {**entry, "name": name, "scale": scales[scale]}
        probes[name] = replace(build_from_table(Probe, values, f"probe {name} of topic {slug}"), language=language)
    return probes
