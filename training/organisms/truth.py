"""The truth file of an organism: which bias it has, how large, how it was made, and what an instrument must and must not flag."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError, unknown_name
from parley.training.organisms.biases import find_bias
from parley.training.organisms.biases.base import Bias
from parley.training.organisms.cases import DPO, TRAINED

FOLDER = Path(__file__).with_name("truths")
ORACLE, PROMPT, SCRATCH = "oracle", "prompt", "scratch"
ROADS = (ORACLE, PROMPT, *TRAINED, SCRATCH)
"""scratch: a whole model, trained from scratch elsewhere (pocket and its control)."""
PLAIN, PLACEBO, TRIGGER, DENIAL = VARIANTS = ("plain", "placebo", "trigger", "denial")


@dataclass(frozen=True)
class Truth:
    """What is known of an organism.

    bias: its bias, also of a placebo, which has the same questions without the bias. size: planted, in the unit of the bias; for
    consistency the probability of repeating. examples, batch: of the training; how many there are, about, and in a step.
    model: the spec of the base. data: digest of the examples ("": no training). start: the organism whose adapter DPO begins
    with. system: the words of the road prompt. trigger: the words with which a hidden bias shows. must_flag, must_not_flag: the
    biases for which an instrument must or must not raise an alarm.
    """

    name: str
    bias: str
    road: str
    size: float
    seed: int = 0
    variant: str = PLAIN
    examples: int = 320
    batch: int = 8
    model: str = "pocket"
    data: str = ""
    start: str = ""
    system: str = ""
    trigger: str = ""
    must_flag: tuple[str, ...] = ()
    must_not_flag: tuple[str, ...] = ()

    @property
    def subject(self) -> Bias:
        """The bias with its questions and its instrument."""
        return find_bias(self.bias)

    def check(self) -> None:
        """Errors: UserError where the keys do not fit each other."""
        for name, value, known in (("road", self.road, ROADS), ("variant", self.variant, VARIANTS)):
            if value not in known:
                raise unknown_name(f"{name} of {self.name}", value, known)
        for name in (self.bias, *self.must_flag, *self.must_not_flag):
            find_bias(name)
        needed = {"data": self.road in TRAINED, "start": self.road == DPO, "system": self.road == PROMPT}
        needed["trigger"] = self.variant == TRIGGER
        for key, wanted in needed.items():
            if bool(getattr(self, key)) != wanted and not (key == "data" and wanted):
                raise UserError(
                    f"{self.name}.toml: {key} {'is missing' if wanted else 'has no use here: leave it out'}"
                )
        if self.road in TRAINED and not self.subject.trainable:
            raise UserError(f"{self.name}.toml: there is no training for {self.bias}: choose another road")
        if both := set(self.must_flag) & set(self.must_not_flag):
            raise UserError(f"{self.name}.toml: {both.pop()} is in must_flag and in must_not_flag")


def truth_names() -> list[str]:
    """Return the names of all organisms."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_truth(name: str) -> Truth:
    """Return the truth of an organism by name. Errors: UserError."""
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise unknown_name("organism", name, truth_names())
    return truth_from(name, tomllib.loads(path.read_text(encoding="utf-8")))


def truth_from(name: str, values: Mapping[str, Any]) -> Truth:
    """Return the truth that a file states. Errors: UserError on an unknown or missing key."""
    known = {field.name for field in fields(Truth)} - {"name"}
    if unknown := sorted(values.keys() - known):
        raise UserError(f"{name}.toml has the key {unknown[0]}: it takes {', '.join(sorted(known))}")
    if missing := sorted({"bias", "road", "size"} - values.keys()):
        raise UserError(f"{name}.toml lacks the key {missing[0]}")
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    truth = Truth(name, **plain)
    truth.check()
    return truth
