"""A law of a contest, with numbers fitted to a recorded run (`run.py study fit-law`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws._fits import FromFit
from parley.agents.laws.base import AXIS, Codes, Floats, Law, People
from parley.agents.laws.surrogate import read_topic
from parley.agents.mechanisms import MECHANISMS, Mechanism, Situation
from parley.llm.errors import UserError, unknown_name

SCHEMA = 1
"""The format of the files that Fitted reads."""


@dataclass(frozen=True)
class Fitted(FromFit, Law):
    """People who follow one law of a contest: `--law fitted:FILE[,law=NAME][,draw=N][,topic=SLUG]`.

        said_j  = x_j + offset + noise                       what each says, as a grade on the axis
        x_i'    = x_i + columns . coefficients + noise       agents/mechanisms/ has the columns of each law

    Both noises are normal, with the SDs of the file (the option `noise` of every law comes on top). All values are kept
    within 0 and 10. Who hears no one is moved by what does not depend on hearing.

    law    the name of a law in the file (default: the verdict of the contest)
    draw   0: the numbers fitted to all rooms; 1 and up: a draw from their uncertainty, another run each
    topic  one of the file's topics; not needed if the file has one

    `begin` sets `codes`, each person's party, `first`, its first opinion, and `outside`, how many of the last are lines from
    outside.
    """

    file: str = ""
    law: str = ""
    draw: int = 0
    topic: str = ""
    fit: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    mechanism: Mechanism | None = field(default=None, compare=False, repr=False)
    codes: Codes | None = field(default=None, compare=False, repr=False)
    first: Floats | None = field(default=None, compare=False, repr=False)
    outside: int = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mechanism is None:
            if not self.file:
                raise UserError(
                    "law `fitted` needs a file that run.py study fit-law wrote: give this file as --law fitted:FILE"
                )
            fit = read_topic(Path(self.file), self.topic, SCHEMA, "fitted laws", "fitted", "fit-law")
            name = choose_law(fit, self.law, self.file)
            draws = len(fit["laws"][name]["fits"]) - 1
            if not 0 <= self.draw <= draws:
                raise UserError(f"draw is {self.draw}, but must be between 0 and {draws} (the draws in {self.file})")
            object.__setattr__(self, "fit", fit)
            object.__setattr__(self, "law", name)
            object.__setattr__(self, "mechanism", _open_mechanism(name, fit["laws"][name]["spec"]))

    @property
    def numbers(self) -> Mapping[str, Any]:
        """The coefficients, thresholds and spread of this draw."""
        numbers: Mapping[str, Any] = self.fit["laws"][self.law]["fits"][self.draw]
        return numbers

    @property
    def caption(self) -> str:
        which = f"draw {self.draw} of its numbers" if self.draw else "fitted to all rooms"
        return f"{self.law}, {which}: {self.fit['laws'][self.law]['caption']}"

    def extrapolation(self, steps: int) -> str:
        rounds = int(self.fit["rounds"])
        return "" if steps <= rounds else f"Extrapolation: {steps} steps, fitted to {rounds} rounds"

    def begin(self, opinions: Floats, people: People) -> Fitted:
        parties = list(self.fit["parties"])
        unknown = [name for name in people.names if name not in parties]
        if self.mechanism is not None and self.mechanism.by_party and unknown:
            raise ValueError(f"it was fitted only to {', '.join(parties)}, so it cannot be used for {unknown[0]}")
        places = np.array([parties.index(name) if name in parties else 0 for name in people.names], dtype=np.int64)
        return replace(self, codes=places[people.parties], first=opinions.copy(), outside=people.outside)

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        if self.mechanism is None or self.codes is None or self.first is None:
            raise ValueError("a fitted law needs the people: call law.begin(opinions, people)")
        offset, noise = self.fit["said"]
        spoken, drawn = generator.standard_normal((2, len(opinions)))
        grades = np.clip(opinions + offset + noise * spoken, *AXIS)
        people = len(opinions) - self.outside
        grades[people:] = opinions[people:]  # a line from outside has exactly its grade
        names = tuple(self.fit["parties"])
        situation = Situation(opinions, self.first, self.codes, names, graph.indptr, grades[graph.indices], graph.data)
        columns = self.mechanism.columns(situation, np.array(self.numbers["thresholds"], dtype=float))
        expected = opinions + columns @ np.array(self.numbers["coefficients"], dtype=float)
        after: Floats = np.clip(expected + self.numbers["spread"] * drawn, *AXIS)
        return after


def choose_law(fit: Mapping[str, Any], name: str, file: str) -> str:
    """Return the law of a file that is named, or else its verdict. Errors: UserError if there is no such law."""
    if name and name not in fit["laws"]:
        raise unknown_name(f"law of {file}", name, fit["laws"])
    if name or fit["verdict"]["winner"]:
        return name or str(fit["verdict"]["winner"])
    rivals = ", ".join(fit["verdict"]["rivals"])
    raise UserError(f"the contest in {file} has no winner: choose one of {rivals} (--law fitted:{file},law=NAME)")


def _open_mechanism(name: str, spec: str) -> Mechanism:
    """Return a mechanism. Errors: UserError for one that says nothing about a population."""
    mechanism: Mechanism = MECHANISMS.open(spec)
    if not mechanism.simulates:
        raise UserError(f"{name} ({mechanism.title}) does not work in a population: choose another law with law=NAME")
    return mechanism
