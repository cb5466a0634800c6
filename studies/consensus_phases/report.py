"""The report of `run.py study consensus-phases`: response curves, the map, and groups compared with what theory predicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.contrasts import HIGHER, PERCENT, amount
from parley.analysis.formatting import DASH, Column, count_table, estimate, format_estimate, format_number, format_p
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, SHARE, mean_interval
from parley.analysis.studies.paired_conditions import conditions_report
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

from .environment import TwoAnswers
from .group_consensus import group_ends, rules
from .law import ResponseLaw
from .maps import draw_curves, draw_map
from .measures import UNCLEAR, CurveData, Fits, Setting, curves, fit_curve, fit_row, response_row, setting_of
from .planted import Design, found_by_measurement, rule_rows
from .predictions import OUTCOMES, Cell, Prediction, misfit, predict, prediction_row

CAPTION = (
    "People answer for or against a claim and read how many other people gave each answer. In the first part of the study the "
    "numbers are made up, to measure the response to each number, with the answers listed in both orders. In the second part of "
    "the study groups answer round by round and read their real numbers. Influence is the share of answers for the claim if all "
    "other people agree, minus the share if no other person agrees. Leaning is the mean share for the claim minus 50%. Order is "
    "how often people give the answer listed first, minus 50%. Influence, leaning and order are in percentage points. Pull and "
    "bias describe the curve P(for) = 1 / (1 + exp(-2 (pull m + bias))) nearest to the answers, with m from -1 (no other person "
    "agrees) to 1 (all agree). In large groups with a pull above 1, agreement for or against the claim can last. Brackets are "
    "95% intervals over people."
)
ONE_MAP = (
    "Planted points are laws that rule-based people or the oracle follow; measured points come from the response curve. For a "
    "law with noise or an effect of order, the planted point is from the nearest curve without noise and order."
)
GROUPS = (
    "Direction is the mean answer after the last round (1: all for the claim, -1: all against the claim), and agreement is the "
    "size of this mean. The column *unanimous* has the share of rooms in which all people answer alike after the last round. "
    "The column *once* has the share of rooms in which all people answered alike in at least one round. The prediction comes "
    "from the response curve of the same topic, size and temperature, measured without these groups. The interval of a "
    "prediction holds 95% of the results of as many rooms. The prediction assumes that all people answer by the pooled curve."
)
BY_NOISE = (
    "Noise is the share of answers that do not depend on other people's answers, including answers that follow the order of the "
    "list. The columns `pull with noise` and `bias with noise` describe all other answers; the pull is multiplied by 1 minus "
    "noise. If a curve is shallow, noise cannot be distinguished from a weak response, and the interval of noise is open."
)


class Plan(NamedTuple):
    """What is varied: the sizes of rooms, the temperatures, and what people see first; and the seats of a curve."""

    sizes: Sequence[int]
    temperatures: Sequence[float]
    respondents: int
    begins: Sequence[str]


def conditions(base: Scenario, plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the settings of each condition: a curve for each size and temperature, then groups that begin in each way.

    Each condition has a seed of its own: with one seed, the same draws would decide answers in a curve and in its
    groups, and people who do not follow the others would answer alike in all groups.
    """
    named: dict[str, dict[str, Any]] = {}
    for size in plan.sizes:
        for temperature in plan.temperatures:
            place = f"size {size}" + (f", temperature {temperature:g}" if len(plan.temperatures) > 1 else "")
            shared = {"size": size, "temperature": temperature}
            try:
                rounds = TwoAnswers(size=size).curve_rounds
            except ValueError as error:
                raise UserError(f"--sizes: {error}") from error
            seats = -(-plan.respondents // size)
            named[f"curve, {place}"] = shared | {"told": "curve", "levels": 5, "rounds": rounds, "repetitions": seats}
            for begins in plan.begins:
                named[f"groups, {place}, {begins}"] = shared | {"told": "group", "begins": begins}
    return {name: settings | {"seed": base.seed + place} for place, (name, settings) in enumerate(named.items())}


def write(runs: Mapping[str, Tables], folder: Path) -> Path:
    """Write consensus_phases.md, its tables and its figures; return the path of the page."""
    header = list(runs.values())[-1].header
    measured = list(_measured(runs))
    responses = pd.DataFrame([row for _, _, row in measured])
    fits = {(data.topic, setting.size, setting.temperature): (data, found) for data, (setting, found), _ in measured}
    predictions = list(_predictions(runs, fits))
    groups = pd.DataFrame([prediction_row(one) for one in predictions])
    rules_found = rule_rows(
        Design(int(responses["people"].max()), int(responses["size"].max())), header.scenario["seed"]
    )
    points = pd.concat([_points(one) for one in measured], ignore_index=True)
    report = conditions_report(
        folder, "consensus_phases", "The map of consensus", CAPTION, header, responses=responses, groups=groups,
        rules=rules_found, curves=points,
    )  # fmt: skip
    _add_missing(report, runs)
    report.in_short(sentences(responses, predictions))
    label = disclaimers.model_label(header)
    note = f"{label}, seed {header.scenario['seed']}. Bars: 95% intervals over people; open intervals reach the edge"
    report.section("The map", ONE_MAP)
    report.figure(
        draw_map(responses, rules_found, note), "consensus_phases", "Planted and measured points on the map of phases"
    )
    report.table(pd.concat([responses, rules_found]), MAP)
    report.section("Response to the others")
    report.figure(
        draw_curves(points, f"{label}. Bars: 95% intervals over people. Grey: the share of the others said to agree"),
        "curves",
        "Response curves",
    )
    report.table(responses, RESPONSES)
    report.section("Noise", BY_NOISE)
    report.table(responses, NOISE)
    report.section("Groups and what theory predicts", GROUPS)
    report.table(groups, CELLS)
    return report.write()


Measured = tuple[CurveData, tuple[Setting, Fits | None], dict[str, Any]]


def _measured(runs: Mapping[str, Tables]) -> Iterator[Measured]:
    """Yield each curve with its setting and fits, and its row."""
    for tables in runs.values():
        if rules(tables).told != "curve":
            continue
        setting = setting_of(tables)
        for data in curves(tables):
            fitted = fit_curve(data, tables.header.scenario["seed"])
            about = {"who": _who(tables, data.topic, setting, runs), "topic": data.topic, "size": setting.size}
            row = about | {"temperature": setting.temperature} | response_row(data) | fit_row(fitted)
            yield data, (setting, fitted), row | _planted(tables, data, setting)


def _who(tables: Tables, topic: str, setting: Setting, runs: Mapping[str, Tables]) -> str:
    several = len({float(other.header.scenario["temperature"]) for other in runs.values()}) > 1
    return f"{tables.title(topic)}, groups of {setting.size}" + (
        f", temperature {setting.temperature:g}" if several else ""
    )


def _planted(tables: Tables, data: CurveData, setting: Setting) -> dict[str, float]:
    """Return where the planted law of the oracle lies on the map; NaN of any other model."""
    model = tables.header.model
    if model.get("backend") != "oracle":
        return {"planted_pull": np.nan, "planted_bias": np.nan}
    law = ResponseLaw(**model.get("consensus-phases", {}))
    place = found_by_measurement(law, data.answers.told, setting.temperature)
    return {"planted_pull": place.pull, "planted_bias": place.bias}


def _points(measured: Measured) -> pd.DataFrame:
    """Return a row per number shown: who, told (share of the others), people, share for the claim with its interval."""
    data, _, about = measured
    rows = []
    for told, shares in zip(data.answers.told, data.shares.T, strict=True):
        finite = shares[np.isfinite(shares)]
        low, high = mean_interval(finite, bounds=SHARE)
        value = float(finite.mean()) if len(finite) else np.nan
        rows.append(
            {
                "who": about["who"],
                "told": (1 + told) / 2,
                "people": len(finite),
                "share": value,
                "low": low,
                "high": high,
            }
        )
    return pd.DataFrame(rows)


def _predictions(
    runs: Mapping[str, Tables], fits: Mapping[tuple[str, int, float], tuple[CurveData, Fits | None]]
) -> Iterator[Prediction]:
    for tables in runs.values():
        if rules(tables).told == "curve":
            continue
        setting, seed = setting_of(tables), tables.header.scenario["seed"]
        ends = pd.DataFrame(group_ends(tables))
        for topic, rooms in ends.groupby("topic", sort=False):
            whole, answers = rooms[rooms["direction"].notna()], int(rooms["answers"].sum())
            directions, once = whole["direction"].to_numpy(dtype=float), float(whole["once"].mean())
            missing = float(rooms["missing"].sum()) / answers
            cell = Cell(
                str(topic), setting.size, setting.temperature, setting.begins, int(tables.header.scenario["rounds"]),
                directions, once, missing, len(rooms) - len(directions),
            )  # fmt: skip
            data, fitted = fits.get((cell.topic, cell.size, cell.temperature), (None, None))
            rng = np.random.default_rng([seed, cell.size, len(cell.topic), len(cell.begins)])
            yield predict(cell, fitted.noisy if fitted else None, data.alone if data else (0, 0), rng)


def _add_missing(report: Report, runs: Mapping[str, Tables]) -> None:
    sides = pd.concat([tables.sides for tables in runs.values()])
    lost = sides[sides["side"].isna()]
    report.missing(len(lost), len(sides), "answers are missing", count_table(lost["reason"]))


def sentences(responses: pd.DataFrame, predictions: Sequence[Prediction]) -> list[str]:
    """Return what was found: who follows the others, the order of the list, the places on the map, and the test of theory."""
    lines = [_influence(row) for row in responses.to_dict("records")]
    return [*lines, _order(responses), _phases(responses), _test(predictions)]


def _influence(row: Mapping[Any, Any]) -> str:
    who = row["who"]
    if row["no_difference"]:
        return f"{who}: no answer of {row['people']} people depended on the answers of others."
    if not np.isfinite(row["influence_low"]):
        reason = (
            f"fewer than {FEWEST} people answered" if row["people"] < FEWEST else "the answers of people do not vary"
        )
        return f"{who}: whether people follow the others is unknown, because {reason}."
    values = tuple(PERCENT * row[f"influence{end}"] for end in ("", "_low", "_high"))
    size = amount((values[0], values[1], values[2]), HIGHER, "percentage points", 0, f"{row['people']} people")
    share = (
        f"the share that agrees is {size} if all others agree than if no other person agrees"
        if round(values[0])
        else f"the share that agrees differs by {size} between all others agreeing and no other person agreeing"
    )
    if values[1] <= 0 <= values[2]:
        return f"{who}: it is not shown that people follow the others; {share}."
    return f"{who}: people {'follow the others' if values[0] > 0 else 'answer against the others'}; {share}."


def _order(responses: pd.DataFrame) -> str:
    """Return whether the order of the list decides, from the row in which it does so most."""
    complete = responses[responses["order"].notna()]
    if complete.empty:
        return "The effect of the order of the answers is unknown, because no person answered in both orders."
    row = complete.loc[complete["order"].abs().idxmax()]
    share, low, high = (PERCENT * (0.5 + row[f"order{end}"]) for end in ("", "_low", "_high"))
    shown = format_estimate(share, low, high, 0)
    return (
        f"People give the answer listed first in {shown}% of answers in {row['who']}, where order matters most. Each question "
        "is asked in both orders, so order does not change influence or leaning."
    )


def _phases(responses: pd.DataFrame) -> str:
    named = [f"{row['who']}: {row['phase']}" for row in responses.to_dict("records") if row["phase"] != UNCLEAR]
    unclear = int((responses["phase"] == UNCLEAR).sum())
    rest = (
        f"{unclear} of {len(responses)} points are too near an edge of the map, or have too few people"
        if unclear
        else ""
    )
    return f"In large groups, theory expects: {'; '.join(filter(None, [*named, rest]))}."


def _test(predictions: Sequence[Prediction]) -> str:
    p, cells = misfit(predictions)
    if not cells:
        reasons = ", ".join(dict.fromkeys(one.reason for one in predictions)) or "no groups were run"
        return unknown_sentence("whether groups do what theory predicts from the curves", reasons)
    rows = [prediction_row(one) for one in predictions if one.draws is not None]
    within = sum(bool(row[f"{name}_within"]) for row in rows for name in OUTCOMES)
    counted = f"{within} of {cells * len(OUTCOMES)} results lie within their 95% prediction interval (p {format_p(p)})"
    if p < 1 - 0.95:
        return f"Groups differ from what theory predicts from the measured curves: {counted}."
    return f"It is not shown that groups differ from what theory predicts from the measured curves: {counted}."


def _open_estimate(name: str, digits: int = 2) -> Column:
    """Return a column that shows an estimate with its interval, of which an end may be open."""

    def show(row: Mapping[str, Any]) -> str:
        value, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
        if np.isnan(low) or np.isnan(high) or (np.isfinite(low) and np.isfinite(high)):
            return format_estimate(value, low, high, digits)
        if np.isinf(low) and np.isinf(high):
            return f"{DASH} (open)"
        return f"{format_number(low, digits)} or more" if np.isinf(high) else f"{format_number(high, digits)} or less"

    return show


MAP: Mapping[str, Column] = {
    "who": "who", "people": "people", "pull": _open_estimate("pull"), "bias": _open_estimate("bias"),
    "planted pull": lambda row: format_number(row["planted_pull"]), "planted bias": lambda row:
    format_number(row["planted_bias"]), "phase of a large group": "phase",
}  # fmt: skip
RESPONSES: Mapping[str, Column] = {
    "who": "who", "people": "people", "asked": "asked", "missing": "missing", "influence": estimate("influence", 1, PERCENT),
    "leaning": estimate("leaning", 1, PERCENT), "order": estimate("order", 1, PERCENT),
}  # fmt: skip
NOISE: Mapping[str, Column] = {
    "who": "who", "noise": _open_estimate("noise"), "pull with noise": _open_estimate("noisy_pull"),
    "bias with noise": _open_estimate("noisy_bias"),
}  # fmt: skip


def _cell(name: str) -> Column:
    predicted = estimate(f"predicted_{name}")
    return lambda row: f"{format_number(row[name])}; {predicted(row)}"


CELLS: Mapping[str, Column] = {
    "topic": "topic", "size": "size", "temperature": lambda row: f"{row['temperature']:g}", "begins": "begins", "rooms": "rooms",
    **{f"{name}: observed; predicted": _cell(name) for name in OUTCOMES}, "reason if missing": "reason",
}  # fmt: skip
