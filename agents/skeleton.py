"""Writes a commented skeleton of a society, a party, a topic, a set of personas or a study, which runs as it is (`parley new`).

A topic or a set of personas has the parties of the society in whose folder it is written; outside of any, those of `us`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from parley.agents.datafiles import HERE, quoted
from parley.agents.derived_people import plain_people
from parley.agents.party_draft import draft_party
from parley.agents.society import DEFAULT, PARTIES, Society, load_society, society_of
from parley.llm.errors import UserError, unknown_name

SKELETON = HERE / "skeletons"
SOCIETY, PARTY, TOPIC, PERSONAS, STUDY = KINDS = ("society", "party", "topic", "personas", "study")
"""What can be written."""
FILES = (PARTY, TOPIC)
"""Kinds that are a file."""
PEOPLE = 2
"""Personas of a party, so that a room can seat two of them."""
ABOUT_PERSONAS = """# {plural}, in a set of your own: --set personas=FOLDER. The file is named after the party.
# A backstory is the whole system message of an agent, in the second person{words}.
# Write what the person thinks of each topic, such as "You strongly favor a new town library."
# Further keys of a person: gender = "female", or age = 34.
"""


def write_skeleton(kind: str, out: Path) -> Path:
    """Write the skeleton of a kind to a new folder or file, and return it.

    A party gets a label after the name of its file, and first names, colour and marker that its folder does not use.
    Errors: UserError if `out` exists.
    """
    if kind not in KINDS:
        raise unknown_name("skeleton", kind, KINDS)
    if out.exists():
        raise UserError(f"{out} exists already: give another path")
    if kind in FILES and out.suffix != ".toml":
        raise UserError(f"a {kind} is a .toml file: write parley new {kind} {out}.toml")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if kind == SOCIETY:
            shutil.copytree(SKELETON / SOCIETY, out)
        elif kind == PARTY:
            draft = draft_party(out, SKELETON / "party.toml", SKELETON / SOCIETY / PARTIES)
            out.write_text(draft, encoding="utf-8")
        elif kind == TOPIC:
            out.write_text(_topic(_society_at(out)), encoding="utf-8")
        elif kind == STUDY:
            _write_study(out)
        else:
            out.mkdir()
            society = _society_at(out)
            for party in society.parties:
                (out / f"{party}.toml").write_text(_people(society, party), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from error
    return out


def _write_study(out: Path) -> None:
    """Write a study that is called as its folder. Errors: UserError for a folder whose name is no name of a command."""
    if not re.fullmatch("[a-z][a-z0-9_]*", out.name):
        raise UserError(
            "a study is called as its folder, so the folder needs a name of small letters: "
            f"write parley new study {out.with_name('mine')}"
        )
    out.mkdir()
    for path in (SKELETON / STUDY).iterdir():
        text = path.read_text(encoding="utf-8").replace("@name@", out.name)
        (out / path.stem).write_text(text, encoding="utf-8")


def _society_at(path: Path) -> Society:
    return society_of(path) or load_society()


def _topic(society: Society) -> str:
    """Return a topic on which the first debater of the society rates higher."""
    text = (SKELETON / SOCIETY / "topics" / "library.toml").read_text(encoding="utf-8")
    return text.replace('high_party = "left" ', f"high_party = {quoted(society.debaters[0])} ")


def _people(society: Society, party: str) -> str:
    """Return the file of a party in a set: its first people, in the language of the society."""
    known = society.parties[party]
    words = "" if party == DEFAULT or not known.words else f", with a word such as {known.words[0]}"
    tables = plain_people(known.names[:PEOPLE], known.person, society.language)
    entries = ["\n".join(["[[persona]]", *(f"{key} = {quoted(text)}" for key, text in one.items())]) for one in tables]
    return ABOUT_PERSONAS.format(plural=society.plural(party), words=words) + "\n\n".join(entries) + "\n"
