"""SFT and DPO with LoRA: TRL's trainers as they are, on a model as the `hf` backend loads it (full, 8 or 4 bits).

Checkpoints are written on the way; the same call on the same folder goes on from the last one, and takes the same steps as an
undisturbed training. DPO goes on from the SFT adapter, which is also the reference that it is held to.

Which adapter DPO can go on from: one of this model with LoRA's settings as asked for, that did not learn what is held out.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import datasets
import torch
import transformers
from peft import LoraConfig, PeftModel
from transformers import EarlyStoppingCallback, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from parley.llm.backends.hf import grouped_attention
from parley.llm.backends.hf.checkpoint import adapter_config, adapter_weights, check_base
from parley.llm.backends.hf.loading import Loaded, load_errors, load_model
from parley.llm.backends.hf.prompts import DATE
from parley.llm.driver import Progress
from parley.llm.errors import UserError
from parley.llm.model_hubs import cached_files
from parley.training.base_model import BaseModel
from parley.training.tuning.recipe import PROJECTIONS, SFT, Recipe

CHECKPOINTS = 10
"""Checkpoints of a training, about."""


KEPT = ("step", "loss", "mean_token_accuracy", "rewards/accuracies", "rewards/margins")
"""What is kept of a step (TRL counts tokens anew after a resume)."""


class Trained(NamedTuple):
    """`losses` has a row for each step (KEPT); `held_out` the loss of each question that was held out, if any was (of all
    together where a `Watch` looked on); `looks` the steps at which it looked, with the loss there; `identity` what was trained
    (model, weights, dtype, load).
    """

    losses: list[dict[str, float]]
    held_out: tuple[float, ...]
    looks: tuple[dict[str, float], ...] = ()
    identity: Mapping[str, Any] = MappingProxyType({})


class Watch(NamedTuple):
    """Early stopping: every `every` steps a look at the held-out loss; after `patience` looks without a better one it ends, and
    the checkpoint of the best look is kept. The learning rate is constant. `micro` examples go through the model at a time.
    """

    every: int
    patience: int
    micro: int


def train(
    recipe: Recipe, base: BaseModel, examples: Sequence[Any], held: Sequence[Any], out: Path, work: Path,
    start: Path | None = None, progress: Progress | None = None, watch: Watch | None = None,
) -> Trained:  # fmt: skip
    """Train an adapter (rank 0: all weights) and save it in `out`; `work` is for checkpoints, `start` the adapter to go on from.

    Errors: UserError when there is nothing to learn, and on a model that is not the base's or cannot be trained.
    """
    if len(examples) < 2:
        raise UserError(f"{len(examples)} examples are too few to train on: more --questions or --answers")
    with _quiet():
        loaded = load_model(base.name, base.dtype, base.load, base.device)
        _check(recipe, base, loaded, start)
        if loaded.model.config._attn_implementation == grouped_attention.NAME:
            loaded.model.set_attn_implementation("sdpa")  # that of the backend is for asking
        trainer = _trainer(recipe, loaded, examples, held, work, start, watch)
        trainer.add_callback(_Told(progress))
        trainer.train(resume_from_checkpoint=last_checkpoint(work))
        scores = _best(trainer) if watch else trainer.evaluate() if held else {}
        shutil.rmtree(out, ignore_errors=True)
        _save(recipe, trainer, loaded, out)
    history = trainer.state.log_history
    rows = [{name: row[name] for name in KEPT if name in row} for row in history if "loss" in row]
    looks = {row["step"]: row["eval_loss"] for row in history if "eval_loss" in row} if watch else {}
    held_out = tuple([value for name, value in scores.items() if name.endswith("loss")])
    identity = {name: loaded.identity[name] for name in ("model", "weights", "dtype", "load")}
    return Trained(rows, held_out, tuple({"step": step, "loss": loss} for step, loss in looks.items()), identity)


def trainable(base: BaseModel) -> None:
    """Errors: UserError, before anything is asked or loaded whole, on a model that adapters cannot be trained on."""
    with load_errors(base.name), torch.device("meta"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            base.name, trust_remote_code=False, **cached_files(base.name)
        )
        config = transformers.AutoConfig.from_pretrained(base.name, trust_remote_code=False, **cached_files(base.name))
        model = transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    _check_parts(base.name, model, tokenizer, PROJECTIONS)


def last_checkpoint(work: Path) -> str | None:
    """The last one that is whole: `trainer_state.json` is written last, and what lacks it is removed."""
    for folder in work.glob("checkpoint-*"):
        if not (folder / "trainer_state.json").is_file():
            shutil.rmtree(folder)
    found = get_last_checkpoint(str(work)) if work.is_dir() else None
    return str(found) if found else None


def _check(recipe: Recipe, base: BaseModel, loaded: Loaded, start: Path | None) -> None:
    if base.weights not in ("", loaded.identity["weights"]):
        raise UserError(f"{base.name} has other weights than the model that wrote the answers: give another --out")
    _check_parts(base.name, loaded.model, loaded.tokenizer, PROJECTIONS if recipe.r and start is None else ())
    if start is not None:
        check_base(start, loaded.identity)


def _check_parts(name: str, model: Any, tokenizer: Any, needed: Sequence[str]) -> None:
    if not tokenizer.chat_template:
        raise UserError(f"{name} cannot be trained: its tokenizer has no chat template")
    there = {path.rpartition(".")[2] for path, _ in model.named_modules()}
    if missing := [one for one in needed if one not in there]:
        raise UserError(f"{name} cannot be trained: its layers have no {', '.join(missing)}")


def _best(trainer: Any) -> dict[str, float]:
    """The loss of the best look, whose weights were loaded: it was held out, so there is nothing to measure again."""
    return {"eval_loss": float(trainer.state.best_metric)}


def _save(recipe: Recipe, trainer: Any, loaded: Loaded, out: Path) -> None:
    """The adapter without DPO's frozen reference; of all weights the whole model, with its tokenizer."""
    if recipe.r:
        trainer.model.save_pretrained(str(out), selected_adapters=["default"])
    else:
        trainer.model.save_pretrained(str(out))
        loaded.tokenizer.save_pretrained(str(out))


