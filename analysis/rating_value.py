"""Decides which number of a rating is the opinion that tables, figures and estimates show.

A model at temperature 0 answers with its likeliest point. If its answers average 8.4, it always answers 8, and a little noise
looks like a move of .4 although nothing moved; where the distribution is flat, the likeliest point jumps from 8 to 1. So the
opinion is the mean of the distribution of answers (`expected`), and the likeliest point stays in the column `answer`.

One survey question has one measure, for all parties, topics and rounds: else parties would be compared in two units. A rating
without a distribution is left out and counted (reason NO_DISTRIBUTION). Where one of the models (or a person) never gives a
distribution, the measure of all is the answer itself. `--set measure=rating` asks for that, as in Taubenfeld et al. 2024.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from parley.analysis.event_frames import mean_answer

EXPECTED, RATING = "expected", "rating"
NO_DISTRIBUTION = "no_distribution"
MEASURE_NOTES = {
    EXPECTED: "An opinion is the mean of the model's distribution of answers, not its likeliest answer, which is a whole point.",
    RATING: "An opinion is the answer itself, a whole point{why}.",
}


def with_opinions(ratings: pd.DataFrame, agents: pd.DataFrame, measure: str = "mean") -> pd.DataFrame:
    """Return ratings with the columns `attitude` (the opinion, 0-10), `measure`, and `answer` (the rating itself, 0-10).

    ratings: as recorded, `attitude` is the rating itself. agents: the seats, each with its model (`llm`). measure: `mean` or
    `rating`, as the scenario says. A rating that has no distribution, where others have one, gets the reason NO_DISTRIBUTION.
    """
    read, known = ratings["rating"].notna(), ratings["expected"].notna() | ratings["probabilities"].notna()
    means = ratings["probe"].isin(
        [] if measure == RATING else _with_means(ratings["probe"], read, known, _models(ratings, agents))
    )
    left_out = means & read & ~known
    return ratings.assign(
        answer=ratings["attitude"],
        attitude=ratings["attitude"].mask(means, ratings["expected"]).where(read),
        reason=ratings["reason"].mask(left_out, NO_DISTRIBUTION),
        measure=np.where(means, EXPECTED, RATING),
    )


def _models(ratings: pd.DataFrame, agents: pd.DataFrame) -> pd.Series:
    """Return the model of each rating."""
    where = ["room", "agent"]
    return ratings[where].merge(agents[[*where, "llm"]].drop_duplicates(where), on=where, how="left")["llm"].fillna("")


def _with_means(probes: pd.Series, read: pd.Series, known: pd.Series, models: pd.Series) -> list[str]:
    """Return the questions whose readable answers came, from each model that gave one, with a distribution at least once."""
    seen = pd.DataFrame({"probe": probes, "model": models.to_numpy(), "known": known})[read]
    by_model = seen.groupby(["probe", "model"])["known"].any().groupby(level="probe").all()
    return list(by_model.index[by_model])


def values_on_scale(ratings: pd.DataFrame) -> pd.Series:
    """Return the opinions of `with_opinions` in points of a scale that begins at 1, for questions off the topic's axis."""
    means = ratings["probabilities"].map(lambda shares: mean_answer(shares, 1))
    return ratings["rating"].mask(ratings["measure"] == EXPECTED, means).where(ratings["rating"].notna())


def rating_value_note(ratings: pd.DataFrame, measure: str = "mean") -> str:
    """Return one sentence on what an opinion is in these ratings, and how many are left out; empty without ratings."""
    if ratings.empty:
        return ""
    if (ratings["measure"] == RATING).any():
        return MEASURE_NOTES[RATING].format(
            why="" if measure == RATING else ": a model of this run gives no distribution"
        )
    left_out = int((ratings["reason"] == NO_DISTRIBUTION).sum())
    lacking = (
        f" {left_out:,} of {len(ratings):,} ratings have no distribution and are left out of it." if left_out else ""
    )
    return f"{MEASURE_NOTES[EXPECTED]}{lacking}"
