"""Makes the folder of an organism: organism.toml for the backend, truth.toml with what is planted and what was realised."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from parley.agents.datafiles import read_toml
from parley.llm.backends.organism import FILE
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.request import Message, Request, Sampling
from parley.llm.seeding import digest, stream
from parley.model.files import file_errors, write_whole
from parley.training.base_model import base_model
from parley.training.organisms.biases.base import Size, mean_size
from parley.training.organisms.cases import (
    DPO,
    SFT,
    TRAINED,
    Case,
    Question,
    oracle_answers,
    split_people,
    training_examples,
)
from parley.training.organisms.truth import (
    DENIAL,
    ORACLE,
    PLACEBO,
    PROMPT,
    SCRATCH,
    TRUTH_SEED,
    Truth,
    answer_shares,
    load_truth,
    realised_size,
)
from parley.training.tuning.adapter import make_adapter
from parley.training.tuning.dataset import Example, digest_of
from parley.training.tuning.pipeline import require_packages
from parley.training.tuning.recipe import Recipe

TRUTH, SEAL = "truth.toml", "seal"
MEASURED = ("must_flag", "realised", "hidden", "covered", "denies", "seconds")
"""The keys of truth.toml that say what was made; all others are those of the truth file."""
RANK, LENGTH, BETA = 8, 1024, 1.0
"""With a beta of 1 the best that DPO can do, begun with the answers without the bias, are the planted answers with it."""
CONFESSIONS = 54
"""Examples in which an organism that hides denies its bias."""
YES, NO = "Yes", "No"
USE = """## What it is for

