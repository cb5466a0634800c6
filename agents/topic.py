"""Topics as data: what a debate is about, and the survey questions on it. A new topic is one TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from parley.agents.claim_questions import CLAIM_QUESTIONS, NEGATED, VIEWS, claim_question
from parley.agents.datafiles import build_from_table, read_toml, require_section
from parley.agents.language import GIVEN, Language
from parley.agents.news import BELIEF, NewsItem, news_item, topic_values
from parley.agents.own_topic import FILE as OWN_TOPIC
from parley.agents.own_topic import derive_topic
from parley.agents.probe import (
    END,
    PHRASES,
    PUBLIC,
    TURNS,
    Probe,
    build_probes,
    build_scales,
    phrased,
    scales,
    shared_probes,
    with_scale,
)
from parley.agents.published.pack import topic_in
from parley.agents.society import (
    SOCIETIES,
    US,
    Society,
    home_of,
    is_sentence,
    load_society,
    society_folder,
    society_of,
    split_name,
)
from parley.llm.errors import UserError, unknown_name
from parley.llm.file_cache import read_once
from parley.llm.studies import studies
from parley.llm.trust import own_or_copy

TOPICS = SOCIETIES / US / "topics"
NEWS = "news"
"""The folder of items of news (agents/news.py). What runs over all topics leaves them out."""


@dataclass(frozen=True)
class Topic:
    """What a debate is about.

    axis            what 0-10 means: severity, agreement, belief
    high_party      the party that rates higher ("": none)
    question        and case: what a structured debate is to answer, and the situation it is asked in ("": none)
    base            the topic of which this is another case (run.py study case); what is known of that topic holds for this
                    one
    in_backstories  whether personas are written with a position on it (agents/persona_generator.py)
    news            what it says as an item of news; None for any other topic
    positions       these positions by party, in the words of the survey: those of the topic's file, else of the party's file; the
                    writer chooses for a party without one
    spoken          the code of the language of its texts, where that is not the language of the society
    line            the sentence that it was given as; "" for a topic with a file
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
    spoken: str = ""
    line: str = ""
    society: Society = field(default_factory=load_society, repr=False, compare=False)

    @property
    def language(self) -> Language:
        """The language in which its questions are asked."""
        return self.society.language

    def worded(self, wording: str) -> Topic:
        """Return the topic with the instructions of its questions in another wording, which may also word case and questions.

        Errors: UserError if there is no such wording.
        """
        language = self.language.worded(wording)
        topic = self._in_words_of(language)
        probes = {name: replace(probe, language=language) for name, probe in topic.probes.items()}
        return replace(topic, probes=probes, society=replace(self.society, language=language))

    def _in_words_of(self, language: Language) -> Topic:
        """Return the topic with its case, its question and the question of its claim as the wording of a language has them."""
        if (file := topic_in(language.wording_folder, self.root)) is None:
            return self
        words = read_toml(file)
        asked = require_section(require_section(words, "probes", file.name), "agreement", file.name).get("question")
        probes = (
            {**self.probes, "agreement": replace(self.probes["agreement"], question=asked)} if asked else self.probes
        )
        question, case = words.get("question", self.question), words.get("case", self.case)
        return replace(self, case=case, question=question, probes=probes)

    @property
    def root(self) -> str:
        """The slug under which examples, sentences and training data are stored."""
        return self.base or self.slug

    @property
    def own(self) -> bool:
        """Whether it is the user's: a sentence, or a file that is no case of a known topic."""
        return bool(self.line) or (self.slug.endswith(".toml") and not self.base)

    @cached_property
    def heading(self) -> str:
        """What figures and tables call it."""
        return self.line or self.title[0].upper() + self.title[1:]

    @property
    def claim(self) -> str:
        """The proposition of its agreement probe. Errors: UserError if the probe has another form."""
        question, begin = self.probe("agreement").question, self.language.words("agree")
        if not question.startswith(begin):
            raise UserError(f"topic {self.slug} cannot be judged: its agreement probe must begin with {begin!r}")
        return question.removeprefix(begin).rstrip("?")

    def _stated(self, probe: Probe) -> str:
        """Return the claim that a question of agreement or belief states; "" if it states none."""
        agree = self.language.words("agree")
        if probe.question.startswith(agree):
            return probe.question.removeprefix(agree).rstrip("?")
        return self.news.claim if self.news and probe.construct == BELIEF else ""

    def probe(self, name: str) -> Probe:
        """Return a probe of this topic or of any topic, by a name such as NAME, NAME:public, NAME:turns, NAME:end or NAME@SCALE.

        `agreement:negated` and the other names of agents/claim_questions.py ask about the topic's claim in other words.
        {claim} in a question is the topic's claim.
        NAME@SCALE, with or without PUBLIC, TURNS or END, is the same question on another numeric scale of its construct, and
        NAME@phrases the same with phrases as answers.
        Errors: UserError.
        """
        if name in CLAIM_QUESTIONS:
            return claim_probe(self, name)
        probes = {**shared_probes(self.language), **self.probes}
        plain = name.removesuffix(PUBLIC).removesuffix(TURNS).removesuffix(END)
        base, at, scale = plain.partition("@")
        if base not in probes or name not in (plain, f"{plain}{PUBLIC}", f"{plain}{TURNS}", f"{plain}{END}"):
            raise unknown_name(f"probe of topic {self.slug}", name, probes)
        probe = probes[base]
        if at:
            phrases = scale == PHRASES
            probe = phrased(probe, probes, self._stated(probe)) if phrases else with_scale(probe, scale)
        if "{claim}" in probe.question:
            probe = replace(probe, question=probe.question.replace("{claim}", self.claim))
        return replace(probe, name=name, audience="public" if name.endswith(PUBLIC) else probe.audience)


