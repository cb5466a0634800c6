"""Sentences on attributes of people by the law of people_laws.py, and a judge of contradictions.

A sentence is the attribute, a colon, and one of the kinds of the bank. The judge calls it a contradiction if an earlier sentence
without a colon has the same beginning and end, at least two and three words together, and other words between:
"You are 34 years old." and "You are 61 years old."
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.phrases import Banks, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, set_choice
from parley.llm.seeding import stream

CORE = 4
"""Sentences without a colon at the beginning of a persona that decide its own kind."""
_NUMBER = re.compile(r"\b\d\d\b")


def write_attribute(reading: Reading, speaker: Speaker) -> Reply:
    """Write a sentence on an attribute."""
    facts, law, kinds = reading.facts, speaker.laws.attributes, _kinds(reading.banks)
    if "attribute" not in facts or not kinds:
        return unknown(reading)
    persona, about = facts.get("persona", ""), facts["attribute"]
    rng = stream(reading.request.seed, about)
    aged = next((line for line in sentences(persona) if _NUMBER.search(line)), "")
    if rng.random() < law.contradicts and aged:
        return Reply(_NUMBER.sub(lambda age: str(20 + (int(age[0]) + 20) % 60), aged, count=1))
    kind = rng.randrange(law.variety)
    if rng.random() < law.alike:
        core = [line for line in sentences(persona) if ":" not in line][:CORE]
        kind = stream(0, "own kind", *core).randrange(law.variety)
    return Reply(f"{about[0].upper()}{about[1:]}: {kinds[kind]}.")


def kinds_in(banks: Banks, persona: str) -> list[int]:
    """Return the kinds of the sentences on attributes in a persona, in order."""
    kinds = _kinds(banks)
    ends = [line.partition(": ")[2].rstrip(".") for line in sentences(persona)]
    return [kinds.index(end) for end in ends if end in kinds]


def judge_contradiction(reading: Reading, speaker: Speaker) -> Reply:
    """Answer whether a sentence contradicts what is known of a person; the second allowed answer says that it does."""
    facts, answers = reading.facts, reading.request.answers
    if not {"statement", "persona"} <= set(facts) or len(answers) != 2:
        return unknown(reading)
    contradicts = any(_contradict(facts["statement"], line) for line in sentences(facts["persona"]))
    reply = Reply(None)
    set_choice(reply, reading.request, [1 - contradicts, float(contradicts)])
    return reply


def _contradict(statement: str, line: str) -> bool:
    if ":" in statement or ":" in line or statement == line:
        return False
    statement_words, other = statement.split(), line.split()
    before = _same(statement_words, other)
    after = _same(statement_words[before:][::-1], other[before:][::-1])
    return before >= 2 and before + after >= 3


def _same(words: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words at the beginning are the same."""
    return next(
        (at for at, pair in enumerate(zip(words, other, strict=False)) if pair[0] != pair[1]),
        min(len(words), len(other)),
    )


def _kinds(banks: Banks) -> tuple[str, ...]:
    return tuple(banks.data("attributes").get("kinds", ()))
