"""docs/architecture.md is the map of the code: a line that leads nowhere, or a file without a line, sends a reader astray."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LINES = re.findall(r"^- `([^`]+)`: (\S.*)$", PAGE, re.M)
FOLDERS = ("llm", "agents", "environments", "model", "analysis", "training", "studies", "benchmarks", "tools")


def product_files() -> list[str]:
    """Paths of all code and data files that the map has to cover; a folder's `__init__.py` belongs to its folder."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".toml")]
    found += [*ROOT.glob("*.py"), *ROOT.glob("*.toml"), *ROOT.glob("*.cfg"), *ROOT.glob("*.sh")]
    paths = [path.relative_to(ROOT) for path in found if path.parent == ROOT or path.name != "__init__.py"]
    return sorted(str(path) for path in paths if "tests" not in path.parts)


def test_every_line_names_a_path_that_exists_once() -> None:
    paths = [path for path, _ in LINES]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [path for path in paths if (ROOT / path).is_dir() != path.endswith("/")] == []
    assert sorted(path for path in paths if paths.count(path) > 1) == []


def test_every_product_file_has_a_line() -> None:
    """A line of its own, or one of a folder that it is in."""
    own = {path for path, _ in LINES}
    folders = tuple(path for path in own if path.endswith("/"))
    assert [path for path in product_files() if path not in own and not path.startswith(folders)] == []


def test_every_file_of_the_followed_turn_exists() -> None:
    """The reading list of one turn is the first thing that a developer opens."""
    section = PAGE.split("## Follow one turn")[1].split("\n## ")[0]
    files = re.findall(r"`(\w+/[\w/]+\.py)`", section)
    assert len(files) >= 5
    assert [path for path in files if not (ROOT / path).exists()] == []


def test_every_benchmark_has_a_line_of_its_own() -> None:
    listed = [path for path, _ in LINES if path.startswith("benchmarks/") and path.endswith(".py")]
    assert sorted(listed) == sorted(str(path.relative_to(ROOT)) for path in (ROOT / "benchmarks").glob("*.py"))


def test_the_readme_is_short_and_begins_with_what_parley_does() -> None:
    """A reader decides within one screen; README is no place for the map of the code."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
    assert lines[2].startswith("Parley runs debates between LLM agents")
