"""Topics as data: what a debate is about, and the survey questions on it. A new topic is one TOML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from parley.agents.claim_questions import CLAIM_QUESTIONS, NEGATED, VIEWS, claim_question
from parley.agents.datafiles import build_from_table, read_toml, require_section
from parley.agents.language import ENGLISH, Language
from parley.agents.news import NewsItem, news_item, topic_values
from parley.agents.scales import LABELLED, Reading, Scale, read_rating
from parley.agents.society import SOCIETIES, US, Society, load_society, society_of, split_name
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.seeding import stream

TOPICS = SOCIETIES / US / "topics"
NEWS = "news"
"""The folder of items of news (agents/news.py). What runs over all topics leaves them out."""
PUBLIC, TURNS, END = ":public", ":turns", ":end"
"""Suffixes of a probe's name: the same question, answered in public, after every turn, or only once after the last survey."""
Audience = Literal["private", "public"]
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
    options    whether the labels of its scale are options: listed without numbers, always in an order drawn by the seed
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
            raise UserError(f"probe {self.name}: polarity must be 1, -1 or 0, not {self.polarity}")
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
        kind = "options" if self.options else "labelled" if self.scale.kind == LABELLED else "numeric"
        if kind == "options":
            labels = [self.scale.labels[point] for point in order or self.scale.points]
            slots = {"frame": frame, "question": self.question, "anchors": ", ".join(labels)}
        if self.scale.kind == LABELLED:
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
        return cast(Facts, facts | {name: text for name, text in texts.items() if text})

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
        """Return a rating on the topic's 0-10 axis. Errors: ValueError if the probe measures something else."""
        if not self.on_axis:
            raise ValueError(f"probe {self.name} is not on the topic's axis")
        return self.scale.attitude(rating, self.polarity)


@dataclass(frozen=True)
class Topic:
    """What a debate is about.

    axis            what 0-10 means: severity, agreement, belief
    high_party      the party that rates higher ("": none)
    question        and case: what a structured debate is to answer, and the situation it is asked in ("": none)
    base            the topic of which this is another case (run.py case); what is known of that topic holds for this
                    one
    in_backstories  whether personas are written with a position on it (agents/persona_generator.py)
    news            what it says as an item of news; None for any other topic
    positions       these positions by party, in the words of the survey: those of the topic's file, else of the party's file; the
                    writer chooses for a party without one
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
    news: NewsItem | None = None
    positions: Mapping[str, str] = field(default_factory=dict)
    society: Society = field(default_factory=load_society, repr=False, compare=False)

    @property
    def language(self) -> Language:
        """The language in which its questions are asked."""
        return self.society.language

    def worded(self, wording: str) -> Topic:
        """Return the topic with the instructions of its questions in another wording. Errors: UserError if there is none."""
        language = self.language.worded(wording)
        probes = {name: replace(probe, language=language) for name, probe in self.probes.items()}
        return replace(self, probes=probes, society=replace(self.society, language=language))

    @property
    def root(self) -> str:
        """The slug under which examples, sentences and training data are stored."""
        return self.base or self.slug

    @cached_property
    def heading(self) -> str:
        return self.title[0].upper() + self.title[1:]

    @property
    def claim(self) -> str:
        """The proposition of its agreement probe. Errors: UserError if the probe has another form."""
        question, begin = self.probe("agreement").question, self.language.words("agree")
        if not question.startswith(begin):
            raise UserError(f"topic {self.slug}: its agreement probe must begin with {begin!r} to be judged")
        return question.removeprefix(begin).rstrip("?")

    def probe(self, name: str) -> Probe:
        """Return a probe of this topic or of any topic, by a name such as NAME, NAME:public, NAME:turns, NAME:end or NAME@SCALE.

        `agreement:negated` and the other names of agents/claim_questions.py ask about the topic's claim in other words.
        {claim} in a question is the topic's claim.
        NAME@SCALE, with or without PUBLIC, TURNS or END, is the same question on another numeric scale of its construct.
        Errors: UserError.
        """
        if name in CLAIM_QUESTIONS:
            return claim_probe(self, name)
        known = {**shared_probes(self.language), **self.probes}
        plain = name.removesuffix(PUBLIC).removesuffix(TURNS).removesuffix(END)
        base, at, scale = plain.partition("@")
        if base not in known or name not in (plain, f"{plain}{PUBLIC}", f"{plain}{TURNS}", f"{plain}{END}"):
            raise unknown_name(f"probe of topic {self.slug}", name, known)
        probe = with_scale(known[base], scale) if at else known[base]
        if "{claim}" in probe.question:
            probe = replace(probe, question=probe.question.replace("{claim}", self.claim))
        return replace(probe, name=name, audience="public" if name.endswith(PUBLIC) else probe.audience)


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


def claim_probe(topic: Topic, name: str) -> Probe:
    """Return a question of CLAIM_QUESTIONS about a topic's claim. Errors: UserError if the topic has no such claim, or
    its language no words for the question.
    """
    probe, opposite = topic.probe("agreement"), name == NEGATED
    question = claim_question(name, topic.claim, topic.language.words)
    polarity = -probe.polarity if opposite else probe.polarity
    return replace(probe, name=name, question=question, polarity=polarity, negated=opposite, view=VIEWS.get(name, ""))


def with_scale(probe: Probe, scale: str) -> Probe:
    """Return a probe on another numeric scale of its construct. Errors: UserError if there is no such scale."""
    shared = scales(probe.language)
    numeric = [name for name, known in shared.items() if known.kind != LABELLED]
    known = [name for name in numeric if name.startswith(f"{probe.construct}_")]
    if scale not in known:
        raise unknown_name(f"scale for probe {probe.name}", scale, known)
    return replace(probe, scale=shared[scale])


@cache
def scales(language: Language = ENGLISH) -> Mapping[str, Scale]:
    """Return the scales of a language by name. Languages have the same scales with other labels."""
    return _scales(dict(language.data("scales")), f"scales.toml of {language.code}")


@cache
def shared_probes(language: Language = ENGLISH) -> Mapping[str, Probe]:
    """Return the probes for any topic, by name."""
    return _probes(
        dict(language.data("probes")), scales(language), f"probes.toml of {language.code}", "probes", language
    )


def _scales(entries: dict, where: str) -> dict[str, Scale]:
    return {
        name: scale_of_table(name, require_section(entries, name, where), f"scale {name} of {where}")
        for name in entries
    }


def scale_of_table(name: str, values: dict, where: str) -> Scale:
    """Make a scale from its table. Errors: UserError."""
    labels = require_section(values, "labels", where)
    for point, label in labels.items():
        if not point.removeprefix("-").isdecimal() or not isinstance(label, str):
            raise UserError(f"{where}: a label is a whole number and a text, not {point} = {label!r}")
    by_point = MappingProxyType({int(point): label for point, label in labels.items()})
    return build_from_table(Scale, {**values, "name": name, "labels": by_point}, where)


def topic_names(folder: Path = TOPICS) -> list[str]:
    """Return the names of all topics of debates, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def news_names(society: str = US) -> list[str]:
    """Return the names of all items of news of a society and of its language, sorted."""
    home = load_society(society)
    return sorted(
        {name for folder in (home.folder, home.language.folder) for name in topic_names(folder / "topics" / NEWS)}
    )


