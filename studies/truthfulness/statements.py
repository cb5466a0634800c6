"""A crowd that rates the truthfulness of statements: what is asked, and the statements of a user's table.

Source of the dimensions: Soprano et al. 2021, The Many Dimensions of Truthfulness.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.language import Language, language_of_study
from parley.agents.persona import Persona
from parley.agents.probe import scales
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling
from parley.llm.user_file import read_user_table

OVERALL = "overall"
DIMENSIONS = (
    "correctness", "neutrality", "comprehensibility", "precision", "completeness", "trustworthiness", "informativeness",
)  # fmt: skip
ASPECTS = (OVERALL, *DIMENSIONS)
PURPOSE = "truthfulness"
SCALE = "agreement_1_7"


class Statement(NamedTuple):
    """A statement, who made it ("": unknown), and the experts' label (None: none)."""

    text: str
    speaker: str
    label: float | None


def compose_rating(person: Persona, statement: Statement, aspect: str, language: Language, seed: int) -> Request:
    """Ask a person how much they agree that a statement has a quality (ASPECTS)."""
    scale, means = scales(language)[SCALE], (language.words("means"), language.words("and"))
    prompts = language_of_study(language, Path(__file__).parent)
    text = prompts.prompt("truthfulness").fill(
        speaker=statement.speaker or prompts.words("speaker"), statement=statement.text,
        claim=prompts.words(aspect), low=scale.low, high=scale.high,
        anchors=scale.name_points(scale.points, *means),
    )  # fmt: skip
    messages = (Message("system", person.backstory), Message("user", text))
    facts: Facts = {"statement": statement.text, "dimension": aspect, "scale": scale}
    return Request(messages, Sampling(1.0, ANSWER_TOKENS), seed, scale.answers, PURPOSE, facts=facts)


def read_statements(path: Path) -> tuple[Statement, ...]:
    """Read a table with the columns statement, speaker (may be empty) and label (may be missing or empty; a number).

    Errors: UserError on a file that cannot be read, a missing column, an empty or repeated statement, and a label that is no
    number.
    """
    table = read_user_table(path, ("statement", "speaker"), "docs/truthfulness.md")
    texts = table.texts("statement")
    labels = table.numbers("label") if "label" in table.columns else [math.nan] * len(texts)
    if "" in texts:
        raise UserError(
            f"{path}, row {table.rows[texts.index('')]}: the statement is empty: write it, or leave out the row"
        )
    if len(texts) < 2 or len(set(texts)) < len(texts):
        raise UserError(f"{path} needs two or more statements, each only once")
    rows = zip(texts, table.texts("speaker"), labels, strict=True)
    return tuple(Statement(text, speaker, None if math.isnan(label) else label) for text, speaker, label in rows)
