"""surrogate: people as a response that was fitted to a recorded run (analysis/surrogate/): `--law
surrogate:FILE[,topic=SLUG]`.

    said_j  = x_j + offset + noise                                   what everybody says, as a grade on the axis
    x_i'    = x_i                                                    with probability `stay`
            = x_i + intercept + own x_i + heard h_i + noise          else; h_i: the mean of what i hears (graph); its own
            opinion, if nothing

Offset, stay, intercept, own, heard and the spreads of both noises (normal) are those of its party. All is kept within 0 and
10. It answers to the mean of what it hears, however many say it: the rooms that it was fitted to had their own number of
people.

Options
    topic   which of the file's topics; may be left out where it has one
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from parley.agents.opinion_dynamics.base import Codes, Floats, Law, neighbour_mean
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import digest

SCHEMA = 4
NAMES = (
    "offset",
    "noise",
    "stay",
    "intercept",
    "own",
    "heard",
    "spread",
    "own_low",
    "own_high",
    "heard_low",
    "heard_high",
)
"""Numbers of a party's response, in order; the last four say between which values it was fitted."""
RESPONSE = NAMES[:7]


def spoken_grade(opinions: Floats, numbers: Floats, drawn: Floats | float) -> Floats:
    """The grades of what people say. numbers: (RESPONSE, n) or (RESPONSE,); drawn: standard normal."""
    offset, noise = numbers[:2]
    said: Floats = np.clip(opinions + offset + noise * drawn, 0, 10)
    return said


def next_attitude(
    opinions: Floats, listened: Floats | float, numbers: Floats, chance: Floats | float, drawn: Floats | float
) -> Floats:
    """The opinions after what people heard on the mean. chance: even from 0 to 1; drawn: standard normal."""
    stay, intercept, own, weight, spread = numbers[2:]
    shift = intercept + own * opinions + weight * listened + spread * drawn
    return np.where(chance < stay, opinions, np.clip(opinions + shift, 0, 10))


@dataclass(frozen=True)
class Surrogate(Law):
    """A fitted response; see the module's manual page. `fit` is one topic of the file, `codes` everybody's party there."""

    file: str = ""
    topic: str = ""
    fit: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    codes: Codes | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.fit is None:
            if not self.file:
                raise UserError("law surrogate: write surrogate:FILE")
            object.__setattr__(self, "fit", read_response(Path(self.file), self.topic))

    @property
    def people(self) -> tuple[tuple[str, float, tuple[float, ...]], ...]:
        return tuple([(name, one["share"], tuple(one["starts"])) for name, one in self._fit["parties"].items()])

    @property
    def told(self) -> tuple[str, ...]:
        return tuple(self._fit["told"])

    @property
    def caption(self) -> str:
        return str(self._fit["caption"])

    def extrapolation(self, steps: int) -> str:
        return extrapolation_note(self._fit, steps)

    @property
    def digest(self) -> str:
        return digest(json.dumps(self._fit, sort_keys=True)).hex()

    def begin(self, opinions: Floats, parties: Codes, names: Sequence[str]) -> Surrogate:
        known = list(self._fit["parties"])
        for name in names:
            if name not in known:
                raise ValueError(f"the surrogate was fitted to {', '.join(known)}: it knows no {name}")
        return replace(self, codes=np.array([known.index(name) for name in names], dtype=np.int64)[parties])

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        mine = self._mine[: len(RESPONSE)]
        chance, (first, second) = generator.random(len(opinions)), generator.standard_normal((2, len(opinions)))
        listened = neighbour_mean(opinions, graph, spoken_grade(opinions, mine, first))
        return next_attitude(opinions, listened, mine, chance, second)

    def beyond(self, opinions: Floats, graph: csr_array) -> float:
        low, high, least, most = self._mine[7:]
        listened = neighbour_mean(opinions, graph, np.clip(opinions + self._mine[0], 0, 10))
        inside = (low <= opinions) & (opinions <= high) & (least <= listened) & (listened <= most)
        return float(1 - inside.mean())

    @property
    def _fit(self) -> Mapping[str, Any]:
        return self.fit or {}

    @cached_property
    def _mine(self) -> Floats:
        """(numbers, n): everybody's numbers."""
        if self.codes is None:
            raise ValueError("a surrogate has to know who is of which party: law.begin(...)")
        table = np.array([[one[name] for name in NAMES] for one in self._fit["parties"].values()], dtype=float)
        return np.ascontiguousarray(table.T[:, self.codes])


def extrapolation_note(fit: Mapping[str, Any], steps: int) -> str:
    """What has to be said of a topic of a file that is run for so many steps; "" where it was fitted to as many rounds."""
    rounds = int(fit["rounds"])
    if steps <= rounds:
        return ""
    return (
        f"Extrapolation: {steps} steps, fitted to {rounds} rounds. The path error is known for the first {rounds} alone"
    )


def read_response(path: Path, topic: str) -> Mapping[str, Any]:
    """One topic of a file that `run.py surrogate` wrote. Errors: UserError."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        topics = dict(found["topics"]) if found["schema"] == SCHEMA else {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"cannot read the surrogate {path}: {getattr(error, 'strerror', None) or 'it is none'}"
        ) from error
    if not topics:
        raise UserError(f"{path} was written by another version of the program: fit it anew (run.py surrogate RUN)")
    if not topic and len(topics) > 1:
        raise UserError(f"{path} has {', '.join(topics)}: say which (--law surrogate:{path},topic=SLUG)")
    if topic and topic not in topics:
        raise unknown_name(f"topic of {path}", topic, topics)
    one: Mapping[str, Any] = topics[topic or next(iter(topics))]
    return one