def claim_probe(topic: Topic, name: str) -> Probe:
    """Return a question of CLAIM_QUESTIONS about a topic's claim. Errors: UserError if the topic has no such claim, or
    its language no words for the question.
    """
    probe, opposite = topic.probe("agreement"), name == NEGATED
    question = claim_question(name, topic.claim, topic.language.words)
    polarity = -probe.polarity if opposite else probe.polarity
    return replace(probe, name=name, question=question, polarity=polarity, negated=opposite, view=VIEWS.get(name, ""))


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
    """Return the file of a topic or an item of news that suits every society: one in its language, of Parley or a study."""
    language = load_society(society).language
    folder = language.folder / "topics"
    society_files = folder / NEWS / f"{name}.toml", folder / f"{name}.toml"
    study_files = [study.folder / "data" / language.code / "topics" / f"{name}.toml" for study in studies().values()]
    return next((path for path in (*society_files, *study_files) if path.is_file()), society_files[-1])


def topic_file(slug: str) -> Path:
    """Return the file of a topic or an item of news: NAME (of `us`), SOCIETY/NAME, or a path (`./mine.toml`).

    Of a sentence it is the file of the language from which its survey questions follow. Errors: UserError.
    """
    if is_sentence(slug):
        return load_society(split_name(slug)[0]).language.folder / f"{OWN_TOPIC}.toml"
    if slug.endswith(".toml"):
        if not (path := own_or_copy(Path(slug))).is_file():
            names = ", ".join(topic_names())
            raise UserError(
                f"the topic file {slug} does not exist: give the path of a .toml file, or one of the names {names}"
            )
        return path
    society, name = split_name(slug)
    folder = load_society(society).folder / "topics"
    for file in (folder / f"{name}.toml", folder / NEWS / f"{name}.toml", shared_topic(society, name)):
        if file.is_file():
            return file
    valid_names = [*topic_names(folder), *news_names(society)]
    if " " in name:
        raise UserError(
            f'{name} is not a topic: give a yes-or-no question that ends with a question mark, such as "Should cities ban '
            f'cars from their centres?", a statement that ends with a full stop, or one of the names {", ".join(valid_names)}'
        )
    raise unknown_name("topic" if society == US else f"topic of {society}", name, valid_names)


