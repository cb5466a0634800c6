"""A law in motion: one step of a population, with the options that every law has.

A step in order: the law's own move, the pull, the noise, the ends of the axis. Stubborn people then get back the
opinion that they had before.

    x(t+1) = clip(y + pull fade^t (toward - y) + noise z, 0, 10),   y = the law's move of x(t),   z standard normal
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws.base import AXIS, Flags, Floats, Law, People

STUBBORN = "stubborn"
"""The attribute of nodes that says who never moves."""


@dataclass(frozen=True, eq=False)
class Motion:
    """A law for one population. `stubborn`: (n,) who never moves; None if everyone may move."""

    law: Law
    stubborn: Flags | None = None

    @classmethod
    def start(cls, law: Law, opinions: Floats, people: People, generator: np.random.Generator) -> Motion:
        """Return the law for people who start with these opinions. The generator draws who is stubborn.

        Errors: ValueError if the law cannot move these people.
        """
        law.check_options()  # a law of the user may have its own __post_init__
        if opinions.ndim > 1 and not law.vectors:
            raise ValueError(
                "this law works only if each agent has one opinion: leave out --dimensions, or choose degroot, "
                "friedkin_johnsen, hegselmann_krause, deffuant or dissonance"
            )
        stubborn = draw_stubborn(law.stubborn, people, generator)
        return cls(law.begin(opinions, replace(people, stubborn=stubborn)), stubborn)

    def with_lines(self, law: Law, opinions: Floats, people: People, lines: Floats) -> Motion:
        """Return the same motion for people who also hear lines from outside: rows after the last person.

        law, opinions, people: those of the start. lines: (lines,) or (lines, d), what the lines say.
        """
        more = people.with_outside(len(lines), self.stubborn)
        return Motion(law.begin(np.concatenate((opinions, lines)), more), more.stubborn)

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator, time: int) -> Floats:
        """Return the opinions after one step; `opinions` is not changed. time: how many steps were made before."""
        moved = self.law.step(opinions, graph, generator)
        if self.law.pull or self.law.noise:
            moved = self.law.settle(self._pulled(moved, generator, time), generator)
        if self.stubborn is not None:
            moved[self.stubborn] = opinions[self.stubborn]
        return moved

    def _pulled(self, moved: Floats, generator: np.random.Generator, time: int) -> Floats:
        """Return the opinions after pull and noise, within the axis."""
        law = self.law
        if law.pull and law.toward is not None:
            moved = moved + law.pull * law.fade**time * (law.toward - moved)
        if law.noise:
            moved = moved + law.noise * generator.standard_normal(moved.shape)
        return np.clip(moved, *AXIS)


def draw_stubborn(share: float, people: People, generator: np.random.Generator) -> Flags | None:
    """Return who never moves: those whose trait says so, or a share of all, drawn without replacement.

    Errors: ValueError if both are given.
    """
    named, size = people.traits.get(STUBBORN), len(people.parties)
    if named is not None and share:
        raise ValueError("the nodes of the graph already have the attribute `stubborn`: leave out the option stubborn")
    if named is not None:
        return named > 0
    if not share:
        return None
    stubborn = np.zeros(size, dtype=np.bool_)
    stubborn[generator.choice(size, round(share * size), replace=False)] = True
    return stubborn
