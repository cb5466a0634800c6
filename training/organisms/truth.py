"""The truth of an organism: which bias it has, how large, how it was made, and whether an instrument must flag it.

The truth files have one table per organism, by bias: `[sft-placebo]` of opinion.toml is the organism opinion-sft-placebo.

How large the bias of an organism really is: from the exact probabilities of its answers to held-out questions.

No instrument takes part. The questions are put to personas that were neither trained on nor are asked by an instrument, and the
probabilities are those of the transformers library, with the adapter next to the weights: other code than that which answers the
instruments.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parley.agents.datafiles import read_toml
from parley.llm.backends import check_spec
from parley.llm.errors import UserError, unknown_name
from parley.training.base_model import BaseModel, base_model
from parley.training.organisms.biases import find_bias
from parley.training.organisms.biases.base import Bias, Size, mean_size
from parley.training.organisms.cases import CORPUS, DPO, SFT, TRAINED, Question, Shares, masked, split_people

BATCH = 32
TRUTH_SEED = 7001
"""Seed of the held-out questions: other profiles and orders than those of the training."""


class Realised(NamedTuple):
    """The size that was measured, and the mean probability of all allowed answers together."""

    size: Size
    covered: float


def realised_size(bias: Bias, base: BaseModel, adapter: Path | None, words: str) -> Realised:
    """Return the size of a model's bias. words: those behind its system messages."""
    questions = bias.questions(split_people().truth, TRUTH_SEED)
    shares, covered = answer_shares(questions, base, adapter, words)
    sizes = bias.exact(questions, shares)
    if bias.relative:
        sizes = sizes - bias.exact(questions, answer_shares(questions, base, None, "")[0])
    return Realised(mean_size(sizes), covered)


def answer_shares(
    questions: Sequence[Question], base: BaseModel, adapter: Path | None, words: str
) -> tuple[Shares, float]:
    """Return the probability of each answer among the allowed ones, and the mean probability of all of them together."""
    import peft

    from parley.llm.backends.hf.loading import load_model
    from parley.training.likelihood import prompt_text
    from parley.training.tuning.trainers import quiet

    with quiet():
        loaded = load_model(base.name, base.dtype, base.load, base.device)
        model = peft.PeftModel.from_pretrained(loaded.model, str(adapter)) if adapter else loaded.model
    model.eval()
    rows = []
    for asked_question in questions:
        prompt = (
            prompt_text(masked(asked_question.request, words), loaded.tokenizer) + asked_question.request.answer_prefix
        )
        ids = [
            loaded.tokenizer(prompt + answer, add_special_tokens=False)["input_ids"]
            for answer in asked_question.request.answers
        ]
        if len({tuple(each[:-1]) for each in ids}) > 1:
            raise UserError(f"{base.name}: an answer is not one token, so its exact probability cannot be read")
        rows.append((ids[0][:-1], [each[-1] for each in ids]))
    token_shares = _first_token_shares(rows, model)
    shares, covered = [], []
    for question, question_shares in zip(questions, token_shares, strict=True):
        covered.append(sum(question_shares))
        shares.append(
            {
                answer: share / covered[-1]
                for answer, share in zip(question.request.answers, question_shares, strict=True)
            }
        )
    return shares, float(np.mean(covered))


def _first_token_shares(rows: Sequence[tuple[list[int], list[int]]], model: Any) -> list[list[float]]:
    """Return the probabilities of the given tokens behind each prompt."""
    import torch

    shares = []
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        width = max(len(ids) for ids, _ in batch)
        ids = torch.tensor([prompt + [0] * (width - len(prompt)) for prompt, _ in batch], device=model.device)
        with torch.no_grad():  # rows are padded at the end, which no earlier token can see
            logits = model(input_ids=ids, use_cache=False).logits.float()
        for place, (prompt, answers) in enumerate(batch):
            shares.append(torch.softmax(logits[place, len(prompt) - 1], 0)[answers].tolist())
    return shares


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
        for name, value, choices in (("road", self.road, ROADS), ("variant", self.variant, VARIANTS)):
            if value not in choices:
                raise unknown_name(f"{name} of {self.name}", value, choices)
        subject, asks_model = self.subject, self.road in (PROMPT, *TRAINED)
        if self.road not in WAYS[self.variant]:
            raise UserError(f"{self.name}: the variant {self.variant} needs road = {' or '.join(WAYS[self.variant])}")
        for key, wanted in (("system", self.road == PROMPT), ("trigger", self.variant == TRIGGER)):
            if bool(getattr(self, key)) != wanted:
                raise UserError(f"{self.name}: {key} {'is missing' if wanted else 'has no use here: leave it out'}")
        if self.data and self.road not in TRAINED:
            raise UserError(f"{self.name}: the key data only works with a trained organism: leave out data")
        if asks_model:
            try:
                subject.questions((), 0)
            except UserError as error:
                raise UserError(f"{self.name}: {error}") from error
            base_model(self.model)
        check_spec(self.model)
        low, high = subject.limits
        if not low <= self.size <= high:
            raise UserError(f"{self.name}: size is {self.size:g}, but must be between {low:g} and {high:g}")


def truth_names() -> list[str]:
    """Return the names of all organisms. Errors: UserError."""
    return sorted(_tables())


def load_truth(name: str) -> Truth:
    """Return the truth of an organism by name; `NAME-seed2` is NAME with a training of another seed. Errors: UserError."""
    tables = _tables()
    again = None if name in tables else RESEEDED.fullmatch(name)
    base_name = again[1] if again else name
    if base_name not in tables:
        raise unknown_name("organism", base_name, tables)
    truth = truth_from(base_name, tables[base_name])
    if not again:
        return truth
    if truth.road not in TRAINED:
        raise UserError(f"{name}: {base_name} has no training, so no seed: leave out -seed{again[2]}")
    if int(again[2]) == truth.seed:
        raise UserError(f"{name}: {truth.seed} is already the seed of {base_name}: leave out -seed{again[2]}")
    return replace(truth, name=name, seed=int(again[2]), data="")


def truth_from(name: str, values: Mapping[str, Any]) -> Truth:
    """Return the truth of an organism from its keys. Errors: UserError on an unknown, missing or faulty key."""
    key_types = {field.name: str(field.type) for field in fields(Truth) if field.name != "name"}
    if unknown := sorted(values.keys() - key_types):
        raise UserError(f"{name} has the unknown key {unknown[0]}: use only {', '.join(sorted(key_types))}")
    if missing := sorted({"bias", "road", "size"} - values.keys()):
        raise UserError(f"{name} lacks the key {missing[0]}")
    for key, value in values.items():
        kinds, what = KINDS[key_types[key]]
        if type(value) not in kinds or not (kinds == (str,) or math.isfinite(value)):
            raise UserError(f"{name}: {key} is {value!r}, but must be {what}")
        if key in LEAST and value < LEAST[key]:
            raise UserError(f"{name}: {key} is {value}, but must be at least {LEAST[key]}")
    truth = Truth(name, **values)
    truth.check()
    return truth


def _tables() -> dict[str, dict[str, Any]]:
    """Return the keys of each organism: those of its bias, and those of its own table."""
    tables = {}
    for path in sorted(FOLDER.glob("*.toml")):
        values = read_toml(path)
        shared = {key: value for key, value in values.items() if not isinstance(value, dict)}
        for made, table in values.items():
            if isinstance(table, dict):
                road, _, variant = made.partition("-")
                lead = {"bias": path.stem, "road": road, "variant": variant or PLAIN}
                tables[f"{path.stem}-{made}"] = {**lead, **shared, **table}
    return tables
