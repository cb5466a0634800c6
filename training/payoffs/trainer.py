"""Trains the value head and the weights below it: squared error for ratings, TRL's RewardTrainer for pairs.

Checkpoints are written during training, as in training/tuning/trainers.py; the same call on the same folder continues.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import peft
import transformers
import trl

from parley.llm.backends.hf.checkpoint import fingerprint
from parley.llm.backends.hf.reward import RATING, load_scorer
from parley.llm.driver import Progress
from parley.llm.errors import UserError
from parley.training.base_model import BaseModel
from parley.training.payoffs.pipeline import PayoffLesson
from parley.training.tuning.recipe import PROJECTIONS, EarlyStopping, TrainingResult
from parley.training.tuning.trainers import (
    ReportSteps,
    last_checkpoint,
    quiet,
    stopping_settings,
    training_settings,
)


def fit(
    lesson: PayoffLesson, base: BaseModel, examples: Sequence[Any], held_out: Sequence[Any], out: Path, work: Path,
    stopping: EarlyStopping, progress: Progress | None = None,
) -> TrainingResult:  # fmt: skip
    """Train a payoff model with early stopping and save the best one in `out`. `work` is for checkpoints.

    Errors: UserError on fewer than two examples, without held-out ones, and on a model without the layers that LoRA needs.
    """
    if len(examples) < 2 or not held_out:
        raise UserError(f"{len(examples)} ratings or pairs to train on are too few: give more episodes")
    with quiet():
        transformers.set_seed(lesson.seed)  # the head of a new model is random
        model, tokenizer = load_scorer(base.name, base.dtype, base.load, base.device)
        model.config.problem_type = "regression"
        trainer = _make_trainer(lesson, _adapted(lesson, base, model), tokenizer, examples, held_out, work, stopping)
        trainer.add_callback(ReportSteps(progress))
        trainer.train(resume_from_checkpoint=last_checkpoint(work))
        shutil.rmtree(out, ignore_errors=True)
        trainer.model.save_pretrained(str(out))
        tokenizer.save_pretrained(str(out))
    history = trainer.state.log_history
    losses = [{"step": row["step"], "loss": row["loss"]} for row in history if "loss" in row]
    looks = [{"step": row["step"], "loss": row["eval_loss"]} for row in history if "eval_loss" in row]
    weights = fingerprint(Path(base.name)) if Path(base.name).is_dir() else ""
    identity = {"model": Path(base.name).name, "weights": weights, "dtype": base.dtype, "load": base.load}
    return TrainingResult(losses, (float(trainer.state.best_metric),), tuple(looks), identity)


def _adapted(lesson: PayoffLesson, base: BaseModel, model: Any) -> Any:
    """Return the model with a LoRA adapter and a head that is trained whole; at rank 0 the model."""
    if not lesson.r:
        return model
    parts = {path.rpartition(".")[2] for path, _ in model.named_modules()}
    if missing := [part for part in PROJECTIONS if part not in parts]:
        raise UserError(f"{base.name} cannot be trained with --r: its layers lack {', '.join(missing)}; set --r 0")
    lora = peft.LoraConfig(
        r=lesson.r, lora_alpha=lesson.alpha, lora_dropout=lesson.dropout, bias="none", task_type="SEQ_CLS",
        target_modules=list(PROJECTIONS), modules_to_save=["score"],
    )  # fmt: skip
    return peft.get_peft_model(model, lora)


def _make_trainer(
    lesson: PayoffLesson, model: Any, tokenizer: Any, examples: Sequence[Any], held_out: Sequence[Any], work: Path,
    stopping: EarlyStopping,
) -> Any:  # fmt: skip
    steps = lesson.steps(len(examples))
    values = training_settings(lesson, work, steps, model.device.type == "cuda")
    values |= stopping_settings(stopping, lesson.batch)
    args: Any = trl.RewardConfig(**values)
    args._n_gpu = min(args.n_gpu, 1)
    shared: dict[str, Any] = {
        "model": model, "args": args, "processing_class": tokenizer,
        "train_dataset": datasets.Dataset.from_list(list(examples)),
        "eval_dataset": datasets.Dataset.from_list(list(held_out)),
        "callbacks": [transformers.EarlyStoppingCallback(stopping.patience)],
    }  # fmt: skip
    if lesson.form == RATING:
        trainer: Any = transformers.Trainer(**shared, data_collator=transformers.DataCollatorWithPadding(tokenizer))
        trainer.model_accepts_loss_kwargs = False  # the loss is a mean over each forward pass, not over the whole batch
        return trainer
    return trl.RewardTrainer(**shared)
