"""Predicts hidden answers of a survey with a model and with baselines, and measures the predictions.

Source: *AI-Augmented Surveys: Leveraging Large Language Models and Surveys for Opinion Prediction*, 2023;
README.md lists the departures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.figures import OTHERS, add_legend, draw_null, draw_points, new_figure
from parley.analysis.formatting import Column, estimate, number
from parley.analysis.report import Report
from parley.analysis.statistics.attenuation import gate_sentence
from parley.analysis.statistics.intervals import ALIKE, Floats
from parley.analysis.unknown import clause
from parley.llm.backends import identity_spec

from .asking import Asked, Interviewer
from .measures import (
    MEASURES,
    NEIGHBOURS,
    PERSON,
    QUESTION,
    TRUTH,
    auc_difference,
    baseline_predictions,
    measure,
    shuffled_range,
)
from .survey import SETS, Split, Survey, split_survey

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
        known_items = [int(other) for other in np.flatnonzero(self.split.known[person]) if other != item]
        return survey.respondent(person, known_items), survey.items[item]

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
            lines.append(f"{start} the AUC is unknown, because {clause(reason)}.")
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
    return "" if np.isfinite(row["auc_low"]) else "fewer than 5 people have hidden answers, or values do not vary"


def _null(row: pd.Series) -> str:
    span = f"{row['null_low']:.2f} to {row['null_high']:.2f}"
    above, below = row["auc"] > row["null_high"] + ALIKE, row["auc"] < row["null_low"] - ALIKE
    way = "above" if above else "below" if below else "inside"
    meaning = {
        "above": "the predictor finds who gives which answer",
        "below": "the predictor is wrong about who gives which answer",
        "inside": "the predictor finds no more than which answers are frequent",
    }[way]
    return f"This AUC is {way} the range for answers shuffled between people ({span}): {meaning}."


def _against(rows: pd.DataFrame) -> str:
    """Return the difference from the question's mean, or from the person's where no one was asked the question."""
    for other, words in ((QUESTION, "the mean of the question"), (PERSON, "the mean of the person")):
        row = rows[rows["other"] == other].iloc[0]
        if not row["answers"]:
            continue
        if not np.isfinite(row["difference_low"]):
            return ""
        size = amount((row["difference"], row["difference_low"], row["difference_high"]), HIGHER, "")
        if row["difference_low"] > 0 or row["difference_high"] < 0:
            return f" Compared with the AUC of {words}, the predictor's AUC is {size}."
        return f" The predictor's AUC is not clearly higher or lower than the AUC of {words}: {size}."
    return ""


PREDICTORS = {
    MODEL: "the model, which is shown the known answers of the person",
    QUESTION: "baseline: the share of the question's first answer in the training",
    PERSON: "baseline: the share of first answers among the person's known answers",
    NEIGHBOURS: "baseline: the question's share, moved by the 20 people who answered most alike",
    TRUTH: "ceiling: the probabilities with which an invented survey was made",
}
COLUMNS: Mapping[str, Column] = {
    "test set": "set", "predictor": "predictor", "people": "people", "questions": "questions", "answers": "answers",
    "lacking": "lacking", "AUC": estimate("auc"), "shuffled": lambda row: _range(row), "AUC within": estimate("auc_within"),
    "r": estimate("r"), "rho": estimate("rho"), "Brier": estimate("brier"),
}  # fmt: skip
DIFFERENCES: Mapping[str, Column] = {
    "test set": "set", "predictor": "predictor", "compared with": "other", "people": "people", "answers": "answers",
    "difference of AUC": estimate("difference"),
}  # fmt: skip
READING = (
    "AUC, AUC within, r and Brier have 95% intervals over people, and rho has intervals over questions, if there are five or "
    "more. The column `shuffled` has the range of 95% of AUCs if each person gets all answers of another person. A prediction "
    "that uses nothing about the person has an AUC in the range of `shuffled`. Intervals are not corrected for the four test "
    "sets."
)


def write_predictions(
    study: PredictionStudy, predictions: Mapping[str, Floats], interviewers: Sequence[Interviewer], folder: Path
) -> Path:
    """Write predictions.md, its tables and figure; return the page's path.

    predictions: those of models, by name (MODEL first); the baselines are added.
    """
    every = {**predictions, **study.baselines()}
    measured, compared = measure_all(study, every), compare_all(study, every, predictions)
    survey = study.survey
    report = Report(folder, "predictions", "Hidden answers of a survey, predicted")
    report.data(measures=measured, differences=compared, predictions=prediction_table(study, every))
    report.add(
        f"{study.llm} predicted hidden answers of {len(survey.people)} people to {len(survey.items)} questions ({survey.name}).",
        "\n".join(f"- **{name}**: {meaning}" for name, meaning in SETS.items()),
    )
    report.plain(survey.absent_line)
    report.disclaim_models(study.llm)
    for interviewer in interviewers:
        reasons = interviewer.reasons()
        listed = ", ".join(f"{name} {count}" for name, count in sorted(reasons.items()))
        report.missing(
            sum(reasons.values()), len(interviewer.answered), "different questions have no prediction", listed
        )
        report.add(_kind(interviewer))
    report.in_short(line for model in predictions for line in sentences(study, measured, compared, model))
    caption = f"{disclaimers.spec_label(study.llm)}; {survey.name}"
    report.figure(_figure(measured, caption), "predictions", "AUC by test set and predictor")
    report.section("Measures", READING)
    report.lines(f"- {name}: {meaning}" for name, meaning in MEASURES.items())
    report.lines(f"- {name}: {meaning}" for name, meaning in PREDICTORS.items() if name in every)
    report.table(measured[measured["answers"] > 0], COLUMNS)
    report.lines(f"- {line}" for line in gate_lines(measured, list(predictions)))
    report.section(
        "Differences of AUC",
        "Differences are on the answers that both predictors predict, with 95% intervals over people.",
    )
    report.table(compared[compared["answers"] > 0], DIFFERENCES)
    report.add("The file `predictions.csv` has every hidden answer with all predictions.")
    return report.write()


def gate_lines(measured: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """Return for each model and test set whether its predictions may replace answers, by the interval of r."""
    rows = measured[(measured["answers"] > 0) & measured["predictor"].isin(models)]
    return [
        gate_sentence(
            f"{row['predictor']} in place of people's answers ({row['set']})",
            "the correlation of probabilities and answers",
            row["r"],
            row["r_low"],
            row["r_high"],
        )
        for row in rows.to_dict("records")
    ]


def prediction_table(study: PredictionStudy, predictions: Mapping[str, Floats]) -> pd.DataFrame:
    """Return one row per hidden answer: person, question, set, answer, and each prediction (NaN: none)."""
    survey, rows = study.survey, []
    for name, mask in study.split.sets().items():
        for person, item in np.argwhere(mask):
            row = {"person": survey.people[person], "question": survey.items[item].name, "set": name}
            row["answer"] = survey.values[person, item]
            rows.append(row | {predictor: values[person, item] for predictor, values in predictions.items()})
    return pd.DataFrame(rows)


def _kind(interviewer: Interviewer) -> str:
    exact, whole = interviewer.exact(), len(interviewer.answered)
    name = f"{interviewer.llm}{f' with the adapter {interviewer.adapter}' if interviewer.adapter else ''}"
    if exact == whole:
        return f"{name} gives the probability of each answer."
    return (
        f"{name} gave the probability of each answer to {exact} of {whole} questions; otherwise the share of "
        f"{interviewer.samples} drawn answers is the prediction."
    )


def _range(row: Mapping[str, object]) -> str:
    low, high = row["null_low"], row["null_high"]
    return f"{number('null_low')(row)} to {number('null_high')(row)}" if low == low and high == high else ""


def _figure(measured: pd.DataFrame, caption: str) -> Figure:
    predictors = list(dict.fromkeys(measured["predictor"]))
    note = (
        f"Bars are 95% intervals over people; grey: 95% of AUCs of the first predictor with shuffled answers. {caption}"
    )
    with new_figure(5.6, 3.4, note, title="How well hidden answers are found") as figure:
        axis = figure.subplots()
        draw_null(axis, 0.5)
        for place, predictor in enumerate(predictors):
            rows = measured[measured["predictor"] == predictor].reset_index(drop=True)
            at, look = (
                rows.index + (place - (len(predictors) - 1) / 2) * 0.8 / len(predictors),
                OTHERS[place % len(OTHERS)],
            )
            if not place:
                height = rows["null_high"] - rows["null_low"]
                axis.bar(rows.index, height, 0.85, rows["null_low"], color="#dddddd", zorder=0)
            shown = rows["auc"].notna()
            drawn: Any = {"fmt": look["markers"][0], "color": look["color"], "label": predictor}
            draw_points(axis, at[shown], rows[shown], "auc", upright=True, **drawn)
        axis.set_xticks(range(len(SETS)), [name.replace(", ", ",\n") for name in SETS])
        axis.set(ylim=(0, 1.03), ylabel="AUC")
        add_legend(figure, [axis], 3)
    return figure
