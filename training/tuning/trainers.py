"""SFT and DPO with LoRA, by TRL's trainers, on a model as the `hf` backend loads it (full, 8 or 4 bits).

Checkpoints are written during training. The same call on the same folder continues from the last one and takes the same steps as
an uninterrupted training. DPO continues from the SFT adapter, which is also its reference.

Makes examples of a training fit for the tokenizer that reads them: no system message where its template knows none, and no
example that is longer than the training reads.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import peft
import torch
import transformers
import trl
from jinja2 import TemplateError
from transformers.trainer_utils import get_last_checkpoint

from parley.llm.backends.hf import grouped_attention
from parley.llm.backends.hf.answer_tokens import DATE
from parley.llm.backends.hf.checkpoint import check_base
from parley.llm.backends.hf.loading import Loaded, load_errors, load_model
from parley.llm.driver import Progress
from parley.llm.errors import UserError
from parley.llm.model_catalogue import cached_files
from parley.llm.request import Message, fold_system_message
from parley.training.base_model import BaseModel
from parley.training.tuning.recipe import PROJECTIONS, SFT, EarlyStopping, Recipe, TrainingResult

ANSWERS = ("completion", "chosen", "rejected")
"""The keys of an example that hold what is written after its prompt."""


def fit_template(examples: Sequence[Any], tokenizer: Any) -> list[Any]:
    """Return the examples as they are, or with the system message at the start of the first message.

    The second is for templates that refuse a system role: so it is done when the model
    is asked (llm/backends/hf/answer_tokens.py).
    """
    if not any(turn["role"] == "system" for example in examples for turn in example["prompt"]):
        return list(examples)
    try:
        _encode([example["prompt"] for example in examples[:1]], tokenizer)
    except TemplateError:
        return [example | {"prompt": _folded(example["prompt"])} for example in examples]
    return list(examples)


def _folded(prompt: Sequence[Any]) -> list[dict[str, str]]:
    messages = fold_system_message([Message(turn["role"], turn["content"]) for turn in prompt])
    return [message._asdict() for message in messages]


def check_lengths(examples: Sequence[Any], tokenizer: Any, most: int) -> None:
    """Errors: UserError if a prompt with an answer has more tokens than a training reads: it would be cut, or left out."""
    chats = [[*example["prompt"], *example[key]] for example in examples for key in ANSWERS if key in example]
    longest = max(map(len, _encode(chats, tokenizer)), default=0)
    if longest > most:
        raise UserError(
            f"a prompt with its answer has {longest} tokens, and would be cut at {most}: set --length {longest}"
        )


def _encode(chats: Sequence[Sequence[Any]], tokenizer: Any) -> list[list[int]]:
    """Return the tokens of each chat."""
    return list(
        tokenizer.apply_chat_template([list(chat) for chat in chats], return_dict=True, date_string=DATE)["input_ids"]
    )


CHECKPOINTS = 10
"""Checkpoints of a training, about."""
LOGGED = ("step", "loss", "mean_token_accuracy", "rewards/accuracies", "rewards/margins")
"""The values that are recorded of a step. TRL's token counts are left out: they start anew after a resume."""


