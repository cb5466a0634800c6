"""Writes messages of rivals, chooses between two of them, and judges them, by a planted law.

A message states FACTS sentences of the text that it may state, and with the probability `embellish` one embellishment of the bank
(llm/backends/oracle/banks/<code>/competition.toml). A reader prefers the first of two messages with the probability

    logistic(craves * (embellishments of the first - of the second) + longer * log2(words of the first / of the second)
             + QUIRK * (noise of reader and first message - of second) + place)

with `longer`, `place` and QUIRK of llm/backends/oracle/speech_laws.py. The judge knows what a message may state. Of a message
it says, by the probe:

    populism, harm    yes, if the message has a mark of it
    any other probe   yes, if a sentence is neither of the text nor of the bank's harmless ones, and has no such mark

A verdict is turned round with the probability `misjudges`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from parley.llm.backends.oracle.bank_files import read_file
from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.persuasion import prefer
from parley.llm.backends.oracle.phrases import FOLDER, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.speech_laws import MOST
from parley.llm.backends.oracle.stance import unknown
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.llm.seeding import digest, stream

FACTS = 2
"""Sentences of the text in a message."""


class CompetitionLaw(NamedTuple):
    """The planted law; see the top of this file. craves: logits for each embellishment of a message."""

    embellish: float = 0.3
    craves: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a probability that is none, and for logits beyond MOST."""
        if not 0 <= self.embellish <= 1:
            raise UserError("oracle: embellish must be between 0 and 1. Example: oracle,embellish=0.5")
        if not abs(self.craves) <= MOST:
            raise UserError(f"oracle: craves must be a number between -{MOST:g} and {MOST:g}. Example: oracle,craves=2")


EVERY = "every"
"""The embellishments that fit messages of any kind."""


def write_pitch(reading: Reading, speaker: Speaker) -> Reply:
    """Write a message: sentences of the text, a harmless one, and perhaps an embellishment."""
    facts = reading.facts
    bank = bank_of(facts.get("language", "en"))
    if not bank or "source" not in facts:
        return unknown(reading)
    rng = stream(reading.request.seed, facts["source"])
    stated = sentences(facts["source"])
    chosen = sorted(rng.sample(range(len(stated)), min(FACTS, len(stated))))
    parts = [stated[place] for place in chosen]
    by_kind = bank["embellishments"]
    kind = facts.get("kind", "")
    lists = [by_kind[EVERY], *by_kind.get(kind, {}).values()]
    embellishment = rng.choice(rng.choice(lists))
    if rng.random() < speaker.laws.of("compete").embellish:
        parts.insert(rng.randrange(len(parts) + 1), embellishment)
    return Reply(" ".join([*parts, rng.choice(bank["harmless"])]))


def answer_rivalry(reading: Reading, speaker: Speaker) -> Reply:
    """Answer 1 or 2, with the probability of each: which message of two rivals does more to persuade?"""
    texts = reading.facts.get("candidates", ())
    if len(texts) != 2:
        return unknown(reading)
    return prefer(reading, speaker, [_strength(text, reading.persona, speaker) for text in texts], reading.seed)


def _strength(text: str, persona: str, speaker: Speaker) -> float:
    """Return the strength of a message for a reader, in logits."""
    law: CompetitionLaw = speaker.laws.of("compete")
    embellished = sum(line in embellishments() for line in sentences(text))
    noise = normal(digest("rivalry", persona, text))
    return law.craves * embellished + speaker.laws.persuasion.strength(0.0, len(text.split()), noise)


def judge_pitch(reading: Reading, speaker: Speaker) -> Reply:
    """Answer whether a message breaks the rule of a probe, with the two allowed words, no before yes."""
    facts = reading.facts
    bank, words = bank_of(facts.get("language", "en")), reading.request.answers
    if not bank or len(words) != 2 or "statement" not in facts:
        return unknown(reading)
    broken = breaks_rule(bank, facts["statement"], facts.get("quality", ""), sentences(facts.get("source", "")))
    rng = stream(reading.request.seed, facts["statement"])
    broken ^= rng.random() < speaker.laws.misjudges
    return Reply(words[broken], answers={word: float(place == broken) for place, word in enumerate(words)})


def breaks_rule(bank: Mapping[str, Any], text: str, probe: str, stated: Sequence[str]) -> bool:
    """Return whether a message breaks the rule of a probe. stated: the sentences that it may state."""
    marks = bank["marks"]
    if probe in marks:
        return _has_mark(text, marks[probe])
    every = [mark for rule_marks in marks.values() for mark in rule_marks]
    allowed = {*stated, *bank["harmless"]}
    return any(line not in allowed and not _has_mark(line, every) for line in sentences(text))


@cache
def embellishments() -> frozenset[str]:
    """Return all embellishments of the banks, in every language that has some."""
    texts: list[str] = []
    for folder in sorted(FOLDER.iterdir()):
        by_kind = bank_of(folder.name).get("embellishments", {})
        texts += by_kind.get(EVERY, [])
        texts += [
            line for kind, lists in by_kind.items() if kind != EVERY for lines in lists.values() for line in lines
        ]
    return frozenset(texts)


def _has_mark(text: str, marks: Sequence[str]) -> bool:
    return any(mark in text.lower() for mark in marks)


def bank_of(language: str) -> Mapping[str, Any]:
    """Return the sentences and marks of a language (banks/<code>/competition.toml); empty where there are none."""
    return read_file(FOLDER / language / "competition.toml")
