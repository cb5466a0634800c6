"""The columns of Mesa's DataCollector after every step of a population: statistics of all agents and of each party."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parley.agents.laws import Floats
from parley.model.population_platform import TREES
from parley.model.reporters import stopped
from parley.model.trait_assignment import MIDDLE

if TYPE_CHECKING:
    from parley.model.population import PopulationModel


def population_reporters(model: PopulationModel) -> dict[str, Any]:
    """Return mean, variance and share above the middle of the axis: of all agents, and by party where there are several.

    In several dimensions the number of the dimension follows the statistic: mean_1, mean_1_labour. With a feed, rewiring
    or interventions there are the columns of SOCIETY too.
    """
    columns: dict[str, Any] = {"step": "round"}
    for suffix, place in _places(model):
        for code, party in [(None, ""), *_several_parties(model)]:
            for name, statistic in STATISTICS.items():
                columns[name + suffix + party] = partial(_summarise, statistic=statistic, code=code, place=place)
    if model.network.feed or model.network.rewiring or model.interventions or model.medium:
        columns |= SOCIETY
    if model.medium:
        columns["visits"] = _visits
        columns |= {act: partial(_acts, place=place) for place, act in enumerate(model.medium.acts)}
        columns |= {name: partial(_trees, name=name) for name in TREES}
    return columns | {"beyond": _beyond, "stopped": stopped}


def _places(model: PopulationModel) -> list[tuple[str, int | None]]:
    """The suffix of a dimension in names, and its place; one dimension has neither."""
    if model.dimensions == 1:
        return [("", None)]
    return [(f"_{place + 1}", place) for place in range(model.dimensions)]


def _several_parties(model: PopulationModel) -> Iterator[tuple[int, str]]:
    """The code and the suffix of each party; none if there is only one party."""
    for code, party in enumerate(model.parties if len(model.parties) > 1 else ()):
        yield code, f"_{party.name}"


def _share_above_middle(opinions: Floats) -> Any:
    return (opinions > MIDDLE).mean()


STATISTICS: dict[str, Callable[[Floats], Any]] = {"mean": np.mean, "variance": np.var, "above": _share_above_middle}
"""The statistics of each step: the mean, the variance of the population, the share above the middle of the axis."""


def _summarise(
    model: PopulationModel, statistic: Callable[[Floats], Any], code: int | None = None, place: int | None = None
) -> float | None:
    """A statistic of all agents present, or of a party, in one dimension; None for a party without agents."""
    opinions = model.opinions if place is None else model.opinions[:, place]
    here = None if code is None else model.codes == code
    if model.network.absent is not None:
        here = ~model.network.absent if here is None else here & ~model.network.absent
    opinions = opinions if here is None else opinions[here]
    return float(statistic(opinions)) if len(opinions) else None


def _present(model: PopulationModel) -> int:
    return model.network.present


def _muted(model: PopulationModel) -> int:
    return 0 if model.network.muted is None else int(model.network.muted.sum())


def _read(model: PopulationModel) -> float | None:
    return model.network.mean_read


def _distance(model: PopulationModel) -> float | None:
    return model.network.mean_distance(model.opinions)


def _new_links(model: PopulationModel) -> float:
    return model.network.new_links


def _visits(model: PopulationModel) -> int:
    return 0 if model.visits is None else int(model.visits.active.sum())


def _acts(model: PopulationModel, place: int) -> int:
    return 0 if model.visits is None else int((model.visits.acts == place).sum())


def _trees(model: PopulationModel, name: str) -> float | None:
    return model.trees[name]


SOCIETY: dict[str, Callable[[PopulationModel], Any]] = {
    "read": _read,
    "distance": _distance,
    "new_links": _new_links,
    "present": _present,
    "muted": _muted,
}
"""Columns of a population with a feed, rewiring or interventions: how many people one reads, and how far away they are
after the step, on average; new links by person; people who are present; muted people.
"""


def _beyond(model: PopulationModel) -> float | None:
    return model.law.beyond(model.opinions, model.graph)
