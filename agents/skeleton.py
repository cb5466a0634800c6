"""Writes a commented skeleton of a society, a party, a topic or a set of personas, which runs as it is (`parley new`)."""

from __future__ import annotations

import shutil
from pathlib import Path

from parley.agents.datafiles import HERE
from parley.agents.party_draft import draft_party
from parley.agents.society import PARTIES
from parley.llm.errors import UserError, unknown_name

SKELETON = HERE / "skeletons"
PARTY = "party"
KINDS = {"society": "society", PARTY: "party.toml", "topic": "society/topics/library.toml", "personas": "personas"}
"""What can be written, and where its skeleton is."""
FILES = (PARTY, "topic")
"""Kinds that are a file."""


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
    source = SKELETON / KINDS[kind]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, out)
        elif kind == PARTY:
            out.write_text(draft_party(out, source, SKELETON / "society" / PARTIES), encoding="utf-8")
        else:
            shutil.copy(source, out)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from error
    return out
