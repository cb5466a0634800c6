"""Answers questions about the speaker itself and about what it heard.

It says who it is by its persona, whether and by whom its mind was changed by the planted law (dynamics.py), and who said what
by the lines heard. What the request does not say it declines: the note `declined` marks such a reply, which holds no opinion.
"""

from __future__ import annotations

import random
import re
from functools import cache, lru_cache

from parley.llm.backends.oracle.dynamics import Speaker, biased, dither, move
from parley.llm.backends.oracle.party_files import NO_PARTY
from parley.llm.backends.oracle.phrases import Banks, TopicBank, changed, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.self_facts import About, about, form, pattern
from parley.llm.request import DECLINED, Reply
from parley.llm.seeding import stream

NAMED = ("agree_with", "thinks", "said")
"""Kinds of questions about one speaker, in the order in which they are looked for; then come those of ORDER."""
ORDER = ("changed", "agree", "disagree", "own", "who_said")
WHO = ("name", "job", "age", "home", "married", "children", "family", "party", "self")
MOVED, FAR, MOST = 1.0, 3.0, 2
"""From which change on a mind has changed; from which distance on it disagrees; most speakers that one answer reports."""


def plain(banks: Banks, text: str) -> str:
    """Return a question as its words with a space around each, and its contractions written out."""
    text = " ".join(banks.pattern("signs").sub(" ", text.replace("’", "'").replace("‘", "'")).split())
    return f" {changed(text, banks.changes('contracted'))} "


@cache
def _phrases(banks: Banks, kind: str) -> tuple[str, ...]:
    entry = banks.data("self")[kind]
    phrases = [*entry.get("recognise", ()), *entry["ask"], *entry["held_out"]]
    return tuple([plain(banks, phrase).lower() for phrase in phrases])


@cache
def _patterns(banks: Banks, kind: str) -> tuple[re.Pattern[str], ...]:
    """Return the phrases of a kind about one speaker, whose name replaces {name}."""
    name = r"(?P<name>\S+(?: \S+){0,3}?)"
    parts = (map(re.escape, phrase.split("{name}")) for phrase in _named(banks, kind))
    return tuple([re.compile(name.join(pieces), re.I) for pieces in parts])


def _named(banks: Banks, kind: str) -> list[str]:
    entry = banks.data("self")[kind]
    return [plain(banks, phrase) for phrase in (*entry["ask"], *entry["held_out"], *entry["recognise"])]


@lru_cache(maxsize=4096)
def kinds_of(banks: Banks, question: str) -> tuple[str, ...]:
    """Return what a question that names no speaker asks for: the first kind of ORDER, else all of WHO in it, else `stand`.

    What would change a mind is another question than what has changed it.
    """
    text = plain(banks, question).lower()
    order = [kind for kind in ORDER if kind != "changed" or not banks.pattern("hypothetical").search(text)]
    kinds = [kind for kind in order if any(phrase in text for phrase in _phrases(banks, kind))][:1]
    if not kinds:
        places = {kind: [text.find(phrase) for phrase in _phrases(banks, kind) if phrase in text] for kind in WHO}
        kinds = sorted((kind for kind in WHO if places[kind]), key=lambda kind: min(places[kind]))
    if not kinds and text.endswith(_phrases(banks, "stand")):
        kinds = ["stand"]
    return tuple(kinds)


def asked_of(reading: Reading) -> tuple[str, str] | None:
    """Return the kind of a question about one speaker, and the speaker: one heard, else words with a capital."""
    text, heard = plain(reading.banks, reading.question), dict(reading.heard)
    for kind in NAMED:
        for phrase in _patterns(reading.banks, kind):
            if (match := phrase.search(text)) and (name := _speaker(reading.banks, match["name"], heard)):
                return kind, name
    return None


def _speaker(banks: Banks, words: str, heard: dict[str, str]) -> str:
    """Return the speaker that some words of a question name; "" where they name none."""
    inside = [name for name in heard if plain(banks, name).lower() in f" {words.lower()} "]
    if inside:
        return max(inside, key=len)
    language, capital = banks.data("language"), list[str]()
    for word in reversed(words.split()):
        if word[0].islower() or word in language["no_speakers"]:
            return "" if word.title() in language["articles"] else " ".join(capital)
        capital.insert(0, word)
    return " ".join(capital)


def answer_self(reading: Reading, speaker: Speaker, political: bool) -> Reply | None:
    """Answer a question about the speaker itself or about what was said; None for any other question.

    political: the question is on a topic or theme of the banks, so it asks for an opinion even where it says "your family".
    """
    rng = stream(reading.seed, reading.persona, reading.heard, reading.own, reading.ask)
    if named := asked_of(reading):
        kind, name = named
        own_name = about(reading).name
        return _own(reading, rng) if name == own_name else _about_speaker(kind, name, reading, speaker, rng)
    kinds = kinds_of(reading.banks, reading.question)
    if not kinds or kinds == ("stand",) or (political and kinds[0] in WHO):
        return None
    if kinds[0] == "changed":
        return _changed(reading, speaker, rng)
    if kinds[0] in ("agree", "disagree"):
        return _nearest(kinds[0], reading, speaker, rng)
    if kinds[0] == "own":
        return _own(reading, rng)
    return _who_said(reading, rng) if kinds[0] == "who_said" else _who(kinds, reading, rng)


