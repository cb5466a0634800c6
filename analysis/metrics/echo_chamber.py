"""Do agents hear their own attitude? The correlation with the mean of those they hear, compared with shuffled attitudes."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd

from parley.analysis.metrics._network import Links, Population, by_survey, heard_mean, pearson, populations
from parley.analysis.rooms import KEYS, RoomMeasurement
from parley.analysis.statistics.intervals import Floats, nanmean, with_interval
from parley.analysis.statistics.null import share_as_large
from parley.analysis.tables import Tables
from parley.llm.seeding import derive

ORDER = 12
TITLE = "Echo chambers"
NOTE = (
    "The index is the correlation of an agent's attitude with the mean attitude of the agents that it hears, averaged over "
    "rooms. The measure follows Cota et al. 2019 and Cinelli et al. 2021. The column *shuffled* is the index by chance: "
    "attitudes are shuffled among the agents of a room 499 times. The column *shuffled* has the mean and the middle 95% of the "
    "shuffles. The number p in the folder `tables/` is the share of shuffles whose index is at least as high (the true order "
    "counts as a shuffle)."
)
LABELS = {"rooms": "rooms", "index": "index", "null": "shuffled", "reason": "reason if missing"}
NEEDS = "whole_network"
DEALS = 499
NULL_COLUMNS = ["null", "null_low", "null_high", "p"]


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round: rooms, missing (ratings), index, reason, null with the middle 95% of deals, p."""
    indices = by_survey(tables, {"index": lambda links, values, room: index(links, values)})
    nulls = _shuffled_means(tables)
    keys = indices[[*KEYS, "round"]].itertuples(index=False, name=None)
    rows = [_null_columns(nulls.get(key), true) for key, true in zip(keys, indices["index"], strict=True)]
    return indices.join(pd.DataFrame(rows, columns=NULL_COLUMNS, index=indices.index).astype("float64"))


def index(links: Links, values: Floats) -> RoomMeasurement:
    """Return Pearson's r over the rated agents that hear a rated agent."""
    heard = heard_mean(links, values)
    both_rated = ~np.isnan(values) & ~np.isnan(heard)
    return pearson(values[both_rated], heard[both_rated], "no agent hears an agent with a rating")


def _shuffled_means(tables: Tables) -> dict[tuple[str, str, int], Floats]:
    """Return by topic, group and round the index of each deal, averaged over the rooms that have an index."""
    deals: dict[tuple[str, str, int], list[Floats]] = defaultdict(list)
    for population in populations(tables):
        room = population.room
        for round_ in room.attitudes:
            if index(population.links(round_), room.at(round_)).value is not None:
                deals[room.topic, room.group, int(round_)].append(_shuffled_indices(population, int(round_)))
    return {key: nanmean(np.stack(rooms)) for key, rooms in deals.items()}


def _shuffled_indices(population: Population, round_: int) -> Floats:
    """Return the index for each deal of the room's attitudes among the rated agents; NaN where it is undefined."""
    rng = np.random.default_rng(derive(0, "echo chamber", population.room.name, round_))
    links, values = population.links(round_), population.room.at(round_)
    rated, dealt, indices = ~np.isnan(values), values.copy(), []
    for _ in range(DEALS):
        dealt[rated] = rng.permutation(values[rated])
        indices.append(index(links, dealt).value)
    return np.array(indices, dtype=float)


def _null_columns(null: Floats | None, true: float) -> dict[str, float]:
    draws = null[np.isfinite(null)] if null is not None else np.empty(0)
    if not len(draws):
        return {}
    low, high = np.quantile(draws, [0.025, 0.975])
    return with_interval("null", float(draws.mean()), (float(low), float(high))) | {"p": share_as_large(draws, true)}
