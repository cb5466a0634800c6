"""Reads votes on statements from a CSV file with the columns person, statement and vote."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from parley.llm.errors import UserError

COLUMNS = ["person", "statement", "vote"]
WORDS = {
    "agree": 1.0,
    "disagree": -1.0,
    "pass": 0.0,
    "1": 1.0,
    "-1": -1.0,
    "0": 0.0,
    "1.0": 1.0,
    "-1.0": -1.0,
    "0.0": 0.0,
}
ENOUGH = 7
"""Polis leaves out people with fewer votes than this; people who voted on all statements are always kept."""


def read_votes(path: Path) -> pd.DataFrame:
    """Return votes: a row per person, a column per statement; 1 agree, -1 disagree, 0 pass, NaN no vote.

    Rows and columns are sorted, so that the order of lines in the file changes nothing. Errors: UserError for a file that cannot
    be read, a column that is not there, another word than agree, disagree and pass, a file without votes, and two votes of a
    person on a statement.
    """
    try:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: give a CSV file with the columns {', '.join(COLUMNS)}") from error
    if missing := [name for name in COLUMNS if name not in rows]:
        raise UserError(f"{path} lacks the column {missing[0]}: give a CSV file with {', '.join(COLUMNS)}")
    words = rows["vote"].str.strip().str.lower()
    if not (known := words.isin([*WORDS, ""])).all():
        line = int(known.argmin())
        raise UserError(
            f"{path}, line {line + 2}: the vote must be agree, disagree, pass or empty, not {words[line]!r}"
        )
    if not words.astype(bool).any():
        raise UserError(f"{path} has no votes: give a row for each vote, with agree, disagree or pass")
    if (twice := rows.duplicated(["person", "statement"])).any():
        line = int(twice.argmax())
        person, statement = rows.loc[line, ["person", "statement"]]
        raise UserError(f"{path}, line {line + 2}: {person!r} votes twice on {statement!r}; keep one vote")
    return rows.assign(vote=words.map(WORDS)).pivot(index="person", columns="statement", values="vote").astype(float)


def people_to_group(votes: pd.DataFrame) -> pd.DataFrame:
    """Return the votes of people who voted on at least seven statements, or on all if there are fewer."""
    votes = votes.loc[:, votes.notna().any()]
    return votes[votes.notna().sum(axis=1) >= min(ENOUGH, votes.shape[1])]
