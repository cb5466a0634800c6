"""How good payoff scorers are on ratings that they have not seen: which statement, whose gain, which person, how far off.

    statement   pairs of two statements and one participant: the share in which the better rated one has the better score
    gain        pairs of two participants of a group: the share in which the one whose rating rises more (from draft to revision)
                has the score that rises more
    person      pairs of two participants and one statement: the share in which the one who rates it higher has the better score;
                only for scores that are ratings, because others have no common zero
    error       the mean distance between the score and the rating, after a straight line that was fitted on other ratings, so
                that a scorer on another scale can be compared
    brier       the mean squared error of the predicted chance that the revision is rated higher than the draft

Ties of a score count half; pairs with equal ratings are left out. A scorer that knows nothing of people has 0.5 in `gain` and
`person` by definition, and may be good at `statement`, where some statements please all.

**The unit is the group**: sessions, joined where they share a participant. Members of a group rate the same statements, so their
ratings do not count as independent (tools/log of 2026-11-27 has the false alarms with participants as units).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from parley.analysis.deliberation.episode import STATEMENTS, Episode
from parley.analysis.deliberation.position_change import NO_MEAN, ClusteredMean, clustered_mean
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import UNASKED, Verdict
from parley.analysis.statistics.intervals import POSITIVE, SHARE, Floats, correlation, correlation_interval
from parley.llm.seeding import derive
from parley.studies.representatives.payoffs import own_model


def score_table(
    table: pd.DataFrame, episodes: Sequence[Episode], scorer: Any, judge: str, seed: int, desk: CallDesk, title: str
) -> Floats:
    """Return a score for each row of a rating table, NaN for a missing one. Errors: UserError from the journal or the budget."""
    seats = {(episode.id, voice.participant): (episode, voice) for episode in episodes for voice in episode.voices}
    keys = list(dict.fromkeys(zip(table["episode"], table["participant"], strict=True)))
    names = {key: list(ratings["statement"]) for key, ratings in table.groupby(["episode", "participant"], sort=False)}
    asking = [
        scorer.score(*seats[key], [getattr(seats[key][0], name) for name in names[key]], derive(seed, "payoff", key[0]))
        for key in keys
    ]
    verdict_rows: list[tuple[Verdict, ...]] = desk.ask(asking, judge, title, score_failure, own_model(scorer))
    scores = {
        (*key, name): math.nan if verdict.value is None else verdict.value
        for key, verdicts in zip(keys, verdict_rows, strict=True)
        for name, verdict in zip(names[key], verdicts, strict=True)
    }
    wanted = zip(table["episode"], table["participant"], table["statement"], strict=True)
    return np.array([scores[key] for key in wanted], dtype=float)


def score_failure(scores: Sequence[Verdict]) -> str | None:
    """Return why none of the statements has a payoff; None also where the scorer was not asked."""
    reasons = [score.reason for score in scores if score.value is None]
    return reasons[0] if reasons and len(reasons) == len(scores) and not reasons[0].startswith(UNASKED) else None


class Calibration(NamedTuple):
    """How well a payoff scorer agrees with the final ratings.

    r: Pearson's correlation. preferred: the share of participants with two different ratings whose better rated
    statement has the better score (ties count half). bias, error: the mean of score minus rating, and of its size, for
    scores on the ratings' scale. missing: ratings without a score.
    """

    r: ClusteredMean
    preferred: ClusteredMean
    bias: ClusteredMean
    error: ClusteredMean
    missing: int


def calibrate_payoff(rows: pd.DataFrame, same_scale: bool) -> Calibration:
    """Compare scores with ratings. rows: as from `rating_table`, with score (NaN: missing).

    Intervals are over groups, because the members of a group rate the same statements.
    """
    scored = rows.dropna(subset=["score"])
    gap = (scored["score"] - scored["rating"]) if same_scale else pd.Series(math.nan, scored.index)
    bias = clustered_mean(gap, scored["group"])
    error = clustered_mean(gap.abs(), scored["group"], bounds=POSITIVE)
    return Calibration(_correlation(scored), _preferred(scored), bias, error, int(rows["score"].isna().sum()))


def _correlation(rows: pd.DataFrame) -> ClusteredMean:
    x, y = rows["rating"], rows["score"]
    terms = pd.DataFrame({"n": 1.0, "x": x, "y": y, "xx": x * x, "yy": y * y, "xy": x * y})
    sums = terms.groupby(rows["group"]).sum().to_numpy(dtype=float)
    value = float(correlation(sums.sum(axis=0))) if len(sums) else math.nan
    return ClusteredMean(value, *correlation_interval(sums), len(rows), len(sums))


def _preferred(rows: pd.DataFrame) -> ClusteredMean:
    wide = rows.pivot_table(["rating", "score"], ["group", "participant", "episode"], "statement")
    if not {("rating", name) for name in STATEMENTS} <= set(wide.columns):
        return NO_MEAN
    rating, score = (wide[what]["revision"] - wide[what]["draft"] for what in ("rating", "score"))
    is_compared = (rating != 0) & rating.notna() & score.notna()
    points = (np.sign(score[is_compared]) * np.sign(rating[is_compared]) + 1) / 2
    groups = pd.Series(points.index.get_level_values("group"), index=points.index)
    return clustered_mean(points, groups, bounds=SHARE)


STATEMENT, GAIN, PERSON, ERROR, BRIER = "statement", "gain", "person", "error", "brier"
ORDERS = (STATEMENT, GAIN, PERSON)
MEASURES = (*ORDERS, ERROR, BRIER)
KEYS = ["group", "episode", "participant", "statement"]
BINS = 5
Places = NDArray[np.int_]
MOST_SLOPE = 50.0


class Line(NamedTuple):
    """What was fitted on other ratings: rating = start + rise * score, and the chance of a win = expit(slope * difference)."""

    start: float
    rise: float
    slope: float


def groups_of(episodes: Sequence[Episode]) -> dict[str, str]:
    """Return the group of each session: sessions that share a participant are one group, named by its first session."""
    graph = nx.Graph((("s", episode.session), ("p", who)) for episode in episodes for who in episode.participants)
    return {
        name: min(session for kind, session in chunk if kind == "s")
        for chunk in nx.connected_components(graph)
        for kind, name in chunk
        if kind == "s"
    }


def rating_table(episodes: Sequence[Episode]) -> pd.DataFrame:
    """Return a row per recorded rating of a known statement: KEYS, rating, other (the rating of the other one, NaN: none)."""
    groups = groups_of(episodes)
    rows = [
        (groups[episode.session], episode.id, voice.participant, name, float(value), voice.agreement.get(other))
        for episode in episodes
        for voice in episode.voices
        for name, other in (STATEMENTS, STATEMENTS[::-1])
        if getattr(episode, name) is not None and (value := voice.agreement.get(name)) is not None
    ]
    return pd.DataFrame(rows, columns=[*KEYS, "rating", "other"]).astype({"rating": float, "other": float})


def pair_places(rows: pd.DataFrame, kind: str) -> Places:
    """Return the rows of each pair as (pairs, 2) places, first and second; of gains as (pairs, 4), see `_difference`.

    rows: KEYS, one per rating. kind: statement, gain or person.
    """
    placed = rows[KEYS].assign(place=np.arange(len(rows)))
    if kind == PERSON:
        return _two_people(placed, ["group", "episode", "statement"], ["place"])
    first, last = (placed[placed["statement"] == name] for name in STATEMENTS)
    both = last.merge(first, on=KEYS[:3], suffixes=("", "_draft"))
    if kind == GAIN:
        return _two_people(both, ["group", "episode"], ["place", "place_draft"])
    return np.asarray(both[["place", "place_draft"]], dtype=int)


def _two_people(placed: pd.DataFrame, keys: list[str], columns: list[str]) -> Places:
    """Return the places of two participants with the same keys: those of the first, then those of the second."""
    two = placed.merge(placed, on=keys, suffixes=("", "_other"))
    two = two[two["participant"] < two["participant_other"]]
    return np.asarray(two[[*columns, *(f"{column}_other" for column in columns)]], dtype=int)


def _difference(numbers: Floats, places: Places) -> Floats:
    """Return first minus second; of gains the first participant's revision minus draft, minus that of the second."""
    columns = [numbers[column] for column in places.T]
    gap = columns[0] - columns[1]
    return np.asarray(gap if len(columns) == 2 else gap - (columns[2] - columns[3]), dtype=float)