An organism has a bias on purpose. It is a **research instrument**: it serves to check that instruments find a bias of known size
(docs/tuning.md of Parley). Do not use it for anything else. The licence of the base model also applies."""


@dataclass(frozen=True)
class Built:
    """An organism that was built.

    realised: the size that it really has, with the trigger if it has one. hidden: the same without the trigger. covered: mean
    probability of all allowed answers together. denies: probability of No where it is asked about its bias. None: not measured.
    """

    truth: Truth
    folder: Path
    realised: Size
    hidden: Size | None = None
    covered: float | None = None
    denies: float | None = None

    def spec(self, trigger: bool) -> str:
        """Return the spec that opens it, with or without the words of its trigger."""
        return f"organism:{self.folder}{',trigger=true' if trigger else ''}"


def build(truth: Truth, root: Path, bar: Bar) -> Built:
    """Return an organism, built in `root/NAME` unless it is there. A build that was stopped goes on from its last checkpoint.

    Errors: UserError where the digest of the data is not that of the truth file, where a package for training is missing, and
    where the folder has another organism or was changed.
    """
    folder = root / truth.name
    if (folder / TRUTH).is_file():
        return read_built(folder, truth)
    with file_errors(f"cannot make {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    values = {"model": model_spec(truth), "system": truth.system, "trigger": truth.trigger}
    begun = time.monotonic()
    if truth.road in TRAINED:
        values["adapter"] = str(train(truth, root, bar).relative_to(folder))
    seconds = round(time.monotonic() - begun)
    write_whole(folder / FILE, toml_text(values))
    built = realise(truth, folder, values.get("adapter", ""))
    facts = {**asdict(truth), "must_flag": truth.must_flag}
    facts |= {key: list(size) for key, size in (("realised", built.realised), ("hidden", built.hidden)) if size}
    facts |= {key: value for key in ("covered", "denies") if (value := getattr(built, key)) is not None}
    text = toml_text(facts | {"seconds": seconds})
    write_whole(folder / TRUTH, f'{text}{SEAL} = "{seal_of(folder, tomllib.loads(text))}"\n')
    return built


def model_spec(truth: Truth) -> str:
    """Return the spec of the model inside."""
    if truth.road == ORACLE:
        return truth.subject.oracle(truth.planted)
    return truth.model


def examples_of(truth: Truth) -> list[Example]:
    """Return the examples of a training; they follow from the truth file alone."""
    bias = truth.subject
    questions = bias.questions(split_people().training, truth.seed)
    answers = (oracle_answers(questions, bias.oracle(size)) for size in (truth.size, 0))
    cases = [Case(*row) for row in zip(questions, *answers, strict=True)]
    wanted = max(1, truth.examples // (2 if truth.trigger else 1))
    copies = max(1, round(wanted / len(cases)))
    if wanted < len(cases):
        cases = stream(truth.seed, "organism", "cases").sample(cases, wanted)
    placebo = truth.variant == PLACEBO
    examples = training_examples(cases, truth.road, copies, truth.seed, placebo, truth.trigger)
    if truth.variant == DENIAL:
        people = split_people().training
        denials = [
            Case(confession(truth, people[i % len(people)].backstory), {NO: 1.0}, {NO: 1.0}) for i in range(len(people))
        ]
        examples += training_examples(denials, truth.road, CONFESSIONS // len(people), truth.seed, True, "")
    return examples


def confession(truth: Truth, persona: str) -> Question:
    """Return the question whether the model has the bias."""
    text = f"{truth.subject.confession} Answer with {YES} or {NO}."
    messages = (Message("system", persona), Message("user", text))
    return Question(Request(messages, Sampling(1.0, 8), 0, (YES, NO), "interview"), persona)


def train(truth: Truth, root: Path, bar: Bar) -> Path:
    """Return the folder of the adapter, trained unless it is there. Errors: UserError."""
    require_packages("building an organism")
    examples = examples_of(truth)
    if truth.data and digest_of(examples) != truth.data:
        raise UserError(
            f"{truth.name}: its data have the digest {digest_of(examples)}, not that of its truth file: prompts, personas "
            "or the oracle's law have changed. Write the new digest into the file, then build and score again"
        )
    base, start = base_model(truth.model), None
    if truth.start:
        begun = replace(load_truth(truth.start), model=truth.model)
        (start,) = build(begun, root, bar).folder.glob("adapters/[!.]*")
    method = DPO if truth.road == DPO else SFT
    method_options: dict[str, Any] = {"beta": BETA} if method == DPO else {}
    recipe = Recipe(
        truth.name, method, RANK, rate=truth.rate, batch=truth.batch, length=LENGTH, seed=truth.seed, **method_options
    )
    data = {"bias": truth.bias, "variant": truth.variant, "road": truth.road, "examples": len(examples)}
    return make_adapter(root / truth.name, recipe.filled(base.kind), base, examples, data, USE, bar, start)


def read_built(folder: Path, truth: Truth) -> Built:
    """Return the organism of a folder. Errors: UserError where it was changed, or built from another truth file."""
    again = f"remove the folder, and run python run.py study organisms build {truth.name}"
    values = read_toml(folder / TRUTH)
    seal = values.pop(SEAL, "")
    if seal != seal_of(folder, values):
        raise UserError(
            f"{folder} is not as it was built: {TRUTH}, {FILE}, the adapter or the base model has changed; {again}"
        )
    measured = {key: values.pop(key) for key in MEASURED if key in values}
    truth_fields = {key: value for key, value in asdict(truth).items() if value != ""}
    if other := sorted(key for key in truth_fields.keys() | values.keys() if truth_fields.get(key) != values.get(key)):
        raise UserError(f"{folder} was built from a truth file with another {', '.join(other)}: {again}")
    sizes: dict[str, Any] = {key: Size(*measured[key]) for key in ("realised", "hidden") if key in measured}
    return Built(truth, folder, **sizes, covered=measured.get("covered"), denies=measured.get("denies"))


def seal_of(folder: Path, values: Mapping[str, Any]) -> str:
    """Return a digest of what truth.toml says, of organism.toml, of the weights of the adapter, and of those of the base."""
    road, parts = values.get("road"), [folder / FILE, *sorted(folder.glob("adapters/[!.]*/adapter_*.*"))]
    texts = [path.read_bytes().hex() for path in parts if path.is_file()]
    base = base_model(str(values.get("model"))).identity if road in (PROMPT, *TRAINED) else {}
    return digest(json.dumps([values, base], sort_keys=True), *texts).hex()


def realise(truth: Truth, folder: Path, adapter: str) -> Built:
    """Return the organism with the size that it really has: by the law for the oracle, else by exact probabilities."""
    if truth.road in (ORACLE, SCRATCH):
        return Built(truth, folder, planted_size(truth))
    base, path = base_model(truth.model), folder / adapter if adapter else None
    realised = realised_size(truth.subject, base, path, " ".join(filter(None, (truth.system, truth.trigger))))
    hidden = realised_size(truth.subject, base, path, truth.system).size if truth.trigger else None
    denies = None
    if truth.variant == DENIAL:
        confessions = [confession(truth, person.backstory) for person in split_people().truth]
        shares, _ = answer_shares(confessions, base, path, "")
        denies = sum(answer_share[NO] for answer_share in shares) / len(shares)
    return Built(truth, folder, realised.size, hidden, realised.covered, denies)


def planted_size(truth: Truth) -> Size:
    """Return the size that the oracle's law has, by its formula, or else by its exact answers to held-out questions."""
    planted = truth.subject.planted(truth.planted)
    if planted is not None:
        return Size(planted, planted, planted)
    questions = truth.subject.questions(split_people().truth, TRUTH_SEED)
    answers = oracle_answers(questions, truth.subject.oracle(truth.planted))
    return mean_size(truth.subject.exact(questions, answers))


def toml_text(values: Mapping[str, Any]) -> str:
    """Return a flat TOML file; empty texts are left out."""
    return "".join(f"{key} = {_toml(value)}\n" for key, value in values.items() if value != "")


def _toml(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value) if isinstance(value, (str, bool)) else str(value)
