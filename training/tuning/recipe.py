"""The settings of a training, and what a training returns.

The values are those of Taubenfeld et al. 2024 (A.2). The paper does not state these, so they are ours: the learning rate, the
length, linear decay without warm-up, and that DPO continues from the SFT adapter of the same rank ("the already NWP-tuned
model").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from parley.llm.errors import UserError

if TYPE_CHECKING:
    from parley.model.scenario import Scenario

SFT, DPO = "sft", "dpo"
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
RATES = {"hf": {SFT: 2e-4, DPO: 5e-6}, "pocket": {SFT: 4e-3, DPO: 1e-3}}
"""Default learning rates. Those of pocket were found by training/tuning/learning_rates.py."""


@dataclass(frozen=True)
class Recipe:
    """The settings of one training. `alpha` 0 means twice the rank, `rate` 0 the default of method and model.

    `shuffle` above 0 is the number of a null: answers of both parties in a drawn order, so that training teaches no party.
    """

    party: str
    method: str = SFT
    r: int = 16
    alpha: int = 0
    dropout: float = 0.05
    rate: float = 0.0
    epochs: float = 1.0
    batch: int = 32
    beta: float = 0.5
    length: int = 512
    held_out: float = 0.0
    shuffle: int = 0
    seed: int = 0
    LEAST: ClassVar[Mapping[str, float]] = {
        "r": 1, "alpha": 0, "dropout": 0, "rate": 0, "batch": 1, "length": 16, "held_out": 0, "shuffle": 0, "seed": 0,
    }  # fmt: skip

    def __post_init__(self) -> None:
        if self.method not in (SFT, DPO):
            raise UserError(f"--method is {self.method!r}, but must be sft or dpo")
        for name, low in self.LEAST.items():
            if not getattr(self, name) >= low:
                raise UserError(f"--{name.replace('_', '-')} is {getattr(self, name)}, but must be at least {low}")
        if not self.epochs > 0 or not self.beta > 0 or self.dropout >= 1 or self.held_out >= 1:
            raise UserError("--epochs and --beta must be above 0, and --dropout and --held-out below 1")

    @property
    def name(self) -> str:
        """PARTY-sft-r16, of a null PARTY-sft-r16-shuffle1: the adapter's folder, and its name in a scenario."""
        return f"{self.party}-{self.method}-r{self.r}{f'-shuffle{self.shuffle}' if self.shuffle else ''}"

    def steps(self, examples: int) -> int:
        """Return the number of steps: 2,000 examples in batches of 32, once, are 63 steps."""
        return math.ceil(-(-examples // self.batch) * self.epochs)

    def filled(self, kind: str) -> Recipe:
        """Return the recipe with its defaults for a backend in place of 0."""
        return replace(self, alpha=self.alpha or 2 * self.r, rate=self.rate or RATES[kind][self.method])


class EarlyStopping(NamedTuple):
    """Measure the held-out loss every `every` steps, and stop after `patience` measurements without a better one.

    The best checkpoint is kept, and the learning rate is constant. `micro` examples go through the model at a time.
    """

    every: int
    patience: int
    micro: int


class TrainingResult(NamedTuple):
    """The losses of a training, and what was trained.

    `losses` has a row per step; `held_out` the loss of each held-out question (with early stopping: one for all); `looks` the
    steps at which early stopping measured, with the loss; `identity` has model, weights, dtype and load.
    """

    losses: list[dict[str, float]]
    held_out: tuple[float, ...]
    looks: tuple[dict[str, float], ...] = ()
    identity: Mapping[str, Any] = MappingProxyType({})


def seated_parties(base: Scenario) -> list[str]:
    """Return the parties that debate in a scenario: those of its society in its order, then others."""
    society_parties = [party for party in base.society.parties if party in base.parties]
    return [*society_parties, *(party for party in base.parties if party not in society_parties)]