def pairs(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return a row per pair with different ratings: group, rating and score (differences). The index numbers all pairs.

    rows: KEYS, rating, score (NaN: missing).
    """
    places = pair_places(rows, kind)
    gaps = {name: _difference(rows[name].to_numpy(float), places) for name in ("rating", "score")}
    table = pd.DataFrame({"group": rows["group"].to_numpy()[places[:, 0]], **gaps})
    return table[table["rating"] != 0]


def fit_line(rows: pd.DataFrame) -> Line:
    """Return the straight line and the slope of wins that fit ratings best. A score that does not vary has rise and slope 0."""
    complete = rows.dropna(subset=["rating", "score"])
    if complete["score"].nunique() < 2:
        return Line(float(complete["rating"].mean()) if len(complete) else math.nan, 0.0, 0.0)
    rise, start = np.polyfit(complete["score"].to_numpy(float), complete["rating"].to_numpy(float), 1)
    return Line(float(start), float(rise), fit_slope(pairs(complete, STATEMENT)))


def fit_slope(table: pd.DataFrame) -> float:
    """Return the slope of the log odds of a win on the difference of scores (no constant), by maximum likelihood.

    1 means that the differences are log odds as they are. table: as from `pairs`. NaN without pairs.
    """
    scored = table.dropna(subset=["score"])
    if scored.empty:
        return math.nan
    signed = scored["score"].to_numpy(float) * np.sign(scored["rating"].to_numpy(float))

    def loss(slope: float) -> float:
        return float(np.logaddexp(0.0, -slope * signed).mean())

    return float(minimize_scalar(loss, bounds=(-MOST_SLOPE, MOST_SLOPE), method="bounded").x)


def values(rows: pd.DataFrame, measure: str, line: Line) -> pd.DataFrame:
    """Return what a measure is the mean of, a row per pair or rating: group, value (NaN: no score)."""
    if measure == ERROR:
        score = rows["score"] if line.rise else 0.0
        gap = (line.start + line.rise * score - rows["rating"]).abs()
        return pd.DataFrame({"group": rows["group"], "value": gap})
    table = pairs(rows, STATEMENT if measure == BRIER else measure)
    if measure == BRIER:
        value = (chance(table, line.slope) - (table["rating"] > 0)) ** 2
    else:
        value = (np.sign(table["score"]) * np.sign(table["rating"]) + 1) / 2
    return pd.DataFrame({"group": table["group"], "value": value})


def chance(table: pd.DataFrame, slope: float) -> pd.Series:
    """Return the predicted chance that the first of each pair is rated higher."""
    return pd.Series(expit(slope * table["score"].to_numpy(float)), index=table.index)


def measure_scorer(rows: pd.DataFrame, line: Line, measures: Sequence[str]) -> dict[str, ClusteredMean]:
    """Return each measure with its 95% interval over groups; none for those that are not in `measures`."""
    means = {}
    for measure in MEASURES:
        table = values(rows, measure, line) if measure in measures else pd.DataFrame()
        mean = (
            NO_MEAN
            if table.empty
            else clustered_mean(table["value"], table["group"], bounds=POSITIVE if measure == ERROR else SHARE)
        )
        means[measure] = mean
    return means


def compare_scorers(ours: pd.DataFrame, theirs: pd.DataFrame) -> ClusteredMean:
    """Return our mean minus theirs on the cases that both have, with its interval over groups. Tables: as from `values`."""
    gap = (ours["value"] - theirs["value"].reindex(ours.index)).dropna()
    return clustered_mean(gap, ours["group"].reindex(gap.index)) if len(gap) else NO_MEAN


def calibrate_wins(rows: pd.DataFrame, line: Line) -> pd.DataFrame:
    """Return predicted and observed shares of revisions that are rated higher, in bins of about as many pairs.

    Columns: predicted, observed, low, high, pairs, groups.
    """
    table = pairs(rows, STATEMENT).dropna(subset=["score"])
    if table.empty:
        return pd.DataFrame(columns=["predicted", "observed", "low", "high", "pairs", "groups"])
    table = table.assign(predicted=chance(table, line.slope), won=(table["rating"] > 0).astype(float))
    rank = table["predicted"].rank(method="first").to_numpy() - 1
    bins = []
    for _, bin_pairs in table.groupby((rank * BINS // len(table)).astype(int)):
        mean = clustered_mean(bin_pairs["won"], bin_pairs["group"], bounds=SHARE)
        bins.append((bin_pairs["predicted"].mean(), mean.value, mean.low, mean.high, mean.n, mean.clusters))
    return pd.DataFrame(bins, columns=["predicted", "observed", "low", "high", "pairs", "groups"])


def deal_ratings(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the table with the ratings of each participant shuffled among what the participant rated.

    The dealt ratings keep how high a person rates, and lose what was rated. table: participant, rating.
    """
    people = pd.factorize(table["participant"])[0]
    dealt: Floats = table["rating"].to_numpy(float).copy()
    dealt[np.argsort(people, kind="stable")] = dealt[np.lexsort((rng.random(len(dealt)), people))]
    return table.assign(rating=dealt)


def null_ranges(
    rows: pd.DataFrame, measures: Sequence[str], seed: int, deals: int = 200
) -> dict[str, tuple[float, float]]:
    """Return where 95% of the shares of right pairs lie when each participant's ratings are shuffled; NaN without pairs.

    measures: statement, gain. The deals are no null of `person`, because participants keep how high they rate.
    """
    rng = np.random.default_rng(seed)
    score = rows["score"].to_numpy(float)
    places = {measure: pair_places(rows, measure) for measure in measures}
    signs = {measure: np.sign(_difference(score, in_pairs)) for measure, in_pairs in places.items()}
    shares: dict[str, list[float]] = {measure: [] for measure in measures}
    for _ in range(deals):
        dealt = deal_ratings(rows, rng)["rating"].to_numpy(float)
        for measure, in_pairs in places.items():
            gap = np.sign(_difference(dealt, in_pairs))
            differs = (gap != 0) & np.isfinite(signs[measure])
            shares[measure].append(
                float((signs[measure][differs] * gap[differs] + 1).mean() / 2) if differs.any() else math.nan
            )
    ends = {measure: np.quantile(null_shares, [0.025, 0.975]) for measure, null_shares in shares.items()}
    return {measure: (float(low), float(high)) for measure, (low, high) in ends.items()}
