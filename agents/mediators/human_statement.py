"""human_statement: a baseline without a model. The statement was written by people and is given in a file.

The revision repeats the draft.

Options
    file   a TOML file with a table [statements]: the id of a question = the statement
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from parley.agents.datafiles import read_toml, require_section
from parley.agents.mediators.base import Mediator, MediatorBrief, Seed, Statement
from parley.llm.driver import Conversation, ask_all


@dataclass(frozen=True)
class HumanStatement(Mediator):
    """See the module's manual page. Errors: UserError on a missing or broken file."""

    file: str = ""

    def __post_init__(self) -> None:
        if not self.file:
            raise ValueError("give the file with the statements: human_statement,file=PATH")
        _statements(self.file)

    def files(self) -> tuple[Path, ...]:
        return (Path(self.file),)

    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        yield from ask_all(())
        text = " ".join(str(_statements(self.file).get(brief.question.id, "")).split())
        return Statement(text) if text else Statement(None, "no_statement_given")


@cache
def _statements(file: str) -> Mapping[str, Any]:
    return require_section(read_toml(Path(file)), "statements", file)
