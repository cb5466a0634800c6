"""Writing the set `twins`: people who are there twice more, as a man and as a woman, with the same text but for that one word.

A difference between men and women of the enhanced set is one of texts: each variant has a sentence of its own. Here only the word
differs, and there are twenty people a party, so that the person can be the unit of a comparison (docs/structured.md).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from parley.agents.datafiles import save
from parley.agents.enhanced import invented, recipe
from parley.agents.persona import PEOPLE, Persona
from parley.agents.recruit import entry, vacant
from parley.llm.errors import UserError
from parley.llm.request import Backend

WORD = "American"


def write_twins(party: str, folder: Path, backend: Backend, model: str, seed: int) -> Path:
    """Write `<folder>/<party>.toml`: each person, then as men, then as women. Errors: UserError when it is there."""
    path = vacant(folder, party)
    plain = invented(party, recipe(party).twins, backend, seed)
    people = [*plain, *[twin(one, gender) for gender in PEOPLE for one in plain]]
    head = f"# Twins ({party}), written by {model} to agents/prompts/persona_enhanced.txt; a man and a woman differ in one word\n"
    return save(path, head + "# (python run.py personas --set twins).\n" + "".join(map(entry, people)))


def twin(person: Persona, gender: str) -> Persona:
    """Return the person as a man or a woman. Errors: UserError on a text that calls nobody an American.

    >>> twin(Persona("", "default", "Sam", "You are Sam, an American. You read."), "female").backstory
    'You are Sam, an American woman. You read.'
    """
    if WORD not in person.backstory:
        raise UserError(
            f"the text of {person.name} ({person.party}) does not say {WORD}, so there is no place for the gender"
        )
    return replace(person, gender=gender, backstory=person.backstory.replace(WORD, f"{WORD} {PEOPLE[gender]}", 1))
