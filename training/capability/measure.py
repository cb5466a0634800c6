"""Asks lm-evaluation-harness (lm-eval), and says nothing meanwhile.

What a model can do, before and after fine-tuning:  python -m parley.training.capability.measure MODEL [--adapter FOLDER] ...

Taubenfeld et al. (2024, Table 1) give HellaSwag and MMLU of each fine-tuned model by lm-evaluation-harness: a bias that costs the
model its wits is no use. The same is measured here: for the model in the box on two tasks of the same kinds, made from what
it was taught; and for every model the loss on held-out text, which moves before accuracies do (docs/capability.md).

Capability that was measured: a file for each model, adapter and set of tasks, so that a resumed sweep asks nothing again.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from parley.agents.datafiles import save_text
from parley.llm.backends.hf.checkpoint import adapter_weights, fingerprint
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import digest
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

        from parley.training.capability.tasks import prompt_text

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


SEED = 0
"""Of items and held-out text: the same for all models, so that they are compared on the same."""
BATCH = 16


@dataclass(frozen=True)
class Capability:
    """A model's scores, and its held-out loss (nats a token, mean over `tokens`). `asdict` of it is JSON."""

    model: str
    adapter: str
    scores: tuple[Score, ...]
    loss: float
    tokens: int

    def score(self, task: str) -> Score:
        """Errors: KeyError for a task that was not asked."""
        return {score.task: score for score in self.scores}[task]


def measure(
    model: str,
    adapter: str = "",
    tasks: Sequence[str] = tuple(LOCAL),
    limit: int | None = None,
    load: str = "full",
    batch: int = BATCH,
) -> Capability:
    """Ask a model (folder or hub id), with a LoRA adapter's folder or without one.

    `limit` is the most items of a task (of each subject of a group like mmlu); `load` is full, 8bit or 4bit; `batch` the items
    that go through the model together. It runs on a GPU where there is one. Errors: UserError.
    """
    for name, value in (("limit", limit), ("batch", batch)):
        if value is not None and value < 1:
            raise UserError(f"{name} must be 1 or more, not {value}")
    harness = Harness(tasks, limit, batch)
    import torch

    from parley.llm.backends.hf.loading import load_model
    from parley.training.capability.heldout import heldout, loss

    dtype = "auto" if torch.cuda.is_available() else "float32"
    loaded = load_model(model, dtype, load, "auto", [adapter] if adapter else [])
    scores = harness.scores(loaded.model, loaded.tokenizer, SEED)
    nats, tokens = loss(heldout(SEED), loaded.model, loaded.tokenizer, batch)
    return Capability(model, adapter, tuple(scores), nats, tokens)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder or hub id")
    parser.add_argument("--adapter", default="", help="folder of a LoRA adapter")
    parser.add_argument("--tasks", default=",".join(LOCAL))
    parser.add_argument("--limit", type=int, help="most items of a task")
    parser.add_argument("--load", default="full", choices=("full", "8bit", "4bit"))
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    given = parser.parse_args(arguments)
    if given.out and not given.out.parent.is_dir():
        parser.exit(2, f"there is no folder {given.out.parent} to write {given.out.name} in\n")
    try:
        found = measure(given.model, given.adapter, given.tasks.split(","), given.limit, given.load, given.batch)
    except UserError as error:
        parser.exit(2, f"{error}\n")
    for score in found.scores:
        reached = f"{score.accuracy:.3f} ±{score.error:.3f} (n {score.count}, chance {score.chance:.2f})"
        print(f"{score.task:20} {score.metric:8} {reached}")
    print(f"{'held-out loss':20} {'nats':8} {found.loss:.3f} ({found.tokens:,} tokens)")
    if given.out:
        given.out.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()


def saved_capability(
    measure: Callable[[str, str], Capability], folder: Path, settings: str
) -> Callable[[str, str], Capability]:
    """Return `measure` with a memory in `folder`. settings: tasks, limit and precision, in any words.

    The name of a file is the digest of the model (its weights, where it is a folder), the adapter's weights, the settings and the
    version of the harness: another one of these is measured anew.
    """

    def remembered(model: str, adapter: str) -> Capability:
        path = folder / f"{_key(model, adapter, settings)}.json"
        if path.is_file():
            return _read(path)
        found = measure(model, adapter)
        part = save_text(path.with_suffix(".part"), json.dumps(asdict(found), indent=1))
        part.replace(path)
        return found

    return remembered


def _key(model: str, adapter: str, settings: str) -> str:
    weights = fingerprint(Path(model)) if Path(model).is_dir() else ""
    learned = adapter_weights(Path(adapter)) if adapter else ""
    try:
        harness = version("lm_eval")
    except PackageNotFoundError:
        harness = ""
    return digest(Path(model).name if weights else model, weights, learned, settings, harness, str(SEED)).hex()


def _read(path: Path) -> Capability:
    values = json.loads(path.read_text(encoding="utf-8"))
    return Capability(**{**values, "scores": tuple([Score(**one) for one in values["scores"]])})
