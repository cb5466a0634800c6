"""A crowd that rates the truthfulness of statements: what is asked, and the statements of a user's CSV.

Source of the dimensions: Soprano et al. 2021, The Many Dimensions of Truthfulness.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.probe import scales
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling

OVERALL = "overall"
DIMENSIONS = (
    "correctness", "neutrality", "comprehensibility", "precision", "completeness", "trustworthiness", "informativeness",
)  # fmt: skip
ASPECTS = (OVERALL, *DIMENSIONS)
PURPOSE = "truthfulness"
SCALE = "agreement_1_7"
TOKENS = 8


class Statement(NamedTuple):
    """A statement, who made it ("": unknown), and the experts' label (None: none)."""

    text: str
    speaker: str
    label: float | None


def compose_rating(person: Persona, statement: Statement, aspect: str, language: Language, seed: int) -> Request:
    """Ask a person how much they agree that a statement has a quality (ASPECTS)."""
    scale, means = scales(language)[SCALE], (language.words("means"), language.words("and"))
    text = language.prompt("truthfulness").fill(
        speaker=statement.speaker or language.words("truthfulness_speaker"), statement=statement.text,
        claim=language.words(f"truthfulness_{aspect}"), low=scale.low, high=scale.high,
        anchors=scale.name_points(scale.points, *means),
    )  # fmt: skip
    messages = (Message("system", person.backstory), Message("user", text))
    facts: Facts = {"statement": statement.text, "dimension": aspect, "scale": scale}
    return Request(messages, Sampling(1.0, TOKENS), seed, scale.answers, PURPOSE, facts=facts)


def read_statements(path: Path) -> tuple[Statement, ...]:
    """Read a CSV with the columns statement, speaker (may be empty) and label (may be missing or empty; a number).

    Errors: UserError on a file that cannot be read, a missing column, an empty or repeated statement, and a label that is no
    number.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), reader.fieldnames or ()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"cannot read {path} as a CSV file: {error}") from error
    if lost := [name for name in ("statement", "speaker") if name not in columns]:
        raise UserError(f"{path} lacks the column {lost[0]}: it needs statement and speaker, and may have label")
    statements = [_statement(row, number, path) for number, row in enumerate(rows, 2)]
    texts = [statement.text for statement in statements]
    if len(texts) < 2 or len(set(texts)) < len(texts):
        raise UserError(f"{path} needs two or more statements, each only once")
    return tuple(statements)


def _statement(row: dict[str, str], number: int, path: Path) -> Statement:
    text, speaker, label = (" ".join((row.get(name) or "").split()) for name in ("statement", "speaker", "label"))
    if not text:
        raise UserError(f"{path}, line {number}: the statement is empty")
    try:
        value = float(label) if label else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise UserError(
            f"{path}, line {number}: the label {label!r} is not a number, such as 0 for false and 5 for true"
        )
    return Statement(text, speaker, value)
