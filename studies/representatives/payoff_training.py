"""Payoff models in a folder of episodes: data, training, models. Every step continues from what the folder already has.

    payoffs/BASE/NAME/    a trained payoff model, its card, its losses (`--payoff trained:FOLDER`)

The folder is that of `run.py study representatives` (studies/representatives/pipeline.py), with the same split. An eighth of the
groups of the training side is held out as well: new people on questions that were trained on.

The form `rating` learns the rating by squared error. The form `pairs` learns which of two statements a participant rated higher
(Bradley and Terry), by TRL's RewardTrainer.

Trains the value head and the weights below it: squared error for ratings, TRL's RewardTrainer for pairs.

Checkpoints are written during training, as in training/tuning/trainers.py; the same call on the same folder continues.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import datasets
import numpy as np
import pandas as pd
import peft
import transformers
import trl

from parley.analysis.deliberation.episode import Episode
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends.hf.checkpoint import fingerprint
from parley.llm.backends.hf.reward import FORMS, PAIRS, RATING, Head, encode_questions, load_scorer, write_head
from parley.llm.driver import Bar, Progress
from parley.llm.errors import UserError, unknown_name
from parley.llm.model_catalogue import cached_files
from parley.llm.seeding import digest, stream
from parley.studies.representatives.payoff_measures import ERROR, STATEMENT, deal_ratings, groups_of, rating_table
from parley.studies.representatives.payoff_report import FIT, PEOPLE, QUESTIONS, Trained, score_all, write_payoffs
from parley.studies.representatives.payoffs import open_payoff
from parley.studies.representatives.payoffs.trained import payoff_question
from parley.studies.representatives.pipeline import FULL_RATES, DatasetBuilder, check_recipe
from parley.studies.representatives.representation import describe_split
from parley.training.base_model import BaseModel, base_model
from parley.training.tuning.model_card import write_card
from parley.training.tuning.pipeline import training_folders
from parley.training.tuning.recipe import PROJECTIONS, RATES, SFT, EarlyStopping, Recipe, TrainingResult
from parley.training.tuning.trainers import ReportSteps, last_checkpoint, quiet, stopping_settings, training_settings

FORM_MODELS = {RATING: Trained("trained on ratings", ERROR), PAIRS: Trained("trained on pairs", STATEMENT)}
"""How a form's model is called on the page, and the measure that decides for it."""
CONTROLS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    ", blind to the opinion": {"blind": True},
    ", labels shuffled": {"shuffled": True},
}


def run_payoffs(
    builder: DatasetBuilder, llm: str, lesson: PayoffLesson, forms: Sequence[str], judge: str, desk: CallDesk
) -> Path:
    """Train every form with its two controls, score three lots of episodes, write payoff.md; return its path.

    judge: the model that judges and ranks ("": neither).
    """
    train, people = hold_out_people(builder.sides["train"], builder.seed)
    cells = {FIT: builder.sides["validation"], PEOPLE: people, QUESTIONS: builder.sides["test"]}
    scorers: dict[str, tuple[Any, str]] = {}
    for form in forms:
        for mark, control in CONTROLS.items():
            form_lesson = replace(lesson, form=form, **control)
            out = train_payoff(llm, form_lesson, train, cells[FIT], builder.folder, builder.bar)
            scorers[f"{FORM_MODELS[form].name}{mark}"] = open_payoff(f"trained:{out}"), llm
    if judge:
        scorers |= {f"{name} ({judge})": (open_payoff(name), judge) for name in ("judge", "ranking")}
    scored = score_all(cells, scorers, builder.seed, desk)
    about = (
        f"{llm}. Split: {describe_split(builder.sides)}; {len(people)} episodes of the training part are held out as new people. "
        "`--payoff trained:FOLDER` uses a model; its folder is in payoffs/."
    )
    trained = [FORM_MODELS[form] for form in forms]
    return write_payoffs(scored, trained, builder.folder, [llm, *filter(None, [judge])], about, builder.seed)


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
    if missing := [part_name for part_name in PROJECTIONS if part_name not in parts]:
        raise UserError(
            f"{base.name} cannot be trained with a LoRA adapter (--r), because its layers lack {', '.join(missing)}: "
            "set --r 0 to train all weights"
        )
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


