"""The parts of a Scenario: its environment, and five blocks of fields (subject, people, surveys, speech, models).

The comment after a field explains it, and the page and the documentation show these comments. A block checks its own values;
model/validation.py checks that the blocks fit together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from parley.agents.language import GIVEN, REPRESENTATIVE
from parley.agents.memory import Retrieval, make_memory
from parley.agents.own_topic import TopicList
from parley.agents.probe import END, PHRASES, TURNS, Probe, in_numbers, in_phrases
from parley.agents.published.pack import is_pack
from parley.agents.question import Question, question_set, questions_by_id, topics_of
from parley.agents.reasoning import open_ability
from parley.agents.representative import CRITIQUE, STEPS, parse_knowledge
from parley.agents.society import US, VOTERS, Society, load_society
from parley.agents.topic import Topic, load_topic, worded_topic
from parley.environments import environment_class
from parley.environments.base import Environment, Group
from parley.llm.errors import UserError, unknown_name
from parley.llm.spacing import Spacing


@dataclass(frozen=True)
class EnvironmentSpec:
    """An environment by name, with the options that a preset or a user sets. Other options have their defaults.

    `name` is a module of environments/, an entry point, or your own class (`./mine.py:Mine`). `first` and `second` among
    its seats or parties are the two debaters of the society.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    society: str = US

    @cached_property
    def environment(self) -> Environment:
        """The environment with these options. Errors: UserError when the options do not fit."""
        kind, society = environment_class(self.name), load_society(self.society)
        options: dict[str, Any] = {option.name: option.default for option in fields(kind) if option.name in SEATED}
        options |= self.options
        seats = {key: tuple(map(society.seat, options[key])) for key in SEATED if isinstance(options.get(key), tuple)}
        try:
            environment: Environment = kind(**{**self.options, **seats})
        except ValueError as error:
            raise UserError(f"environment {self.name}: {error}") from error
        return environment

    @cached_property
    def groups(self) -> Sequence[Group]:
        """The groups of people that sit together."""
        return self.environment.groups()

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values. A graph object is named by its digest."""
        plain = str | int | float | list | tuple | dict | None
        return {key: value if isinstance(value, plain) else str(value) for key, value in self.options.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Pickle only name and options: another process makes its own environment."""
        return {"name": self.name, "options": self.options, "society": self.society}


SEATED = ("seats", "parties")
"""Options of environments that list seats."""
WORD = re.compile(r"[^\W\d_](?:[\w' -]*\w)?")


@dataclass(frozen=True)
class Subject:
    """What is debated: topics, or questions of a deliberation."""

    society: str = US  # whose parties, personas, topics and language: us, uk, germany, neutral, or the path of your own
    topic: Annotated[
        tuple[str, ...], TopicList
    ] = ()  # names, paths of .toml files, or questions (none: those of the society)
    questions: str = ""  # questions instead of topics: `shipped` or a path; `topic` selects among them (none: all)
    split: Literal["all", "train", "iid_test", "ood_test"] = "all"  # which part of the questions is used
    wording: str = (
        # how instructions in prompts are worded: given, another wording of the language (papers, second), or the folder that
        # run.py new wording cuts out of a paper's text (./published)
        "given"
    )
    episodes: int = 3  # questions that each group deliberates on in a repetition, drawn at random

    def __post_init__(self) -> None:
        _check_numbers(self, episodes=1)
        society = load_society(self.society)
        named = self.topic or (() if self.questions else society.topics)
        object.__setattr__(self, "topic", named if self.questions else tuple(map(society.qualified, named)))
        if not (self.topic or self.questions) or len(set(self.topic)) < len(self.topic):
            raise UserError("topic must name at least one topic, and each topic only once")
        object.__setattr__(self, "wording", society.language.wording_named(self.wording))
        if self.questions and not (
            self.wording == GIVEN or is_pack(self.wording) or _rewords_a_deliberation(society, self.wording)
        ):
            raise UserError(
                f"the wording {self.wording} has no prompts for deliberations: set wording=given, or another wording"
            )

    @cached_property
    def question_pool(self) -> tuple[Question, ...]:
        """The questions to draw from, in the order of the set. Errors: UserError on a topic that is not in the set."""
        pool = question_set(self.questions, self.society)
        for topic in self.topic:
            if topic not in topics_of(pool):
                raise unknown_name(f"topic of {self.questions}", topic, topics_of(pool))
        in_split = [question for question in pool if self.split in ("all", question.split)]
        chosen = [question for question in in_split if not self.topic or question.topic in self.topic]
        return tuple(question.worded(self.wording) for question in chosen)

    def question(self, slug: str) -> Question:
        """Return the question with this id."""
        question = questions_by_id(self.questions, self.society)[slug]
        return question if self.wording == GIVEN else question.worded(self.wording)

    def topic_named(self, slug: str, language: str = "") -> Topic:
        """Return the topic called `slug`, or the question with this id as a topic; in a language, where a person has its own.

        Errors: UserError where there are no words in this language.
        """
        if self.questions and language not in ("", load_society(self.society).language.code):
            raise UserError(
                f"the questions of {self.questions} are in one language, but a person speaks {language}: debate a topic instead"
            )
        if self.questions:
            return self.question(slug).subject
        worded = worded_topic if is_pack(self.wording) else _worded_topic  # a pack may change while a notebook is open
        return load_topic(slug, language) if self.wording == GIVEN else worded(slug, self.wording, language)

    @property
    def all_topics(self) -> list[Topic]:
        """The topics, or the questions as topics, that a room can have."""
        if self.questions:
            return [question.subject for question in self.question_pool]
        return [self.topic_named(slug) for slug in self.topic]


