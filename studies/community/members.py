"""An online community as data: goal, rules, members and topics; its members write posts and replies.

A community is a file: one of Parley's by name (data/<language>/communities), or a .toml file of your own. It has `language`,
`title`, `goal`, `rules` (name, text, the same `reworded`, and a `question` for a judge: does a post break the rule?), `people`
(name, about) and `topics`. A topic has `name`, `text`, and by rule a `planted` sentence that breaks it. Planted sentences measure
a judge; no member sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from parley.agents.closed_answers import ANSWER_TOKENS, OPTIONS
from parley.agents.datafiles import build_from_table, read_toml, shipped_or_own
from parley.agents.language import Language, language_of_study, load_language
from parley.agents.persuasion import read_message
from parley.agents.reply_cleaning import one_line
from parley.analysis.rule_judge import Case, RuledCases
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

HOME = Path(__file__).parent
NAMES = ("garden", "patients")
FEWEST = 2
"""People and topics that a community needs at least."""
RUBRIC = "house_rules"
MEMBER_TOKENS = 80
Kind = TypeVar("Kind")


def rubric_file(name: str, language: str) -> str:
    """Return the path of a rubric of this study in a language, NAME or NAME_CODE."""
    return str(HOME / "data" / language / f"{name if language == 'en' else f'{name}_{language}'}.toml")


class PostFacts(Facts, total=False):
    """What a request states besides: the rules that members read, by name, and the posts of the thread."""

    house_rules: Sequence[str]
    thread: Sequence[str]


@dataclass(frozen=True)
class Rule:
    """A rule of a community. reworded: the same rule in other words. question: does a post break it (yes)?"""

    name: str
    text: str
    reworded: str
    question: str


@dataclass(frozen=True)
class MemberProfile:
    """A member. about: who it is and how it behaves, in words that follow "You are NAME."."""

    name: str
    about: str


@dataclass(frozen=True)
class Community:
    """A community. name: of its file. topics: what threads are about."""

    name: str
    title: str
    goal: str
    rules: tuple[Rule, ...]
    people: tuple[MemberProfile, ...]
    topics: tuple[Case, ...]
    language: str = "en"

    @property
    def spoken(self) -> Language:
        """The language of the prompts."""
        return language_of_study(load_language(self.language), HOME)

    @property
    def judged(self) -> RuledCases:
        """The community as its judge reads it: topics as cases, rules as probes."""
        probes = {rule.name: rule.question for rule in self.rules}
        return RuledCases(self.name, probes, self.topics, self.language, rubric_file(RUBRIC, self.language))

    def rules_of(self, names: Sequence[str]) -> tuple[Rule, ...]:
        """Return the rules with these names, in the order of the file. Errors: UserError for an unknown name."""
        rule_names = [rule.name for rule in self.rules]
        if other := [name for name in names if name not in rule_names]:
            raise unknown_name(f"rule of {self.name}", other[0], rule_names)
        return tuple(rule for rule in self.rules if rule.name in names)


class StatedRules(NamedTuple):
    """The rules that members read. reworded: whether they read them in other words."""

    rules: tuple[Rule, ...] = ()
    reworded: bool = False

    @property
    def texts(self) -> list[str]:
        """The rules as members read them."""
        return [one_line(rule.reworded if self.reworded else rule.text) for rule in self.rules]


class Post(NamedTuple):
    """A post or reply of a thread that could be read."""

    author: str
    text: str


class Member(NamedTuple):
    """A member of a community under some rules; it writes at most `words` words."""

    community: Community
    profile: MemberProfile
    stated: StatedRules
    words: int = 40
    temperature: float = 1.0

    def compose_post(self, topic: Case, seed: int) -> Request:
        """Ask for the post that begins a thread."""
        ask = self._spoken.prompt("community_post").fill(topic=one_line(topic.text), words=self.words)
        return self._request(ask, topic, (), seed, "community_post")

    def compose_choice(self, topic: Case, thread: Sequence[Post], seed: int) -> Request:
        """Ask whether the member replies (A) or not (B)."""
        ask = self._spoken.prompt("community_choice").fill(thread=thread_text(thread))
        return self._request(ask, topic, thread, seed, "community_choice", OPTIONS)

    def compose_reply(self, topic: Case, thread: Sequence[Post], seed: int) -> Request:
        """Ask for a reply in a thread."""
        ask = self._spoken.prompt("community_reply").fill(thread=thread_text(thread), words=self.words)
        return self._request(ask, topic, thread, seed, "community_post")

    @property
    def _spoken(self) -> Language:
        return self.community.spoken

    def _request(
        self, ask: str, topic: Case, thread: Sequence[Post], seed: int, purpose: str, answers: tuple[str, ...] = ()
    ) -> Request:
        community, texts = self.community, self.stated.texts
        rules = (
            "\n\n" + community.spoken.words("community_rules") + "".join(f"\n- {text}" for text in texts)
            if texts
            else ""
        )
        slots = {
            "name": self.profile.name,
            "about": self.profile.about,
            "title": community.title,
            "goal": community.goal,
        }
        system = community.spoken.prompt("community_member").fill(**slots, rules=rules)
        tokens = ANSWER_TOKENS if answers else 4 * self.words
        facts: PostFacts = {
            "source": one_line(topic.text), "house_rules": [rule.name for rule in self.stated.rules],
            "thread": [post.text for post in thread], "words": self.words, "language": community.language, "kind": community.name,
        }  # fmt: skip
        messages = (Message("system", system), Message("user", ask))
        return Request(messages, Sampling(self.temperature, tokens), seed, answers, purpose, facts=facts)


def thread_text(thread: Sequence[Post]) -> str:
    """Return a thread, a line for each post."""
    return "\n".join(f"{post.author}: {one_line(post.text)}" for post in thread)


def compose_member(community: Community, examples: Sequence[MemberProfile], seed: int) -> Request:
    """Ask for one more member, different from some examples, as one line `Name: about`."""
    listed = "\n".join(f"{member.name}: {one_line(member.about)}" for member in examples)
    slots = {"title": community.title, "goal": community.goal, "examples": listed}
    ask = community.spoken.prompt("community_new_member").fill(**slots)
    facts: Facts = {"language": community.language}
    return Request((Message("user", ask),), Sampling(1.0, MEMBER_TOKENS), seed, (), "community_member", facts=facts)


def read_member(reply: Reply) -> tuple[MemberProfile | None, str]:
    """Return a member that a model wrote as `Name: about`, and "", or None and the reason."""
    message = read_message(reply)
    if message.text is None:
        return None, message.reason or "empty"
    name, colon, about = message.text.partition(":")
    if not colon or not name.strip() or not about.strip() or len(name.split()) > 4:
        return None, "no_name"
    return MemberProfile(name.strip(" -*"), about.strip()), ""


def load_community(name: str, language: str = "en") -> Community:
    """Read a community: one of NAMES in a language, or a .toml file. Errors: UserError for a file that is missing or broken."""
    path = shipped_or_own(
        "community", name, NAMES, HOME / "data" / language / "communities", "studies/community/README.md"
    )
    values = read_toml(path)
    parts = {
        "rules": _named(Rule, values.pop("rules", []), f"{path}, rule", 1),
        "people": _named(MemberProfile, values.pop("people", []), f"{path}, person", FEWEST),
        "topics": _named(Case, values.pop("topics", []), f"{path}, topic", FEWEST),
    }
    community = build_from_table(Community, values | {"name": path.stem, **parts}, str(path))
    for topic in community.topics:
        if other := sorted(topic.planted.keys() - {rule.name for rule in community.rules}):
            raise unknown_name(
                f"rule planted in the topic {topic.name!r} of {path}", other[0], [rule.name for rule in community.rules]
            )
    return community


def _named(kind: type[Kind], tables: object, where: str, fewest: int) -> tuple[Kind, ...]:
    """Return named things of a file. Errors: UserError for fewer than `fewest`, an empty text, and a name that comes twice."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{where}s must be tables: begin each {where} with a table (studies/community/README.md)")
    built: list[Any] = [build_from_table(kind, table, f"{where} {place}") for place, table in enumerate(tables, 1)]
    for place, record in enumerate(built, 1):
        if empty := [key for key, value in vars(record).items() if isinstance(value, str) and not value.strip()]:
            raise UserError(f"{where} {place}: {empty[0]} is empty: write it, or leave out the table")
    names = [record.name for record in built]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{where}: the name {twice[0]!r} comes twice: give each table its own name")
    if len(built) < fewest:
        raise UserError(
            f"{where}s: there are {len(built)}, but at least {fewest} are needed (studies/community/README.md)"
        )
    return tuple(built)
