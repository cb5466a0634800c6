"""The answers of the author to items of forms. They are shown as the author's, never as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from parley.agents.datafiles import read_toml, require_section
from parley.llm.errors import UserError, unknown_name
from parley.studies.sheets.forms import Form, form_names

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
        raise UserError(f"{AUTHOR} in {path} must be a text, not {author!r}")
    tables = dict.fromkeys([AUTHOR, *form_names(), *(form.name for form in forms)])
    if unknown := [name for name in values if name not in tables]:
        raise unknown_name(f"form of {path}", unknown[0], tables)
    for form in forms:
        known = {item.key for item in form.items}
        for key, text in require_section(values, form.name, str(path)).items():
            if key not in known:
                raise unknown_name(f"item of {form.name} in {path}", key, known)
            if not isinstance(text, str) or not text.strip():
                raise UserError(f"{form.name}.{key} in {path} must be a text, not {text!r}")
            answers[form.name, key] = text
    return author, answers