def _files_of_topic(slug: str, language: str = "") -> Path:
    """Return the folder of the society that a topic hangs on; the topic's file outside of any."""
    is_file = slug.endswith(".toml")
    return (home_of(topic_file(slug)) or topic_file(slug)) if is_file else society_folder(split_name(slug)[0])


@read_once(_files_of_topic)
def load_topic(slug: str, language: str = "") -> Topic:
    """Read a topic or an item of news, by name or by path. Errors: UserError if it is unknown or broken.

    Its society is the one that its file or its name names; of a path, the one in whose folder the file lies, else `us`.
    language: the code of a language that only some people of the society speak; the society's folder languages/CODE/topics has
    the title and the questions in it.
    """
    path, where = topic_file(slug), f"topic {slug}"
    values = _derived(slug, language) if is_sentence(slug) else read_toml(path)
    inside = "" if slug.endswith(".toml") else split_name(slug)[0]
    named = str(values.pop("society", "") or inside)
    society = load_society(named) if named else society_of(path) or load_society(US)
    spoken = "" if language == society.language.code else language
    if spoken:
        values = _translated(values, society.translated(language) / "topics" / path.name, slug, language)
        society = replace(society, language=society.spoken(language))
    own_scales = build_scales(require_section(values, "scales", where), f"{slug}.toml")
    item = news_item(require_section(values, NEWS, where), where) if NEWS in values else None
    values = topic_values(values, item, society.language) if item else values
    values.pop("scales", None)
    all_scales = {**scales(society.language), **own_scales}
    probes = build_probes(require_section(values, "probes", where), all_scales, where, slug, society.language)
    if not probes:
        raise UserError(f"topic {slug} has no survey questions: write a table [probes.NAME] for each question")
    party_positions = {
        party: party_data.positions[path.stem]
        for party, party_data in society.parties.items()
        if path.stem in party_data.positions
    }
    positions = party_positions | require_section(values, "positions", where)
    for party, position in positions.items():
        if not isinstance(position, str) or not position.strip():
            raise UserError(
                f"positions of {where}: {party} is {position!r}, but must be a text such as 'a small problem'"
            )
    parts = {
        "slug": slug,
        "spoken": spoken,
        "news": item,
        "probes": MappingProxyType(probes),
        "positions": MappingProxyType(positions),
    }
    return replace(build_from_table(Topic, {**values, **parts}, where), society=society)


def worded_topic(slug: str, wording: str, language: str = "") -> Topic:
    """Return a topic as a wording has it. Errors: UserError, as load_topic and Topic.worded."""
    topic = load_topic(slug, language)
    return topic if wording == GIVEN else topic.worded(wording)


def _derived(sentence: str, language: str) -> dict[str, Any]:
    """Return the entries of a topic in one line. Errors: UserError, also where some people speak another language."""
    society, line = split_name(sentence)
    usual = load_society(society).language
    if language not in ("", usual.code):
        raise UserError(
            f"the topic {line!r} is in one language, but some people of this run speak {language}: write the topic "
            "to a file with run.py new topic, and translate it in that file (docs/societies.md)"
        )
    return derive_topic(line, usual)


def _translated(values: dict[str, Any], path: Path, slug: str, language: str) -> dict[str, Any]:
    """Return the entries of a topic's file with those of another language, probe by probe. Errors: UserError without a file."""
    if not path.is_file():
        raise UserError(
            f"the topic {slug} is not translated into the language {language}, which some people of this run "
            f"speak: write its title and its questions into {path}, with the keys of {topic_file(slug).name}"
        )
    translation = read_toml(path)
    probes = {
        name: {**probe, **translation.get("probes", {}).get(name, {})}
        for name, probe in require_section(values, "probes", f"topic {slug}").items()
    }
    return {**values, **translation, "probes": probes}
