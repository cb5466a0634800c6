"""What is trained and how: the values of Taubenfeld et al. 2024 (A.2), and those that it does not state.

Not from the paper, and so our own: the learning rate, the length, linear decay without warm-up, and that DPO goes on from the SFT
adapter of the same rank (the paper has "the already NWP-tuned model").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from parley.llm.errors import UserError

SFT, DPO = "sft", "dpo"
PARTIES = ("republican", "democrat")
"""Whose answers can be learned."""
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
RATES = {"hf": {SFT: 2e-4, DPO: 5e-6}, "pocket": {SFT: 4e-3, DPO: 1e-3}}
"""Learning rates where none is given; pocket's are those that the rule of training/tuning/learning_rates.py takes on `pocket`."""


@dataclass(frozen=True)
class Recipe:
    """One training. `alpha` 0 is twice the rank, `rate` 0 the default of method and model."""

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
    seed: int = 0
    LEAST: ClassVar[Mapping[str, float]] = {
        "r": 1, "alpha": 0, "dropout": 0, "rate": 0, "batch": 1, "length": 16, "held_out": 0, "seed": 0,
    }  # fmt: skip

    def __post_init__(self) -> None:
        if self.method not in (SFT, DPO):
            raise UserError(f"--method must be sft or dpo, not {self.method!r}")
        for name, low in self.LEAST.items():
            if not getattr(self, name) >= low:
                raise UserError(f"--{name.replace('_', '-')} must be at least {low}, not {getattr(self, name)}")
        if not self.epochs > 0 or not self.beta > 0 or self.dropout >= 1 or self.held_out >= 1:
            raise UserError("--epochs and --beta must be above 0, --dropout and --held-out below 1")

    @property
    def name(self) -> str:
        """`republican-sft-r16`: the folder of the adapter, and what a scenario calls it."""
        return f"{self.party}-{self.method}-r{self.r}"

    def steps(self, examples: int) -> int:
        """2,000 examples in batches of 32, once: 63 steps."""
        return math.ceil(-(-examples // self.batch) * self.epochs)

    def filled(self, kind: str) -> Recipe:
        """With the values that stand for 0."""
        changes: dict[str, Any] = {"alpha": self.alpha or 2 * self.r}
        changes["rate"] = self.rate or RATES[kind][self.method]
        return replace(self, **changes)