def train(
    recipe: Recipe, base: BaseModel, examples: Sequence[Any], held_out: Sequence[Any], out: Path, work: Path,
    start: Path | None = None, progress: Progress | None = None, stopping: EarlyStopping | None = None,
) -> TrainingResult:  # fmt: skip
    """Train an adapter (rank 0: all weights) and save it in `out`. `work` is for checkpoints, `start` the adapter to begin with.

    Errors: UserError on fewer than two examples, on one that is longer than the recipe's length, and on a model that differs from
    `base` or cannot be trained.
    """
    if len(examples) < 2:
        raise UserError(f"{len(examples)} examples are too few to train on: set more --questions or --answers")
    with quiet():
        loaded = load_model(base.name, base.dtype, base.load, base.device)
        _check_model(recipe, base, loaded, start)
        if grouped_attention.step_of(loaded.model.config._attn_implementation):
            loaded.model.set_attn_implementation("sdpa")  # the backend's own serves generation only
        examples, held_out = (fit_template(some, loaded.tokenizer) for some in (examples, held_out))
        check_lengths([*examples, *held_out], loaded.tokenizer, recipe.length)
        trainer = _make_trainer(recipe, loaded, examples, held_out, work, start, stopping)
        trainer.add_callback(ReportSteps(progress))
        trainer.train(resume_from_checkpoint=last_checkpoint(work))
        scores = trainer.evaluate() if held_out and not stopping else {}
        shutil.rmtree(out, ignore_errors=True)
        _save(recipe, trainer, loaded, out)
    history = trainer.state.log_history
    losses = [{name: row[name] for name in LOGGED if name in row} for row in history if "loss" in row]
    looks = {row["step"]: row["eval_loss"] for row in history if "eval_loss" in row} if stopping else {}
    held_out_losses = [value for name, value in scores.items() if name.endswith("loss")]
    if stopping:  # the best weights were loaded, and their loss was measured
        held_out_losses = [float(trainer.state.best_metric)]
    return TrainingResult(
        losses,
        tuple(held_out_losses),
        tuple({"step": step, "loss": loss} for step, loss in looks.items()),
        {name: loaded.identity[name] for name in ("model", "weights", "dtype", "load")},
    )


def check_trainable(base: BaseModel) -> None:
    """Errors: UserError on a model that adapters cannot be trained on. Loads no weights."""
    with load_errors(base.name), torch.device("meta"):
        options: Any = {"trust_remote_code": False, **cached_files(base.name)}
        tokenizer = transformers.AutoTokenizer.from_pretrained(base.name, **options)
        config = transformers.AutoConfig.from_pretrained(base.name, **options)
        model = transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    _check_parts(base.name, model, tokenizer, PROJECTIONS)


def last_checkpoint(work: Path) -> str | None:
    """Return the last complete checkpoint. One without `trainer_state.json`, which is written last, is removed."""
    for folder in work.glob("checkpoint-*"):
        if not (folder / "trainer_state.json").is_file():
            shutil.rmtree(folder)
    return get_last_checkpoint(str(work)) if work.is_dir() else None


def versions() -> dict[str, str]:
    """Return the versions of the packages that train."""
    return {module.__name__: module.__version__ for module in (torch, transformers, peft, trl)}


def _check_model(recipe: Recipe, base: BaseModel, loaded: Loaded, start: Path | None) -> None:
    if base.weights not in ("", loaded.identity["weights"]):
        raise UserError(f"{base.name} is not the model that wrote the answers in this folder: give another --out")
    _check_parts(base.name, loaded.model, loaded.tokenizer, PROJECTIONS if recipe.r and start is None else ())
    if start is not None:
        check_base(start, loaded.identity)


def _check_parts(name: str, model: Any, tokenizer: Any, needed: Sequence[str]) -> None:
    if not tokenizer.chat_template:
        raise UserError(f"{name} cannot be trained, because its tokenizer has no chat template: choose a chat model")
    parts = {path.rpartition(".")[2] for path, _ in model.named_modules()}
    if missing := [part_name for part_name in needed if part_name not in parts]:
        raise UserError(f"{name} cannot be trained, because its layers lack {', '.join(missing)}: choose another model")


def _save(recipe: Recipe, trainer: Any, loaded: Loaded, out: Path) -> None:
    """Save the adapter without DPO's frozen reference; at rank 0 the whole model with its tokenizer."""
    if recipe.r:
        trainer.model.save_pretrained(str(out), selected_adapters=["default"])
    else:
        trainer.model.save_pretrained(str(out))
        loaded.tokenizer.save_pretrained(str(out))


