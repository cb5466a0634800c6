"""The planted truth: how often posts break a rule, and how often members follow a rule that they read.

A post breaks a rule of the bank (banks/<code>/community.toml of the oracle) with the probability

    (breaks + provokes if the last post of the thread breaks a rule, at most 1) * (1 - obeys if members read the rule)

for each rule by itself. Members reply with the probability REPLIES. So a rule that members read lowers the share of posts that
break it by breaks * obeys, and by 0 where obeys is 0.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from parley.llm.backends.oracle.bank_files import read_file
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.phrases import FOLDER, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.llm.seeding import stream

if TYPE_CHECKING:
    from .members import PostFacts

REPLIES = 0.5


class CommunityLaw(NamedTuple):
    """The planted law; see the top of this file. obeys: share of posts that follow a rule which they would break otherwise."""

    breaks: float = 0.3
    obeys: float = 0.0
    provokes: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a probability that is none."""
        if not all(0 <= value <= 1 for value in self):
            raise UserError("oracle: breaks, obeys and provokes must be between 0 and 1. Example: oracle,obeys=0.5")

    def probability(self, stated: bool, provoked: bool) -> float:
        """Return the probability that a post breaks a rule.

        >>> CommunityLaw(0.4, 0.5).probability(stated=True, provoked=False)
        0.2
        """
        return min(1.0, self.breaks + self.provokes * provoked) * (1 - self.obeys * stated)


def write_post(reading: Reading, speaker: Speaker) -> Reply:
    """Write a post: a sentence of the topic, a harmless one, and perhaps sentences that break rules.

    The rules are those that fit the community; for one of yours, all of the bank.
    """
    facts = cast("PostFacts", reading.facts)
    bank = bank_of(facts.get("language", "en"))
    if not bank or "source" not in facts:
        return unknown(reading)
    rng, law = _stream(reading), speaker.laws.of("community")
    stated, thread = facts.get("house_rules", ()), facts.get("thread", ())
    provoked = bool(thread) and any(has_mark(bank, thread[-1], rule) for rule in bank["marks"])
    parts = [rng.choice(sentences(facts["source"])), rng.choice(bank["harmless"])]
    for rule in bank["rules"].get(facts.get("kind", ""), bank["breaks"]):
        if rng.random() < law.probability(rule in stated, provoked):
            parts.append(rng.choice(bank["breaks"][rule]))
    return Reply(" ".join(parts))


def choose_reply(reading: Reading, speaker: Speaker) -> Reply:
    """Answer A, to write a reply, or B, with the probability of each."""
    chosen = "A" if _stream(reading).random() < REPLIES else "B"
    return Reply(chosen, answers={"A": REPLIES, "B": 1 - REPLIES} if reading.request.answers else None)


def write_member(reading: Reading, speaker: Speaker) -> Reply:
    """Write a member of the bank."""
    bank = bank_of(reading.facts.get("language", "en"))
    return Reply(_stream(reading).choice(bank["members"])) if bank else unknown(reading)


def judge_post(reading: Reading, speaker: Speaker) -> Reply:
    """Answer whether a post breaks a rule, with the two allowed words, no before yes. Of a rule that is not in the bank: no."""
    facts = reading.facts
    bank, words = bank_of(facts.get("language", "en")), reading.request.answers
    if not bank or len(words) != 2 or "statement" not in facts:
        return unknown(reading)
    broken = has_mark(bank, facts["statement"], facts.get("quality", ""))
    broken ^= stream(reading.request.seed, facts["statement"]).random() < speaker.laws.misjudges
    return Reply(words[broken], answers={word: float(place == broken) for place, word in enumerate(words)})


def judge_origin(reading: Reading, speaker: Speaker) -> Reply:
    """Answer which of two posts a person wrote: the one without a sentence of the banks, or even if both or none have one."""
    texts, words = reading.facts.get("candidates", ()), reading.request.answers
    if len(texts) != 2 or len(words) != 2:
        return unknown(reading)
    by_people = [_is_own(text) for text in texts]
    share = 0.5 + 0.5 * (by_people[1] - by_people[0])
    return Reply(words[share < 0.5], answers={words[0]: share, words[1]: 1 - share})


def has_mark(bank: Mapping[str, Any], text: str, rule: str) -> bool:
    """Return whether a post has a mark of a rule."""
    return any(mark in text.lower() for mark in bank["marks"].get(rule, ()))


def bank_of(language: str) -> Mapping[str, Any]:
    """Return the sentences and marks of a language (banks/<code>/community.toml of the oracle); empty where there are none."""
    return read_file(FOLDER / language / "community.toml")


def _is_own(text: str) -> bool:
    banks = [bank for folder in sorted(FOLDER.iterdir()) if (bank := bank_of(folder.name))]
    bank_lines = {line for bank in banks for lines in (bank["harmless"], *bank["breaks"].values()) for line in lines}
    return any(line in bank_lines for line in sentences(text))


def _stream(reading: Reading) -> random.Random:
    """Return the draws of a request: other words of its prompt give other draws."""
    return stream(reading.request.seed, *(message.content for message in reading.request.messages))
