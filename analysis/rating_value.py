"""Decides which number of a rating is the opinion that tables, figures and estimates show.

A model at temperature 0 answers with its likeliest point. If its answers average 8.4, it always answers 8, and a little noise
looks like a move of .4 although nothing moved; where the distribution is flat, the likeliest point jumps from 8 to 1. So the
opinion is the mean of the distribution of answers (`expected`), and the likeliest point stays in the column `answer`.

One survey question has one measure, for all parties, topics and rounds: else parties would be compared in two units. A rating
without a distribution is left out and counted (reason NO_DISTRIBUTION). Where one of the models (or a person) never gives a
distribution, the measure of all is the answer itself. `--set measure=rating` asks for that, as in Taubenfeld et al. 2024.

Ratings as predicted without themselves: instruments for what a rating says besides its own noise.

A rating is an opinion plus noise (a sampled answer, rounding to whole points). Regressed on a noisy rating, the next rating
seems to return to the mean, as if something pulled it. The noise of a rating is not in what is rated at other surveys, nor in
what other agents rate. What they predict is therefore an instrument for the opinion (Wald 1940, Annals of Mathematical
Statistics 11(3); Reiersøl 1941, Econometrica 9(1); for panels Griliches and Hausman 1986, Journal of Econometrics 31(1)).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.event_frames import mean_answer
from parley.analysis.statistics.intervals import Floats, nanmean

EXPECTED, RATING = "expected", "rating"
NO_DISTRIBUTION = "no_distribution"
MEASURE_NOTES = {
    EXPECTED: "An opinion is the mean of the model's distribution of answers, not its likeliest answer, which is a whole point.",
    RATING: "An opinion is the rating that the agent gave, in whole points{why}.",
}


CAPTIONS = {EXPECTED: "Opinions are means of answer distributions.", RATING: "Opinions are answers in whole points."}


def with_opinions(ratings: pd.DataFrame, agents: pd.DataFrame, measure: str = "mean") -> pd.DataFrame:
    """Return ratings with the columns `attitude` (the opinion, 0-10), `measure`, and `answer` (the rating itself, 0-10).

    ratings: as recorded, `attitude` is the rating itself. agents: the seats, each with its model (`llm`). measure: `mean` or
    `rating`, as the scenario says. A rating that has no distribution, where others have one, gets the reason NO_DISTRIBUTION.
    """
    read, has_distribution = ratings["rating"].notna(), ratings["expected"].notna() | ratings["probabilities"].notna()
    means = ratings["probe"].isin(
        [] if measure == RATING else _with_means(ratings["probe"], read, has_distribution, _models(ratings, agents))
    )
    left_out = means & read & ~has_distribution
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


def _with_means(probes: pd.Series, read: pd.Series, has_distribution: pd.Series, models: pd.Series) -> list[str]:
    """Return the questions whose readable answers came, from each model that gave one, with a distribution at least once."""
    seen = pd.DataFrame({"probe": probes, "model": models.to_numpy(), "known": has_distribution})[read]
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
            why="" if measure == RATING else ", because a model of this run gives no probabilities of its answers"
        )
    left_out = int((ratings["reason"] == NO_DISTRIBUTION).sum())
    lacking = f" {left_out:,} of {len(ratings):,} ratings have no distribution and are left out." if left_out else ""
    return f"{MEASURE_NOTES[EXPECTED]}{lacking}"


Codes = NDArray[np.int64]


def predict_ratings(levels: Floats, cell: Codes, cluster: Codes, kind: Codes) -> Floats:
    """Return ratings (n agents, t surveys) as predicted from other clusters and from earlier ratings of the same agent.

    levels (n, t): ratings; NaN: missing. cell (n,): agents of one cell are comparable (a party on a topic in a condition).
    cluster (n,): clusters are independent. kind (n,): agents whose ratings are equally noisy.

    The prediction is the mean rating of the cell at this survey in all other clusters (NaN: there is none), plus what the agent's
    earlier distances from such means tell about the present one: a regression per kind on the last distance and on the mean of
    all earlier ones. A first rating is predicted by the mean alone.

    >>> levels = np.array([[1.0, 2.0], [3.0, 4.0], [8.0, 9.0]])
    >>> predict_ratings(levels, np.zeros(3, int), np.arange(3), np.zeros(3, int))[:, 0].tolist()
    [5.5, 4.5, 2.0]
    """
    others = _means_elsewhere(levels, cell, cluster)
    away = levels - others
    earlier = _earlier(away)
    has_earlier = np.isfinite(earlier).all(axis=-1)
    predicted = others.copy()
    for number in np.unique(kind):
        usable = has_earlier & (kind == number)[:, None]
        fitted = usable & np.isfinite(away)
        shares = np.linalg.lstsq(earlier[fitted], away[fitted], rcond=None)[0]
        predicted[usable] += earlier[usable] @ shares
    return predicted


def _means_elsewhere(levels: Floats, cell: Codes, cluster: Codes) -> Floats:
    """Return the mean rating of each agent's cell at each survey (n, t), without the agent's own cluster."""
    ratings = np.stack([np.isfinite(levels), np.nan_to_num(levels)], axis=1)  # how many, and their sum
    inner = np.unique(np.column_stack([cell, cluster]), axis=0, return_inverse=True)[1].ravel()
    total, own_cluster = (np.zeros((int(np.max(codes, initial=0)) + 1, 2, levels.shape[1])) for codes in (cell, inner))
    for sums, codes in ((total, cell), (own_cluster, inner)):
        np.add.at(sums, codes, ratings)
    count, rest = np.moveaxis(total[cell] - own_cluster[inner], 1, 0)
    return np.asarray(np.divide(rest, count, out=np.full(levels.shape, np.nan), where=count > 0))


def _earlier(away: Floats) -> Floats:
    """Return the last known value before each survey, and the mean of all before it (n, t, 2); NaN where there is none."""
    earlier = np.full((*away.shape, 2), np.nan)
    for survey in range(1, away.shape[1]):
        before = away[:, survey - 1]
        earlier[:, survey, 0] = np.where(np.isfinite(before), before, earlier[:, survey - 1, 0])
        earlier[:, survey, 1] = nanmean(away[:, :survey], axis=1)
    return earlier
