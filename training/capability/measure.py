"""What a model can do, before and after fine-tuning:  python -m parley.training.capability.measure MODEL [--adapter FOLDER] ...

Taubenfeld et al. (2024, Table 1) give HellaSwag and MMLU of each fine-tuned model by lm-evaluation-harness: a bias that costs the
model its wits is no use. The same is measured here: for the model in the box on two tasks of the same kinds, made from what
it was taught; and for every model the loss on held-out text, which moves before accuracies do (docs/capability.md).

Capability that was measured: a file for each model, adapter and set of tasks, so that a resumed sweep asks nothing again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from parley.agents.datafiles import save_text
from parley.llm.backends.hf.checkpoint import adapter_weights, fingerprint
from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.training.capability.harness import Harness, Score
from parley.training.capability.tasks import LOCAL

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
