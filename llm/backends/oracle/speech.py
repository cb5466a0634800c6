"""Writes what is said aloud: replies, statements and posts in a debate, by role or given side, and corrections.

A speaker has the attitude a, and the last readable line that it heard has the grade h (a, where there is none). The mean grade of
its text is a, in public posts too, except

    spreader      h: it passes on what it heard
    commentator   h + 0.5 (a - h): half-way between what it heard and its own attitude
    verifier      a + 0.5 (bias - a): half-way to the bias, which the speaker takes for the truth
    bystander     a, in one sentence
    stance_only   a, in the sentence that answers the survey, without a reason
    convincer     a + w (end - a), the end of the axis on its side, w by its argument: knowledge 0.8, trust 0.6,
                  support 0.4, status 0.2 (without an argument it says what it thinks, like any speaker)
    given side    a + 0.8 (end - a), the end of that side: who argues for its own opinion sounds more certain

Where its prompt reminds a speaker of what it feels, it ends by saying so (emotions.py); a planted law of a study can add to
that. With a planted law of tact the grade goes toward the audience (speech_laws.py). All of it is planted. It changes no
attitude of the speaker; what is said moves the hearers, by the law of dynamics.py.
"""

from __future__ import annotations

import random
from dataclasses import replace

from parley.llm.backends.oracle.dynamics import Speaker, dither
from parley.llm.backends.oracle.emotions import said_feelings
from parley.llm.backends.oracle.mediation import answer_contribution
from parley.llm.backends.oracle.phrases import TopicBank, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.speech_laws import quotations, tactful_grade
from parley.llm.backends.oracle.stance import too_few_words, unknown, unread_notes
from parley.llm.request import Reply
from parley.llm.seeding import stream

ROLES = ("spreader", "commentator", "verifier", "bystander")
STANCE_ONLY = "stance_only"
"""The role of a partner that states its position and gives no reason."""
HALF, SIDED = 0.5, 0.8
ARGUMENTS = {"knowledge": 0.8, "trust": 0.6, "support": 0.4, "status": 0.2}
"""How far a convincer goes from its attitude to the end of its side, by its argument."""
CLOSE = 1.0
"""A fact checker corrects nothing whose grade is at most this far from its bias."""
SECOND = 0.55
"""Probability of a second sentence."""