HELD_OUT = 8
"""One of so many groups of the training side is held out as new people."""
USE = """## What it is for

A payoff model is a **research instrument** that predicts how a participant of a deliberation would rate a statement, for studies
of procedures before people take part. A payoff model decides nothing, and its numbers are not ratings of a person. The model
learns the biases of its training ratings. Measure the model on people before you use the model
(studies/representatives/README.md). The licences of the base model and of the data also apply.
Pass this note on with the model."""


@dataclass(frozen=True)
class PayoffLesson(Recipe):
    """The settings of a payoff model's training. `r` 0 trains all weights.

    `form`: rating or pairs. `blind`: the model does not read the opinion. `shuffled`: each participant's ratings are shuffled
    before the training (a null). `every`, `patience`, `micro`: see `EarlyStopping`.
    """

    party: str = "payoff"
    r: int = 0
    epochs: float = 5.0
    length: int = 1024
    form: str = RATING
    blind: bool = False
    shuffled: bool = False
    every: int = 20
    patience: int = 3
    micro: int = 16
    LEAST: ClassVar[Mapping[str, float]] = {**Recipe.LEAST, "r": 0, "every": 1, "patience": 1, "micro": 1}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in FORMS:
            raise unknown_name("form of a payoff model", self.form, FORMS)

    @property
    def name(self) -> str:
        """`rating-full`, `pairs-r16-blind`: the model's folder."""
        marks = [mark for mark in ("blind", "shuffled") if getattr(self, mark)]
        return "-".join([self.form, f"r{self.r}" if self.r else "full", *marks])

    def filled(self, kind: str) -> PayoffLesson:
        """Return the lesson with its defaults for a backend in place of 0."""
        rate = self.rate or (RATES[kind][SFT] if self.r else FULL_RATES[kind])
        return replace(self, alpha=self.alpha or 2 * self.r, rate=rate)


class Lot(NamedTuple):
    """Examples of a training, with centre and scale of the ratings (0 and 1 for pairs)."""

    examples: list[dict[str, Any]]
    centre: float
    scale: float


