"""What a payoff scorer says of the statements that people have rated, and why it says nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.deliberation.episode import Episode
from parley.analysis.deliberation.payoffs import own_model
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import UNASKED, Verdict
from parley.analysis.statistics.intervals import Floats
from parley.llm.seeding import derive


def score_table(
    table: pd.DataFrame, episodes: Sequence[Episode], scorer: Any, judge: str, seed: int, desk: CallDesk, title: str
) -> Floats:
    """Return a score for each row of a rating table, NaN for a missing one. Errors: UserError from the journal or the budget."""
    seats = {(one.id, voice.participant): (one, voice) for one in episodes for voice in one.voices}
    keys = list(dict.fromkeys(zip(table["episode"], table["participant"], strict=True)))
    names = {key: list(part["statement"]) for key, part in table.groupby(["episode", "participant"], sort=False)}
    asking = [
        scorer.score(*seats[key], [getattr(seats[key][0], name) for name in names[key]], derive(seed, "payoff", key[0]))
        for key in keys
    ]
    found: list[tuple[Verdict, ...]] = desk.ask(asking, judge, title, score_failure, own_model(scorer))
    scores = {
        (*key, name): math.nan if verdict.value is None else verdict.value
        for key, verdicts in zip(keys, found, strict=True)
        for name, verdict in zip(names[key], verdicts, strict=True)
    }
    wanted = zip(table["episode"], table["participant"], table["statement"], strict=True)
    return np.array([scores[key] for key in wanted], dtype=float)


def score_failure(scores: Sequence[Verdict]) -> str | None:
    """Return why none of the statements has a payoff; None also where the scorer was not asked."""
    reasons = [score.reason for score in scores if score.value is None]
    return reasons[0] if reasons and len(reasons) == len(scores) and not reasons[0].startswith(UNASKED) else None
