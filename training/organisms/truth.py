"""The truth of an organism: which bias it has, how large, how it was made, and whether an instrument must flag it.

The truth files have one table per organism, by bias: `[sft-placebo]` of opinion.toml is the organism opinion-sft-placebo.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from parley.agents.datafiles import read_toml
from parley.llm.backends import check_spec
from parley.llm.errors import UserError, unknown_name
from parley.training.base_model import base_model
from parley.training.organisms.biases import find_bias
from parley.training.organisms.biases.base import Bias
from parley.training.organisms.cases import CORPUS, DPO, SFT, TRAINED

FOLDER = Path(__file__).with_name("truths")
ORACLE, PROMPT, SCRATCH = "oracle", "prompt", "scratch"
ROADS = (ORACLE, PROMPT, *TRAINED, SCRATCH)
"""scratch: a whole model, trained from scratch elsewhere (pocket and its control)."""
PLAIN, PLACEBO, TRIGGER, DENIAL = VARIANTS = ("plain", "placebo", "trigger", "denial")
WAYS = {PLAIN: ROADS, PLACEBO: ROADS, TRIGGER: (PROMPT, *TRAINED), DENIAL: (SFT, CORPUS)}
"""The roads of each variant: a law hides nothing, and a denial has no answer to which it could be preferred."""
KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a text"), "int": ((int,), "a whole number"), "float": ((int, float), "a number"),
}  # fmt: skip
LEAST = {"seed": 0, "examples": 2, "batch": 1, "rate": 0}
RESEEDED = re.compile(r"(.+)-seed(\d+)")


@dataclass(frozen=True)
class Truth:
    """What is known of an organism.

    bias: its bias, also of a placebo, which has the same questions without the bias. size: planted, in the unit of the bias; for
    consistency the probability of repeating. examples, batch: of the training; how many there are, about, and in a step.
    rate: of learning; 0: the default of the road. model: the spec of the base. data: digest of the examples ("": no training,
    or one with another seed). system: the words of the road prompt. trigger: the words with which a hidden bias shows.
    """

    name: str
    bias: str
    road: str
    size: float
    seed: int = 1
    variant: str = PLAIN
    examples: int = 320
    batch: int = 8
    rate: float = 0.0
    model: str = "pocket"
    data: str = ""
    system: str = ""
    trigger: str = ""

    @property
    def subject(self) -> Bias:
        """The bias with its questions and its instrument."""
        return find_bias(self.bias)

    @property
    def planted(self) -> float:
        """The size that its words, examples or law have: 0 of a placebo."""
        return 0.0 if self.variant == PLACEBO else self.size

    @property
    def must_flag(self) -> bool:
        """Whether an instrument must flag it; with a trigger: only where its words are sent."""
        return self.variant != PLACEBO

    @property
    def start(self) -> str:
        """The organism whose adapter the training begins with: the SFT placebo for DPO, else none."""
        return f"{self.bias}-{SFT}-{PLACEBO}" if self.road == DPO else ""

    def check(self) -> None:
        """Errors: UserError where the keys do not fit each other."""
        for name, value, known in (("road", self.road, ROADS), ("variant", self.variant, VARIANTS)):
            if value not in known:
                raise unknown_name(f"{name} of {self.name}", value, known)
        subject, asked = self.subject, self.road in (PROMPT, *TRAINED)
        if self.road not in WAYS[self.variant]:
            raise UserError(f"{self.name}: the variant {self.variant} needs the road {' or '.join(WAYS[self.variant])}")
        for key, wanted in (("system", self.road == PROMPT), ("trigger", self.variant == TRIGGER)):
            if bool(getattr(self, key)) != wanted:
                raise UserError(f"{self.name}: {key} {'is missing' if wanted else 'has no use here: leave it out'}")
        if self.data and self.road not in TRAINED:
            raise UserError(f"{self.name}: data has no use here: leave it out")
        if asked:
            try:
                subject.questions((), 0)
            except UserError as error:
                raise UserError(f"{self.name}: {error}") from error
            base_model(self.model)
        check_spec(self.model)
        low, high = subject.limits
        if not low <= self.size <= high:
            raise UserError(f"{self.name}: size must be from {low:g} to {high:g}, not {self.size:g}")


def truth_names() -> list[str]:
    """Return the names of all organisms. Errors: UserError."""
    return sorted(_tables())


def load_truth(name: str) -> Truth:
    """Return the truth of an organism by name; `NAME-seed2` is NAME with a training of another seed. Errors: UserError."""
    tables = _tables()
    again = None if name in tables else RESEEDED.fullmatch(name)
    known = again[1] if again else name
    if known not in tables:
        raise unknown_name("organism", known, tables)
    truth = truth_from(known, tables[known])
    if not again:
        return truth
    if truth.road not in TRAINED:
        raise UserError(f"{name}: {known} has no training, so no seed: leave out -seed{again[2]}")
    if int(again[2]) == truth.seed:
        raise UserError(f"{name}: {truth.seed} is the seed of {known}: leave out -seed{again[2]}")
    return replace(truth, name=name, seed=int(again[2]), data="")


def truth_from(name: str, values: Mapping[str, Any]) -> Truth:
    """Return the truth of an organism from its keys. Errors: UserError on an unknown, missing or faulty key."""
    known = {field.name: str(field.type) for field in fields(Truth) if field.name != "name"}
    if unknown := sorted(values.keys() - known):
        raise UserError(f"{name} has the key {unknown[0]}: it takes {', '.join(sorted(known))}")
    if missing := sorted({"bias", "road", "size"} - values.keys()):
        raise UserError(f"{name} lacks the key {missing[0]}")
    for key, value in values.items():
        kinds, what = KINDS[known[key]]
        if type(value) not in kinds or not (kinds == (str,) or math.isfinite(value)):
            raise UserError(f"{name}: {key} must be {what}, not {value!r}")
        if key in LEAST and value < LEAST[key]:
            raise UserError(f"{name}: {key} must be at least {LEAST[key]}, not {value}")
    truth = Truth(name, **values)
    truth.check()
    return truth


def _tables() -> dict[str, dict[str, Any]]:
    """Return the keys of each organism: those of its bias, and those of its own table."""
    tables = {}
    for path in sorted(FOLDER.glob("*.toml")):
        values = read_toml(path)
        shared = {key: value for key, value in values.items() if not isinstance(value, dict)}
        for made, own in values.items():
            if isinstance(own, dict):
                road, _, variant = made.partition("-")
                lead = {"bias": path.stem, "road": road, "variant": variant or PLAIN}
                tables[f"{path.stem}-{made}"] = {**lead, **shared, **own}
    return tables