def hold_out_people(episodes: Sequence[Episode], seed: int) -> tuple[tuple[Episode, ...], tuple[Episode, ...]]:
    """Return the episodes to train on and those of an eighth of the groups (at least one), whose people are new.

    Errors: UserError when there is only one group.
    """
    groups = groups_of(episodes)
    names = sorted(set(groups.values()))
    if len(names) < 2:
        raise UserError("the training episodes are of one group, so no people can be held out: give more sessions")
    held = set(stream(seed, "payoff people").sample(names, -(-len(names) // HELD_OUT)))
    sides = [
        tuple(episode for episode in episodes if (groups[episode.session] in held) is out) for out in (False, True)
    ]
    return sides[0], sides[1]


def questions_of(table: pd.DataFrame, episodes: Sequence[Episode], blind: bool) -> list[Any]:
    """Return what the model reads for each row of a rating table: chats of one message."""
    seats = {(episode.id, voice.participant): (episode, voice) for episode in episodes for voice in episode.voices}
    chats = []
    for row in table.itertuples():
        episode, voice = seats[row.episode, row.participant]
        text = getattr(episode, row.statement)
        chats.append([payoff_question(episode.question.question, voice.opinion, text, blind)])
    return chats


def with_opinion(table: pd.DataFrame, episodes: Sequence[Episode]) -> pd.DataFrame:
    """Return the ratings whose participant wrote an opinion."""
    wrote = {
        (episode.id, voice.participant) for episode in episodes for voice in episode.voices if voice.opinion is not None
    }
    kept = [key in wrote for key in zip(table["episode"], table["participant"], strict=True)]
    return table[kept].reset_index(drop=True)


def make_lot(
    episodes: Sequence[Episode], lesson: PayoffLesson, tokenizer: Any, fitted: tuple[float, float] | None
) -> Lot:
    """Return token ids with what is to be learned. fitted: centre and scale of the training ratings, for other ones.

    Errors: UserError when nothing can be learned from these ratings, or one question is too long.
    """
    table = with_opinion(rating_table(episodes), episodes)
    if lesson.shuffled:
        table = deal_ratings(table, np.random.default_rng(lesson.seed))
    ids = encode_questions(questions_of(table, episodes, lesson.blind), tokenizer) if len(table) else []
    if ids and (longest := max(map(len, ids))) > lesson.length:
        raise UserError(f"a question has {longest} tokens, which is too long: set --length {longest} or more")
    ratings = table["rating"].to_numpy(float)
    centre, scale = fitted or ((float(ratings.mean()), float(ratings.std())) if len(ratings) else (0.0, 0.0))
    if lesson.form == PAIRS:
        return Lot(_pair_examples(table, ids), 0.0, 1.0)
    if not scale > 0:
        raise UserError("all ratings are the same, so there is nothing to learn: give other episodes")
    labels = (ratings - centre) / scale
    return Lot([{"input_ids": row, "labels": float(y)} for row, y in zip(ids, labels, strict=True)], centre, scale)


def _pair_examples(table: pd.DataFrame, ids: Sequence[list[int]]) -> list[dict[str, Any]]:
    """Return both statements of each participant who rated them differently: the better rated one is chosen."""
    examples = []
    for _, ratings in table.groupby(["episode", "participant"], sort=False):
        if len(ratings) == 2 and ratings["rating"].iloc[0] != ratings["rating"].iloc[1]:
            best = ratings["rating"].idxmax()
            worst = ratings["rating"].idxmin()
            examples.append({"chosen_ids": ids[best], "rejected_ids": ids[worst]})
    if not examples:
        raise UserError("no participant rated two statements differently, so no pair can be learned: use --form rating")
    return examples


def train_payoff(
    llm: str, lesson: PayoffLesson, train: Sequence[Episode], validation: Sequence[Episode], folder: Path, bar: Bar
) -> Path:
    """Return the folder of the payoff model; train it unless it is there. Errors: UserError on one with other settings."""
    from transformers import AutoTokenizer

    from parley.llm.backends.hf.loading import load_errors
    from parley.training.tuning.trainers import versions

    base = base_model(llm)
    lesson = lesson.filled(base.kind)
    out = folder / "payoffs" / base.path_name / lesson.name
    if out.exists():
        check_recipe(out, asdict(lesson), base, "payoff model")
        return out
    with load_errors(base.name):
        tokenizer = AutoTokenizer.from_pretrained(base.name, **cached_files(base.name))
    lot = make_lot(train, lesson, tokenizer, None)
    held = make_lot(validation, lesson, tokenizer, (lot.centre, lot.scale))
    stream(lesson.seed, "payoffs", "order").shuffle(lot.examples)
    seen = digest(*(json.dumps(example) for example in (*lot.examples, *held.examples))).hex()
    data = {"examples": len(lot.examples), "validation": len(held.examples), "digest": seen}
    key = digest(json.dumps(asdict(lesson)), json.dumps(base.card_identity), seen).hex()[:12]
    stopping = EarlyStopping(lesson.every, lesson.patience, lesson.micro)
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        training_folders(out, key) as (model_folder, work),
        bar(f"{base.path_name} {lesson.name}", 0, "step") as progress,
    ):
        result = fit(lesson, base, lot.examples, held.examples, model_folder, work, stopping, progress)
        model = {"model": base.name, "dtype": base.dtype, "load": base.load, "device": base.device}
        write_head(model_folder, Head(model, bool(lesson.r), lot.centre, lot.scale, lesson.blind, lesson.form))
        write_card(model_folder, lesson, base.card_identity, data, versions(), result, USE)
    return out
