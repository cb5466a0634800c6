"""The report of `run.py predict`: how well a model finds hidden answers, beside baselines and shuffled answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.figures import OTHERS, add_legend, error_bars, new_figure
from parley.analysis.formatting import Column, estimate, number
from parley.analysis.report import Report
from parley.analysis.statistics.gate import gate_sentence
from parley.analysis.survey_prediction.answers import Floats
from parley.analysis.survey_prediction.asking import Interviewer
from parley.analysis.survey_prediction.baselines import NEIGHBOURS, PERSON, QUESTION, TRUTH
from parley.analysis.survey_prediction.measures import MEASURES
from parley.analysis.survey_prediction.prediction import MODEL, PredictionStudy, compare_all, measure_all, sentences
from parley.analysis.survey_prediction.splits import SETS

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
    "test set": "set", "predictor": "predictor", "compared with": "other", "answers": "answers",
    "difference of AUC": estimate("difference"),
}  # fmt: skip
READING = (
    "AUC, AUC within, r and Brier have 95% intervals over people, rho over questions (none below five). `shuffled` is where "
    "95% of AUCs are if each person gets all answers of another: what predictions give that know nothing of the "
    "person. Four test sets "
    "are compared, and nothing is corrected for that number."
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
    report.section("In short")
    report.lines(f"- {line}" for model in predictions for line in sentences(study, measured, compared, model))
    caption = f"{disclaimers.spec_label(study.llm)}; {survey.name}"
    report.figure(_figure(measured, caption), "predictions", "AUC by test set and predictor")
    report.section("Measures", READING)
    report.lines(f"- {name}: {meaning}" for name, meaning in MEASURES.items())
    report.lines(f"- {name}: {meaning}" for name, meaning in PREDICTORS.items() if name in every)
    report.table(measured[measured["answers"] > 0], COLUMNS)
    report.lines(f"- {line}" for line in gate_lines(measured, list(predictions)))
    report.section("Differences of AUC", "On the answers that both predict, with 95% intervals over people.")
    report.table(compared[compared["answers"] > 0], DIFFERENCES)
    report.add("`predictions.csv` has every hidden answer with all predictions.")
    return report.write()


def gate_lines(measured: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """Return for each model and test set whether its predictions may stand in for answers, by the interval of r."""
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
        axis.axhline(0.5, color="#999999", linewidth=0.6)
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
            axis.errorbar(
                at[shown], rows["auc"][shown], yerr=[part[shown] for part in error_bars(rows, "auc")], fmt=look["markers"][0],
                color=look["color"], label=predictor, markersize=4, capsize=2, linewidth=0.9,
            )  # fmt: skip
        axis.set_xticks(range(len(SETS)), [name.replace(", ", ",\n") for name in SETS])
        axis.set(ylim=(0, 1.03), ylabel="AUC")
        add_legend(figure, [axis], 3)
    return figure
