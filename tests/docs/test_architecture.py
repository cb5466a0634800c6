"""docs/architecture.md leads to files that exist, and the made list of files says of each what it does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from docs import pages

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_page_is_two_pages() -> None:
    """It once was a map of 7,900 words, kept by hand beside the docstrings that said the same."""
    assert len(PAGE.split()) <= 1000


def test_every_file_that_the_page_names_exists() -> None:
    """The reading list of one turn is the first thing that a developer opens."""
    section = PAGE.split("## Follow one turn")[1].split("\n## ")[0]
    assert len(re.findall(r"`\w+/[\w/]+\.py`", section)) >= 5
    files = re.findall(r"`(\w+/[\w/]+\.py)`", PAGE)
    assert [path for path in files if not (ROOT / path).exists()] == []


def test_every_file_says_in_its_first_line_what_it_does() -> None:
    """The list of files is made from these lines: one that is cut off or long cannot be read there."""
    told = {
        path: (ast.get_docstring(ast.parse((ROOT / path).read_text("utf-8"))) or "").split("\n") for path in files()
    }
    assert [path for path, lines in told.items() if not lines[0]] == []
    assert [path for path, lines in told.items() if len(lines[0]) > 120] == []
    assert [path for path, lines in told.items() if len(lines) > 1 and lines[1]] == []


def test_every_file_is_in_the_list() -> None:
    """With its first line; a folder is led by its own."""
    page = pages.code_page()
    assert [path for path in files() if f"| `{path}` |" not in page and not path.endswith("/__init__.py")] == []
    assert "| `llm/seeding.py` |" in page
    assert "## llm" in page


def files() -> list[str]:
    """Every product file, without tests."""
    return [str(path.relative_to(ROOT)) for path in pages.product_files()]


def test_the_readme_is_short_and_begins_with_what_parley_does() -> None:
    """A reader decides within one screen; README is no place for the map of the code."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
    assert lines[2].startswith("Parley runs debates between LLM agents")
