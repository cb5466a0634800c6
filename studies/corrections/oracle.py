"""Writes replies to false claims with planted qualities, and judges such replies by their words.

A reply has a polite or a rude sentence or neither, a refuting sentence or none, and what it states:

    of each of the first two passages shown, one sentence, quoted word for word, with the probability `quotes`
    a claim that nothing supports, with the probability INVENTS (ALONE where no passage is shown)
    an invented quotation with the number of the first passage, with the probability `fabricates` where passages are shown

From a draft it keeps the polite, rude and refuting sentences, and puts quotations in the place of the claims.

The judge knows the post's own passages. It gives from 1 to 5:

    politeness   3, + 1 for each polite mark, - 2 for each rude one
    refutation   5 with a refuting mark, else 1
    evidence     1, + 2 for each passage of which a whole sentence is quoted (two count)
    factuality   5, - 2 for each sentence that is neither from the passages nor has a mark
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parley.llm.backends.oracle.bank_files import read_file
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.phrases import FOLDER, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.speech_laws import quotations
from parley.llm.backends.oracle.stance import unknown
from parley.llm.backends.oracle.surveys import nearest_point
from parley.llm.request import Reply
from parley.llm.seeding import stream

POLITE, RUDE, REFUTES = 0.5, 0.2, 0.7
INVENTS, ALONE = 0.3, 0.8
QUOTED = 2
"""Passages that are quoted at most, and that count as evidence."""
FRAMES = ("polite", "rude", "refuting")
_LABEL = re.compile(r"\[\d+\]|\([^()]*\d\)")
_WORD = re.compile(r"[^\W\d_]")


def answer_correction(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a reply to a post, of drawn qualities."""
    facts, bank = reading.facts, _bank(reading)
    if "post" not in facts or not bank:
        return unknown(reading)
    rng = stream(reading.request.seed, facts["post"])
    passages, draft = facts.get("passages", ())[:QUOTED], facts.get("draft", "")
    frame = [line for line in sentences(draft) if _has_mark(bank, line)] if draft else _frame(bank, rng)
    stated = quotations(passages, facts.get("language", "en"), speaker.laws.quotations, rng)
    if not draft and rng.random() < (INVENTS if passages else ALONE):
        stated.append(rng.choice(bank["claims"]))
    return Reply(" ".join([*frame, *stated]) or bank["refuting"][0])


def _frame(bank: Mapping[str, Any], rng: random.Random) -> list[str]:
    """Return the sentences that state nothing: polite or rude, and refuting."""
    draw, lines = rng.random(), []
    if draw < POLITE + RUDE:
        lines.append(rng.choice(bank["polite" if draw < POLITE else "rude"]))
    if rng.random() < REFUTES:
        lines.append(rng.choice(bank["refuting"]))
    return lines


def judge_correction(reading: Reading, speaker: Speaker) -> Reply:
    """Answer how much of a quality a reply has, by the law above."""
    facts, bank = reading.facts, _bank(reading)
    scale, reply, quality = facts.get("scale"), facts.get("statement", ""), facts.get("quality", "")
    if scale is None or not bank or quality not in QUALITIES:
        return unknown(reading)
    value = QUALITIES[quality](bank, reply, facts.get("passages", ()))
    return nearest_point(reading, scale, scale.low + (value - 1) / 4 * (scale.high - scale.low))


def politeness(bank: Mapping[str, Any], reply: str, passages: Sequence[str]) -> float:
    """Return 1 to 5 by polite and rude marks."""
    polite, rude = (_count(bank["marks"][kind], reply) for kind in ("polite", "rude"))
    return float(min(max(3 + polite - 2 * rude, 1), 5))


def refutation(bank: Mapping[str, Any], reply: str, passages: Sequence[str]) -> float:
    """Return 5 with a refuting mark, else 1."""
    return 5.0 if _count(bank["marks"]["refuting"], reply) else 1.0


def evidence(bank: Mapping[str, Any], reply: str, passages: Sequence[str]) -> float:
    """Return 1 to 5 by the passages of which a whole sentence is quoted."""
    return 1.0 + 2 * min(sum(any(line in reply for line in sentences(text)) for text in passages), QUOTED)


def factuality(bank: Mapping[str, Any], reply: str, passages: Sequence[str]) -> float:
    """Return 5 to 1 by the sentences that nothing supports."""
    for line in (line for text in passages for line in sentences(text)):
        reply = reply.replace(line, " ")
    rest = sentences(" ".join(_LABEL.sub(" ", reply).replace('"', " ").split()))
    return float(max(5 - 2 * sum(bool(_WORD.search(line)) and not _has_mark(bank, line) for line in rest), 1))


QUALITIES = {"refutation": refutation, "evidence": evidence, "politeness": politeness, "factuality": factuality}


def _bank(reading: Reading) -> Mapping[str, Any]:
    """Return the sentences and marks of a language; empty where there are none."""
    return read_file(FOLDER / reading.facts.get("language", "en") / "correction.toml")


def _has_mark(bank: Mapping[str, Any], line: str) -> bool:
    return any(_count(bank["marks"][kind], line) for kind in FRAMES)


def _count(marks: Iterable[str], text: str) -> int:
    return sum(text.lower().count(mark) for mark in marks)
