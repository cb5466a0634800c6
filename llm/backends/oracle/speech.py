"""What is said aloud: replies, statements and posts in a debate, what a role or a given side makes of them, corrections.

A speaker stands at a, and the last line that it heard and can read has the grade h (a, where there is none). The mean grade of
what it says is a, in public posts too, except

    spreader      h: it passes on what it heard
    commentator   h + 0.5 (a - h): half of it is what it makes of it
    verifier      a + 0.5 (bias - a): half-way to what the speaker itself holds to be so
    bystander     a, in one sentence
    convincer     a + w (end - a), the end of the axis to which it leans, w by its argument: knowledge 0.8, trust 0.6,
                  support 0.4, status 0.2 (without an argument it says what it thinks, as anybody)
    given side    a + 0.8 (end - a), the end of that side: who argues for what it thinks sounds surer

All of it is planted. It moves nobody's own attitude; what is said moves those who hear it, by the law of dynamics.py.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.dynamics import dither
from parley.llm.backends.oracle.mediation import answer_contribution
from parley.llm.backends.oracle.phrases import TopicBank, data, sentences, topics
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import too_few_words, unknown
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.backend import Oracle

ROLES = ("spreader", "commentator", "verifier", "bystander")
HALF, SIDED = 0.5, 0.8
ARGUMENTS = {"knowledge": 0.8, "trust": 0.6, "support": 0.4, "status": 0.2}
"""How far a convincer goes from where it stands to the end of its side, by the argument that it is asked for."""
CLOSE = 1.0
"""A fact checker lets pass what is at most this far from what it holds to be so."""
NOTHING = "Nothing to correct."


def answer_speech(reading: Reading, oracle: Oracle) -> Reply:
    """An utterance of the form asked for, whose expected grade is that of the speaker's role, side or attitude."""
    if "issue" in reading.facts:
        return answer_contribution(reading, oracle)
    if reading.topic is None:
        return unknown(reading)
    own, unread = oracle.attitude(reading)
    role = role_of(reading.facts.get("role", ""))
    value = _sided(reading, own) if "side" in reading.facts and not role else _spoken(reading, role, own, oracle)
    if value is None:
        return Reply.failed("unknown_claim", reading.facts.get("claim", "")[:120])
    said = [(message.role, message.content) for message in reading.request.messages]
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, said))
    if role == "bystander":
        text = _remark(reading, value, rng)
    elif reading.facts.get("form") == "post" and not role:
        text = _post(reading, value, rng, oracle)
    else:
        text = compose(reading, value, rng, oracle)
    if not text:
        return too_few_words(reading)
    return Reply(text, notes={"unread": unread} if unread else {})


def role_of(role: str) -> str:
    """Which role that changes what is said, or which argument of a convincer, a ROLE or ROLE+ARGUMENT is; "" for any other.

    >>> role_of("spreader+trust"), role_of("convincer+trust"), role_of("skeptic+trust")
    ('spreader', 'trust', '')
    """
    name, _, argument = role.partition("+")
    if name == "convincer" and argument in ARGUMENTS:
        return argument
    return name if name in ROLES else ""


def role_grade(role: str, own: float, heard: float | None, bias: float) -> float:
    """The mean grade of what is said in a role.

    >>> [role_grade(role, 2.0, 8.0, 5.0) for role in ROLES]
    [8.0, 5.0, 3.5, 2.0]
    """
    passed = own if heard is None else heard
    end = 10.0 if own >= 5 else 0.0
    grades = {"spreader": passed, "commentator": passed + HALF * (own - passed), "verifier": own + HALF * (bias - own)}
    return grades.get(role, own + ARGUMENTS.get(role, 0.0) * (end - own))


def _spoken(reading: Reading, role: str, own: float, oracle: Oracle) -> float:
    slug = reading.topic or ""
    grades = [grade for _, text in reading.heard if (grade := topics()[slug].grade(text)) is not None] if role else []
    return role_grade(role, own, grades[-1] if grades else None, oracle.parameters[slug].bias)


def _sided(reading: Reading, own: float) -> float | None:
    """The mean grade of a speech for a side that is given; None where the claim is not known."""
    bank, claim = topics()[reading.topic or ""], reading.facts.get("claim", "").lower()
    direction = bank.direction(claim)
    if direction is None:
        return None
    end = 10.0 if (direction > 0) == (reading.facts.get("side") == "for") else 0.0
    return own + SIDED * (end - own)


def _remark(reading: Reading, value: float, rng: random.Random) -> str:
    """One sentence."""
    said = "\n".join([*reading.own, *[text for _, text in reading.heard]])
    return "".join(body_of(topics()[reading.topic or ""], value, reading, 1, said, rng, 0.0, False)[:1])


def _post(reading: Reading, value: float, rng: random.Random, oracle: Oracle) -> str:
    """A sentence or two to nobody in particular, perhaps with the stance."""
    bank, count = topics()[reading.topic or ""], 1 + (rng.random() < 0.55)
    said = "\n".join(reading.own)
    kept: list[str] = []
    for sentence in body_of(bank, value, reading, count, said, rng, oracle.stance_in_speech, oracle.stance_first):
        if len(" ".join([*kept, sentence]).split()) <= reading.words:
            kept.append(sentence)
    return " ".join(kept)


def answer_check(reading: Reading, oracle: Oracle) -> Reply:
    """A fact checker's correction: a sentence of the grade that the speaker itself holds to be so, its bias.

    Where the mean grade of what was said is at most CLOSE from it, or nothing of it can be read, there is nothing to correct.
    """
    if reading.topic is None:
        return unknown(reading)
    bank, bias = topics()[reading.topic], oracle.parameters[reading.topic].bias
    known = [grade for _, text in reading.heard if (grade := bank.grade(text)) is not None]
    if not known or abs(sum(known) / len(known) - bias) <= CLOSE:
        return Reply(NOTHING)
    rng = random.Random(derive(reading.request.seed, reading.heard))
    said = "\n".join(text for _, text in reading.heard)
    body = body_of(bank, bias, reading, 1, said, rng, 0.0, False)
    return Reply(body[0]) if body else too_few_words(reading)


def compose(reading: Reading, value: float, rng: random.Random, oracle: Oracle) -> str:
    """A reply of at most `reading.words` words whose expected grade is the value; "" when no sentence is that short.

    Body sentences share one grade (a dither of the attitude to 0, 2, ..., 10); the stance sentence is a dither to 0, 1, ..., 10.
    """
    bank = topics()[reading.topic or ""]
    said = "\n".join([*reading.own, *[text for _, text in reading.heard]])
    sentences_of_grade = 1 + (rng.random() < 0.55)
    body = body_of(bank, value, reading, sentences_of_grade, said, rng, oracle.stance_in_speech, oracle.stance_first)
    if not body:
        return ""
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
        "frame": "conversation" if "conversation" in reading.facts.get("frame", "") else "debate",
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
    if reading.facts.get("form") == "closing":
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
