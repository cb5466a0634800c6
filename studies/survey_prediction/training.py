"""Trains a model on the answers of a survey that are not hidden (SFT), and on the same answers shuffled, as a null.

An example is one training answer: the prompt has the person's other known answers, as when a hidden answer is predicted. No
hidden answer, no new person and no unasked question is in an example. The null: the answers to each question are dealt to other
people of the training before examples are made, so a model learns the questions, and nothing about people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from parley.analysis.formatting import slug
from parley.analysis.journaled_calls import CallDesk
from parley.llm.seeding import derive, stream
from parley.training.base_model import BaseModel, base_model
from parley.training.tuning.adapter import make_adapter
from parley.training.tuning.dataset import Example, chat
from parley.training.tuning.pipeline import require_packages
from parley.training.tuning.recipe import Recipe

from .asking import Interviewer
from .prediction import PredictionStudy
from .survey import Survey

TRAINED, SHUFFLED = "trained", "trained on shuffled"
USE = """## What it is for

This adapter is a **research instrument** that predicts how people of one survey answer. Do not use the adapter to judge a single
person, or in place of asking people. The adapter may repeat people's answers: protect the adapter as you protect the survey."""


@dataclass(frozen=True)
class SurveyTraining:
    """A training on the known answers of a study, in a folder. shuffles: trainings on shuffled answers."""

    study: PredictionStudy
    recipe: Recipe
    folder: Path
    shuffles: int = 1

    def base(self) -> BaseModel:
        """Return the model to be trained. Errors: UserError where it cannot be, before anything is asked."""
        base = base_model(self.study.llm)
        require_packages("training on a survey")
        from parley.training.tuning.trainers import check_trainable

        check_trainable(base)
        return base

    def examples(self, survey: Survey) -> list[Example]:
        """Return {"prompt", "completion"} for each training answer, in an order drawn with the seed.

        survey: the study's own, or one with shuffled answers.
        """
        examples = []
        for person, item in np.argwhere(self.study.split.training):
            respondent, question = self.study.asked(int(person), int(item), survey)
            request = respondent.compose(question, survey.language, 0)
            prompt = [chat_message for message in request.messages for chat_message in chat(*message)]
            answer = question.answers[1 - int(survey.values[person, item])]
            examples.append({"prompt": prompt, "completion": chat("assistant", answer)})
        stream(self.study.seed, "order").shuffle(examples)
        return examples

    def shuffled(self, number: int) -> Survey:
        """Return the survey with the training answers to each question dealt to other people of the training."""
        survey, training = self.study.survey, self.study.split.training
        rng = np.random.default_rng(derive(self.study.seed, "shuffled training answers", number))
        values = survey.values.copy()
        for item in range(values.shape[1]):
            rows = np.flatnonzero(training[:, item])
            values[rows, item] = rng.permutation(values[rows, item])
        return replace(survey, values=values)

    def interviewers(self, desk: CallDesk) -> Mapping[str, Interviewer]:
        """Train all adapters that are not there yet; return a model with each, by the name of its condition."""
        base, surveys = self.base(), {TRAINED: self.study.survey}
        surveys |= {f"{SHUFFLED} {number}": self.shuffled(number) for number in range(1, self.shuffles + 1)}
        paths = {name: self.adapter(name, self.examples(survey), base, desk) for name, survey in surveys.items()}
        study = self.study
        return {
            name: Interviewer(
                study.llm,
                study.survey.language,
                desk,
                study.seed,
                study.samples,
                path.name,
                f"{study.llm},adapters={path}",
            )
            for name, path in paths.items()
        }

    def adapter(self, name: str, examples: list[Example], base: BaseModel, desk: CallDesk) -> Path:
        """Return the folder of an adapter, trained unless it is there."""
        recipe = replace(self.recipe, party=slug(name), seed=self.study.seed).filled(base.kind)
        data = {"answers": len(examples), "survey": self.study.survey.name}
        return make_adapter(self.folder, recipe, base, examples, data, USE, desk.bar)
