"""Asks lm-evaluation-harness (lm-eval), and says nothing meanwhile."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from parley.llm.errors import UserError, unknown_name
from parley.training.capability.tasks import LOCAL, write_tasks


@dataclass(frozen=True)
class Score:
    """What a model reached in a task.

    `accuracy` is the share of `count` items answered rightly, `error` its standard error over items (the sample's standard
    deviation by the root of `count`, as the harness has it), `chance` what guessing gives. `metric` is acc_norm (likelihoods by
    length) where the task has it, as in the usual figures for HellaSwag, and else acc.
    """

    task: str
    metric: str
    accuracy: float
    error: float
    count: int
    chance: float


class Harness:
    """Some tasks, ready to be asked. Errors: UserError when lm-eval is not installed or a task is not known."""

    def __init__(self, tasks: Sequence[str], limit: int | None, batch: int):
        if missing := [name for name in ("torch", "transformers", "lm_eval") if find_spec(name) is None]:
            needed = ", ".join(missing)
            raise UserError(f"capability needs {needed}: pip install -e '.[local,eval]' (docs/capability.md)")
        self.tasks, self.limit, self.batch = tasks, limit, batch
        self.builtin = None if set(tasks) <= set(LOCAL) else _manager()
        known = [*LOCAL, *(self.builtin.all_tasks if self.builtin else ())]
        for name in tasks:
            if name not in known:
                raise unknown_name("task", name, known)

    def scores(self, model: Any, tokenizer: Any, seed: int) -> list[Score]:
        """A score for each task; those of our own are made from a seed. Errors: UserError when a task cannot be loaded."""
        from lm_eval.models.huggingface import HFLM

        from parley.training.capability.items import prompt_text

        with TemporaryDirectory() as folder, quiet():
            for name in set(self.tasks) & set(LOCAL):
                write_tasks(name, Path(folder), partial(prompt_text, tokenizer=tokenizer), seed)
            ours = _manager(Path(folder))
            asked = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=self.batch)
            managers = [(name, ours if name in LOCAL else self.builtin) for name in self.tasks]
            return [_score(name, self._samples(asked, name, manager)) for name, manager in managers]

    def _samples(self, asked: Any, name: str, manager: Any) -> list[dict[str, Any]]:
        """The harness's account of each item, those of a group's tasks one after the other."""
        from lm_eval import simple_evaluate

        try:
            found = simple_evaluate(asked, tasks=[name], task_manager=manager, limit=self.limit, bootstrap_iters=0)
        except (OSError, ValueError) as error:
            raise UserError(f"cannot ask the task {name}: {str(error).strip().splitlines()[0]}") from error
        return [sample for samples in found["samples"].values() for sample in samples]


def _manager(folder: Path | None = None) -> Any:
    """The tasks of a folder, or the harness's own (some seconds: it reads them all)."""
    with quiet():
        from lm_eval.tasks import TaskManager

        return TaskManager(include_path=str(folder), include_defaults=False) if folder else TaskManager()


def _score(task: str, samples: Sequence[Mapping[str, Any]]) -> Score:
    """Errors: UserError for a task that is not multiple choice."""
    metric = next((metric for metric in ("acc_norm", "acc") if metric in samples[0]), "")
    if not metric:
        raise UserError(f"the task {task} is not multiple choice: it reports {', '.join(samples[0]['metrics'])}")
    hits = [float(sample[metric]) for sample in samples]
    chance = fmean(1 / len(sample["filtered_resps"]) for sample in samples)
    error = stdev(hits) / sqrt(len(hits)) if len(hits) > 1 else 0.0
    return Score(task, metric, fmean(hits), error, len(hits), chance)


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing of the harness on stdout; its progress bars on stderr only where somebody sits before it."""
    logger = logging.getLogger("lm_eval")
    before = logger.level
    logger.setLevel(logging.ERROR)
    with ExitStack() as stack:
        stack.callback(logger.setLevel, before)
        stack.enter_context(redirect_stdout(io.StringIO()))
        if not sys.stderr.isatty():
            stack.enter_context(redirect_stderr(io.StringIO()))
        yield
