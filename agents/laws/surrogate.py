"""A law that was fitted to a recorded run: people respond as the agents of the run did (`run.py study surrogate`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws._fits import FromFit
from parley.agents.laws.base import Codes, Floats, Law, People, neighbour_mean
from parley.llm.errors import UserError, unknown_name
from parley.llm.trust import check_data

SCHEMA = 4
"""The format of the files that Surrogate reads."""
RESPONSE = ("offset", "noise", "stay", "intercept", "own", "heard", "spread")
"""The numbers of a party's fitted response, in order."""
NAMES = (*RESPONSE, "own_low", "own_high", "heard_low", "heard_high")
"""The last four say between which values the response was fitted."""


@dataclass(frozen=True)
class Surrogate(FromFit, Law):
    """People who respond as agents of a recorded run did: `--law surrogate:FILE[,topic=SLUG]` (analysis/surrogate/ fits
    the file).

        said_j  = x_j + offset + noise                                   what each says, as a grade on the axis
        x_i'    = x_i                                                    with probability `stay`
                = x_i + intercept + own x_i + heard h_i + noise          otherwise

    h_i is the mean of what i hears, or its own opinion if it hears no one. The numbers are those of its party
    (RESPONSE; both noises are normal, and not the option `noise` of every law), and all values are kept within 0 and
    10. The response depends on the mean of what is heard, not on how many say it: the rooms of the recorded run had
    their own number of people.

    `topic`: one of the file's topics; not needed if the file has one. `fit` is that topic, and `codes` each agent's
    party in it; the last `outside` of them are lines from outside.
    """

    file: str = ""
    topic: str = ""
    fit: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    codes: Codes | None = field(default=None, compare=False, repr=False)
    outside: int = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.fit:
            if not self.file:
                raise UserError(
                    "law `surrogate` needs a file that run.py study surrogate wrote: give this file as --law "
                    "surrogate:FILE"
                )
            object.__setattr__(self, "fit", read_response(Path(self.file), self.topic))

    @property
    def caption(self) -> str:
        return str(self.fit["caption"])

    def extrapolation(self, steps: int) -> str:
        return extrapolation_note(self.fit, steps)

    def begin(self, opinions: Floats, people: People) -> Surrogate:
        parties = list(self.fit["parties"])
        for name in people.names:
            if name not in parties:
                raise ValueError(f"the surrogate was fitted only to {', '.join(parties)}, so it cannot replace {name}")
        places = np.array([parties.index(name) for name in people.names], dtype=np.int64)
        return replace(self, codes=places[people.parties], outside=people.outside)

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        response = self._numbers[: len(RESPONSE)]
        chance, (first, second) = generator.random(len(opinions)), generator.standard_normal((2, len(opinions)))
        heard = neighbour_mean(opinions, graph, spoken_grade(opinions, response, first))
        return next_attitude(opinions, heard, response, chance, second)

    def speak(self, opinions: Floats, generator: np.random.Generator) -> Floats:
        return spoken_grade(opinions, self._numbers[: len(RESPONSE)], generator.standard_normal(len(opinions)))

    def beyond(self, opinions: Floats, graph: csr_array) -> float:
        own_low, own_high, heard_low, heard_high = self._numbers[len(RESPONSE) :]
        heard = neighbour_mean(opinions, graph, np.clip(opinions + self._numbers[0], 0, 10))
        inside = (own_low <= opinions) & (opinions <= own_high) & (heard_low <= heard) & (heard <= heard_high)
        return float(1 - inside.mean())

    @cached_property
    def _numbers(self) -> Floats:
        """(NAMES, n): the numbers of each agent's party."""
        if self.codes is None:
            raise ValueError("a surrogate needs the party of each agent: call law.begin(...)")
        table = np.array([[party[name] for name in NAMES] for party in self.fit["parties"].values()], dtype=float)
        numbers = np.ascontiguousarray(table.T[:, self.codes])
        numbers[:2, len(self.codes) - self.outside :] = 0  # a line from outside has exactly its grade
        return numbers


def spoken_grade(opinions: Floats, numbers: Floats, drawn: Floats | float) -> Floats:
    """Return the grades of what people say. numbers: (RESPONSE, n) or (RESPONSE,); drawn: standard normal."""
    offset, noise = numbers[:2]
    grades: Floats = np.clip(opinions + offset + noise * drawn, 0, 10)
    return grades


def next_attitude(
    opinions: Floats, heard: Floats | float, numbers: Floats, chance: Floats | float, drawn: Floats | float
) -> Floats:
    """Return the opinions after people heard a mean of `heard`. chance: uniform from 0 to 1; drawn: standard normal."""
    stay, intercept, own_weight, weight, spread = numbers[2:]
    shift = intercept + own_weight * opinions + weight * heard + spread * drawn
    return np.where(chance < stay, opinions, np.clip(opinions + shift, 0, 10))


def extrapolation_note(fit: Mapping[str, Any], steps: int) -> str:
    """Return what a reader has to know if a fit runs for more steps than it was fitted to; otherwise ""."""
    rounds = int(fit["rounds"])
    if steps <= rounds:
        return ""
    return (
        f"Extrapolation: {steps} steps, fitted to {rounds} rounds. The path error is known for the first {rounds} alone"
    )


def read_response(path: Path, topic: str) -> Mapping[str, Any]:
    """Read one topic of a file that `run.py study surrogate` wrote. Errors: UserError."""
    return read_topic(path, topic, SCHEMA, "surrogate", "surrogate", "surrogate")


def read_topic(path: Path, topic: str, schema: int, what: str, law: str, command: str) -> Mapping[str, Any]:
    """Read one topic of a fitted file. what: the content of the file, for errors. law: the law that reads the file.
    command: the command that wrote the file. Errors: UserError.
    """
    check_data(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        topics = dict(content["topics"]) if content["schema"] == schema else {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or "it is none"
        raise UserError(f"cannot read the {what} {path}: {reason}") from error
    if not topics:
        raise UserError(
            f"{path} was written by another version of Parley: fit the {what} again with run.py {command} RUN"
        )
    if not topic and len(topics) > 1:
        raise UserError(
            f"{path} was fitted on several topics ({', '.join(topics)}): choose one with --law {law}:{path},topic=NAME"
        )
    if topic and topic not in topics:
        raise unknown_name(f"topic of {path}", topic, topics)
    fit: Mapping[str, Any] = topics[topic or next(iter(topics))]
    return fit