def decline(reading: Reading) -> Reply:
    """Say that it cannot answer."""
    rng = stream(reading.seed, reading.persona, reading.ask)
    return _declined(rng.choice(reading.banks.data("self")["unknown"]["answers"]))


def _declined(text: str) -> Reply:
    return Reply(text, notes={DECLINED: 1})


def _who(kinds: tuple[str, ...], reading: Reading, rng: random.Random) -> Reply:
    """Say who it is. More than two things in one question are answered as "who are you"."""
    told = about(reading)
    kinds = ("self",) if len(kinds) > 2 else kinds
    lines = [_fact(reading.banks, kind, told, plain(reading.banks, reading.question).lower(), rng) for kind in kinds]
    told_lines = [line for line in lines if line]
    unsaid = [
        rng.choice(reading.banks.data("self")["unsaid"][kind])
        for kind, line in zip(kinds, lines, strict=True)
        if not line
    ]
    text = " ".join([*told_lines, *unsaid])
    return Reply(text) if told_lines else _declined(text)


def _fact(banks: Banks, kind: str, told: About, question: str, rng: random.Random) -> str:
    """Return what a persona says on a kind of question; "" for nothing."""
    forms, bank = banks.data("self")[kind], banks.data("self")
    if kind == "self":
        name = rng.choice(bank["name"]["answers"]).format(name=told.name) if told.name else ""
        who = [told.who] if told.name in told.who else [name, told.who]
        party = _party(banks, told, "", rng, False) if len([line for line in who if line]) < 2 else ""
        return " ".join(filter(None, [*who, "" if _names_party(banks, told.who) else party]))
    if kind == "party":
        return _party(banks, told, question, rng, rng.random() < 0.6)
    if kind == "job" and told.job:
        return str(rng.choice(forms["retired" if told.retired else "answers"])).format(job=told.job)
    if kind == "home" and (told.lives or told.home):
        return told.lives or str(rng.choice(forms["answers"])).format(home=told.home)
    if kind in ("married", "children", "family"):
        return _family(banks, kind, told, rng)
    fact = {"name": told.name, "age": told.age}.get(kind, "")
    return str(rng.choice(forms["answers"])).format(**{kind: fact}) if fact else told.work if kind == "job" else ""


def _names_party(banks: Banks, text: str) -> bool:
    return any(label.lower() in text.lower() for label in banks.labels)


def _party(banks: Banks, told: About, question: str, rng: random.Random, more: bool) -> str:
    if told.side == NO_PARTY:
        return ""
    line = str(rng.choice(banks.data("self")["party"][told.side]))
    if side := banks.asks_for_party.search(question):
        agrees = banks.party(side[1]) == told.side
        line = f"{banks.words('yes' if agrees else 'no')}, {_after_comma(banks, line)}"
    if not more or not told.affiliation:
        return line
    return told.affiliation if told.affiliation.startswith(line[:-1]) else f"{line} {told.affiliation}"


def _after_comma(banks: Banks, line: str) -> str:
    """Return a sentence with its first word as it is within a sentence."""
    return line if line.split()[0] in banks.data("language")["capitals"] else line[0].lower() + line[1:]


def _family(banks: Banks, kind: str, told: About, rng: random.Random) -> str:
    """Return what is told about the family; where that leaves the question open, that it does not say, and what it does."""
    bank = banks.data("self")
    if not told.family:
        return told.parents if kind == "family" else ""
    line = str(rng.choice(bank["family"]["answers"])).format(family=told.family)
    if kind == "family":
        more = str(rng.choice(bank["family"]["upbringing"])).format(upbringing=told.upbringing)
        return f"{line} {more}" if told.upbringing and rng.random() < 0.5 else line
    family_line = form(banks, "own_family_form").format(family=told.family)
    return line if pattern(banks, kind).search(told.family) else f"{rng.choice(bank['unsaid'][kind])} {family_line}"


def _bank(reading: Reading) -> TopicBank | None:
    return reading.banks.topics[reading.topic] if reading.topic else None


def clause(banks: Banks, bank: TopicBank, grade: float) -> str:
    """Return a grade as the clause of a stance sentence: "climate change is a severe problem"."""
    return bank.stance_sentence(dither(grade, 1, None)).removeprefix(banks.words("think")).removesuffix(".")


def _report(banks: Banks, bank: TopicBank | None, name: str, line: str, kind: str, rng: random.Random) -> str:
    """Return what a speaker said in a line: its stance, where it says one, else one of its sentences."""
    forms, line_sentences = banks.data("self")[kind], sentences(line)
    stances = {bank.stance_sentence(point) for point in range(len(bank.labels))} if bank else set[str]()
    stated = next((sentence for sentence in line_sentences if sentence in stances), "")
    if bank and stated:
        return str(rng.choice(forms["clause"])).format(
            name=name, clause=stated.removeprefix(banks.words("think")).removesuffix(".")
        )
    quote = next((sentence for sentence in line_sentences if bank and sentence in bank.grades), line_sentences[0])
    return str(rng.choice(forms["quote"])).format(name=name, quote=quote)


