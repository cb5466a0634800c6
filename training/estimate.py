"""`--dry-run` of a training: calls, steps, hours, memory.

A few steps and replies are made on the model itself if its weights are a local folder. The weights of a hub id are not loaded:
its time and memory are printed as unknown. The few calls that write questions are not counted.
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
from typing import TYPE_CHECKING, NamedTuple

from parley.llm.backends import open_spec
from parley.llm.request import Message, Request, Sampling
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario
from parley.training.base_model import BaseModel, base_model
from parley.training.tuning.dataset import Example, chat
from parley.training.tuning.pipeline import TuningPlan
from parley.training.tuning.recipe import DPO, SFT, Recipe

if TYPE_CHECKING:
    from parley.training.sweep_lora import AdapterCell

STEPS, REPLIES = 3, 16
"""Steps and replies that are timed. The first step warms up and does not count."""
UNKNOWN = "unknown: the weights are not in a local folder, so no step was timed"
QUESTION = "What do you think about taxes?"


class Work(NamedTuple):
    """What is to be done: calls, recipes with the number of examples, and measurements of capability.

    spec: the model. tokens: the longest reply.
    """

    spec: str
    calls: dict[str, int]
    recipes: tuple[Recipe, ...] = ()
    examples: int = 0
    tokens: int = 120
    scores: int = 0

    @property
    def steps(self) -> dict[str, int]:
        """Training steps by method and rank, such as `sft r=8`."""
        steps: Counter[str] = Counter()
        for recipe in self.recipes:
            steps[f"{recipe.method} r={recipe.r}"] += recipe.steps(self.examples)
        return dict(steps)


class Timing(NamedTuple):
    """Measured on the model: seconds per reply and per step by method, and GB of memory at most."""

    reply: float
    step: dict[str, float]
    memory: float


def of_training(plan: TuningPlan, recipe: Recipe) -> Work:
    """Return the work of a training: its answers and steps (DPO: also those of the SFT before it)."""
    recipes = [replace(recipe, method=SFT), recipe] if recipe.method == DPO else [recipe]
    return _work(plan, {"answers": _answers(plan, recipe.party)}, recipes)


def of_sweep(plan: TuningPlan, base: Scenario, cells: Sequence[AdapterCell], party: str) -> Work:
    """Return the work of a sweep: answers of each seed; a training, debates and a measurement of capability of each cell."""
    seeds = len({cell.seed for cell in cells})
    recipes = [Recipe(party, cell.method, r=cell.r) for cell in cells if cell.method]
    calls = {"answers": _answers(plan, party) * seeds, "debates": plan_run(base).calls * len(cells)}
    return _work(plan, calls, recipes)._replace(scores=len(cells))


def of_debates(base: Scenario, spec: str, arms: int) -> Work:
    """Return the work of the debates before and after fine-tuning, in all arms."""
    return Work(spec, {"debates": plan_run(base).calls * arms})


def show(work: Work) -> int:
    """Print what is counted at once, then time a few replies and steps, and print hours and memory; return 0."""
    print(f"calls    {_listed(work.calls)}")
    if work.recipes:
        print(f"steps    {_listed(work.steps)}")
    if work.scores:
        print(f"scores   {work.scores} measurements of capability (not in the time below; each is saved and made once)")
    base = base_model(work.spec)
    if not Path(base.name).is_dir():
        print(f"time     {UNKNOWN}\nmemory   {UNKNOWN}")
        return 0
    print(
        f"...      timing {REPLIES} replies{' and a few training steps' * bool(work.recipes)} on {base.name}",
        flush=True,
    )
    timing = measure(work)
    seconds = sum(work.calls.values()) * timing.reply
    seconds += sum(number * timing.step[name.partition(" ")[0]] for name, number in work.steps.items())
    timed = [f"{timing.reply:.2g} s a reply", *(f"{name} {value:.2g} s a step" for name, value in timing.step.items())]
    hours = f"about {seconds / 3600:.2g} hours on this machine at its present load"
    print(f"time     {hours} (measured: {', '.join(timed)})")
    print(f"memory   {timing.memory:.2g} GB at most during the measurement")
    return 0


def measure(work: Work) -> Timing:
    """Time replies, and steps of the largest recipe of each method, on a model whose weights are a local folder."""
    base = base_model(work.spec)
    seconds, answer = _time_replies(work.spec, work.tokens)
    largest = {recipe.method: recipe for recipe in sorted(work.recipes, key=lambda recipe: recipe.r)}
    return Timing(seconds, {method: _time_step(base, recipe, answer) for method, recipe in largest.items()}, _memory())


def _work(plan: TuningPlan, calls: dict[str, int], recipes: Iterable[Recipe]) -> Work:
    kind = base_model(plan.llm).kind
    filled = tuple(recipe.filled(kind) for recipe in recipes)
    return Work(plan.llm, calls, filled, plan.questions * plan.answers, plan.max_tokens)


def _answers(plan: TuningPlan, party: str) -> int:
    return plan.questions * plan.answers * len(plan.compared(party))


def _time_replies(spec: str, tokens: int) -> tuple[float, str]:
    """Return the seconds per reply, in a batch of REPLIES, and the longest reply."""
    backend, question = open_spec(spec), (Message("user", QUESTION),)
    requests = [Request(question, Sampling(1.0, tokens), seed, purpose="interview") for seed in range(REPLIES)]
    backend.complete(requests[:1])
    begun = time.monotonic()
    replies = backend.complete(requests)
    return (time.monotonic() - begun) / REPLIES, max((reply.text or "" for reply in replies), key=len)


def _time_step(base: BaseModel, recipe: Recipe, answer: str) -> float:
    """Return the seconds per step: the median without the first."""
    from parley.training.tuning.trainers import train

    ends: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        work, recipe, start = Path(folder), replace(recipe, epochs=1.0, held_out=0.0), None
        if recipe.method == DPO:
            start = work / "start"
            train(replace(recipe, method=SFT), base, _examples(SFT, 2, answer), [], start, work / "sft")
        examples = _examples(recipe.method, STEPS * recipe.batch, answer)
        train(recipe, base, examples, [], work / "out", work / "work", start, lambda _: ends.append(time.monotonic()))
    gaps = [after - before for before, after in pairwise(ends)]
    return median(gaps) if gaps else math.nan


def _examples(method: str, number: int, answer: str) -> list[Example]:
    """Return examples as long as a reply."""
    answer_chat, other = chat("assistant", answer or "Nothing."), chat("assistant", "Nothing.")
    answers = {"completion": answer_chat} if method == SFT else {"chosen": answer_chat, "rejected": other}
    return [{"prompt": chat("user", QUESTION), **answers} for _ in range(number)]


def _memory() -> float:
    """Return the maximum memory of this process in GB: the GPU's if there is one."""
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
