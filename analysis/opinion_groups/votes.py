"""Reads votes on statements from a table with the columns person, statement and vote."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from parley.analysis.table_files import read_table
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
    rows = read_table(path, COLUMNS, "docs/opinion_groups.md", filled=("person", "statement"))
    words = rows["vote"].str.lower()
    if not (known := words.isin([*WORDS, ""])).all():
        row = known.idxmin()
        raise UserError(f"{path}, row {row}: the vote must be agree, disagree, pass or empty, not {words[row]!r}")
    if not words.astype(bool).any():
        raise UserError(f"{path} has no votes: give a row for each vote, with agree, disagree or pass")
    if (twice := rows.duplicated(["person", "statement"])).any():
        person, statement = rows.loc[twice, ["person", "statement"]].iloc[0]
        raise UserError(f"{path}, row {twice.idxmax()}: {person!r} votes twice on {statement!r}; keep one vote")
    return rows.assign(vote=words.map(WORDS)).pivot(index="person", columns="statement", values="vote").astype(float)


def people_to_group(votes: pd.DataFrame) -> pd.DataFrame:
    """Return the votes of people who voted on at least seven statements, or on all if there are fewer."""
    votes = votes.loc[:, votes.notna().any()]
    return votes[votes.notna().sum(axis=1) >= min(ENOUGH, votes.shape[1])]