def _rewords_a_deliberation(society: Society, wording: str) -> bool:
    """Return whether a wording of the language has prompts of a deliberation, which are those of representatives."""
    return any(name.startswith(REPRESENTATIVE) for name in society.language.worded(wording).reworded)


@cache
def _worded_topic(slug: str, wording: str, language: str) -> Topic:
    return worded_topic(slug, wording, language)


@dataclass(frozen=True)
class People:
    """Who takes part: personas, what agents know of each other, roles and traits."""

    personas: str = VOTERS  # a set of personas: one of the society, or the path of your own
    cast: Literal["circle", "fresh", "fixed", "listed", "drawn", "copies"] = (
        # who sits in a repetition. circle: the next persona on a random circle; fresh: no one again until all have sat;
        # fixed: the first of the file; listed: the next of the file; drawn: dealt at random; copies: one person in all seats
        "circle"
    )
    block: int = (
        0  # with cast=listed: personas of each party that belong to a repetition; 0: as many as the party has seats
    )
    disclose: Literal["nothing", "gender", "demographics"] = (
        "nothing"  # what agents know of each other in addition to names; demographics: gender, party and age
    )
    introduce: Literal["nothing", "person", "ai", "copy", "even"] = (
        "nothing"  # how opponents are described to agents: as a person, an AI, a copy of themselves, or an equal match
    )
    reference: tuple[
        str, ...
    ] = ()  # parties that are surveyed once before the debates and do not take part (dashed line)
    represented: Literal["none", "one", "all"] = (
        "none"  # whose critiques a representative writes in the last episode: those of no member, one member or all
    )
    represents: tuple[str, ...] = (
        CRITIQUE,
    )  # the steps at which a representative takes the member's place: opinion, critique, ballot, vote
    knows: str = ""  # what a representative knows of its participant: letters of D, O, C, P (agents/representative.py)
    sides: Literal["own", "opposed", "assigned"] = (
        # what debaters argue for: their own opinion; opposed: in turn for and against the first debater's opinion; assigned: in
        # turn for and against the claim
        "own"
    )
    roles: tuple[str, ...] = ()  # PARTY:ROLE[+ARGUMENT], SEAT:ROLE, or ROLE for all agents; of ROLE/ROLE one is drawn
    traits: tuple[str, ...] = ()  # PARTY:TRAIT=LEVEL+TRAIT=LEVEL, PARTY:drawn, or the same for a seat or all agents
    confirmation_bias: tuple[str, ...] = ()  # none, weak or strong for all agents, or PARTY:LEVEL, or SEAT:LEVEL
    believers: float = (
        0.0  # share of agents who start as believers of the news; the others do not believe it (0: not mentioned)
    )
    archetypes: int = 0  # survey answers shared by agents of the same kind and state (0: each agent answers for itself)

    def __post_init__(self) -> None:
        _check_numbers(self, archetypes=0, block=0)
        if self.block and self.cast != "listed":
            raise UserError(f"block only works with cast=listed: set cast=listed, or leave out block={self.block}")
        if self.archetypes == 1:
            raise UserError(
                "archetypes must be 0 (agents do not share answers) or at least 2 (the "
                "number of answers per kind of agent)"
            )
        if not 0 <= self.believers <= 1:
            raise UserError(
                f"believers is {self.believers}, but must be between 0 and 1, such as 0.2 for a fifth of the agents"
            )
        parse_knowledge(self.knows)
        for step in self.represents:
            if step not in STEPS:
                raise unknown_name("step", step, STEPS)
        if not self.represents:
            raise UserError(
                f"represents does not name a step: set represents={CRITIQUE}, or several of {', '.join(STEPS)}"
            )

    @property
    def knowledge(self) -> str:
        """What representatives know, as letters in the order D, O, C, P; "" without representatives."""
        return parse_knowledge(self.knows) if self.represented != "none" else ""