def _means(reading: Reading) -> dict[str, float]:
    """Return the mean grade of the readable lines of each speaker."""
    bank, grades = _bank(reading), dict[str, list[float]]()
    for name, text in reading.heard:
        grade = bank.grade(text) if bank else None
        if grade is not None:
            grades.setdefault(name, []).append(grade)
    return {name: sum(values) / len(values) for name, values in grades.items()}


def _about_speaker(kind: str, name: str, reading: Reading, speaker: Speaker, rng: random.Random) -> Reply:
    """Say what a speaker said or thinks, or whether it agrees with another."""
    forms, bank = reading.banks.data("self"), _bank(reading)
    speaker_lines = [text for other, text in reading.heard if other == name]
    if not speaker_lines:
        return _declined(rng.choice(forms["said"]["silent"]).format(name=name))
    mean = _means(reading).get(name)
    report = _report(reading.banks, bank, name, speaker_lines[-1], "said", rng)
    if kind == "said" or bank is None or mean is None:
        return Reply(report)
    if kind == "thinks":
        return Reply(rng.choice(forms["thinks"]["clause"]).format(name=name, clause=clause(reading.banks, bank, mean)))
    near = abs(mean - speaker.attitude(reading)[0]) <= FAR
    return Reply(f"{rng.choice(forms['agree_with']['yes' if near else 'no']).format(name=name)} {report}")


def _nearest(kind: str, reading: Reading, speaker: Speaker, rng: random.Random) -> Reply:
    """Say who is closest to its own attitude (agree) or farthest from it, and that speaker's position."""
    forms, bank, means = reading.banks.data("self"), _bank(reading), _means(reading)
    if not means or bank is None:
        return _declined(rng.choice(forms["agree"]["silent"]))
    own_attitude = speaker.attitude(reading)[0]
    choose = min if kind == "agree" else max
    name = choose(means, key=lambda heard_name: abs(means[heard_name] - own_attitude))
    fits = (abs(means[name] - own_attitude) <= FAR) == (kind == "agree")
    answers = forms[kind]["answers" if fits else "far" if kind == "agree" else "near"]
    stands = rng.choice(forms["thinks"]["clause"]).format(name=name, clause=clause(reading.banks, bank, means[name]))
    return Reply(f"{rng.choice(answers).format(name=name)} {stands}")


def _own(reading: Reading, rng: random.Random) -> Reply:
    if not reading.own:
        return _declined(rng.choice(reading.banks.data("self")["own"]["silent"]))
    return Reply(_report(reading.banks, _bank(reading), "", reading.own[-1], "own", rng))


def _who_said(reading: Reading, rng: random.Random) -> Reply:
    """Say what the last speakers said, each in a sentence."""
    if not reading.heard:
        return _declined(rng.choice(reading.banks.data("self")["changed"]["silent"]))
    lines: dict[str, str] = {}
    for name, text in reversed(reading.heard):
        if len(lines) < MOST:
            lines.setdefault(name, text)
    latest_lines = list(lines.items())[::-1]
    return Reply(
        " ".join([_report(reading.banks, _bank(reading), name, text, "said", rng) for name, text in latest_lines])
    )


def _changed(reading: Reading, speaker: Speaker, rng: random.Random) -> Reply:
    """Say whether its attitude has moved, who said what moved it most, and its position."""
    forms, bank = reading.banks.data("self")["changed"], _bank(reading)
    if not reading.heard:
        return _declined(rng.choice(forms["silent"]))
    if bank is None:
        return Reply(rng.choice(forms["same"]))
    now = speaker.attitude(reading)[0]
    before = speaker.start(reading.persona, bank.slug)
    stance = f"{clause(reading.banks, bank, now)}."
    if abs(now - before) < MOVED:
        return Reply(f"{rng.choice(forms['same'])} {reading.banks.words('think')}{stance}")
    moving = _moving(reading, speaker, bank, now - before)
    line = _report(reading.banks, bank, *moving, "changed", rng) if moving else rng.choice(forms["alone"])
    return Reply(f"{line} {reading.banks.words('now_think')}{stance}")


def _moving(reading: Reading, speaker: Speaker, bank: TopicBank, change: float) -> tuple[str, str] | None:
    """Return the name and the line heard with the largest influence in the direction of a change; None without one."""
    law = biased(speaker.parameters[bank.slug], reading.bias)
    value, best, moving_line = speaker.start(reading.persona, bank.slug), 0.0, None
    for name, text in reading.heard:
        grade = bank.grade(text)
        influence = (move(value, grade, law) - move(value, None, law)) * (1 if change > 0 else -1)
        if influence > best:
            best, moving_line = influence, (name, text)
        value = min(max(value + move(value, grade, law), 0.0), 10.0)
    return moving_line
