"""The parties of one country stand in its folder, and nowhere in the code: adding a party touches one file."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"republican|democrat", re.I)
ALLOWED = (
    "agents/societies/us/",
    "agents/societies/uk/",  # the Liberal Democrats
    "agents/languages/en/questions.toml",  # parties of several countries, whose names a question may not have
    "studies/structured/paper.toml",  # what a paper reports
    "llm/backends/pocket/weights/",
    "tools/pocket/",  # the maker of the weights, whose speakers are those of us
    "docs/",
    "examples/",  # recorded runs
    "benchmarks/commands_read.md",  # what commands said on a model
    "tests/",
    "CHANGELOG.md",
    "tools/log/",
)
PAPERS = ("two_way", "three_way", "structured_debate", "persuasion_trace")
"""Presets whose titles say whom their paper seated."""


def test_no_file_outside_of_us_names_its_parties() -> None:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False).stdout
    files = listed.splitlines() or [
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if "build" not in path.parts
    ]
    presets = tuple(f"scenarios/{name}.toml" for name in PAPERS)
    named = []
    for name in files:
        allowed = name.startswith(ALLOWED) or "/tests/" in name or name.endswith((*presets, "README.md"))
        if not allowed and (ROOT / name).is_file():
            try:
                text = (ROOT / name).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            named += [f"{name}: {found[0]}" for found in [NAMED.search(text)] if found]
    assert named == []
    for name in PAPERS:
        file = next(ROOT / one for one in files if one.endswith(f"scenarios/{name}.toml"))
        body = file.read_text(encoding="utf-8").partition("[options]")[2]
        assert not NAMED.search(body), f"{name} seats {NAMED.search(body)}"
