"""The multiverse of a claim: its specifications, the run of each arm, and the differences of all of them in one table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.persona import party_of
from parley.analysis.outcomes import PLUS
from parley.llm.errors import UserError
from parley.llm.seeding import derive
from parley.model.casting import seat_rooms
from parley.model.sweep.design import SweepCell
from parley.studies.claims.claim import Claim
from parley.studies.claims.design import factorial_design, largest_correlation
from parley.studies.claims.differences import pair_rooms
from parley.studies.claims.dimensions import Dimension, claim_dimensions, refusal
from parley.studies.claims.people import separate_groups

ARMS = ("first", "second")
SPECIFICATION = "specification"
SEEDS = 10_000
"""Seeds that belong to one seed of the command."""
GROUPS = 8
"""Groups of people that an audit has if the user names no number: the smallest p of their swaps is 1 in 256."""


@dataclass(frozen=True)
class Multiverse:
    """The specifications of a claim. size: at most how many. repetitions: groups of people in each.

    Every specification has a seed of its own, so that chance in one is independent of chance in another. The same people sit in
    all specifications of a set of personas (`cast=listed`), unless the claim or its scenario casts in another way.
    """

    claim: Claim
    size: int = 64
    repetitions: int = 8
    seed: int = 0

    @staticmethod
    def usual_repetitions(claim: Claim) -> int:
        """Return how many groups of people each set of personas needs, so that all sets together have GROUPS."""
        sets = len(claim.population.personas) * len(claim.population.societies)
        return math.ceil(GROUPS / sets)

    @cached_property
    def dimensions(self) -> list[Dimension]:
        return self._fitting[0]

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Why a dimension, or a level of it, is left out."""
        return self._fitting[1]

    @cached_property
    def _fitting(self) -> tuple[list[Dimension], dict[str, str]]:
        return claim_dimensions(self.claim)

    @cached_property
    def design(self) -> np.ndarray:
        """The number of the level of each dimension (column) in each specification (row)."""
        rng = np.random.default_rng(derive(self.seed, "specifications"))
        return factorial_design([len(dimension.levels) for dimension in self.dimensions], self.size, rng)

    @property
    def confounding(self) -> float:
        """The largest correlation between two dimensions of the design."""
        return largest_correlation(self.design)

    @cached_property
    def levels(self) -> pd.DataFrame:
        """A row per specification, from 1, and a column per dimension with the level that it has."""
        columns = {
            dimension.name: [dimension.levels[place] for place in self.design[:, at]]
            for at, dimension in enumerate(self.dimensions)
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(1, len(self.design) + 1, name=SPECIFICATION))

    @cached_property
    def people(self) -> int:
        """How many separate groups of people (`separate_groups`) the first specification of each set of personas seats."""
        arm_settings = {
            **self.claim.base_settings(),
            **self._cast,
            "seed": SEEDS * self.seed,
            "repetitions": self.repetitions,
        }
        groups: list[str] = []
        for personas, society in product(self.claim.population.personas, self.claim.population.societies):
            seated: dict[int, set[str]] = {}
            for arm in self.claim.arms({**arm_settings, "personas": personas, "society": society}):
                for room in seat_rooms(arm):
                    labels = (f"{society}/{personas} {place.persona.party} {place.persona.id}" for place in room.places)
                    seated.setdefault(room.repetition, set()).update(labels)
            groups += [PLUS.join(sorted(labels)) for labels in seated.values()]
        return len(set(separate_groups(groups).values()))

    def settings(self, specification: int) -> dict[str, Any]:
        """Return the settings of a specification, from 1, for `Claim.arms`."""
        seed = SEEDS * self.seed + specification - 1
        arm_settings = {**self.claim.base_settings(), **self._cast, "seed": seed, "repetitions": self.repetitions}
        for dimension in self.dimensions:
            arm_settings |= dimension.settings[str(self.levels.at[specification, dimension.name])]
        return arm_settings

    @cached_property
    def _cast(self) -> dict[str, Any]:
        """The casting that seats the same people in all specifications and both arms, if none is set and the arms can have it."""
        arms = self.claim.arms(self.claim.base_settings())
        seats = [Counter(map(party_of, group.seats)) for arm in arms for group in arm.groups]
        listed = {"cast": "listed", "block": max(count for party in seats for count in party.values())}
        free = all(arm.people.cast == "circle" for arm in arms)
        return listed if free and refusal(self.claim, {**listed, "repetitions": self.repetitions}) is None else {}

    def cells(self) -> list[SweepCell]:
        """Return the cells of a sweep: both arms of each specification."""
        cells = []
        for number in self.levels.index:
            settings = self.settings(int(number))
            for arm, scenario in zip(ARMS, self.claim.arms(settings), strict=True):
                values = ((SPECIFICATION, f"{number:03}"), ("arm", arm))
                cells.append(SweepCell(values, scenario, int(settings["seed"])))
        return cells

    def differences(self, rooms: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
        """Return a row per specification and unit: specification, the level of each dimension, UNITS.

        rooms: the rooms of each cell by its place in `cells`. Specifications without both arms are left out.
        """
        parts = []
        for at, number in enumerate(self.levels.index):
            if 2 * at in rooms and 2 * at + 1 in rooms:
                seed = int(self.settings(int(number))["seed"])
                units = pair_rooms(rooms[2 * at], rooms[2 * at + 1], seed)
                parts.append(units.assign(specification=number, **self.levels.loc[number].to_dict()))
        if not parts:
            raise UserError("no specification has finished both conditions: repeat the command to continue")
        return pd.concat(parts, ignore_index=True)


def given_fields(multiverse: Multiverse) -> tuple[str, ...]:
    """Return the names of the fields that a claim and its dimensions set, for the headers of the runs."""
    claim = multiverse.claim
    pairs: Sequence[str] = (*claim.settings, *claim.contrast.first, *claim.contrast.second)
    names = [pair.partition("=")[0].strip() for pair in pairs]
    varied = [name for dimension in multiverse.dimensions for name in sorted(dimension.fields)]
    return tuple(dict.fromkeys([*names, *varied, *claim.base_settings(), "cast", "block", "seed", "repetitions"]))