def is_news(slug: str) -> bool:
    """Return whether a topic is an item of news; no if there is no such topic (any more)."""
    try:
        return load_topic(slug).news is not None
    except UserError:
        return False


def society_topics(society: Society) -> list[str]:
    """Return the names of all topics of debates of a society, as they are written outside of it."""
    return [society.qualified(name) for name in topic_names(society.folder / "topics")]


def shared_topic(society: str, name: str) -> Path:
    """Return the file of a topic or an item of news that suits every society: one in the folder of its language."""
    folder = load_society(society).language.folder / "topics"
    news = folder / NEWS / f"{name}.toml"
    return news if news.is_file() else folder / f"{name}.toml"


def topic_file(slug: str) -> Path:
    """Return the file of a topic or an item of news: NAME (of `us`), SOCIETY/NAME, or a path (`./mine.toml`).

    Errors: UserError.
    """
    if slug.endswith(".toml"):
        if not Path(slug).is_file():
            names = ", ".join(topic_names())
            raise UserError(
                f"the topic file {slug} does not exist: give the path of a .toml file, or one of the names {names}"
            )
        return Path(slug)
    society, name = split_name(slug)
    folder = load_society(society).folder / "topics"
    for own in (folder / f"{name}.toml", folder / NEWS / f"{name}.toml", shared_topic(society, name)):
        if own.is_file():
            return own
    known = [*topic_names(folder), *news_names(society)]
    raise unknown_name("topic" if society == US else f"topic of {society}", name, known)


@cache
def load_topic(slug: str) -> Topic:
    """Read a topic or an item of news, by name or by path. Errors: UserError if it is unknown or broken.

    Its society is the one that its name or its file names, or in whose folder the file lies; else `us`. A topic of a language
    (`shared_topic`) has the society of its name.
    """
    path, where = topic_file(slug), f"topic {slug}"
    values = read_toml(path)
    named = values.pop("society", None)
    inside = "" if slug.endswith(".toml") else split_name(slug)[0]
    society = load_society(str(named)) if named else society_of(path) or load_society(inside or US)
    own_scales = _scales(require_section(values, "scales", where), f"{slug}.toml")
    item = news_item(require_section(values, NEWS, where), where) if NEWS in values else None
    values = topic_values(values, item, society.language) if item else values
    values.pop("scales", None)
    known = {**scales(society.language), **own_scales}
    probes = _probes(require_section(values, "probes", where), known, where, slug, society.language)
    if not probes:
        raise UserError(f"topic {slug} lacks probes: a [probes.NAME] table for each survey question")
    own = {party: one.positions[path.stem] for party, one in society.parties.items() if path.stem in one.positions}
    positions = own | require_section(values, "positions", where)
    for party, position in positions.items():
        if not isinstance(position, str) or not position.strip():
            raise UserError(f"positions of {where}: {party} must be a text such as 'a small problem', not {position!r}")
    parts = {"slug": slug, "news": item, "probes": MappingProxyType(probes), "positions": MappingProxyType(positions)}
    return replace(build_from_table(Topic, {**values, **parts}, where), society=society)


def _probes(entries: dict, known: Mapping[str, Scale], where: str, slug: str, language: Language) -> dict[str, Probe]:
    probes = {}
    for name in entries:
        entry = require_section(entries, name, where)
        scale = str(entry.get("scale"))
        if scale not in known:
            raise unknown_name(f"scale of probe {name} in topic {slug}", scale, known)
        if known[scale].kind == LABELLED and "{label}" not in str(entry.get("sentence")):
            raise UserError(f"probe {name} in topic {slug}: a labelled scale needs a sentence with {{label}}")
        values = {**entry, "name": name, "scale": known[scale]}
        probes[name] = replace(build_from_table(Probe, values, f"probe {name} of topic {slug}"), language=language)
    return probes
