"""Trains a corrector on preferences (DPO); before and after on posts not trained on.

The model writes several replies to each training post. The best rated reply is paired with the worst, the second best with the
second worst, and so on; pairs with equal ratings are left out and counted. DPO (training/tuning) begins with a new adapter. The
null: the same training on pairs of which a random half is turned round, so that on average nothing is preferred. Any training
moves a model, so the null has several trainings, each on another half: a gain counts where one more of them would rarely have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pandas as pd

from parley.analysis.formatting import slug
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.errors import UserError
from parley.studies.corrections.measures import EVIDENCE, OVERALL, CorrectionStudy, WrittenReply
from parley.training.base_model import BaseModel
from parley.training.tuning.adapter import preference_adapter
from parley.training.tuning.dataset import held_out_questions
from parley.training.tuning.pipeline import trainable_model
from parley.training.tuning.preferences import TRAINED, Preference, ScoredReply, lessons
from parley.training.tuning.recipe import DPO, Recipe

BEFORE = "before"
"""The condition of held-out replies without an adapter."""
USE = """## What it is for

A corrector is a **research instrument** for studying replies to false claims. The training used ratings of one judge, so the
corrector repeats the judge's errors. A corrector does not know what is true: check its quotations (study correct counts invented
quotations), and let a person read each reply before posting. The licence of the base model also applies."""


class TrainingOutcome(NamedTuple):
    """A finished training: rated replies to training and held-out posts, pairs by adapter, and why others were left out."""

    samples: pd.DataFrame
    held_out: pd.DataFrame
    pairs: Mapping[str, list[Preference]]
    left_out: Counter[str]
    adapters: Mapping[str, Path]

    def lines(self) -> list[str]:
        """Return what was trained on, in a line each."""
        margins = [f"{fmean(pair.margin for pair in pairs):+.2f}" for pairs in self.pairs.values()]
        trained_pairs = self.pairs[TRAINED]
        left = ", ".join(f"{name} {number}" for name, number in sorted(self.left_out.items())) or "none"
        return [
            f"{len(trained_pairs)} pairs of replies to {len({pair.about for pair in trained_pairs})} posts; left out: {left}",
            f"mean rating of the chosen minus the rejected reply: {margins[0]} (shuffled preferences: {', '.join(margins[1:])})",
        ]


@dataclass(frozen=True)
class CorrectorTraining:
    """A training in a folder. share: of the posts that are held out. study.samples: replies to each post. shuffles: nulls."""

    study: CorrectionStudy
    recipe: Recipe
    folder: Path
    share: float = 0.33
    shuffles: int = 1

    def __post_init__(self) -> None:
        if self.study.samples < 2:
            raise UserError(f"--samples is {self.study.samples}: a pair needs at least 2 replies to a post")
        if not 0 < self.share < 1 or not self.split[0]:
            raise UserError(
                "--held-out must leave some posts for training and for the test: give a share from 0 to 1, such as 0.33"
            )

    @property
    def split(self) -> tuple[list[int], list[int]]:
        """The numbers of the training posts and of the held-out posts."""
        posts = [post.text for post in self.study.posts.posts]
        held_out = held_out_questions(posts, self.share)
        return [n for n, text in enumerate(posts) if text not in held_out], [
            n for n, text in enumerate(posts) if text in held_out
        ]

    def base(self) -> BaseModel:
        """Return the model to be trained. Errors: UserError where it cannot be, before anything is asked."""
        return trainable_model(self.study.llm, "training a corrector")

    def run(self, desk: CallDesk) -> TrainingOutcome:
        """Sample, judge, train twice, and judge held-out replies. Errors: UserError if fewer than two pairs differ in rating."""
        base, (training, held_out) = self.base(), self.split
        replies = self.study.write((EVIDENCE,), desk, training)
        samples = self.study.judge_replies(replies, desk)
        rated = self.rated(replies, samples[OVERALL].tolist())
        sets, ties = lessons(rated, DPO, self.shuffles, self.study.seed)
        left_out = +Counter({"no rating": len(replies) - len(rated), "tie": ties})
        if len(sets[TRAINED]) < 2:
            counted = ", ".join(f"{name}: {number}" for name, number in left_out.items())
            raise UserError(
                f"{len(sets[TRAINED])} pairs of replies differ in the judge's rating ({counted}), too few for a training: "
                "give a larger --samples, or choose another --judge or --llm"
            )
        adapters = {name: self.adapter(name, pairs, base, desk) for name, pairs in sets.items()}
        frames = [self._judge(BEFORE, self.study.write((EVIDENCE,), desk, held_out), desk)]
        for name, path in adapters.items():
            model = open_spec(f"{self.study.llm},adapters={path}")
            frames.append(self._judge(name, self.study.write((EVIDENCE,), desk, held_out, model, path.name), desk))
        return TrainingOutcome(samples, pd.concat(frames, ignore_index=True), sets, left_out, adapters)

    def _judge(self, name: str, replies: Sequence[WrittenReply], desk: CallDesk) -> pd.DataFrame:
        return self.study.judge_replies([reply._replace(condition=name) for reply in replies], desk)

    def adapter(self, name: str, pairs: Sequence[Preference], base: BaseModel, desk: CallDesk) -> Path:
        """Return the folder of an adapter, trained unless it is there."""
        recipe = replace(self.recipe, party=f"corrector-{slug(name)}", method=DPO, seed=self.study.seed)
        data = ("pairs", {"judge": self.study.judge})
        return preference_adapter(self.folder, recipe, base, pairs, data, USE, desk.bar)

    def rated(self, replies: Sequence[WrittenReply], ratings: Sequence[float | None]) -> list[ScoredReply]:
        """Return the replies with a rating, each with the prompt that it answers."""
        writer, posts, scored = self.study.corrector(), self.study.posts.posts, []
        for reply, rating in zip(replies, ratings, strict=True):
            if reply.text is not None and rating is not None and not pd.isna(rating):
                prompt = writer.compose(posts[reply.post].text, reply.shown, 0).messages
                scored.append(ScoredReply(prompt, reply.text, rating))
        return scored
