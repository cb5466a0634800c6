"""The page of `run.py study depth`: variety, contradictions, and what depth changes in a survey."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.deep_personas import DeepPersona
from parley.agents.taxonomy import Taxonomy
from parley.analysis import disclaimers
from parley.analysis.contrasts import HIGHER, Sides, amount
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_estimate, number
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, POSITIVE, Ends, Floats, mean_interval, with_interval
from parley.analysis.unknown import unknown_sentence
from parley.llm.seeding import derive
from parley.studies.deep_personas.answers import STRANGERS, DepthEffect, DepthStudy, compare_depths
from parley.studies.deep_personas.consistency import Contradictions, estimate_contradictions
from parley.studies.deep_personas.variety import SHUFFLES, measure_coverage, measure_uniqueness

VARIETY: Mapping[str, Column] = {
    "attributes": "depth", "leaves covered": number("leaves"), "even draw": number("even_leaves"),
    "branches of a person": estimate("branches"), "with an even draw": number("even_branches"),
    "uniqueness": estimate("uniqueness", 3), "attributes alone": number("alone", 3), "words add": estimate("added", 3),
    "shuffled": number("dealt", 3), "p": number("p"),
}  # fmt: skip
EFFECTS: Mapping[str, Column] = {
    "attributes": "condition", "score": estimate("score", 1), "nearer than depth 0": estimate("nearer", 3),
    "nearer than strangers' attributes": estimate("fitting", 3), "spread of people": estimate("spread", 3),
}  # fmt: skip


class Depths(NamedTuple):
    """What the page is about: the people, their taxonomy, and the depths at which they are measured."""

    people: Sequence[DeepPersona]
    taxonomy: Taxonomy
    depths: tuple[int, ...]
    seed: int


def write_depths(
    about: Depths,
    folder: Path,
    judged: tuple[str, pd.DataFrame] | None = None,
    answered: tuple[DepthStudy, dict[str, Floats]] | None = None,
) -> Path:
    """Write depth.md, its tables and its figure; return the path. judged: the judge and its verdicts. answered: a survey."""
    report = Report(folder, "depth", "Deep personas")
    report.add(
        f"{len(about.people):,} people, each with {about.depths[-1]} attributes drawn from {len(about.taxonomy.leaves)}. "
        f"Brackets hold 95% intervals, if there are {FEWEST} units or more."
    )
    values = [value for person in about.people for value in person.values[: about.depths[-1]]]
    lost = [value.reason for value in values if not value.sentence]
    report.missing(len(lost), len(values), "attributes have no usable sentence", count_table(lost))
    _add_variety(report, about)
    if judged:
        _add_contradictions(report, *judged)
    if answered:
        _add_answers(report, *answered)
    return report.write()


def variety_table(about: Depths) -> pd.DataFrame:
    """Return a row per depth: leaves, branches, uniqueness with their nulls."""
    rows: list[dict[str, Any]] = []
    plain = measure_uniqueness(about.people, about.depths[0]).each
    for depth in about.depths:
        cover = measure_coverage(about.people, about.taxonomy, depth)
        rng = np.random.default_rng(derive(about.seed, "dealt")) if depth == about.depths[-1] else None
        unique = measure_uniqueness(about.people, depth, rng)
        rows.append({
            "depth": depth, "people": len(about.people),
            "leaves": cover.leaves, "even_leaves": cover.even_leaves, "branches": cover.branches,
            "branches_low": cover.branches_ends[0], "branches_high": cover.branches_ends[1],
            "even_branches": cover.even_branches, "alone": float(unique.alone.mean()),
            "dealt": unique.dealt, "p": unique.p, **_named("uniqueness", unique.each, POSITIVE),
            **_named("added", unique.each - unique.alone), **_named("gain", unique.each - plain),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _named(name: str, each: Floats, bounds: Ends | None = None) -> dict[str, float]:
    """Return the mean over people and its interval, as NAME, NAME_low and NAME_high."""
    each = np.where(np.abs(each) < 1e-12, 0.0, each)
    return with_interval(name, float(each.mean()), mean_interval(each, bounds=bounds))


def _add_variety(report: Report, about: Depths) -> None:
    table = variety_table(about)
    report.data(variety=table)
    report.section(
        "Variety",
        "Uniqueness is 1 minus the cosine (TF-IDF) between a person's text and the text of the most similar other person, "
        "without names. The column *attributes alone* has the uniqueness if all sentences on an attribute were equal. The "
        "column *words add* has uniqueness minus *attributes alone*. The column *shuffled* has the mean uniqueness of "
        f"{SHUFFLES} sets in which sentences on an attribute are shuffled among the people with this attribute, at the largest "
        "depth. The column *even draw* has the coverage expected if every attribute had the same chance. The unit of analysis "
        "is the person.",
    )
    report.table(table, VARIETY)
    report.lines(f"- {line}" for line in variety_lines(table))


def variety_lines(table: pd.DataFrame) -> list[str]:
    """Return in sentences what the sentences on attributes add, and whether those of one person are alike."""
    last = table.iloc[-1]
    deep, shallow = int(last["depth"]), int(table.iloc[0]["depth"])
    unknown = f"fewer than {FEWEST} people, or no attribute that two people share"
    lines = [
        _sign(last, "gain", f"people are more unique with {deep} attributes than with {shallow}"),
        _sign(last, "added", "people are more unique by their sentences than by the draw of attributes alone"),
    ]
    if not math.isfinite(last["p"]):
        return [*lines, unknown_sentence("whether the sentences of a person belong together", unknown)]
    size, p = last["uniqueness"] - last["dealt"], f"p = {last['p']:.2f}"
    if last["p"] >= 0.05:
        verdict = "It is not shown that the sentences of a person depend on who the person is"
    elif size < 0:
        verdict = "People are more alike than with independent sentences: some share whole sets of sentences"
    else:
        verdict = "People are less alike than with independent sentences"
    apart = amount((size, math.nan, math.nan), HIGHER, "", 3)
    return [*lines, f"{verdict}: uniqueness is {apart} than the uniqueness of shuffled sentences ({p})."]


def _sign(row: pd.Series, name: str, what: str) -> str:
    """Return whether a mean over people is above 0, below 0, or neither. what: a sentence with "more"."""
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if math.isnan(low):
        if value == 0:
            return f"Whether {what}: there is no difference for any person."
        return f"It is unknown whether {what}, because there are fewer than {FEWEST} people, or nothing varies."
    size = format_estimate(value, low, high, 3)
    if low <= 0 <= high:
        return f"It is not shown that {what}: the difference is {size}."
    sentence = what if low > 0 else what.replace("more", "less", 1)
    return f"{sentence[0].upper()}{sentence[1:]}: the difference is {size}."


def _add_contradictions(report: Report, judge: str, judged: pd.DataFrame) -> None:
    contradictions = estimate_contradictions(judged)
    lost = judged[judged["value"].isna()]
    report.data(contradictions=judged)
    report.section(
        "Contradictions",
        f"{judge} said whether sentences contradict earlier sentences about the person. The unit of analysis is the person.",
    )
    report.disclaim_models(judge)
    report.missing(len(lost), len(judged), "verdicts are missing", count_table(lost["reasons"]))
    report.lines(f"- {line}" for line in contradiction_lines(contradictions))


def contradiction_lines(rates: Contradictions) -> list[str]:
    """Return in sentences how good the judge is, and how often people contradict themselves."""

    def share(value: float, ends: tuple[float, float]) -> str:
        if math.isnan(value):
            return "an unknown share (no verdicts)"
        return format_estimate(100 * value, 100 * ends[0], 100 * ends[1], 1) + " percent"

    lines = [
        f"Of planted contradictions the judge found {share(rates.found, rates.found_ends)}.",
        f"Of true sentences the judge called {share(rates.false, rates.false_ends)} a contradiction.",
        f"Of the people's own sentences the judge called {share(rates.own, rates.own_ends)} a contradiction.",
    ]
    if rates.reason:
        return [*lines, unknown_sentence("how often people contradict themselves", rates.reason)]
    if math.isnan(rates.corrected_ends[0]):
        return [
            *lines,
            "After a correction for both errors of the judge the share of contradictions is "
            f"{share(rates.corrected, rates.corrected_ends)}; there is no interval, because nothing varies.",
        ]
    return [
        *lines,
        f"After a correction for both errors, {share(rates.corrected, rates.corrected_ends)} of the "
        "sentences are contradictions.",
    ]


def effect_table(effects: Sequence[DepthEffect]) -> pd.DataFrame:
    """Return the effects as a table, with NAME_low and NAME_high for each interval."""
    rows = []
    for effect in effects:
        row: dict[str, Any] = {}
        for name, value in effect._asdict().items():
            if name.endswith("_ends"):
                row[name.removesuffix("_ends") + "_low"], row[name.removesuffix("_ends") + "_high"] = value
            else:
                row[name] = value
        rows.append(row)
    return pd.DataFrame(rows)


def _add_answers(report: Report, study: DepthStudy, shares: dict[str, Floats]) -> None:
    rows, effects, second = compare_depths(study, shares)
    table = effect_table(effects)
    report.data(answers=rows, depths=table)
    questions = len(study.base.table.questions)
    ceiling = "an unknown number, because the file has no n"
    if math.isfinite(second[0]):
        ceiling = format_estimate(second[0], *second[1], 1)
    report.section(
        "Answers to a survey",
        f"{study.base.llm} answered {count_phrase(questions, 'question')} as each person, at each depth. The shares of answers "
        "are compared with people's shares. The score is 100 if the two shares are equal, and 0 if the model's shares are even. "
        "The column *nearer* has the distance from people (total variation) in another condition, minus the distance in the "
        "named condition. In the condition *strangers*, each person has its own core and the attributes of another person. The "
        "column *spread* has the distance of a person from the mean of all people. The unit of analysis is the question. A "
        f"second sample of as many people would score {ceiling}.",
    )
    report.disclaim_models(study.base.llm)
    lost = int(sum(np.isnan(condition_shares[..., 0]).sum() for condition_shares in shares.values()))
    report.missing(
        lost,
        sum(condition_shares.shape[0] * condition_shares.shape[1] for condition_shares in shares.values()),
        "answers are missing",
        "",
    )
    report.table(table, EFFECTS)
    report.lines(f"- {line}" for line in effect_lines(table, study.depths))
    shown = table[(table["condition"] != STRANGERS) & (table["condition"] != str(study.depths[0]))]
    if shown["nearer_low"].notna().any():
        caption, title = (
            disclaimers.spec_label(study.base.llm),
            f"Nearer to people than with {study.depths[0]} (total variation)",
        )
        figure = dot_plot(shown.assign(name=shown["condition"] + " attributes"), ["name"], "nearer", title, caption)
        report.figure(figure, "depth", "How much nearer to people answers are with more attributes")


def effect_lines(table: pd.DataFrame, depths: Sequence[int]) -> list[str]:
    """Return in sentences whether more attributes bring answers nearer to people, and whether it matters whose they are."""
    by = table.set_index("condition")
    last = by.loc[str(depths[-1])]
    depth_line = _verdict(last, "nearer", f"{depths[-1]} attributes", f"{depths[0]} attributes")
    return [depth_line, _verdict(last, "fitting", "a person's own attributes", "those of strangers")]


def _verdict(row: pd.Series, name: str, first: str, other: str) -> str:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    start = f"Whether {first} bring answers nearer to people than {other}"
    if math.isnan(low):
        if value == 0:
            return f"{start}: there is no difference on any question."
        return f"It is unknown w{start[1:]}, because fewer than {FEWEST} questions have answers, or nothing varies."
    size = amount((value, low, high), Sides("nearer", "farther"), "", 3)
    if low > 0 or high < 0:
        side = "nearer to" if low > 0 else "farther from"
        return f"With {first}, answers are {side} people than with {other}: {size}."
    return f"It is not shown that {first} bring answers nearer to people, or farther from people, than {other}: {size}."
