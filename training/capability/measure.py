"""Measures what a model can do, before and after fine-tuning.

Taubenfeld et al. (2024, Table 1) report HellaSwag and MMLU of each fine-tuned model, by lm-evaluation-harness: a moved bias is
of little use if the model lost its abilities. This command measures the same. For pocket it uses two tasks of
the same kinds, made from what that model was taught. For every model it also measures the loss on held-out text, which changes
before accuracies do (docs/tuning.md).

Held-out loss: the loss of pocket on new text of the kinds that pocket was trained on, without opinions.

    backstory   the first three sentences of one: who a person is, how they live, what they do on weekends
    questions   lists of questions on US politics
    opening     the first sentence of a debate, on any topic

The rule-based speaker writes the texts, or they are drawn from its openings, in combinations that a corpus has only by chance.
The prompt of a backstory names a party (half of them each); the part that counts does not. No sentence carries a stance, so a
changed opinion costs nothing. A part of the loss is chance (which question comes next), also for a perfect model: compare a
model before and after, on the same text. With another tokenizer, nats per token refer to other tokens.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import random
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
from parley.agents.persona_generator import generate_persona, list_names
from parley.agents.society import load_society
from parley.llm.backends.hf.checkpoint import adapter_weights, fingerprint
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import sentences
from parley.llm.backends.pocket import taught_topics
from parley.llm.backends.pocket.prompt_ids import mask_names, name_tokens
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Message
from parley.llm.seeding import digest, stream
from parley.training.capability.tasks import LISTED, LOCAL, OTHERS, WORDING, debate, opening, questions, write_tasks
from parley.training.likelihood import Text, likelihoods, prompt_text

EACH = 40
"""Texts of each kind."""
NEUTRAL = 3
"""Sentences of a backstory before the first with a party or a position."""


def heldout(seed: int) -> list[Text]:
    """Return all texts; the same for the same seed."""
    rng, speaker = stream(seed, "capability", "heldout"), Oracle()
    backstories = [_backstory(number, rng, speaker) for number in range(EACH)]
    lists = [_question_list(number, rng) for number in range(EACH)]
    return [*backstories, *lists, *[_opening(number, rng) for number in range(EACH)]]


def _backstory(number: int, rng: random.Random, speaker: Oracle) -> Text:
    party = load_society().debaters[number % 2]
    (request,) = next(generate_persona(party, rng.choice(list_names(party)), rng.getrandbits(31)))
    (reply,) = speaker.complete([request])
    answer = Message("assistant", " ".join(sentences(reply.text or "")[:NEUTRAL]))
    *messages, masked = mask_names([*request.messages, answer], name_tokens(request.messages))
    return Text(tuple(messages), masked.content)


def _question_list(number: int, rng: random.Random) -> Text:
    request = Message("user", WORDING[number % len(WORDING)].format(number=LISTED))
    listed = enumerate(rng.sample(questions(), LISTED), 1)
    return Text((request,), "\n".join(f"{place}. {question}" for place, question in listed))


def _opening(number: int, rng: random.Random) -> Text:
    slugs = taught_topics()
    slug = slugs[number % len(slugs)]
    return Text(debate(slug, OTHERS[0], "", rng), opening(slug, rng))


def loss(texts: Sequence[Text], model: Any, tokenizer: Any, batch: int) -> tuple[float, int]:
    """Return the mean cross-entropy of the replies' tokens in nats, and the number of these tokens."""
    values = likelihoods(texts, model, tokenizer, batch)
    count = sum(value.tokens for value in values)
    return -sum(value.logp for value in values) / count, count


SEED = 0
"""The seed of items and held-out text: all models get the same."""
BATCH = 16


@dataclass(frozen=True)
class Score:
    """The result of a model in a task.

    `accuracy` is the share of `count` items answered correctly, `error` its standard error over items (the sample's standard
    deviation divided by the root of `count`, as in the harness), `chance` the accuracy of guessing. `metric` is acc_norm
    (likelihoods by length) where the task has it, as in the usual figures for HellaSwag, else acc.
    """

    task: str
    metric: str
    accuracy: float
    error: float
    count: int
    chance: float


@dataclass(frozen=True)
class Capability:
    """A model's scores, and its held-out loss (nats per token, mean over `tokens`). `asdict` of it is JSON."""

    model: str
    adapter: str
    scores: tuple[Score, ...]
    loss: float
    tokens: int

    def score(self, task: str) -> Score:
        """Return the score of a task. Errors: KeyError when it was not measured."""
        return {score.task: score for score in self.scores}[task]


class Harness:
    """Some tasks of lm-evaluation-harness. Errors: UserError when it is not installed or a task is not known."""

    def __init__(self, tasks: Sequence[str], limit: int | None, batch: int):
        if missing := [name for name in ("torch", "transformers", "lm_eval") if find_spec(name) is None]:
            needed = ", ".join(missing)
            raise UserError(f"capability needs {needed}: pip install -e '.[local,eval]' (docs/tuning.md)")
        self.tasks, self.limit, self.batch = tasks, limit, batch
        self.builtin = None if set(tasks) <= set(LOCAL) else _task_manager()
        task_names = [*LOCAL, *(self.builtin.all_tasks if self.builtin else ())]
        for name in tasks:
            if name not in task_names:
                raise unknown_name("task", name, task_names)

    def scores(self, model: Any, tokenizer: Any, seed: int) -> list[Score]:
        """Return a score per task; local tasks are made from the seed. Errors: UserError when a task cannot be loaded."""
        from lm_eval.models.huggingface import HFLM

        with TemporaryDirectory() as folder, _quiet():
            for name in set(self.tasks) & set(LOCAL):
                write_tasks(name, Path(folder), partial(prompt_text, tokenizer=tokenizer), seed)
            local = _task_manager(Path(folder))
            wrapped = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=self.batch)
            managers = [(name, local if name in LOCAL else self.builtin) for name in self.tasks]
            return [_score(name, self._samples(wrapped, name, manager)) for name, manager in managers]

    def _samples(self, model: Any, name: str, manager: Any) -> list[dict[str, Any]]:
        """Return the harness's record of each item, those of a group's tasks one after the other."""
        from lm_eval import simple_evaluate

        try:
            results = simple_evaluate(model, tasks=[name], task_manager=manager, limit=self.limit, bootstrap_iters=0)
        except (OSError, ValueError) as error:
            raise UserError(f"cannot run the task {name}: {str(error).strip().splitlines()[0]}") from error
        return [sample for samples in results["samples"].values() for sample in samples]


