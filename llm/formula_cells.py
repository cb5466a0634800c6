"""Cells of a CSV that a spreadsheet program would take for a formula, such as a reply `=HYPERLINK("http://...")`.

They get an apostrophe in front, at which spreadsheet programs take a cell for text; our readers take it off again.
"""

from __future__ import annotations

import re

FORMULA = re.compile(r"'*(?:\s*[=+@-]|[\t\r])")
"""What a program may calculate, also behind the apostrophes of a text that has some itself, so that each text has a cell."""
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def as_cell(text: str) -> str:
    """Return a text as a cell. A number stays as it is.

    >>> as_cell("=1+1"), as_cell("Yes - and no"), as_cell("-1.5")
    ("'=1+1", 'Yes - and no', '-1.5')
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def from_cell(cell: str) -> str:
    """Return the text of a cell.

    >>> from_cell("'=1+1"), from_cell("'tis so")
    ('=1+1', "'tis so")
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