def _trainer(
    recipe: Recipe, loaded: Loaded, examples: Sequence[Any], held: Sequence[Any], work: Path, start: Path | None,
    watch: Watch | None,
) -> Any:  # fmt: skip
    kind, config = (SFTTrainer, SFTConfig) if recipe.method == SFT else (DPOTrainer, DPOConfig)
    model: Any = loaded.model
    if start is not None:
        model = PeftModel.from_pretrained(model, str(start), is_trainable=True)
    lora = None if start is not None or not recipe.r else LoraConfig(
        r=recipe.r, lora_alpha=recipe.alpha, lora_dropout=recipe.dropout, bias="none", task_type="CAUSAL_LM",
        target_modules=list(PROJECTIONS),
    )  # fmt: skip
    more: dict[str, Any] = {} if recipe.method == SFT else {"beta": recipe.beta}
    more |= _watched(watch, recipe) if watch else {}
    args = config(**(_settings(recipe, work, recipe.steps(len(examples)), str(loaded.model.device)) | more))
    args._n_gpu = min(
        args.n_gpu, 1
    )  # of several GPUs one is used: else a batch would be one for each, which TRL refuses
    return kind(
        model=model,
        args=args,
        train_dataset=_dataset(examples),
        eval_dataset=_held(held, watch) if held else None,
        processing_class=loaded.tokenizer,
        peft_config=lora,
        callbacks=[EarlyStoppingCallback(watch.patience)] if watch else None,
    )


def _held(held: Sequence[Any], watch: Watch | None) -> Any:
    """What is held out: a data set a question, so that questions are what a loss varies over; one in all to watch."""
    if watch:
        return _dataset(held)
    asked: dict[str, list[Any]] = {}
    for one in held:
        asked.setdefault(one["prompt"][0]["content"], []).append(one)
    return {f"{place}": _dataset(found) for place, found in enumerate(asked.values())}


