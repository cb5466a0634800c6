"""The report of `study mixed`: the estimate, what the model is worth, how many people to ask."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, estimate, format_estimate, format_number, number
from parley.analysis.report import Report
from parley.analysis.statistics.attenuation import gate_sentence
from parley.analysis.statistics.intervals import FEWEST, why_few
from parley.analysis.unknown import clause, unknown_sentence
from parley.llm.seeding import derive

from .estimators import ESTIMATORS, PEOPLE_ALONE, Estimate
from .estimators import estimate as estimate_sample
from .people import Arm, People, Sample
from .worth import FEWEST_PEOPLE, Purchase, Worth, corrected_lines, measure_worth, people_needed, plan_purchase

SHARES = (0.5, 0.25, 0.1, 0.05)
"""Half widths of the plan, as shares of the standard deviation of outcomes."""
COLUMNS: Mapping[str, Column] = {
    "estimator": "estimator", "estimate": estimate("estimate", 3), "standard error": number("error", 3),
    "width, people alone = 1": number("width"), "weights of predictions": "weights",
}  # fmt: skip
PLAN: Mapping[str, Column] = {
    "plus or minus": number("reach", 3), "people alone": lambda row: f"{row['alone']:,}",
    "people with the model": lambda row: f"{row['with']:,}",
    "by the interval of r": "range",
}  # fmt: skip
READING = (
    "Predictions may be wrong, because their mean error on the people who answered is subtracted. The people who answered "
    "must be a random sample of everyone in the file. With two conditions, people must be assigned to conditions at random. "
    "Tuned estimators weight the predictions so that the interval is narrowest; the weight of a person is computed from all "
    f"other people. Brackets hold 95% intervals over {{unit}}, if a condition has at least {FEWEST} {{unit}}."
)
APART = (
    "People count as independent. If some people belong together, such as the people of one debate, the intervals are too "
    "narrow: add a column `cluster` with the name of the debate."
)


def write_mixed(people: People, folder: Path, seed: int, prices: tuple[float, float, float] | None = None) -> Path:
    """Write mixed.md, estimates.csv, people.csv, needed.csv and the figure; return the path of the page.

    prices: a budget, the price of a person, and the price of a prediction, for a plan of what to buy.
    """
    sample = people.sample()
    estimates = estimate_all(sample)
    worth = measure_worth(sample, np.random.default_rng(derive(seed, "shuffled predictions")))
    report = Report(folder, "mixed", f"{_subject(people)} from people and predictions")
    report.data(people=people.table, estimates=estimates)
    reading = READING.format(unit="clusters") if people.clustered else f"{READING.format(unit='people')} {APART}"
    report.add(f"{_counts(people, sample)} {reading}")
    if people.lost:
        lost = ", ".join(f"{name} {count}" for name, count in people.lost.items())
        report.missing(
            sum(people.lost.values()), len(people.table) + sum(people.lost.values()), "people left out", lost
        )
    lines = [*estimate_lines(people, sample, estimates), *worth_lines(worth, sample.fewest)]
    lines += corrected_lines(people)
    report.in_short(lines)
    shown = estimates.dropna(subset=["low"])
    if len(shown):
        title, caption = _subject(people), _counts(people, sample).rstrip(".")
        report.figure(dot_plot(shown, ["estimator"], "estimate", title, caption), "mixed", "Estimates with intervals")
    report.section("Estimators")
    report.table(estimates, COLUMNS)
    _add_plan(report, sample, worth, prices)
    return report.write()


def main_estimator(sample: Sample) -> str:
    """Return the estimator of the first sentence: DiP++ if predictions are known in both conditions, else PPI++, if it fits."""
    return next(name for name in ("dip++", "ppi++", PEOPLE_ALONE) if ESTIMATORS[name].fits(sample))


def estimate_all(sample: Sample) -> pd.DataFrame:
    """Return a row per estimator that fits.

    Columns: name, estimator, estimate, low, high, error, width (people alone: 1), weights, people (those with an outcome).
    """
    estimates = {
        name: estimate_sample(sample, estimator) for name, estimator in ESTIMATORS.items() if estimator.fits(sample)
    }
    alone = estimates[PEOPLE_ALONE]
    return pd.DataFrame([_row(name, estimate, alone) for name, estimate in estimates.items()]).assign(
        people=sample.people
    )


def _row(name: str, estimate: Estimate, alone: Estimate) -> dict[str, object]:
    weights = ", ".join(format_number(weight) for weight in dict.fromkeys(estimate.weights))
    return {
        "name": name, "estimator": ESTIMATORS[name].label, "estimate": estimate.value, "low": estimate.low, "high": estimate.high,
        "error": estimate.error, "freedom": estimate.freedom, "width": (estimate.high - estimate.low) / (alone.high - alone.low),
        "weights": weights,
    }  # fmt: skip


def _subject(people: People) -> str:
    return f"Effect ({people.conditions[1]} minus {people.conditions[0]})" if people.conditions else "Mean"


def _counts(people: People, sample: Sample) -> str:
    names = people.conditions or ("",)
    parts = [f"{arm.people} in {name}" if name else "" for arm, name in zip(sample.arms, names, strict=True)]
    where = f" ({', '.join(parts)})" if people.conditions else ""
    others = sum(len(arm.others) for arm in sample.arms) if sample.pairs is None else len(sample.pairs)
    both = " in both conditions" if sample.pairs is not None else ""
    counted = "1 person" if sample.people == 1 else f"{sample.people:,} people"
    return f"{counted} with an outcome{where}, and {others:,} others with predictions{both}."


def estimate_lines(people: People, sample: Sample, estimates: pd.DataFrame) -> list[str]:
    """Return in sentences the estimate, that of people alone, and what predictions alone would say."""
    rows = estimates.set_index("name")
    main, alone = rows.loc[main_estimator(sample)], rows.loc[PEOPLE_ALONE]
    if not sample.fewest:
        return ["The estimate is unknown, because in one condition no person has an outcome."]
    if np.isnan(alone["low"]):
        sizes = sample.cluster_sizes
        uneven = "" if sizes is None else why_few(int((sizes > 0).sum()), "cluster", sizes)
        few = (
            f"fewer than {FEWEST} people in a condition"
            if sample.fewest < FEWEST
            else uneven or "all outcomes are equal"
        )
        return [
            f"The interval is unknown, because {clause(few)}. Without predictions, the estimate is "
            f"{format_number(alone['estimate'], 3)}."
        ]
    value = format_estimate(main["estimate"], main["low"], main["high"], 3)
    lines = [f'{_subject(people)}: {value} by the estimator "{main["estimator"]}".']
    if np.isnan(main["low"]):
        whole = format_estimate(alone["estimate"], alone["low"], alone["high"], 3)
        return [
            f"{_subject(people)}: {whole} of people alone. With predictions the interval is missing, because all outcomes are "
            "equal."
        ]
    if main.name == PEOPLE_ALONE:
        return [*lines, "The predictions add nothing: at least two people without an outcome need predictions."]
    change = format_number(100 * abs(1 - main["width"]), 0)
    than = f"{change}% {'narrower' if main['width'] < 1 else 'wider'}" if change != "0" else "as wide"
    beside = format_estimate(alone["estimate"], alone["low"], alone["high"], 3)
    lines.append(f"People alone: {beside}. With predictions the interval is {than}.")
    return [*lines, error_line(sample)]


def error_line(sample: Sample) -> str:
    """Return by how much predictions alone would be wrong, measured on people with an outcome."""
    gaps = [(arm.predicted - arm.outcome, arm.clusters) for arm in sample.arms]
    wrong = estimate_sample(
        Sample(tuple(Arm(gap, gap, gap[:0], clusters) for gap, clusters in gaps)), ESTIMATORS[PEOPLE_ALONE]
    )
    shown = format_estimate(wrong.value, wrong.low, wrong.high, 3)
    if len(gaps) == 1:
        return f"Predictions minus outcomes is {shown} on the people who answered."
    return f"The model's own effect minus the effect among people is {shown}."


LEVEL_NOTE = " The correlation says nothing about the mean of the predictions: see predictions minus outcomes."


def worth_lines(worth: Worth, fewest: int) -> list[str]:
    """Return in sentences how predictions correlate with outcomes, and how many people they replace.

    fewest: how many people with an outcome the smallest condition has.
    """
    if np.isnan(worth.r):
        few = f"fewer than {FEWEST_PEOPLE} people in a condition"
        why = few if fewest < FEWEST_PEOPLE else "within conditions all outcomes, or all predictions, are equal"
        return [unknown_sentence("what the model is worth", why)]
    r = format_estimate(worth.r, worth.low, worth.high)
    if np.isnan(worth.low):
        return [
            f"It is unknown what the model is worth, because the correlation of predictions and outcomes ({r}) has no "
            "interval. Either the correlation is 1, or a few people have extreme values (a kurtosis above 5; normal numbers "
            "have 3)."
        ]
    value, ceiling = (format_estimate(*span, 1) for span in (worth.worth, worth.ceiling))
    gate = gate_sentence("predictions for comparing people", "their correlation with outcomes (within conditions, if any)",
                         worth.r, worth.low, worth.high) + LEVEL_NOTE  # fmt: skip
    if not worth.others:
        return [
            gate,
            f"No other people have predictions, so the model is worth no people yet; with endless predictions, {ceiling}.",
        ]
    verdict = "more" if worth.worth[0] > worth.null and worth.worth[1] > 0 else "not clearly more"
    return [
        gate,
        f"This model is worth {value} people in addition to {worth.people:,} people with {worth.others:,} further predictions; "
        f"{ceiling} people with endless predictions. Shuffled predictions are worth up to {format_number(worth.null, 1)} "
        f"people (95%): {verdict} than by chance.",
    ]


def _add_plan(report: Report, sample: Sample, worth: Worth, prices: tuple[float, float, float] | None) -> None:
    if np.isnan(worth.r) or np.isnan(worth.low):
        return
    deviation = float(np.sqrt(np.mean([arm.outcome.var(ddof=1) for arm in sample.arms])))
    if deviation <= 0:
        return
    table = people_needed(sample, worth.r, [share * deviation for share in SHARES])
    ends = [people_needed(sample, r, table["reach"].tolist())["with"] for r in worth.sizes]
    table["range"] = [f"{high:,} to {low:,}" if low != high else f"{low:,}" for low, high in zip(*ends, strict=True)]
    report.data(needed=table)
    who = "People per condition" if len(sample.arms) > 1 else "People"
    report.section("How many people to ask")
    report.add(
        f"The table shows how many {who} must answer for a mean interval of plus or minus a number of points, without and "
        f"with the model (endless predictions, a tuned estimator). The number of people is at least {FEWEST_PEOPLE}. The last "
        "column has the numbers at the ends of the interval of the correlation."
    )
    report.table(table, PLAN)
    if prices:
        plan = plan_purchase(sample, worth.r, *prices)
        report.add(purchase_line(plan, prices))
        if not math.isnan(plan.alone) and plan.people < FEWEST_PEOPLE * len(sample.arms):
            each = " in a condition" if len(sample.arms) > 1 else ""
            report.add(
                f"With fewer than {FEWEST_PEOPLE} people{each}, the interval may be wider, and the model's worth is unknown."
            )


def purchase_line(plan: Purchase, prices: tuple[float, float, float]) -> str:
    """Return what to buy for a budget."""
    budget, person, prediction = prices
    costs = f"With a budget of {budget:,.10g}, {person:,.10g} for a person and {prediction:,.10g} for a prediction"
    if math.isnan(plan.alone):
        return f"{costs}: the budget pays for {plan.people:,} people, and an interval needs at least {FEWEST} in each condition."
    if not plan.predictions:
        return (
            f"{costs}: ask {plan.people:,} people and buy no predictions; plus or minus {format_number(plan.alone, 3)}."
        )
    return (
        f"{costs}: ask {plan.people:,} people and buy {plan.predictions:,} predictions, one for each asked person and the "
        f"other predictions for further people: plus or minus {format_number(plan.reach, 3)}. People alone: "
        f"{format_number(plan.alone, 3)}."
    )
