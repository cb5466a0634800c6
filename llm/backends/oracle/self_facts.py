"""Reads from a persona text who a person is (name, age, job, home, family, party), and turns it into the first person.

How a text says so, and how the first person is told, is data of the language (banks/<code>/person.toml).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from parley.llm.backends.oracle.phrases import Banks, Changes, changed, changes_of, sentences
from parley.llm.backends.oracle.prompt_parser import Reading


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


@cache
def pattern(banks: Banks, name: str) -> re.Pattern[str]:
    """Return a pattern of person.toml by its name."""
    return re.compile(_named(banks, banks.data("person")[name]))


@cache
def changes(banks: Banks, name: str) -> Changes:
    """Return a list of changes of person.toml by its name."""
    listed = [
        (_named(banks, expression), form.replace("DEMONYM", banks.demonym))
        for expression, form in banks.data("person")[name]
    ]
    return changes_of(listed, 0)


def _named(banks: Banks, text: str) -> str:
    """Return a text with what people of the society, and of its parties, are called."""
    people = re.escape(banks.demonym)
    return text.replace("PARTIES", "|".join([people, *map(re.escape, banks.labels)])).replace("DEMONYM", people)


def form(banks: Banks, name: str) -> str:
    """Return a text of person.toml by its name."""
    return str(banks.data("person")[name])


def about(reading: Reading) -> About:
    """Return what a request says about the one who is asked. Where the persona gives no name, the opening does."""
    told = persona_facts(reading.banks, reading.persona)
    introduced = _first(reading.banks, "introduced", reading.opening)
    return told if told.name or not introduced else told._replace(name=introduced)


@lru_cache(maxsize=4096)
def persona_facts(banks: Banks, persona: str) -> About:
    told = sentences(persona) if persona else []
    first = told[0] if told else ""
    who = first if pattern(banks, "who").match(first) else ""
    name, job, side = _first(banks, "name", who), _job(banks, who), banks.party(persona)
    lives, upbringing, parents = (_first(banks, kind, persona) for kind in ("lives", "upbringing", "parents"))
    return About(
        "" if pattern(banks, "no_trade").search(name) else name,
        _first(banks, "age_first", who) or _first(banks, "age", persona),
        changed(job, changes(banks, "job_form")),
        _employed(banks, persona),
        pattern(banks, "retired").search(who) is not None,
        _home(banks, who, job),
        first_person(banks, f"{lives}.") if lives else "",
        _family(banks, persona),
        first_person(banks, upbringing),
        _sentence(banks, parents) if parents else "",
        side,
        _affiliation(banks, told, side),
        first_person(banks, who),
    )


def _first(banks: Banks, name: str, text: str, start: int = 0) -> str:
    """Return what a pattern finds first in a text (its first group with words, where it has groups), or ""."""
    match = pattern(banks, name).search(text, start)
    return _words_of(match) if match else ""


def _words_of(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()), "") if match.re.groups else match[0]


def _job(banks: Banks, who: str) -> str:
    """Return the job in the sentence that says who a person is, with its article."""
    jobs = [_words_of(match) for match in pattern(banks, "trade").finditer(who)]
    no_trade = pattern(banks, "no_trade")
    job = _first(banks, "work", who) or next((job for job in jobs if not no_trade.search(job)), "")
    return "" if re.search(r"\d", job) else job


def _home(banks: Banks, who: str, job: str) -> str:
    """Return the place in the sentence that says who a person is: the one after the job, else the first."""
    place = _first(banks, "place", who, who.index(job) + len(job) if job else 0) or _first(banks, "place", who)
    return "" if pattern(banks, "no_place").search(place) else place


def _employed(banks: Banks, persona: str) -> str:
    """Return the sentence that tells the work elsewhere in the text: a career of the enhanced personas, or "You work in ..."."""
    career = next((text for text in banks.data("enhanced")["career"] if text in persona), "")
    work = career or _first(banks, "employed", persona)
    return _sentence(banks, work) if work else ""


def _family(banks: Banks, persona: str) -> str:
    slots, you = banks.data("backstory").get("slots", {}), form(banks, "you")
    family_texts = (entry["text"] for entry in slots.get("family", ()))
    text = next((text for text in family_texts if re.search(you + re.escape(text), persona)), "")
    text = text or _first(banks, "own_family", persona)
    told = first_person(banks, form(banks, "family_form").format(family=text)) if text else ""
    return told.removeprefix(form(banks, "own"))


def _affiliation(banks: Banks, told: list[str], side: str) -> str:
    """Return the sentence that tells the party; "" where only the first sentence does, which also says who a person is."""
    affiliation = pattern(banks, "affiliation")
    lines = [line for line in told[1:] if banks.names_party(line, side) and affiliation.search(line)]
    return first_person(banks, lines[0]) if lines else ""


def _sentence(banks: Banks, text: str) -> str:
    line = changed(first_person(banks, text), changes(banks, "sentence_form"))
    return f"{line[0].upper()}{line[1:]}."


def first_person(banks: Banks, text: str) -> str:
    """Return a text in the second person in the first.

    >>> from parley.llm.backends.oracle.phrases import banks
    >>> first_person(banks(), "You are Ann, and your neighbors in Ohio have often told you that you were right.")
    'I am Ann, and my neighbors in Ohio have often told me that I was right.'
    >>> first_person(banks("germany"), "Du bist Ann, und deine Nachbarn in Köln sagen dir oft, dass du recht hast.")
    'Ich bin Ann, und meine Nachbarn in Köln sagen mir oft, dass ich recht habe.'
    """
    return changed(text, changes(banks, "first_person"))
