"""Says what Parley makes up in a society because the files of its parties leave it out (`parley check PATH`)."""

from __future__ import annotations

from collections.abc import Iterator

from parley.agents.datafiles import read_toml
from parley.agents.society import PARTIES, PEOPLE_TABLE, SETS, Society, load_society
from parley.agents.society_check import society_path
from parley.agents.topic import news_names, topic_names
from parley.llm.backends.oracle.phrases import banks
from parley.llm.errors import UserError


def derived_parts(path: str) -> list[str]:
    """Return what is made up in a society, in a line each. Nothing for a topic, a set of personas or a broken society."""
    path = society_path(path)
    if path.endswith(".toml"):
        return []
    try:
        society = load_society(path)
        return [*_people(society), *_sets(society), *_speech(society)]
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


def _speech(society: Society) -> Iterator[str]:
    if not (society.folder / "oracle").is_dir():
        yield "no folder oracle/, so --llm oracle cannot speak here; any other model can"
        return
    speaker = banks(society.name)
    stated = speaker.data("parameters").get("topics", {})
    planted = {slug: float(table["bias"]) for slug, table in stated.items()}
    topics = {*topic_names(society.folder / "topics"), *news_names(society.name)}
    biases = {slug: bias for slug, bias in planted.items() if slug in topics}
    for party in speaker.parties.speakers:
        for topic in speaker.parties.without_start(party, biases):
            start = speaker.parties.start(party, topic, biases[topic])
            reason = "the bias" if start == biases[topic] else "from its side"
            yield f"{_file(party)}: no oracle.start for {topic}, so its people begin at {start:g} ({reason})"
        if not speaker.parties.files[party].oracle.identity:
            yield f"{_file(party)}: no oracle.identity, so its people say: {speaker.data('common')['identity'][party][0]}"


def _file(party: str) -> str:
    return f"{PARTIES}/{party}.toml"