def _dataset(examples: Sequence[Any]) -> Any:
    """Each example with what its chat template is told when the model is asked: templates that state a date state the same."""
    return datasets.Dataset.from_list([one | {"chat_template_kwargs": {"date_string": DATE}} for one in examples])


def _settings(recipe: Recipe, work: Path, steps: int, device: str) -> dict[str, Any]:
    half = device.startswith("cuda")
    return {
        "output_dir": str(work),
        "num_train_epochs": recipe.epochs,
        "per_device_train_batch_size": recipe.batch,
        "learning_rate": recipe.rate,
        "max_length": recipe.length,
        "lr_scheduler_type": "linear",
        "use_cpu": not half,
        "bf16": half and torch.cuda.is_bf16_supported(including_emulation=False),
        "gradient_checkpointing": half,
        "report_to": "none",
        "disable_tqdm": True,
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": max(1, steps // CHECKPOINTS),
        "save_total_limit": 1,
        "seed": recipe.seed,
        "data_seed": recipe.seed,
    }


def _watched(watch: Watch, recipe: Recipe) -> dict[str, Any]:
    """What early stopping changes. A checkpoint at every look: the best is loaded in the end, the last is for a resume."""
    return {
        "eval_strategy": "steps",
        "eval_steps": watch.every,
        "eval_on_start": True,
        "save_steps": watch.every,
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_loss",
        "greater_is_better": False,
        "lr_scheduler_type": "constant",
        "per_device_train_batch_size": min(watch.micro, recipe.batch),
        "per_device_eval_batch_size": watch.micro,
        "gradient_accumulation_steps": -(-recipe.batch // watch.micro),
    }


class _Told(TrainerCallback):
    def __init__(self, progress: Progress | None):
        self.progress, self.done = progress, 0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.progress:
            self.progress(state.global_step - self.done)
        self.done = state.global_step


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the trainers' own bars and tables, and what they say to each other of names to come."""
    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.filterwarnings("ignore", ".*_checkpointing` is deprecated.*", FutureWarning)
            yield
    finally:
        datasets.enable_progress_bars()
        transformers.utils.logging.set_verbosity_warning()


def versions() -> dict[str, str]:
    """Of what the training depends on."""
    import peft
    import trl

    return {module.__name__: module.__version__ for module in (torch, transformers, peft, trl)}


START = "goes on from weights"
"""What the card calls the digest of the weights that a training began with."""


def check_start(start: Path, recipe: Recipe, base: BaseModel) -> None:
    """Errors: UserError where nothing can go on from the adapter with this recipe."""
    if recipe.method == SFT:
        raise UserError("--start is for --method dpo: sft begins with a new adapter")
    config = adapter_config(start)
    adapter_weights(start)
    check_base(start, base.identity)
    is_ = tuple(config.get(name) for name in ("r", "lora_alpha", "lora_dropout"))
    if is_ != (recipe.r, recipe.alpha, recipe.dropout):
        told = "--r {} --alpha {} --dropout {}".format(*is_)
        raise UserError(f"{start} was made with {told}, which dpo cannot change: give the same")
    _check_held_out(_recipe_of(start), start, recipe)


def _check_held_out(was: dict[str, Any], start: Path, recipe: Recipe) -> None:
    """What is held out is drawn from the questions, which go with the seed."""
    other = [name for name in ("held_out", "seed") if name in was and was[name] != getattr(recipe, name)]
    if recipe.held_out and other:
        raise UserError(
            f"{start} was trained with another {' and '.join(other)} and may know what is to be held out: give the same, "
            "or another --out"
        )


def _recipe_of(adapter: Path) -> dict[str, Any]:
    """Of an adapter from elsewhere nothing is known."""
    from parley.training.tuning.model_card import VALUES, read_values

    return dict(read_values(adapter)["recipe"]) if (adapter / VALUES).is_file() else {}