def _task_manager(folder: Path | None = None) -> Any:
    """Return the tasks of a folder, or the harness's own (takes seconds: it reads them all)."""
    with _quiet():
        from lm_eval.tasks import TaskManager

        return TaskManager(include_path=str(folder), include_defaults=False) if folder else TaskManager()


def _score(task: str, samples: Sequence[Mapping[str, Any]]) -> Score:
    """Errors: UserError for a task that is not multiple choice."""
    metric = next((metric for metric in ("acc_norm", "acc") if metric in samples[0]), "")
    if not metric:
        raise UserError(
            f"the task {task} is not multiple choice, so its accuracy cannot be measured here: it "
            f"reports {', '.join(samples[0]['metrics'])}"
        )
    hits = [float(sample[metric]) for sample in samples]
    chance = fmean(1 / len(sample["filtered_resps"]) for sample in samples)
    error = stdev(hits) / sqrt(len(hits)) if len(hits) > 1 else 0.0
    return Score(task, metric, fmean(hits), error, len(hits), chance)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the harness's output; its progress bars stay on a terminal."""
    logger = logging.getLogger("lm_eval")
    with ExitStack() as stack:
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.ERROR)
        stack.enter_context(redirect_stdout(io.StringIO()))
        if not sys.stderr.isatty():
            stack.enter_context(redirect_stderr(io.StringIO()))
        yield


def measure(
    model: str,
    adapter: str = "",
    tasks: Sequence[str] = tuple(LOCAL),
    limit: int | None = None,
    load: str = "full",
    batch: int = BATCH,
) -> Capability:
    """Measure a model (folder or hub id), with a LoRA adapter's folder or without one. Uses a GPU if there is one.

    `limit` is the maximum number of items per task (per subject of a group like mmlu); `load` is full, 8bit or 4bit; `batch`
    items go through the model together. Errors: UserError.
    """
    for name, value in (("limit", limit), ("batch", batch)):
        if value is not None and value < 1:
            raise UserError(f"{name} is {value}, but must be 1 or more")
    harness = Harness(tasks, limit, batch)
    import torch

    from parley.llm.backends.hf.loading import load_model

    dtype = "auto" if torch.cuda.is_available() else "float32"
    loaded = load_model(model, dtype, load, "auto", [adapter] if adapter else [])
    scores = harness.scores(loaded.model, loaded.tokenizer, SEED)
    nats, tokens = loss(heldout(SEED), loaded.model, loaded.tokenizer, batch)
    return Capability(model, adapter, tuple(scores), nats, tokens)


def saved_capability(
    measure: Callable[[str, str], Capability], folder: Path, settings: str
) -> Callable[[str, str], Capability]:
    """Return `measure` with its results saved in `folder`, so that a resumed sweep measures nothing again.

    A file's name is a digest of the model, the adapter's weights, `settings` and the version of the harness: when one of these
    differs, the model is measured anew.
    """

    def measure_once(model: str, adapter: str) -> Capability:
        path = folder / f"{_key(model, adapter, settings)}.json"
        if path.is_file():
            values = json.loads(path.read_text(encoding="utf-8"))
            return Capability(**{**values, "scores": tuple([Score(**score) for score in values["scores"]])})
        capability = measure(model, adapter)
        save_text(path.with_suffix(".part"), json.dumps(asdict(capability), indent=1)).replace(path)
        return capability

    return measure_once


def _key(model: str, adapter: str, settings: str) -> str:
    weights = fingerprint(Path(model)) if Path(model).is_dir() else ""
    adapter = adapter_weights(Path(adapter)) if adapter else ""
    try:
        harness = version("lm_eval")
    except PackageNotFoundError:
        harness = ""
    return digest(Path(model).name if weights else model, weights, adapter, settings, harness, str(SEED)).hex()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder or hub id")
    parser.add_argument("--adapter", default="", help="folder of a LoRA adapter")
    parser.add_argument("--tasks", default=",".join(LOCAL))
    parser.add_argument("--limit", type=int, help="maximum items per task")
    parser.add_argument("--load", default="full", choices=("full", "8bit", "4bit"))
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    options = parser.parse_args(arguments)
    if options.out and not options.out.parent.is_dir():
        parser.exit(
            2,
            f"cannot write {options.out.name}: the folder {options.out.parent} does not exist; make "
            "the folder, or give another --out\n",
        )
    tasks = options.tasks.split(",")
    try:
        result = measure(options.model, options.adapter, tasks, options.limit, options.load, options.batch)
    except UserError as error:
        parser.exit(2, f"{error}\n")
    for score in result.scores:
        accuracy = f"{score.accuracy:.3f} ±{score.error:.3f} (n {score.count}, chance {score.chance:.2f})"
        print(f"{score.task:20} {score.metric:8} {accuracy}")
    print(f"{'held-out loss':20} {'nats':8} {result.loss:.3f} ({result.tokens:,} tokens)")
    if options.out:
        options.out.write_text(json.dumps(asdict(result), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
