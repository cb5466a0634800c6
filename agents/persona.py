"""Personas as data: who an agent is told to be. Shipped in agents/personas/, one TOML file per party."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agents.datafiles import HERE, build, read_toml
from llm.errors import UserError, unknown

PERSONAS = HERE / "personas"
DEFAULT = "default"


@dataclass(frozen=True)
class Persona:
    """`backstory` is the whole system message. The Default's is "You are an American." and nothing else (001, 4.2)."""

    id: str
    party: str
    name: str
    backstory: str


def parties(folder: Path = PERSONAS) -> list[str]:
    """The parties that personas are shipped for."""
    return sorted(path.stem for path in folder.glob("*.toml"))


@cache
def load_personas(party: str, folder: Path = PERSONAS) -> tuple[Persona, ...]:
    """All personas of a party, in file order. Errors: UserError on an unknown party, a broken file, a name used twice."""
    if party not in parties(folder):
        raise unknown("party", party, parties(folder))
    entries = read_toml(folder / f"{party}.toml").get("persona", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UserError(f"{folder / party}.toml needs a [[persona]] table for each persona")
    people = tuple(
        build(Persona, {**entry, "id": f"{party}_{number:02}", "party": party}, f"persona {number} of {party}.toml")
        for number, entry in enumerate(entries, 1)
    )
    if not people or len({person.name for person in people}) < len(people):
        raise UserError(f"{folder / party}.toml needs at least one persona, each with its own name")
    return people