@dataclass(frozen=True)
class Surveys:
    """How opinions are measured: which questions, when, and how the ratings are read."""

    probe: str = "attitude"  # the survey question, a probe of the topic
    also: tuple[
        str, ...
    ] = ()  # further probes; NAME:public is answered in front of all agents, NAME:turns after every turn, NAME:end at the end
    chain: tuple[
        str, ...
    ] = ()  # probes that are asked first, in this order, each with the answers before it; all answers are in every later prompt
    survey: Literal["rounds", "stages", "ends", "never"] = (
        "rounds"  # when agents are surveyed: before the debate and after each round, after each stage, before and after the
        # debate, or never
    )
    forecast: bool = False  # whether agents predict before the debate what they will answer at the end
    asked: Literal["numbers", "phrases"] = (
        "numbers"  # how survey questions are answered: with a number, or with a phrase that ends a sentence ("I think racism is a
        # large problem."), which small models need
    )
    reader: Literal["strict", "paper"] = "strict"  # how a rating is read from a reply
    measure: Literal["mean", "rating"] = (
        "mean"  # what an opinion is: the mean of the model's distribution of answers, where it gives one, or the rating itself
    )
    interview: tuple[str, ...] = ()  # what agents are asked to recall after the last round: names of questions, or all
    listing: Literal["given", "reversed", "shuffled"] = (
        "given"  # the order of the answers to choose from: low to high, high to low, or random
    )
    asks: int = 2  # times a survey question, or a turn, is asked until the reply can be read
    survey_temperature: float = 0.0  # temperature of ratings and notes to oneself; 0: the likeliest reply

    def __post_init__(self) -> None:
        _check_numbers(self, asks=1, survey_temperature=0)
        named = in_phrases if self.asked == PHRASES else in_numbers
        object.__setattr__(self, "probe", named(self.probe))
        for field_ in ("also", "chain"):
            object.__setattr__(self, field_, tuple(map(named, getattr(self, field_))))
        if self.probe in self.also or len(set(self.also)) < len(self.also):
            raise UserError("also must name survey questions other than probe, and each question only once")
        self._check_chain()

    def _check_chain(self) -> None:
        """Errors: UserError for a chain of questions that are not asked, or not in every survey."""
        survey_names = [name for name in (self.probe, *self.also) if not name.endswith((TURNS, END))]
        if left := [name for name in self.chain if name not in survey_names]:
            raise UserError(f"chain names {left[0]}, which no survey asks: add it to also, as in also={left[0]}")
        if len(set(self.chain)) < len(self.chain):
            raise UserError("chain must name each survey question only once")
        if self.chain and self.survey != "rounds":
            raise UserError("chain needs answers after each round: set survey=rounds, or leave chain empty with chain=")

    def survey_probes(self, topic: Topic) -> list[Probe]:
        """Return the questions of a survey in the order in which they are asked: a chain, then the main one and the others."""
        names = dict.fromkeys((*self.chain, self.probe, *self.also))
        return [topic.probe(name) for name in names if not name.endswith((TURNS, END))]

    def turn_probes(self, topic: Topic) -> list[Probe]:
        """Return the questions that agents answer after every turn."""
        return [topic.probe(name) for name in self.also if name.endswith(TURNS)]

    def end_probes(self, topic: Topic) -> list[Probe]:
        """Return the questions that agents answer once, after the last survey."""
        return [topic.probe(name) for name in self.also if name.endswith(END)]


