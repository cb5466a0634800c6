"""Reads the choices of people in a conjoint experiment: a CSV with one row per profile that was shown (docs/conjoint.md)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from parley.agents.conjoint_design import ConjointDesign
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError, unknown_name

KEYS = ["respondent", "task", "profile"]


def read_choices(path: Path, design: ConjointDesign) -> pd.DataFrame:
    """Return one row per profile: respondent, task, profile, the attributes, chosen (NaN: missing, in both rows of the task).

    Errors: UserError on a file that cannot be read or is empty, a missing column, a level that the design does not have, a task
    without two profiles, and a task whose two choices do not add up to 1.
    """
    needed = [*KEYS, *design.attributes, "chosen"]
    table = read_table(path, needed, "docs/conjoint.md", filled=KEYS, ends={"chosen": (0.0, 1.0)})
    for name, levels in design.attributes.items():
        if wrong := sorted(set(table[name]) - set(levels)):
            raise unknown_name(f"level of {name} in {path}", wrong[0], levels)
    return _whole_tasks(table[needed], path)


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
    return table.assign(chosen=table["chosen"].where(both)).reset_index(drop=True)
