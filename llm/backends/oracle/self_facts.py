"""Reads from a persona text who somebody is (name, age, job, home, family, party), and turns it into the first person."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from parley.llm.backends.oracle.phrases import data, sentences
from parley.llm.backends.oracle.prompt_parser import Reading, party

_WHO = re.compile(r"You are |You're |Your name is ")
_NAME = re.compile(r"^(?:You are|You're|Your name is) ([A-Z][^\s,.]*(?: [A-Z][^\s,.]*){0,3})(?=[,.]|$| and )")
_INTRODUCED = re.compile(
    r"(?<![\w,])You are ([^\n;]+?)(?:; the others? (?:is|are) [^\n;]+?)?\. Speak only for yourself"
)
_AGE_FIRST = re.compile(r"(?:, |\bat |\byou are |\baged )(\d\d)\b(?! percent)")
_AGE = re.compile(r"\b[Yy]ou are (\d\d)\b|\b(\d\d)(?: years old|-year-old)")
_WORK = re.compile(r"(?:work as|worked as|living as|years as) (an? [^,.]+?)(?= in | until | and |[,.])")
_TRADE = re.compile(r"(?:, |\bare )(an? [^,.]+?)(?= living in | in |[,.])")
_EMPLOYED = re.compile(r"\b[Yy]ou (?:work|worked|teach|drive|run|own|manage) [^,.]*")
_NO_TRADE = re.compile(
    r"American|Republican|Democrat|conservative|liberal|progressive|\bman$|\bwoman$|citizen|voter|person$"
)
_PLACE = re.compile(r"\bin ((?:an? |the )?[^,.]+?)(?=, | until | after |\.|$)")
_LIVES = re.compile(r"\bYou live (?:in|at|on) [^,.]*?(?= and |[,.])|\bHome is [^,.]*|\bYou come from [^,.]*")
_UPBRINGING = re.compile(r"[Gg]r(?:ew|owing) up ([^.]*?)(?= shaped you|, and |\.)")
_OWN_FAMILY = re.compile(
    r"\b[Yy]ou ((?:are|have been) (?:\w+ )?(?:married|single|divorced|widowed|engaged)\b[^,.]*|live (?:with|alone)[^,.]*"
    r"|(?:have|raise) (?:\w+ ){0,3}(?:children|child|kids?|sons?|daughters?)\b[^,.]*)"
)
_PARENTS = re.compile(
    r"\byour (?:parents|grandparents|family) [^,.]*|\byou were raised by [^,.]*|\bwith an? \w+ for a mother[^,.]*"
)
_PARTY = {
    "republican": re.compile(r"\b(?:republicans?|conservatives?|gop)\b", re.I),
    "democrat": re.compile(r"\b(?:democrat(?:s|ic)?|liberals?|progressives?)\b", re.I),
}
MARRIED = re.compile(r"\b(?:re)?married|single|divorced|widowed|engaged|partner|alone|spouse|husband|wife\b")
CHILDREN = re.compile(r"\b(?:child|children|kids?|sons?|daughters?|twins|baby|grandchildren|youngest)\b")
_OBJECT = re.compile(
    r"\b(with|for|to|of|about|from|near|by|at|gave|give|gives|taught|told|tells|brought|brings|carried|shaped|made|makes"
    r"|frustrates?|frustrated|left|helped|asks|asked) you\b(?! (?:are|were|have|had|do|did|say|think|live|work|can|will)\b)"
)


class About(NamedTuple):
    """What a persona says; "" for what it does not. `home` is a place, `lives` a sentence; `family` a clause without its "I"."""

    name: str
    age: str
    job: str
    work: str
    retired: bool
    home: str
    lives: str
    family: str
    upbringing: str
    parents: str
    side: str
    affiliation: str
    who: str


def about(reading: Reading) -> About:
    """Return what a request says about the one who is asked. Where the persona gives no name, the opening does."""
    found = _about(reading.persona)
    introduced = _INTRODUCED.search(reading.opening)
    return found if found.name or not introduced else found._replace(name=introduced[1])


@lru_cache(maxsize=4096)
def _about(persona: str) -> About:
    told = sentences(persona) if persona else []
    first = told[0] if told else ""
    who = first if _WHO.match(first) else ""
    name, age = _NAME.match(who), _AGE_FIRST.search(who) or _AGE.search(persona)
    job = _job(who)
    lives = _LIVES.search(persona)
    place = _PLACE.search(who, who.index(job) + len(job) if job else 0) or _PLACE.search(who)
    side = party(persona)
    upbringing = _UPBRINGING.search(persona)
    parents = _PARENTS.search(persona)
    named = name[1] if name and not _NO_TRADE.search(name[1]) else ""
    return About(
        named,
        next(filter(None, age.groups()), "") if age else "",
        job.replace("a retired ", "a ")
        if not re.match(r"a retired [aeiou]", job)
        else job.replace("a retired ", "an "),
        _employed(persona),
        "retired" in who,
        place[1] if place and "American" not in place[1] else "",
        first_person(f"{lives[0]}.") if lives else "",
        _family(persona),
        first_person(upbringing[1]) if upbringing else "",
        _sentence(parents[0]) if parents else "",
        side,
        _affiliation(told, side),
        first_person(who),
    )


def _job(who: str) -> str:
    """Return the job in the sentence that says who somebody is, with its article."""
    found = _WORK.search(who)
    jobs = [found[1]] if found else [trade for trade in _TRADE.findall(who) if not _NO_TRADE.search(trade)]
    return str(jobs[0]) if jobs and not re.search(r"\d", jobs[0]) else ""


def _employed(persona: str) -> str:
    """Return the sentence that tells the work elsewhere in the text: a career of the enhanced personas, or "You work in ..."."""
    career = next((text for text in data("enhanced")["career"] if text in persona), "")
    found = _EMPLOYED.search(persona)
    return _sentence(career) if career else _sentence(found[0]) if found else ""


def _family(persona: str) -> str:
    known = (entry["text"] for entry in data("backstory")["slots"]["family"])
    text = next((text for text in known if re.search(rf"\b[Yy]ou {re.escape(text)}", persona)), "")
    if not text and (found := _OWN_FAMILY.search(persona)):
        text = found[1]
    return first_person(f"you {text}").removeprefix("I ") if text else ""


def _affiliation(told: list[str], side: str) -> str:
    """Return the sentence that tells the party; "" where only the first sentence does, which also says who somebody is."""
    pattern = _PARTY.get(side)
    lines = [line for line in told[1:] if pattern and pattern.search(line) and re.match(r"You\b", line)]
    return first_person(lines[0]) if lines else ""


def _sentence(text: str) -> str:
    line = first_person(text)
    line = f"I grew up {line}" if line.startswith("with ") else line
    return f"{line[0].upper()}{line[1:]}."


def first_person(text: str) -> str:
    """Return a text in the second person in the first.

    >>> first_person("You are Ann, and your neighbors in Ohio have often told you that you were right.")
    'I am Ann, and my neighbors in Ohio have often told me that I was right.'
    """
    for pattern, own in (
        (r"\byourself\b", "myself"),
        (r"\byours\b", "mine"),
        (r"\bYour\b", "My"),
        (r"\byour\b", "my"),
        (r"\bbetween you\b", "between us"),
        (r"\b[Yy]ou are\b|\b[Yy]ou're\b", "I am"),
        (r"\b[Yy]ou were\b", "I was"),
        (r"\byou(?=[.,;:!?]|$| up\b)", "me"),
    ):
        text = re.sub(pattern, own, text)
    return re.sub(r"\b[Yy]ou\b", "I", _OBJECT.sub(r"\1 me", text))
