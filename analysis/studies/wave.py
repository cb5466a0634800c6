"""A wave: one model answers a questionnaire on one day, with and without a steering sentence before the questions.

The 2024 election study (*Large-Scale, Longitudinal Study of Large Language Models During the 2024 US Election Season*, 2025)
asked models the same survey again and again, plain and with sentences that name an identity. wave_comparison.py
compares waves.
"""

from __future__ import annotations

import json
from pathlib import Path

from parley.agents.society import DEFAULT, Society
from parley.analysis.studies.questionnaire import WAVE, Condition
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError

PLAIN = "unsteered"
ABOUT = f"{WAVE}.json"


def party_steerings(society: Society) -> list[Condition]:
    """Return a sentence for each party of a society; the two parties that debate by default are opposites."""
    first, second = society.debaters[:2]
    other = {first: second, second: first}
    return [
        Condition(code, society.language.fill("identity", person=party.person), other.get(code, ""))
        for code, party in society.parties.items()
        if code != DEFAULT
    ]


def read_steerings(path: Path) -> list[Condition]:
    """Read a table with the columns name, sentence and perhaps opposite. Errors: UserError."""
    table = read_table(path, ("name", "sentence"), "docs/personas.md", filled=("name", "sentence"))
    opposite = table["opposite"] if "opposite" in table.columns else [""] * len(table)
    rows = [Condition(*row) for row in zip(table["name"], table["sentence"], opposite, strict=True)]
    names = [row.name for row in rows]
    for row in rows:
        if row.name == PLAIN or names.count(row.name) > 1:
            raise UserError(
                f"{path}: the name {row.name!r} is used twice or reserved: give each row a different name, other "
                f"than {PLAIN}"
            )
        if row.opposite and row.opposite not in set(names) - {row.name}:
            raise UserError(
                f"{path}: the opposite of {row.name} is {row.opposite}, but must be the name of another row"
            )
    return rows


def date_of(folder: Path, today: str) -> str:
    """Return the date of a wave that was begun in this folder, else today's."""
    return str(json.loads((folder / ABOUT).read_text(encoding="utf-8"))["date"]) if (folder / ABOUT).exists() else today
