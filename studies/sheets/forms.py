"""The forms of sheets: one TOML file for each reporting standard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.agents.datafiles import build_from_table, read_toml, require_section
from parley.llm.errors import UserError, unknown_name
from parley.studies.sheets import attributes, design, results, talk
from parley.studies.sheets.facts import FACTS

FOLDER = Path(__file__).parent / "forms"
ALL = "all"
MODULES = (attributes, design, talk, results)
"""The modules of facts: their import fills FACTS."""


@dataclass(frozen=True)
class Item:
    """An item of a form.

    key: its name in a file of answers. asks: the question. facts: functions that read the run. says: what the author must say
    where the run does not. author_only: facts are shown, and do not answer the question alone.
    """

    key: str
    section: str
    asks: str
    says: str
    facts: tuple[str, ...] = ()
    author_only: bool = False


@dataclass(frozen=True)
class Form:
    """A reporting standard: its items, in order."""

    name: str
    title: str
    source: str
    about: str
    items: tuple[Item, ...]


def form_names() -> list[str]:
    """Return the names of all forms."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_forms(name: str) -> list[Form]:
    """Return a form by name or by the path of a .toml file, or all of them (`all`). Errors: UserError."""
    if name == ALL:
        return [load_form(FOLDER / f"{name}.toml") for name in form_names()]
    if name.endswith(".toml"):
        return [load_form(Path(name))]
    if name not in form_names():
        raise unknown_name("form", name, [ALL, *form_names()])
    return [load_form(FOLDER / f"{name}.toml")]


def load_form(path: Path) -> Form:
    """Read a form. Errors: UserError, one line that names file and key."""
    values: dict[str, Any] = read_toml(path)
    items = values.pop("items", None)
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        raise UserError(f"{path} has no items: write each as a table [[items]]")
    made = tuple(_item(item, f"{path}, item {number}") for number, item in enumerate(items, 1))
    keys = [item.key for item in made]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise UserError(f"{path}: two items have the key {twice[0]}")
    return build_from_table(Form, {**values, "name": path.stem, "items": made}, str(path))


def _item(values: dict[str, Any], where: str) -> Item:
    item = build_from_table(Item, values, where)
    if not isinstance(item.author_only, bool):
        raise UserError(f"author_only in {where} is {item.author_only!r}, but must be true or false")
    for name in item.facts:
        if name not in FACTS:
            raise unknown_name(f"fact in {where}", name, FACTS)
    return item


AUTHOR = "author"
Answers = Mapping[tuple[str, str], str]
"""The text of each answer, by the name of its form and the key of its item."""


def read_answers(path: Path, forms: Sequence[Form]) -> tuple[str, dict[tuple[str, str], str]]:
    """Return the name of the author ("": not given) and the answers of a TOML file. A table for each form; its keys are items.

    Tables of other forms are not read. Errors: UserError, one line that names file and key.
    """
    values, answers = read_toml(path), {}
    author = values.get(AUTHOR, "")
    if not isinstance(author, str):
        raise UserError(f"{AUTHOR} in {path} is {author!r}, but must be a text")
    tables = dict.fromkeys([AUTHOR, *form_names(), *(form.name for form in forms)])
    if unknown := [name for name in values if name not in tables]:
        raise unknown_name(f"form of {path}", unknown[0], tables)
    for form in forms:
        keys = {item.key for item in form.items}
        for key, text in require_section(values, form.name, str(path)).items():
            if key not in keys:
                raise unknown_name(f"item of {form.name} in {path}", key, keys)
            if not isinstance(text, str) or not text.strip():
                raise UserError(f"{form.name}.{key} in {path} is {text!r}, but must be a text")
            answers[form.name, key] = text
    return author, answers
