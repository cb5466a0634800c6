"""The next reply in a debate: an address to somebody who spoke, a sentence or two of one grade, perhaps the stance."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.banks import TopicBank, data, recognised, sentences, topics
from parley.llm.backends.oracle.mind import dither
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 40
_KNOWS = re.compile(
    r"next reply|your (?:next )?(?:reply|turn|opening|closing)"
    r"|opening (?:opinion|statement|argument)|closing (?:argument|statement|remark)",
    re.I,
)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None and recognised(reading.opening) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    value, unread = oracle.attitude(reading)
    said = [(message.role, message.content) for message in reading.request.messages]
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, said))
    text = compose(reading, value, rng, oracle)
    if text is None:
        return Reply.failed("too_few_words", f"no sentence of at most {reading.words} words is known")
    return Reply(text, notes={"unread": unread} if unread else {})


def compose(reading: Reading, value: float, rng: random.Random, oracle: Oracle) -> str | None:
    """A reply of at most `reading.words` words whose expected grade is the attitude; None when no sentence is that short.

    Body sentences share one grade (a dither of the attitude to 0, 2, ..., 10); the stance sentence is a dither to 0, 1, ..., 10.
    """
    bank = topics()[reading.topic or ""]
    said = "\n".join([*reading.own, *[text for _, text in reading.heard]])
    sentences_of_grade = 1 + (rng.random() < 0.55)
    body = body_of(bank, value, reading, sentences_of_grade, said, rng, oracle.stance_in_speech, oracle.stance_first)
    if not body:
        return None
    before, after = _frame(reading, bank, body, said, rng)
    return _fitted(before, body, after, reading.words)


def body_of(
    bank: TopicBank,
    value: float,
    reading: Reading,
    count: int,
    said: str,
    rng: random.Random,
    share: float,
    first: bool,
) -> list[str]:
    """`count` sentences of one grade, and the stance sentence in a `share` of replies (`first` of them, or anywhere).

    The stance sentence stands alone when no sentence of the grade is short enough; nothing when it is too long as well.
    """
    draw = None if reading.greedy else rng.random()  # one for both, so that stance and sentences lean the same way
    body = _drawn(bank, dither(value, 2, draw), said, count, reading.words, rng)
    stance = bank.stance_sentence(dither(value, 1, draw))
    if (rng.random() < share or not body) and len(stance.split()) <= reading.words:
        body.insert(0 if first else rng.randrange(len(body) + 1), stance)
    return body


def _drawn(bank: TopicBank, grade: int, said: str, count: int, words: int, rng: random.Random) -> list[str]:
    """Sentences of a grade, each of another form and filled otherwise; forms not used before in this debate first."""
    used = {bank.forms[sentence] for line in said.split("\n") for sentence in sentences(line) if sentence in bank.forms}
    forms = rng.sample(bank.by_grade[grade], len(bank.by_grade[grade]))
    drawn: list[str] = []
    for form in sorted(forms, key=lambda form: form[0] in used):
        if len(drawn) == count:
            break
        fitting = [sentence for sentence in form if len(sentence.split()) <= words]
        taken = [filler for filler in bank.fillers if any(filler in sentence for sentence in drawn)]
        fresh = [sentence for sentence in fitting if not any(filler in sentence for filler in taken)]
        drawn += [rng.choice(fresh or fitting)] if fitting else []
    return drawn


def _frame(
    reading: Reading, bank: TopicBank, body: list[str], said: str, rng: random.Random
) -> tuple[list[str], list[str]]:
    """What comes before and after the body: opening or address, identity, a question or a closing."""
    common = data("common")
    slots = {
        "title": bank.title,
        "frame": "conversation" if "conversation" in reading.opening.split(" about ")[0] else "debate",
    }
    before: list[str] = []
    toward = "concede"

    def add(lines: list[str]) -> None:
        """One more line before the body; the topic is named once in a row, not in each of them."""
        named = any(bank.title in line.lower() for line in (*before, body[0]))
        before.append(_fresh([line for line in lines if not named or "{title}" not in line], said, slots, rng))

    if reading.heard:
        latest = list(dict(reading.heard[-3:]).items())
        slots["other"], line = reading.heard[-1] if rng.random() < 0.6 else rng.choice(latest)
        toward = _toward(bank.grade(line), bank.grade(" ".join(body)), rng)
        if rng.random() < 0.8:
            add(common[toward])
    elif not reading.own:
        add(common["opening"])
    if not reading.own and rng.random() < 0.7:
        add(common["identity"][reading.party])
    elif not before and rng.random() < 0.5:
        add(common["bridge"])
    if re.search(r"closing", reading.ask, re.I):
        return before, [_fresh(common["closing"]["lines"], said, slots, rng)]
    asks = common["probe"]["agree" if toward == "agree" else "differ"]
    return before, [_fresh(asks, said, slots, rng)] if reading.heard and rng.random() < 0.2 else []


def _toward(heard: float | None, own: float | None, rng: random.Random) -> str:
    """Whether to agree, concede or rebut: by the grades of what was heard and of what is about to be said."""
    if heard is None or own is None:
        return "concede"
    apart, opposed = abs(heard - own), (heard - 5) * (own - 5) < 0
    if not opposed and (apart <= 1 or (apart <= 2 and rng.random() < 0.5)):
        return "agree"
    return "rebut" if apart > 5 or (opposed and apart > 3 and rng.random() < 0.6) else "concede"


def _fresh(lines: list[str], said: str, slots: dict[str, str], rng: random.Random) -> str:
    """A line not said before in this debate (to anybody), if there is one, with its slots filled."""
    filled = [(_fill(max(line.split("{other}"), key=len), slots), line) for line in rng.sample(lines, len(lines))]
    return _fill(next((line for part, line in filled if part not in said), filled[0][1]), slots)


def _fill(line: str, slots: dict[str, str]) -> str:
    for name, value in slots.items():
        line = line.replace(f"{{{name}}}", value)
    return line


def _fitted(before: list[str], body: list[str], after: list[str], words: int) -> str:
    """As much as fits into the words asked for (the first body sentence does), never a part of a sentence."""
    room = words - len(body[0].split())
    keep = {id(body[0])}
    for sentence in [*before[:1], *after, *body[1:], *before[1:]]:
        if len(sentence.split()) <= room:
            keep.add(id(sentence))
            room -= len(sentence.split())
    return " ".join([sentence for sentence in [*before, *body, *after] if id(sentence) in keep])
