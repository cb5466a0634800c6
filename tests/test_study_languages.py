"""The prompts of studies: each is there in every language of Parley, with the same slots, or a study stops halfway in one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from parley.agents.language import language_codes

STUDIES = Path(__file__).parents[1] / "studies"
SLOT = re.compile(r"{(\w+)}")


def texts(folder: Path) -> dict[str, set[str]]:
    """Return the slots of each prompt, and of each short text."""
    prompts = {path.name: path.read_text(encoding="utf-8") for path in (folder / "prompts").rglob("*.txt")}
    tables = {path.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in folder.rglob("sentences.toml")}
    prompts |= {key: str(text) for table in tables.values() for key, text in table.items()}
    return {name: set(SLOT.findall(text)) for name, text in prompts.items()}


def test_every_language_has_the_prompts_of_every_study_with_the_same_slots() -> None:
    english = sorted(STUDIES.glob("*/data/en"))
    assert len(english) >= 4
    for folder in english:
        for code in language_codes():
            assert texts(folder.with_name(code)) == texts(folder), folder.with_name(code)
