"""The next reply in a debate: an address to somebody who spoke, a sentence or two of one grade, perhaps the stance."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from llm.backends.oracle.banks import TopicBank, data, recognised, sentences, topics
from llm.backends.oracle.mind import dither
from llm.backends.oracle.reading import Reading
from llm.randomness import derive
from llm.request import Reply

if TYPE_CHECKING:
    from llm.backends.oracle.speaker import Oracle

ORDER = 40
_KNOWS = re.compile(
    r"next reply|your (?:next )?(?:reply|turn|opening|closing)"
    r"|opening (?:opinion|statement|argument)|closing (?:argument|statement|remark)",
    re.I,
)
STANCE_SHARE = 0.4
"""Share of replies with the stance sentence, the same that answers a labelled survey (docs/oracle.md)."""


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None and recognised(reading.opening) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    value, unread = oracle.attitude(reading)
    said = [(message.role, message.content) for message in reading.request.messages]
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, said))
    return Reply(compose(reading, value, rng), notes={"unread": unread} if unread else {})


def compose(reading: Reading, value: float, rng: random.Random) -> str:
    """A reply of at most `reading.words` words whose expected grade is the attitude.

    Body sentences share one grade (a dither of the attitude to 0, 2, ..., 10); the stance sentence is a dither to 0, 1, ..., 10.
    """
    bank = topics()[reading.topic or ""]
    grade = dither(value, 2, None if reading.greedy else rng)
    said = "\n".join([*reading.own, *[text for _, text in reading.heard]])
    body = _body(bank, grade, said, 1 + (rng.random() < 0.55), rng)
    if rng.random() < STANCE_SHARE:
        body.insert(
            rng.randrange(len(body) + 1), bank.stance_sentence(dither(value, 1, None if reading.greedy else rng))
        )
    before, after = _frame(reading, bank, value, said, rng)
    return _fitted(before, body, after, reading.words)


def _body(bank: TopicBank, grade: int, said: str, count: int, rng: random.Random) -> list[str]:
    """Sentences of a grade, each of another form; forms not used before in this debate first."""
    used = {bank.forms[sentence] for line in said.split("\n") for sentence in sentences(line) if sentence in bank.forms}
    forms = rng.sample(bank.by_grade[grade], len(bank.by_grade[grade]))
    drawn = [rng.choice(form) for form in sorted(forms, key=lambda form: form[0] in used)]
    return drawn[:count]


def _frame(
    reading: Reading, bank: TopicBank, value: float, said: str, rng: random.Random
) -> tuple[list[str], list[str]]:
    """What comes before and after the body: opening or address, identity, a question or a closing."""
    common = data("common")
    slots = {
        "title": bank.title,
        "frame": "conversation" if "conversation" in reading.opening.split(" about ")[0] else "debate",
    }
    before: list[str] = []
    if reading.heard:
        other, line = reading.heard[-1] if rng.random() < 0.6 else rng.choice(reading.heard[-3:])
        slots["other"] = other
        if rng.random() < 0.8:
            before.append(_fresh(common[_attitude_to(bank.grade(line), value, rng)], said, slots, rng))
    elif not reading.own:
        before.append(_fresh(common["opening"], said, slots, rng))
    if not reading.own and rng.random() < 0.7:
        before.append(_fresh(common["identity"][reading.party], said, slots, rng))
    elif not before and rng.random() < 0.5:
        before.append(_fresh(common["bridge"], said, slots, rng))
    if re.search(r"closing", reading.ask, re.I):
        return before, [_fresh(common["closing"]["lines"], said, slots, rng)]
    return before, [_fresh(common["probe"], said, slots, rng)] if reading.heard and rng.random() < 0.2 else []


def _attitude_to(grade: float | None, value: float, rng: random.Random) -> str:
    """Whether to agree, concede or rebut, by the distance between what was heard and one's own attitude."""
    if grade is None:
        return "concede"
    distance = abs(grade - value)
    if distance <= 1.5:
        return "agree"
    return "rebut" if distance > 4.5 or rng.random() < 0.4 else "concede"


def _fresh(lines: list[str], said: str, slots: dict[str, str], rng: random.Random) -> str:
    """A line not said before in this debate, if there is one, with its slots filled."""
    filled = [_fill(line, slots) for line in rng.sample(lines, min(len(lines), 6))]
    return next((line for line in filled if line not in said), filled[0])


def _fill(line: str, slots: dict[str, str]) -> str:
    for name, value in slots.items():
        line = line.replace(f"{{{name}}}", value)
    return line


def _fitted(before: list[str], body: list[str], after: list[str], words: int) -> str:
    """As much as fits into the words asked for: the first body sentence always, never a part of a sentence."""
    room = words - len(body[0].split())
    keep = {id(body[0])}
    for sentence in [*before[:1], *body[1:], *after, *before[1:]]:
        if len(sentence.split()) <= room:
            keep.add(id(sentence))
            room -= len(sentence.split())
    return " ".join([sentence for sentence in [*before, *body, *after] if id(sentence) in keep])
