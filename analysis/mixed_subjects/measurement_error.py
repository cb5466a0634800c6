"""The correlation of outcomes and predictions without measurement error, where a file has repeated measurements of a person."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.mixed_subjects.people import AGAIN, CONDITION, OUTCOME, PREDICTED, People
from parley.analysis.statistics.attenuation import correct_correlation, correction_sentence


def corrected_lines(people: People) -> list[str]:
    """Return the corrected correlation within conditions as a sentence; none if the file has no repeated measurement."""
    if not any(str(name).startswith(AGAIN) for name in people.table.columns):
        return []
    table = people.table[people.table[OUTCOME].notna()]
    arms = [table[table[CONDITION] == one] for one in people.conditions] if people.conditions else [table]
    outcome, predicted = (np.concatenate([_asks(arm, name) for arm in arms]) for name in (OUTCOME, PREDICTED))
    found = correct_correlation(outcome, predicted)
    return [correction_sentence("outcomes and predictions", ("outcomes", "predictions"), found)]


def _asks(arm: pd.DataFrame, name: str) -> Floats:
    """Return the measurements of a condition less its mean, (people, asks)."""
    again = [column for column in arm.columns if str(column).startswith(f"{AGAIN}{name}")]
    values = arm[[name, *again]].to_numpy(dtype=float)
    return np.asarray(values - pd.DataFrame(values).mean(axis=1).mean())
