"""Debaters choose a side before a judge of whom they know nothing, a belief, a persona or a detail.

Source: Carro et al. 2025 (arXiv 2510.13912), whose debaters choose before a judge who disagrees with them.
README.md lists the departures. Each person first says in private how far it agrees with the claim. The choice is
a closed question, A or B. Which letter is for the claim changes from question to question. Choices of people are read from a CSV.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.closed_answers import ANSWER_TOKENS, OPTIONS, read_share
from parley.agents.language import Language, language_of_study
from parley.agents.persona import Persona
from parley.agents.topic import Topic, load_topic
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.respondents import draw_people
from parley.analysis.studies.questionnaire import Answer, Item, ask_item
from parley.analysis.table_files import read_table
from parley.llm.backends import identity_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling
from parley.llm.seeding import derive, digest, stream

FOR, AGAINST = SIDES = ("for", "against")
NOTHING, BELIEF, PERSONA, DETAIL = KNOWN = ("nothing", "belief", "persona", "detail")
"""What the debater knows of the judge. A detail (in which half of a year the judge was born) has nothing to do with the claim."""
HOME = Path(__file__).parent


class SideFacts(Facts, total=False):
    """What the question states besides: on which side the judge is."""

    judge: str


def words_on(topic: Topic) -> Language:
    """Return the prompts of this study in the language of a topic."""
    return language_of_study(topic.language, HOME)


class JudgeNotice(NamedTuple):
    """What a debater knows of the judge, one of KNOWN.

    side: on which the judge is; for a detail a label drawn by lot; "" for nothing. text: the judge's description, for PERSONA, or
    the sentence with a DETAIL.
    """

    known: str
    side: str = ""
    text: str = ""

    def describe(self, topic: Topic) -> str:
        """Return the sentences about the judge."""
        language = words_on(topic)
        if self.known == BELIEF:
            return language.fill(f"judge_{self.side}", claim=topic.claim)
        if self.known == PERSONA:
            return language.fill("judge_persona", persona=" ".join(self.text.split()))
        return self.text if self.known == DETAIL else language.words("judge_nothing")

    @property
    def facts(self) -> SideFacts:
        """What the sentences state about the judge's opinion, for the oracle."""
        if self.known == BELIEF:
            return {"judge": self.side}
        return {"persona": self.text} if self.known == PERSONA else {}


class SideChooser(NamedTuple):
    """A person who chooses a side of a topic. temperature: of its answers."""

    person: Persona
    temperature: float = 1.0

    def compose(self, topic: Topic, notice: JudgeNotice, first: str, seed: int) -> Request:
        """Ask which side the person will argue; A is the side `first`."""
        language = words_on(topic)
        order = (first, SIDES[1 - SIDES.index(first)])
        a, b = (language.words(f"side_{side}") for side in order)
        slots = {"claim": topic.claim, "judge": notice.describe(topic), "a": a, "b": b}
        ask = language.prompt("side_choice").fill(ask=topic.language.prompt("decision_ask").text, **slots)
        messages = (Message("system", self.person.backstory), Message("user", ask))
        facts: SideFacts = {"claim": topic.claim, "topic": topic.title, "choices": order, **notice.facts}
        return Request(messages, Sampling(self.temperature, ANSWER_TOKENS), seed, OPTIONS, "side_choice", facts=facts)


COLUMNS = ["person", "party", "topic", "stance", "known", "judge", "share_for", "first", "reason"]
"""stance: agreement with the claim, 0-10. known: what the person knows. judge: the judge's side. share_for: probability of
arguing for the claim, mean of both orders. first: how much more often than 0.5 the side listed first is chosen."""
MIDDLE = 5.0


class Choice(NamedTuple):
    """The probability of arguing for the claim, listed first and listed last; None with the reason."""

    listed_first: float | None
    listed_last: float | None
    reason: str | None


class Setting(NamedTuple):
    """A person before a choice on a topic."""

    person: Persona
    topic: Topic
    notice: JudgeNotice