@dataclass(frozen=True)
class Speech:
    """How agents speak: form and length of a reply, sampling, memory, and what an agent does before it speaks."""

    frame: str = "debate"  # the word for the event in all prompts: debate, conversation
    spacing: Spacing = (
        "given"  # white space of the prompts of debating agents: as given, newline (a line break at the end of each message),
        # blank_lines (two empty lines between parts), double_spaces (two after a full stop); questionnaires of
        # deliberations, mediators, fact checkers and planners keep theirs
    )
    steering: Literal["given", "struck"] = (
        "given"  # sentences of personas that say how to debate, such as "You never change your mind.": given, or struck out
    )
    format: Literal["free", "structured"] = "free"  # structured: with a case, roles, opening and closing statements
    closing: bool = True  # whether a structured debate ends with closing statements
    words: int = 60  # length of a reply that agents are asked for
    cut: Literal["none", "sentence", "last"] = (
        "none"  # what is kept of a longer reply: all of it, the sentences that fit, or its last words
    )
    max_tokens: int = 120  # most tokens of a reply
    temperature: float = 1.0  # sampling temperature of what agents say
    top_p: float = 1.0  # nucleus sampling of what agents say; 1: the whole distribution
    min_p: float = 0.0  # tokens below this share of the likeliest token's probability are never said; 0: all may be
    top_k: int = 0  # only the k likeliest tokens are said; 0: all may be
    memory: str = "whole"  # what agents remember: whole, last:K, summary:K, retrieve:K
    importance: Literal["novelty", "asked"] = (
        "novelty"  # with retrieve:K, the importance of a line: by its new words, or as the agent rates it
    )
    relevance: Literal["words", "embedding"] = (
        "words"  # with retrieve:K, by what older memories fit the latest lines: common words, or embeddings of a model
    )
    reflect: int = 0  # with retrieve:K, lines after which an agent writes down its conclusions; 0: never
    evidence: bool = (
        False  # with reflect, whether conclusions cite the memories, and earlier conclusions, that they follow from
    )
    plan: int = 0  # rounds of a day, at whose start an agent writes a plan for itself; 0: no plans
    reminder: bool = False  # whether agents are reminded of their persona before every reply, rating and note
    think: str = (
        "none"  # what an agent does before it speaks: none, bdi, latent, bounded[,words=N] (agents/reasoning.py)
    )
    mediator: str = "draft_revise"  # how a mediator writes statements: NAME[,option=value] (agents/mediators)

    def __post_init__(self) -> None:
        _check_numbers(self, words=1, max_tokens=1, temperature=0, reflect=0, plan=0, min_p=0, top_k=0)
        if self.min_p >= 1:
            raise UserError(f"min_p is {self.min_p}, but must be at least 0 and below 1")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p is {self.top_p}, but must be above 0 and at most 1")
        if not WORD.fullmatch(self.frame):
            raise UserError(f"frame is {self.frame!r}, but must be a word, such as debate or conversation")
        memory = make_memory(self.memory, "")
        if (self.reflect or self.importance == "asked" or self.relevance == "embedding") and not isinstance(
            memory, Retrieval
        ):
            raise UserError(
                f"reflect, importance and relevance only work with memory=retrieve:K, not with memory={self.memory}"
            )
        if self.evidence and not self.reflect:
            raise UserError(
                "evidence needs conclusions: set reflect=N, the number of lines after which an agent writes conclusions"
            )
        open_ability(self.think)


@dataclass(frozen=True)
class Models:
    """The models through which agents speak."""

    llm: str = "pocket"  # the model that speaks for all agents: NAME[:MODEL][,key=value]
    llms: tuple[
        str, ...
    ] = ()  # PARTY=SPEC or SEAT=SPEC: a model of its own, or a surrogate, for a party or seat; 30%=SPEC: for a share
    adapters: tuple[str, ...] = ()  # PARTY:ADAPTER or SEAT:ADAPTER: an adapter of the model for a party or seat


BLOCKS: dict[str, type] = {"subject": Subject, "people": People, "surveys": Surveys, "speech": Speech, "models": Models}
"""The blocks by their attribute of a Scenario."""
TOP = ""
"""In place of a block, for the fields of the Scenario itself."""
# fmt: off
FIELDS = (
    "name", "title", "source", "environment", "options", "society", "topic", "questions", "split", "episodes", "repetitions",
    "rounds", "personas", "cast", "block", "disclose", "introduce",
    "reference", "frame", "wording", "spacing", "steering", "probe",
    "also", "chain", "survey", "forecast", "interview", "asked", "reader", "measure", "listing", "asks", "mediator",
    "represented", "represents", "knows", "sides", "format", "closing", "words", "cut", "max_tokens", "temperature", "top_p",
    "min_p", "top_k", "survey_temperature", "archetypes", "memory", "importance", "relevance", "reflect", "evidence", "plan",
    "roles", "traits", "confirmation_bias",
    "believers", "reminder", "think", "adapters", "interventions", "llm", "llms", "seed",
)
# fmt: on
"""The words that a preset, `--set` and the header of a record use, in the order of the header."""
_BLOCK_OF = {field.name: block for block, cls in BLOCKS.items() for field in fields(cls)}
FIELD_BLOCKS = {word: _BLOCK_OF.get(word, TOP) for word in FIELDS}
"""The block of every field."""


def _check_numbers(block: Any, /, **least: float) -> None:
    """Errors: UserError on a number that is too small or not finite."""
    for name, bound in least.items():
        check_number(name, getattr(block, name), bound)


def check_number(name: str, value: float, least: float) -> None:
    """Errors: UserError on a number below `least`, infinite or not a number."""
    if not least <= value < math.inf:
        raise UserError(f"{name} is {value}, but must be a finite number of at least {least}")
