"""Says what Parley makes up in a society because the files of its parties leave it out (`parley check PATH`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parley.agents.datafiles import read_toml
from parley.agents.persona import Persona, all_personas
from parley.agents.question import OWN_QUESTIONS
from parley.agents.society import PARTIES, PEOPLE_TABLE, SETS, Society, load_society, society_names
from parley.agents.society_check import society_path
from parley.agents.topic import news_names, topic_names
from parley.llm.backends.oracle.dynamics import stated_level
from parley.llm.backends.oracle.phrases import Banks, banks
from parley.llm.backends.oracle.self_facts import persona_facts
from parley.llm.errors import UserError

SHOWN = 6
"""People whose names a line lists."""


def derived_parts(path: str) -> list[str]:
    """Return what is made up in a society, in a line each. Nothing for a topic, a set of personas or a broken society."""
    path = society_path(path)
    if path.endswith(".toml"):
        return []
    try:
        society = load_society(path)
        return [*_people(society), *_sets(society), *_questions(society), *_speech(society)]
    except UserError:
        return []


def _sets(society: Society) -> Iterator[str]:
    """Say which sets of personas have no file of a party."""
    for folder in sorted(path for path in (society.folder / SETS).glob("*") if path.is_dir()):
        if lacking := [party for party in society.parties if not (folder / f"{party}.toml").is_file()]:
            yield f"{SETS}/{folder.name} has no people of {', '.join(lacking)}, so they are made of `names` and `person`"


def _people(society: Society) -> Iterator[str]:
    for party, one in society.parties.items():
        if not read_toml(society.folder / PARTIES / f"{party}.toml").get(PEOPLE_TABLE):
            yield f"{_file(party)}: no [[persona]], so its {len(one.names)} people say of themselves only: {one.person}"
        if not one.colour:
            yield f"{_file(party)}: no colour, so figures choose one"


def _questions(society: Society) -> Iterator[str]:
    """Say that private deliberations have no questions."""
    own = society.folder / OWN_QUESTIONS
    if society.name not in society_names() and not own.is_file():
        yield f"no {OWN_QUESTIONS}, so private deliberations (consensus) need --set questions=FILE"


def _speech(society: Society) -> Iterator[str]:
    if not (society.folder / "oracle").is_dir():
        yield "no folder oracle/, so --llm oracle cannot speak here; any other model can"
        return
    speaker = banks(society.name)
    try:
        speaker.check()
    except UserError as error:
        yield f"--llm oracle cannot speak here, any other model can: {error}"
        return
    stated = speaker.data("parameters").get("topics", {})
    planted = {slug: float(table["bias"]) for slug, table in stated.items()}
    debated = topic_names(society.folder / "topics")
    topics = {*debated, *news_names(society.name)}
    biases = {slug: bias for slug, bias in planted.items() if slug in topics}
    for party in speaker.parties.speakers:
        for topic in speaker.parties.without_start(party, biases):
            start = speaker.parties.start(party, topic, biases[topic])
            reason = "the bias" if start == biases[topic] else "from its side"
            yield f"{_file(party)}: no oracle.start for {topic}, so its people begin at {start:g} ({reason})"
        if not speaker.parties.files[party].oracle.identity:
            yield f"{_file(party)}: no oracle.identity, so its people say: {speaker.data('common')['identity'][party][0]}"
    for party in speaker.parties.speakers:
        if people := written_people(society, party):
            yield from _unstated_levels(
                party, people, speaker, {slug: biases[slug] for slug in debated if slug in biases}
            )
            yield from _unstated_facts(party, people, speaker)


def written_people(society: Society, party: str) -> tuple[Persona, ...]:
    """Return the people in the file of a party; none where they are made up."""
    file = society.folder / PARTIES / f"{party}.toml"
    return all_personas(party, file.parent) if read_toml(file).get(PEOPLE_TABLE) else ()


def _unstated_levels(
    party: str, people: Sequence[Persona], speaker: Banks, biases: Mapping[str, float]
) -> Iterator[str]:
    """Say who states no level on a topic, and where these people begin."""
    for topic, bias in biases.items():
        slug = f"{speaker.prefix}{topic}"
        spoken = [(one, speaker.in_language(one.language)) for one in people]
        if silent := [one.name for one, known in spoken if stated_level(known, one.backstory, slug) is None]:
            begin = f"{speaker.parties.start(party, topic, bias):g}"
            yield f"{_file(party)}: {_names(silent, people)} no level on {topic}, so --llm oracle begins at {begin}"


def _unstated_facts(party: str, people: Sequence[Persona], speaker: Banks) -> Iterator[str]:
    """Say who does not state age or work, which the rule-based speaker can be asked for."""
    known = [persona_facts(speaker.in_language(one.language), one.backstory) for one in people]
    stated: dict[str, list[str | bool]] = {
        "age": [one.age != "" for one in known],
        "work": [one.job or one.work or one.retired for one in known],
    }
    for fact, values in stated.items():
        if silent := [one.name for one, value in zip(people, values, strict=True) if not value]:
            yield f"{_file(party)}: {_names(silent, people)} no {fact}, so --llm oracle does not answer when asked for it"


def _names(silent: Sequence[str], people: Sequence[Persona]) -> str:
    """Return who states nothing, as the beginning of a sentence."""
    if len(silent) == len(people):
        return "its people state"
    more = [f"{len(silent) - SHOWN} more"] if len(silent) > SHOWN else []
    *first, last = [*silent[:SHOWN], *more]
    return f"{', '.join(first)} and {last} state" if first else f"{last} states"


def _file(party: str) -> str:
    return f"{PARTIES}/{party}.toml"
