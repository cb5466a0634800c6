"""What the file of a scenario says for a gallery of scenarios: title, question, tags, its time and what one finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from parley.agents.datafiles import build_from_table, read_toml, require_section
from parley.llm.studies import OWN, declared_parts
from parley.model.scenario import preset_files


@dataclass(frozen=True)
class Showcase:
    """The table `[gallery]` of a preset.

    name: its plain title; scenarios of a study have theirs from the study. question: one of `llm.studies.QUESTIONS`. seconds: of
    processor time that it takes on the rule-based speaker with the settings of the page, 0 where nobody measured it. found: the
    mean attitude by round of each party (`first`, `second`: the debaters) in its first topic and group. `python -m
    tools.gallery` writes the last two.
    """

    name: str = ""
    question: str = OWN
    tags: tuple[str, ...] = ()
    seconds: float = 0.0
    found: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@cache
def showcase(preset: str) -> Showcase:
    """Return what the file of a preset says of it."""
    path = preset_files()[preset]
    return build_from_table(Showcase, require_section(read_toml(path), "gallery", path.name), f"gallery of {path.name}")


def preset_title(preset: str, otherwise: str) -> str:
    """Return the plain title of a scenario; `otherwise` for one that is not shipped, or that has none."""
    if declared := declared_parts("scenarios").get(preset):
        return declared.reference
    return (showcase(preset).name if preset in preset_files() else "") or otherwise
