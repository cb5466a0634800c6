"""What `--dry-run` of a training, a sweep or debates of adapters prints: calls, steps, and hours and memory from a measurement.

A few steps and replies are really made, on the model itself, where its weights are a folder here. Of a hub id nothing is loaded;
time and memory are then called unknown, and no number is made up. The few calls for questions are left out.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple, Protocol

from parley.llm.backends import open_spec
from parley.llm.request import Message, Request, Sampling
from parley.model.cost_estimate import plan_run
from parley.model.scenario import Scenario
from parley.training.base_model import BaseModel, base_model
from parley.training.tuning.dataset import Example
from parley.training.tuning.pipeline import TuningPlan
from parley.training.tuning.recipe import DPO, PARTIES, SFT, Recipe

STEPS, REPLIES = 3, 16
"""Steps and replies that are made to be timed. The first step is left out: it warms up."""
UNKNOWN = "unknown: the weights are no folder here, so no step was timed"


class Trained(Protocol):
    """A cell of a sweep, as far as it is looked at."""

    @property
    def method(self) -> str: ...
    @property
    def r(self) -> int: ...
    @property
    def seed(self) -> int: ...


class Work(NamedTuple):
    """What is to be done: calls, steps of a recipe, measurements of capability, and what was timed (None: unknown)."""

    calls: dict[str, int]
    steps: dict[str, int]
    scores: int
    reply: float | None
    step: dict[str, float]
    memory: float | None


def of_training(plan: TuningPlan, recipe: Recipe) -> Work:
    """A training: its questions and answers, and its steps (DPO: those of the SFT before it as well)."""
    base = base_model(plan.llm)
    recipes = [replace(recipe, method=SFT), recipe] if recipe.method == DPO else [recipe]
    return _work(plan, base, {"answers": _answers(plan)}, recipes, 0)


def of_sweep(plan: TuningPlan, base: Scenario, cells: Sequence[Trained], party: str) -> Work:
    """A sweep: answers of each seed, a training and debates of each cell, and its capability."""
    seeds = len({cell.seed for cell in cells})
    recipes = [Recipe(party, cell.method, r=cell.r) for cell in cells if cell.method]
    calls = {"answers": _answers(plan) * seeds, "debates": _debates(base) * len(cells)}
    return _work(plan, base_model(plan.llm), calls, recipes, len(cells))


def of_debates(base: Scenario, spec: str, arms: int) -> Work:
    """Debates before and after: all arms."""
    reply, _ = _replies(spec) if Path(base_model(spec).name).is_dir() else (None, None)
    return Work({"debates": _debates(base) * arms}, {}, 0, reply, {}, _memory() if reply else None)


def show(work: Work) -> int:
    """Print it; 0."""
    print(f"calls    {_listed(work.calls)}")
    if work.steps:
        print(f"steps    {_listed(work.steps)}")
    if work.scores:
        print(f"scores   {work.scores} measurements of capability (time not estimated; each is kept and made once)")
    if work.reply is None:
        print(f"time     {UNKNOWN}\nmemory   {UNKNOWN}")
        return 0
    seconds = sum(work.calls.values()) * work.reply
    seconds += sum(number * work.step[name.partition(" ")[0]] for name, number in work.steps.items())
    timed = [f"{name} {value:.2g} s a step" for name, value in work.step.items()]
    told = ", ".join([f"{work.reply:.2g} s a reply", *timed])
    print(f"time     about {seconds / 3600:.2g} hours on this machine as busy as it is now (measured: {told})")
    print(f"memory   {work.memory:.2g} GB at most while this was measured")
    return 0


def _work(plan: TuningPlan, base: BaseModel, calls: dict[str, int], recipes: Iterable[Recipe], scores: int) -> Work:
    examples = plan.questions * plan.answers
    recipes = [recipe.filled(base.kind) for recipe in recipes]
    steps: Counter[str] = Counter()
    for recipe in recipes:
        steps[f"{recipe.method} r={recipe.r}"] += recipe.steps(examples)
    if not Path(base.name).is_dir():
        return Work(calls, dict(steps), scores, None, {}, None)
    reply, words = _replies(plan.llm, plan.tokens)
    largest = {one.method: one for one in sorted(recipes, key=lambda one: one.r)}
    step = {method: _step(base, recipe, words) for method, recipe in largest.items()}
    return Work(calls, dict(steps), scores, reply, step, _memory())


def _answers(plan: TuningPlan) -> int:
    return plan.questions * plan.answers * len(PARTIES)


def _debates(base: Scenario) -> int:
    return plan_run(base).calls


def _replies(spec: str, tokens: int = 120) -> tuple[float, str]:
    """Seconds a reply, asked REPLIES at a time, and the longest reply."""
    backend = open_spec(spec)
    asked = [
        Request((Message("user", "What do you think about taxes?"),), Sampling(1.0, tokens), seed, purpose="interview")
        for seed in range(REPLIES)
    ]
    backend.complete(asked[:1])
    begun = time.monotonic()
    said = backend.complete(asked)
    return (time.monotonic() - begun) / REPLIES, max(((one.text or "") for one in said), key=len)


def _step(base: BaseModel, recipe: Recipe, answer: str) -> float:
    """Seconds a step, the median of those after the first."""
    from parley.training.tuning.trainers import train

    ends: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        work, begun = Path(folder), replace(recipe, epochs=1.0, held_out=0.0)
        start = None
        if recipe.method == DPO:
            start = work / "start"
            train(replace(begun, method=SFT), base, _examples(SFT, 2, answer), [], start, work / "sft")
        found = _examples(recipe.method, STEPS * recipe.batch, answer)
        train(begun, base, found, [], work / "out", work / "work", start, lambda _: ends.append(time.monotonic()))
    gaps = [after - before for before, after in pairwise(ends)]
    return median(gaps) if gaps else math.nan


def _examples(method: str, number: int, answer: str) -> list[Example]:
    """So many examples as long as a reply was."""
    asked = {"prompt": [{"role": "user", "content": "What do you think about taxes?"}]}
    said = [{"role": "assistant", "content": answer or "Nothing."}]
    kinds = {"completion": said} if method == SFT else {"chosen": said, "rejected": [said[0] | {"content": "Nothing."}]}
    return [asked | kinds for _ in range(number)]


def _memory() -> float:
    """GB: the most that this process has held, of the GPU's where there is one."""
    import torch

    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated()) / 1e9
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # not on Windows
        return math.nan
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9


def _listed(numbers: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items())
