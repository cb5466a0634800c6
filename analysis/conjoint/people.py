"""Reads the choices of people in a conjoint experiment: a CSV with one row per profile that was shown (docs/conjoint.md)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from parley.agents.conjoint_design import ConjointDesign
from parley.llm.errors import UserError, unknown_name

KEYS = ["respondent", "task", "profile"]


def read_choices(path: Path, design: ConjointDesign) -> pd.DataFrame:
    """Return one row per profile: respondent, task, profile, the attributes, chosen (NaN: missing, in both rows of the task).

    Errors: UserError on a file that cannot be read or is empty, a missing column, a level that the design does not have, a task
    without two profiles, and a task whose two choices do not add up to 1.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not a CSV file: {str(error).splitlines()[0]}") from error
    needed = [*KEYS, *design.attributes, "chosen"]
    if lost := [name for name in needed if name not in table.columns]:
        raise UserError(f"{path} lacks the column {lost[0]}: it needs {', '.join(needed)}")
    if table.empty:
        raise UserError(f"{path} has no choices: it needs two rows for each pair that was shown to a person")
    for name, levels in design.attributes.items():
        if wrong := sorted(set(table[name]) - set(levels)):
            raise unknown_name(f"level of {name} in {path}", wrong[0], levels)
    table = table[needed].assign(chosen=_numbers(table["chosen"], path))
    return _whole_tasks(table, path)


def _numbers(chosen: pd.Series, path: Path) -> pd.Series:
    numbers = pd.to_numeric(chosen.str.strip().replace("", None), errors="coerce")
    wrong = chosen[(numbers.isna() & (chosen.str.strip() != "")) | (numbers < 0) | (numbers > 1)]
    if len(wrong):
        raise UserError(f"{path}: chosen must be 1, 0, or empty for a missing choice, not {wrong.iloc[0]!r}")
    return numbers


def _whole_tasks(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the table with a choice only where both profiles of the task have one."""
    tasks = table.groupby(["respondent", "task"])
    sizes, kinds = tasks["profile"].transform("size"), tasks["profile"].transform("nunique")
    if len(wrong := table[(sizes != 2) | (kinds != 2)]):
        first = wrong.iloc[0]
        raise UserError(
            f"{path}: task {first['task']} of respondent {first['respondent']} needs two rows, profile 1 and 2"
        )
    both = tasks["chosen"].transform("count") == 2
    if len(wrong := table[both & ((tasks["chosen"].transform("sum") - 1).abs() > 1e-6)]):
        first = wrong.iloc[0]
        raise UserError(
            f"{path}: task {first['task']} of respondent {first['respondent']} needs chosen = 1 in one row and 0 in the other"
        )
    return table.assign(chosen=table["chosen"].where(both))