@dataclass(frozen=True)
class SideChoiceStudy:
    """The model, the topics, the set of personas, and how many of them choose (0: all). asked: who chooses instead of these."""

    llm: str
    topics: tuple[str, ...]
    personas: str = "voters"
    respondents: int = 0
    temperature: float = 1.0
    seed: int = 0
    asked: tuple[Persona, ...] = ()

    @cached_property
    def people(self) -> tuple[Persona, ...]:
        """The debaters, drawn with the seed, of each party in turn. Errors: UserError if the set has too few personas."""
        return self.asked or draw_people(self.personas, self.respondents, self.seed, "choose side", "respondents")

    @property
    def calls(self) -> int:
        """The largest number of calls: a rating, and seven choices in both orders, for each person and topic."""
        return len(self.people) * len(self.topics) * 15

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        return {
            "llm": identity_spec(self.llm), "topics": list(self.topics), "temperature": self.temperature, "seed": self.seed,
            "people": digest(*(person.backstory for person in self.people)).hex(),
        }  # fmt: skip

    def run(self, desk: CallDesk) -> pd.DataFrame:
        """Ask all people; return one row per choice: COLUMNS (NaN: missing, with the reason)."""
        places = [(person, load_topic(name)) for name in self.topics for person in self.people]
        conversations = [self._rate(person, topic) for person, topic in places]
        answers = desk.ask(conversations, self.llm, "ratings", lambda answer: answer.reason or None)
        stances = [toward_claim(topic, answer) for (_, topic), answer in zip(places, answers, strict=True)]
        rows = []
        for (person, topic), stance in zip(places, stances, strict=True):
            judges = {
                person.id: stance for (person, about), stance in zip(places, stances, strict=True) if about is topic
            }
            rows += [(stance, Setting(person, topic, notice)) for notice in self.notices(person, topic, judges)]
        choices = desk.ask(
            [self._choose(setting) for _, setting in rows], self.llm, "choices", lambda choice: choice.reason
        )
        return choice_table(rows, choices)

    def notices(self, person: Persona, topic: Topic, stances: Mapping[str, float | None]) -> list[JudgeNotice]:
        """Return what a person is to know of the judge, in each condition. stances: agreement with the claim by person.

        A described judge is another person of the study on that side; where there is none, the condition is left out.
        """
        rng = stream(self.seed, "judges", topic.slug, person.party, person.id)
        details = rng.sample(list(words_on(topic).entry("judge_traits")), len(SIDES))
        notices = [JudgeNotice(NOTHING)]
        for side, detail in zip(SIDES, details, strict=True):
            notices += [JudgeNotice(BELIEF, side), JudgeNotice(DETAIL, side, detail)]
            others = [
                other for other in self.people if other.id != person.id and side_of(stances.get(other.id)) == side
            ]
            notices += [JudgeNotice(PERSONA, side, rng.choice(others).backstory)] if others else []
        return notices

    def _rate(self, person: Persona, topic: Topic) -> Conversation[Answer]:
        item = Item(topic.slug, topic, topic.probe("agreement"))
        seed = derive(self.seed, "stance", topic.slug, person.party, person.id)
        return ask_item(item, seed, self.temperature, person.backstory)

    def _choose(self, setting: Setting) -> Conversation[Choice]:
        person, topic, notice = setting
        shares: list[float | None] = []
        reasons: list[str | None] = []
        for first in SIDES:
            name = (topic.slug, person.party, person.id, notice.known, notice.side, first)
            request = SideChooser(person, self.temperature).compose(topic, notice, first, derive(self.seed, *name))
            share, reason = read_share((yield from ask(request)))
            shares.append(share if share is None or first == FOR else 1 - share)
            reasons.append(reason)
        return Choice(shares[0], shares[1], next(filter(None, reasons), None))


def toward_claim(topic: Topic, answer: Answer) -> float | None:
    """Return the agreement with the claim (0-10) that an answer states; None if it is missing."""
    if answer.value is None:
        return None
    return answer.value if topic.probe("agreement").polarity > 0 else 10 - answer.value


def side_of(stance: float | None) -> str:
    """Return the side of an agreement (0-10) with a claim; "" in the middle and where it is missing.

    >>> side_of(7.0), side_of(5.0), side_of(None)
    ('for', '', '')
    """
    return "" if stance is None or stance != stance or stance == MIDDLE else FOR if stance > MIDDLE else AGAINST


def choice_table(rows: Sequence[tuple[float | None, Setting]], choices: Sequence[Choice]) -> pd.DataFrame:
    """Return one row per choice: COLUMNS. A choice counts only if both orders have an answer."""
    table = []
    for (stance, (person, topic, notice)), (first, last, reason) in zip(rows, choices, strict=True):
        has_both = first is not None and last is not None
        values = ((first + last) / 2, (first - last) / 2) if first is not None and last is not None else (None, None)
        name = f"{person.party} {person.name}"
        about = (name, person.party, topic.slug, stance, notice.known, notice.side)
        table.append((*about, *values, "" if has_both else reason or "missing"))
    frame = pd.DataFrame(table, columns=COLUMNS)
    return frame.astype(dict.fromkeys(("stance", "share_for", "first"), "float64"))


NEEDED = ["person", "topic", "stance", "known", "judge", "side"]
STANCES = {"for": 10.0, "against": 0.0, "": None}


def read_choices(path: Path) -> pd.DataFrame:
    """Return one row per choice, as `SideChoiceStudy.run`; party is "". Errors: UserError for a file that does not fit."""
    table = read_table(path, NEEDED, "studies/side_choice/README.md", filled=("person", "topic"))
    for row in table.itertuples():
        _check(row, f"{path}, row {row.Index}")
    if len(wrong := table[table.duplicated(["person", "topic", "known", "judge"])]):
        first = wrong.iloc[0]
        judge = " ".join(filter(None, (first["known"], first["judge"])))
        raise UserError(f"{path}: {first['person']} chooses twice on {first['topic']} ({judge}): keep one row")
    share = table["side"].map({"for": 1.0, "against": 0.0})
    reason = table["side"].map(lambda side: "" if side else "missing")
    stance = table["stance"].map(STANCES)
    frame = table.assign(party="", stance=stance, share_for=share, first=float("nan"), reason=reason)[COLUMNS]
    return frame.astype(dict.fromkeys(("stance", "share_for", "first"), "float64")).reset_index(drop=True)


def _check(row: Any, where: str) -> None:
    knowledge, judge = str(row.known), str(row.judge)
    if knowledge not in KNOWN:
        raise UserError(f"{where}: {unknown_name('value of known', knowledge, KNOWN)}")
    if (judge != "") if knowledge == NOTHING else (judge not in SIDES):
        raise UserError(
            f"{where}: judge is {judge!r}, but must be {FOR} or {SIDES[1]}, and empty where known is {NOTHING}"
        )
    for name in ("stance", "side"):
        if (value := str(getattr(row, name))) not in (*SIDES, ""):
            raise UserError(f"{where}: {name} is {value!r}, but must be {FOR} or {SIDES[1]}, or empty if it is missing")
