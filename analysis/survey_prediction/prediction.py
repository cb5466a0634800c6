"""Predicts hidden answers of a survey with a model and with baselines, and measures the predictions.

Source: *AI-Augmented Surveys: Leveraging Large Language Models and Surveys for Opinion Prediction*, 2023;
docs/survey_prediction.md lists the departures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import ALIKE
from parley.analysis.survey_prediction.answers import Floats, Survey
from parley.analysis.survey_prediction.asking import Asked, Interviewer
from parley.analysis.survey_prediction.baselines import PERSON, QUESTION, baseline_predictions
from parley.analysis.survey_prediction.measures import auc_difference, measure, shuffled_range
from parley.analysis.survey_prediction.splits import Split, split_survey
from parley.llm.backends import identity_spec

MODEL = "model"


@dataclass(frozen=True)
class PredictionStudy:
    """A survey, the model that predicts it, and how it is split. samples: draws where the model gives no probability."""

    survey: Survey
    llm: str
    share: float = 0.25
    samples: int = 10
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        return {
            "survey": self.survey.digest, "llm": identity_spec(self.llm), "held_out": self.share, "samples": self.samples,
            "seed": self.seed,
        }  # fmt: skip

    @cached_property
    def split(self) -> Split:
        """Which answers are hidden."""
        return split_survey(self.survey, self.seed, self.share)

    def questions(self) -> list[tuple[int, int]]:
        """Return person and question of every hidden answer."""
        return [(int(person), int(item)) for person, item in np.argwhere(self.split.hidden)]

    def asked(self, person: int, item: int, survey: Survey | None = None) -> Asked:
        """Return a question with what is known of the person: the facts, and every known answer but the one to this question.

        survey: where the answers are from (None: the study's own survey).
        """
        survey = survey or self.survey
        known = [int(other) for other in np.flatnonzero(self.split.known[person]) if other != item]
        return survey.respondent(person, known), survey.items[item]

    def predict(self, interviewer: Interviewer, title: str) -> Floats:
        """Return the probabilities of all hidden answers: (people, questions), NaN for others and missing ones."""
        places = self.questions()
        probabilities = interviewer.predict([self.asked(*place) for place in places], title)
        predicted = np.full(self.survey.values.shape, np.nan)
        for place, probability in zip(places, probabilities, strict=True):
            predicted[place] = np.nan if probability is None else probability
        return predicted

    def baselines(self) -> dict[str, Floats]:
        """Return the predictions of the baselines."""
        return baseline_predictions(self.survey, self.split)


def measure_all(study: PredictionStudy, predictions: Mapping[str, Floats]) -> pd.DataFrame:
    """Return one row per test set and predictor: the columns of `measure`, and `null_low`, `null_high` (shuffled answers)."""
    survey, rows = study.survey, []
    for name, mask in study.split.sets().items():
        for predictor, predicted in predictions.items():
            low, high = shuffled_range(survey.values, predicted, mask, study.seed)
            row = measure(survey.values, predicted, mask, survey.weights)
            rows.append({"set": name, "predictor": predictor, **row, "null_low": low, "null_high": high})
    return pd.DataFrame(rows)


def compare_all(
    study: PredictionStudy, predictions: Mapping[str, Floats], models: Mapping[str, Floats]
) -> pd.DataFrame:
    """Return one row per test set, model and other predictor: the model's AUC minus the other's, on the same answers."""
    rows = []
    for name, mask in study.split.sets().items():
        for model, predicted in models.items():
            for other, values in predictions.items():
                if other != model:
                    row = auc_difference(study.survey.values, predicted, values, mask)
                    rows.append({"set": name, "predictor": model, "other": other, **row})
    return pd.DataFrame(rows)


def sentences(study: PredictionStudy, measured: pd.DataFrame, compared: pd.DataFrame, model: str = MODEL) -> list[str]:
    """Return a sentence per test set: the model's AUC, whether it finds who gives which answer, and a baseline."""
    lines = []
    for name in study.split.sets():
        row = measured[(measured["set"] == name) & (measured["predictor"] == model)].iloc[0]
        start = f"{name[0].upper()}{name[1:]}, {model}:"
        if reason := _unknown(row):
            lines.append(f"{start} the AUC is unknown: {reason}.")
            continue
        lines.append(f"{start} AUC {row['auc']:.2f} ({row['auc_low']:.2f} to {row['auc_high']:.2f}). {_null(row)}")
        lines[-1] += _against(compared[(compared["set"] == name) & (compared["predictor"] == model)])
    return lines


def _unknown(row: pd.Series) -> str:
    """Return why there is no verdict, or nothing."""
    if not row["answers"]:
        return "no hidden answer has a prediction"
    if not np.isfinite(row["auc"]):
        return "all hidden answers are the same"
    return "" if np.isfinite(row["auc_low"]) else "fewer than 5 people with hidden answers, or no variation"


def _null(row: pd.Series) -> str:
    span = f"{row['null_low']:.2f} to {row['null_high']:.2f}"
    above, below = row["auc"] > row["null_high"] + ALIKE, row["auc"] < row["null_low"] - ALIKE
    way = "above" if above else "below" if below else "inside"
    meaning = {
        "above": "it finds who gives which answer",
        "below": "it is wrong about who gives which answer",
        "inside": "it finds no more than which answers are frequent",
    }[way]
    return f"This is {way} the range of answers that are shuffled between people ({span}): {meaning}."


def _against(rows: pd.DataFrame) -> str:
    """Return the difference from the question's mean, or from the person's where no one was asked the question."""
    for other, words in ((QUESTION, "the mean of the question"), (PERSON, "the mean of the person")):
        row = rows[rows["other"] == other].iloc[0]
        if not row["answers"]:
            continue
        span = f"({row['difference_low']:+.2f} to {row['difference_high']:+.2f})"
        if not np.isfinite(row["difference_low"]):
            return ""
        clear = row["difference_low"] > 0 or row["difference_high"] < 0
        way = "higher" if row["difference"] > 0 else "lower"
        if clear:
            return f" It is {abs(row['difference']):.2f} {way} than that of {words} {span}."
        return f" It is not clearly higher or lower than that of {words} {span}."
    return ""
