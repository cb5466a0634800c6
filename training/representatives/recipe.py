"""What is trained and how: the study fine-tunes all weights with AdamW, batches of 128, a constant rate, and stops early.

Not from the study, and so ours: the rate (its value is missing in the text), LoRA as another way, how often is looked and
how long it is waited. Batches are of 32 unless told otherwise: data made here are smaller than the study's 5,484 critiques.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from parley.agents.representative import parse_knowledge
from parley.training.tuning.recipe import RATES, SFT, Recipe

WHOLE = {"hf": 1e-5, "pocket": 1e-3}
"""Learning rates of all weights where none is given."""
NOTHING = "base"


@dataclass(frozen=True)
class Lesson(Recipe):
    """`knows`: the letters of what a representative is told besides question, opinion and draft. `r` 0: all weights.

    Every `every` steps the loss on the validation side is looked at; after `patience` looks without a better one it ends, and
    the best checkpoint is kept.
    """

    party: str = "representative"
    r: int = 0
    epochs: float = 20.0
    length: int = 2048
    knows: str = "OC"
    every: int = 20
    patience: int = 3
    micro: int = 8
    LEAST: ClassVar[Mapping[str, float]] = {**Recipe.LEAST, "r": 0, "every": 1, "patience": 1, "micro": 1}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "knows", parse_knowledge(self.knows))

    @property
    def name(self) -> str:
        """`OC-full`, `base-r16`: the folder of the model, and of an adapter what requests call it."""
        return f"{self.knows or NOTHING}-{f'r{self.r}' if self.r else 'full'}"

    def filled(self, kind: str) -> Lesson:
        """With the values that stand for 0."""
        rate = self.rate or (RATES[kind][SFT] if self.r else WHOLE[kind])
        return replace(self, alpha=self.alpha or 2 * self.r, rate=rate)
