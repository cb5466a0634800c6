"""A reader: it holds a claim for true with some probability, and each tagged line moves this belief.

A line that argues for the claim (s = 1) or against it (s = -1) by a reason and an appeal is worth x = s (weight of the reason +
weight of the appeal) in log odds: P(line | claim true) / P(line | claim false) = exp(x). What a judge says of a line is not its
true tag, so with P(said | true) of the judge's exam the belief moves by

    log sum over true tags of P(said | true) exp(x / 2)  -  log sum over true tags of P(said | true) exp(-x / 2)

with all true tags as likely before. For a judge that is always right this is x; for one whose answers do not depend on the line
it is 0, so that a useless judge moves no reader. Both directions are as likely before, and a missing tag is summed over.

Repeated reasons count less: the n-th line that is said to give the same reason for the same side moves by `repeat ** (n - 1)` of
this. With repeat = 0.5, a reason that is heard again and again is worth twice its first line at most.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parley.agents.datafiles import read_toml
from parley.analysis.statistics.intervals import Floats
from parley.llm.errors import UserError

from .exam import Likelihood
from .tags import APPEAL, DIRECTION, REASON, SIGNS, Tag

SURE = 0.025
"""Beliefs are kept this far from 0 and 1, where log odds have no end. On a scale of 0 to 10 that is a quarter of a point."""


class Weights(NamedTuple):
    """The weights of a reader, in log odds. usual: of a reason that `reasons` does not name."""

    usual: float = 0.4
    reasons: Mapping[str, float] = {}
    appeals: Mapping[str, float] = {}
    repeat: float = 0.5

    def worth(self, reason: str, appeal: str) -> float:
        """Return the log odds of a new line.

        >>> round(Weights(0.4, {"cost": 0.6}, {"story": -0.1}).worth("cost", "story"), 9)
        0.5
        """
        return self.reasons.get(reason, self.usual) + self.appeals.get(appeal, 0.0)


def read_weights(path: Path) -> Weights:
    """Return the weights of a file: usual, repeat, [reasons], [appeals]. Errors: UserError."""
    table = read_toml(path)
    if unknown := sorted(set(table) - set(Weights._fields)):
        raise UserError(f"{path}: {unknown[0]} is no weight of a reader: use {', '.join(Weights._fields)}")
    named = {name: _numbers(table.get(name, {}), f"{path}: [{name}]") for name in ("reasons", "appeals")}
    single = _numbers({name: table[name] for name in ("usual", "repeat") if name in table}, str(path))
    weights = Weights(**{**single, **named})  # type: ignore[arg-type]
    if not 0 <= weights.repeat <= 1:
        raise UserError(f"{path}: repeat is {weights.repeat:g}, but must be between 0 and 1")
    return weights


def _numbers(table: Any, where: str) -> dict[str, float]:
    if not isinstance(table, dict):
        raise UserError(f"{where} must be a table of numbers, such as cost = 0.4")
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UserError(f"{where}: {name} must be a number, such as 0.4")
    return {str(name): float(value) for name, value in table.items()}


def log_odds(belief: float) -> float:
    """Return the log odds of a belief (0 to 1), which is kept SURE from the ends.

    >>> round(log_odds(0.75), 3), round(log_odds(1.0), 3)
    (1.099, 3.664)
    """
    kept = min(max(belief, SURE), 1 - SURE)
    return math.log(kept / (1 - kept))


def belief_of(odds: float) -> float:
    """Return the belief (0 to 1) of log odds."""
    return 1 / (1 + math.exp(-odds))


def steps_of(likelihood: Likelihood, weights: Weights) -> Floats:
    """Return by how much each combination of said tags moves log odds when it is new: (direction, reason, appeal), each with a
    last place for missing.
    """
    signs = np.array([SIGNS[name] for name in likelihood.answers[DIRECTION]], dtype=float)
    worth = [
        [weights.worth(reason, appeal) for appeal in likelihood.answers[APPEAL]]
        for reason in likelihood.answers[REASON]
    ]
    half = signs[:, None, None] * np.array(worth)[None] / 2
    parts = likelihood.direction, likelihood.reason, likelihood.appeal
    for_claim, against = (np.einsum("dra,dx,ry,az->xyz", np.exp(side * half), *parts) for side in (1, -1))
    return np.asarray(np.log(for_claim) - np.log(against))


@dataclass
class Reader:
    """A person who reads. odds: its belief, in log odds. heard: how often a reason was given for a side."""

    odds: float
    likelihood: Likelihood
    steps: Floats
    repeat: float
    heard: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def begin(cls, belief: float, likelihood: Likelihood, weights: Weights) -> Reader:
        """Return a reader with a belief (0 to 1) that has heard nothing."""
        return cls(log_odds(belief), likelihood, steps_of(likelihood, weights), weights.repeat)

    @property
    def belief(self) -> float:
        """The probability that the claim is true."""
        return belief_of(self.odds)

    def read(self, tag: Tag) -> float:
        """Move the belief by a line, and return by how much, in log odds."""
        key = tag.direction, tag.reason
        step = float(self.steps[self.likelihood.places(tag)]) * self.repeat ** self.heard[key]
        self.heard[key] += 1
        self.odds += step
        return step


def read_all(belief: float, tags: Sequence[Tag], likelihood: Likelihood, weights: Weights) -> list[float]:
    """Return the beliefs (0 to 1) of a reader before the first line and after each line."""
    reader = Reader.begin(belief, likelihood, weights)
    return [reader.belief, *(belief_of(log_odds_after) for log_odds_after in _odds_after(reader, tags))]


def _odds_after(reader: Reader, tags: Sequence[Tag]) -> list[float]:
    after = []
    for tag in tags:
        reader.read(tag)
        after.append(reader.odds)
    return after