def _make_trainer(
    recipe: Recipe, loaded: Loaded, examples: Sequence[Any], held_out: Sequence[Any], work: Path, start: Path | None,
    stopping: EarlyStopping | None,
) -> Any:  # fmt: skip
    model: Any = loaded.model
    lora = None
    if start is not None:
        model = peft.PeftModel.from_pretrained(model, str(start), is_trainable=True)
    elif recipe.r:
        lora = peft.LoraConfig(
            r=recipe.r, lora_alpha=recipe.alpha, lora_dropout=recipe.dropout, bias="none", task_type="CAUSAL_LM",
            target_modules=list(PROJECTIONS),
        )  # fmt: skip
    settings = training_settings(recipe, work, recipe.steps(len(examples)), loaded.model.device.type == "cuda")
    settings |= stopping_settings(stopping, recipe.batch) if stopping else {}
    args: Any = trl.SFTConfig(**settings) if recipe.method == SFT else trl.DPOConfig(**settings, beta=recipe.beta)
    args._n_gpu = min(args.n_gpu, 1)  # with several GPUs a batch would be one per GPU, which TRL refuses
    trainer: Any = trl.SFTTrainer if recipe.method == SFT else trl.DPOTrainer
    return trainer(
        model=model,
        args=args,
        train_dataset=_dataset(examples),
        eval_dataset=_dataset(held_out) if stopping else _by_question(held_out) if held_out else None,
        processing_class=loaded.tokenizer,
        peft_config=lora,
        callbacks=[transformers.EarlyStoppingCallback(stopping.patience)] if stopping else None,
    )


def _by_question(examples: Sequence[Any]) -> dict[str, Any]:
    """Return one data set per question, so that each question has its own loss."""
    questions: dict[str, list[Any]] = {}
    for example in examples:
        questions.setdefault(example["prompt"][0]["content"], []).append(example)
    return {str(place): _dataset(group) for place, group in enumerate(questions.values())}


def _dataset(examples: Sequence[Any]) -> Any:
    """Return the data set. Chat templates that state a date get the same date as when the model is asked."""
    options = {"chat_template_kwargs": {"date_string": DATE}}
    return datasets.Dataset.from_list([example | options for example in examples])


def training_settings(recipe: Recipe, work: Path, steps: int, cuda: bool) -> dict[str, Any]:
    """Return the settings that all trainers share. cuda: whether the model is on a GPU."""
    return {
        "output_dir": str(work),
        "num_train_epochs": recipe.epochs,
        "per_device_train_batch_size": recipe.batch,
        "learning_rate": recipe.rate,
        "max_length": recipe.length,
        "lr_scheduler_type": "linear",
        "use_cpu": not cuda,
        "bf16": cuda and torch.cuda.is_bf16_supported(including_emulation=False),
        "gradient_checkpointing": cuda,
        "report_to": "none",
        "disable_tqdm": True,
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": max(1, steps // CHECKPOINTS),
        "save_total_limit": 1,
        "seed": recipe.seed,
        "data_seed": recipe.seed,
    }


def stopping_settings(stopping: EarlyStopping, batch: int) -> dict[str, Any]:
    """Return what early stopping changes. Two checkpoints are kept: the best, and the last for a resume.

    A batch is made of equal parts of at most `micro` examples.
    """
    micro = next(size for size in range(min(stopping.micro, batch), 0, -1) if batch % size == 0)
    return {
        "eval_strategy": "steps",
        "eval_steps": stopping.every,
        "eval_on_start": True,
        "save_steps": stopping.every,
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_loss",
        "greater_is_better": False,
        "lr_scheduler_type": "constant",
        "per_device_train_batch_size": micro,
        "per_device_eval_batch_size": stopping.micro,
        "gradient_accumulation_steps": batch // micro,
    }


class ReportSteps(transformers.TrainerCallback):
    """Moves a progress bar by each step."""

    def __init__(self, progress: Progress | None):
        self.progress, self.done = progress, 0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.progress:
            self.progress(state.global_step - self.done)
        self.done = state.global_step


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide the progress bars, tables and deprecation warnings of the trainers."""
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