def answer_speech(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with an utterance of the form asked for, whose expected grade is that of role, side or attitude."""
    facts = reading.facts
    if "issue" in facts:
        return answer_contribution(reading, speaker)
    feelings = " ".join(filter(None, [said_feelings(reading), *speaker.laws.endings(reading)]))
    reading = replace(reading, reserved=len(feelings.split())) if feelings else reading
    if reading.topic is None:
        return unknown(reading)
    attitude, unread = speaker.attitude(reading)
    role = role_of(facts.get("role", ""))
    if "side" in facts and not role:
        value = _side_grade(reading, attitude)
    else:
        grades = _heard_grades(reading) if role else []
        value = role_grade(role, attitude, grades[-1] if grades else None, speaker.parameters[reading.topic].bias)
        value = tactful_grade(reading, value, speaker.laws.tact) if speaker.laws.tact else value
    if value is None:
        return Reply.failed("unknown_claim", facts.get("claim", "")[:120])
    messages = [(message.role, message.content) for message in reading.request.messages]
    rng = stream(reading.seed, messages)
    if facts.get("role") == STANCE_ONLY:
        draw = None if reading.greedy else rng.random()
        return Reply(_bank(reading).stance_sentence(dither(value, 1, draw)), notes=unread_notes(unread))
    if role == "bystander":
        text = "".join(body_of(_bank(reading), value, reading, 1, _said(reading), rng)[:1])
    elif facts.get("form") == "post" and not role:
        text = _post(reading, value, rng, speaker)
    else:
        text = compose(reading, value, rng, speaker)
    utterance = " ".join(filter(None, [text, feelings]))
    return Reply(utterance, notes=unread_notes(unread)) if text else too_few_words(reading)


def role_of(role: str) -> str:
    """Return the role that changes what is said, or the argument of a convincer, in a ROLE or ROLE+ARGUMENT; else "".

    >>> role_of("spreader+trust"), role_of("convincer+trust"), role_of("skeptic+trust")
    ('spreader', 'trust', '')
    """
    name, _, argument = role.partition("+")
    if name == "convincer" and argument in ARGUMENTS:
        return argument
    return name if name in ROLES else ""


def role_grade(role: str, attitude: float, heard: float | None, bias: float) -> float:
    """Return the mean grade of what is said in a role.

    >>> [role_grade(role, 2.0, 8.0, 5.0) for role in ROLES]
    [8.0, 5.0, 3.5, 2.0]
    """
    passed = attitude if heard is None else heard
    end = 10.0 if attitude >= 5 else 0.0
    grades = {
        "spreader": passed,
        "commentator": passed + HALF * (attitude - passed),
        "verifier": attitude + HALF * (bias - attitude),
    }
    return grades.get(role, attitude + ARGUMENTS.get(role, 0.0) * (end - attitude))


def _side_grade(reading: Reading, attitude: float) -> float | None:
    """Return the mean grade of a speech for a given side; None where the claim is not known."""
    claim = reading.facts.get("claim", "").lower()
    direction = 1 if "own" in reading.facts else _bank(reading).direction(claim)
    if direction is None:
        return None
    end = 10.0 if (direction > 0) == (reading.facts.get("side") == "for") else 0.0
    return attitude + SIDED * (end - attitude)


def _bank(reading: Reading) -> TopicBank:
    return reading.banks.topics[reading.topic or ""]


def _heard_grades(reading: Reading) -> list[float]:
    """Return the grades of the readable lines heard."""
    return [grade for _, text in reading.heard if (grade := _bank(reading).grade(text)) is not None]


def _said(reading: Reading) -> str:
    """Return all lines of the conversation."""
    return "\n".join([*reading.own, *[text for _, text in reading.heard]])


def _post(reading: Reading, value: float, rng: random.Random, speaker: Speaker) -> str:
    """Return a post of a sentence or two, perhaps with the stance."""
    count, own_text = 1 + (rng.random() < SECOND), "\n".join(reading.own)
    share, first = speaker.stance_in_speech, speaker.stance_first
    post: list[str] = []
    for sentence in body_of(_bank(reading), value, reading, count, own_text, rng, share, first):
        if len(" ".join([*post, sentence]).split()) <= reading.words:
            post.append(sentence)
    return " ".join(post)


def answer_check(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a fact checker's correction: a sentence of the grade that the speaker takes for the truth, its bias.

    Where the mean grade of what was said is at most CLOSE from it, or no line can be read, there is nothing to correct. Of the
    passages that it is shown it quotes the first.
    """
    if reading.topic is None:
        return unknown(reading)
    bias, grades = speaker.parameters[reading.topic].bias, _heard_grades(reading)
    if not grades or abs(sum(grades) / len(grades) - bias) <= CLOSE:
        return Reply(reading.banks.words("corrects_nothing"))
    rng = stream(reading.request.seed, reading.heard)
    if not (body := body_of(_bank(reading), bias, reading, 1, reading.heard_text, rng)):
        return too_few_words(reading)
    shown = reading.facts.get("passages", ())[:1]
    return Reply(" ".join([body[0], *quotations(shown, reading.banks.language, speaker.laws.quotations, rng)]))


def compose(reading: Reading, value: float, rng: random.Random, speaker: Speaker) -> str:
    """Return a reply of at most `reading.words` words whose expected grade is the value; "" when no sentence is that short.

    Body sentences share one grade (a dither of the attitude to 0, 2, ..., 10); the stance sentence is a dither to 0, 1, ..., 10.
    """
    bank, earlier_text = _bank(reading), _said(reading)
    count, share, first = 1 + (rng.random() < SECOND), speaker.stance_in_speech, speaker.stance_first
    if not (body := body_of(bank, value, reading, count, earlier_text, rng, share, first)):
        return ""
    before, after = _frame(reading, bank, body, earlier_text, rng)
    return _fitted(before, body, after, reading.words)


def body_of(
    bank: TopicBank,
    value: float,
    reading: Reading,
    count: int,
    earlier_text: str,
    rng: random.Random,
    share: float = 0.0,
    first: bool = False,
) -> list[str]:
    """Return `count` sentences of one grade, and the stance sentence in a `share` of replies (`first` of them, or anywhere).

    The stance sentence is alone when no sentence of the grade is short enough. The list is empty when it is too long as well.
    """
    draw = None if reading.greedy else rng.random()  # one for both, so that stance and sentences lean the same way
    body = _draw_sentences(bank, dither(value, 2, draw), earlier_text, count, reading.words, rng)
    stance = bank.stance_sentence(dither(value, 1, draw))
    if (rng.random() < share or not body) and len(stance.split()) <= reading.words:
        body.insert(0 if first else rng.randrange(len(body) + 1), stance)
    return body


def _draw_sentences(
    bank: TopicBank, grade: int, earlier_text: str, count: int, words: int, rng: random.Random
) -> list[str]:
    """Draw sentences of a grade, each of another form and filled otherwise; forms not used before in this debate first."""
    used = {
        bank.forms[sentence]
        for line in earlier_text.split("\n")
        for sentence in sentences(line)
        if sentence in bank.forms
    }
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
    reading: Reading, bank: TopicBank, body: list[str], earlier_text: str, rng: random.Random
) -> tuple[list[str], list[str]]:
    """Return what comes before and after the body: opening or address, identity, a question or a closing."""
    common, form = reading.banks.data("common"), reading.facts.get("form")
    slots = {"title": bank.title, "frame": reading.facts.get("frame", "debate")}
    before: list[str] = []
    reaction = "concede"

    def add(lines: list[str]) -> None:
        """Add a line before the body. The topic is named once in a row of lines, not in each of them."""
        named = any(bank.title.lower() in line.lower() for line in (*before, body[0]))
        before.append(_fresh([line for line in lines if not named or "{title}" not in line], earlier_text, slots, rng))

    if reading.heard:
        latest = list(dict(reading.heard[-3:]).items())
        slots["other"], line = reading.heard[-1] if rng.random() < 0.6 else rng.choice(latest)
        reaction = _reaction(bank.grade(line), bank.grade(" ".join(body)), rng)
        if rng.random() < 0.8:
            add(common[reaction])
    elif not reading.own:
        add(common["opening"])
    if not reading.own and rng.random() < 0.7:
        add(common["identity"][reading.party])
    elif not before and rng.random() < 0.5:
        add(common["bridge"])
    if form == "closing":
        return before, [_fresh(common["closing"]["lines"], earlier_text, slots, rng)]
    if not reading.heard or rng.random() >= 0.2:
        return before, []
    return before, [_fresh(common["probe"]["agree" if reaction == "agree" else "differ"], earlier_text, slots, rng)]


