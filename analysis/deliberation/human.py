"""Two public files of what people really wrote, as episodes. Attribution, and how to get them: docs/deliberation.md.

    childcare   {"question", "opinions", "draft_consensus", "critiques"}: one episode, opinions and critiques aligned
    issues      [{"issue", "opinions", "consensus_statement"}, ...]: opinions and one statement, no critiques

Neither says who is who across questions: a participant takes part once. The questions' declarative forms are not in them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from parley.agents.question import Question, identify
from parley.analysis.deliberation.episode import HUMAN, Episode, Voice
from parley.llm.errors import UserError

NOT_ASKED = "not in the file"


def read_childcare(path: Path) -> tuple[Episode, ...]:
    """The one episode. Errors: UserError, one line."""
    found = _json(path)
    if not isinstance(found, dict):
        raise UserError(f"{path} must be a table with question, opinions, draft_consensus and critiques")
    opinions, critiques = _texts(found.get("opinions"), path), _texts(found.get("critiques"), path)
    if len(opinions) != len(critiques):
        raise UserError(f"{path} has {len(opinions)} opinions and {len(critiques)} critiques: they must be aligned")
    draft = _text(found.get("draft_consensus"), path)
    return (_episode(_text(found.get("question"), path), opinions, critiques, draft, path.stem),)


def read_issues(path: Path) -> tuple[Episode, ...]:
    """An episode an issue, its statement as the draft. Errors: UserError, one line."""
    found = _json(path)
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise UserError(f"{path} must be a list of issues")
    return tuple(
        _episode(
            _text(one.get("issue"), path),
            opinions := _texts(one.get("opinions"), path),
            [None] * len(opinions),
            _text(one.get("consensus_statement"), path),
            f"{path.stem}_{number}",
        )
        for number, one in enumerate(found, 1)
    )


def read_human(path: Path) -> tuple[Episode, ...]:
    """Either of the two, by its form."""
    return read_issues(path) if isinstance(_json(path), list) else read_childcare(path)


def _episode(question: str, opinions: list[str], critiques: list[Any], draft: str, name: str) -> Episode:
    voices = tuple(
        _voice(f"{name}_p{number}", opinion, critique)
        for number, (opinion, critique) in enumerate(zip(opinions, critiques, strict=True), 1)
    )
    return Episode(name, name, asked(question), voices, draft, None, HUMAN, {"revision": NOT_ASKED})


def _voice(participant: str, opinion: str, critique: str | None) -> Voice:
    missing = {"critique": critique, "position": None, "after": None}
    reasons = {name: NOT_ASKED for name, value in missing.items() if value is None}
    return Voice(participant, opinion, critique, None, {}, None, {}, reasons)


def asked(question: str) -> Question:
    """A question known by its words only: what agrees with it is that its answer is yes.

    >>> asked("Should the state pay?").statement
    'The answer to "Should the state pay?" is yes.'
    """
    yes, no = (f'The answer to "{question}" is {answer}.' for answer in ("yes", "no"))
    return Question(identify("human", question), question, yes, no, "human")


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}") from error


def _texts(found: object, path: Path) -> list[str]:
    if not isinstance(found, list) or not found:
        raise UserError(f"{path} needs a list of texts where it has {str(found)[:60]!r}")
    return [_text(one, path) for one in found]


def _text(found: object, path: Path) -> str:
    if not isinstance(found, str) or not found.strip():
        raise UserError(f"{path} needs a text where it has {str(found)[:60]!r}")
    return found