def _reaction(heard: float | None, own_grade: float | None, rng: random.Random) -> str:
    """Return agree, concede or rebut: by the grades of what was heard and of what is about to be said."""
    if heard is None or own_grade is None:
        return "concede"
    gap, opposed = abs(heard - own_grade), (heard - 5) * (own_grade - 5) < 0
    if not opposed and (gap <= 1 or (gap <= 2 and rng.random() < 0.5)):
        return "agree"
    return "rebut" if gap > 5 or (opposed and gap > 3 and rng.random() < 0.6) else "concede"


def _fresh(lines: list[str], earlier_text: str, slots: dict[str, str], rng: random.Random) -> str:
    """Return a line that is new in this debate, if there is one, with its slots filled."""
    shuffled = rng.sample(lines, len(lines))
    fresh = (line for line in shuffled if _fill(max(line.split("{other}"), key=len), slots) not in earlier_text)
    return _fill(next(fresh, shuffled[0]), slots)


def _fill(line: str, slots: dict[str, str]) -> str:
    for name, value in slots.items():
        line = line.replace(f"{{{name}}}", value)
    return line


def _fitted(before: list[str], body: list[str], after: list[str], words: int) -> str:
    """Return as much as fits into so many words (the first body sentence does), never a part of a sentence."""
    room = words - len(body[0].split())
    keep = {id(body[0])}
    for sentence in [*before[:1], *after, *body[1:], *before[1:]]:
        if len(sentence.split()) <= room:
            keep.add(id(sentence))
            room -= len(sentence.split())
    return " ".join([sentence for sentence in [*before, *body, *after] if id(sentence) in keep])
