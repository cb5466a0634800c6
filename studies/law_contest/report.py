"""laws.md, its figure and tables, and laws.json, from which a population runs (`--law fitted:FILE`)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.agents.datafiles import save_text
from parley.agents.laws.base import Floats
from parley.agents.laws.fitted import SCHEMA
from parley.agents.society import party_name
from parley.analysis import disclaimers
from parley.analysis.figures import draw_null, draw_points, name_rows, new_figure
from parley.analysis.formatting import escape_markdown, estimate, format_estimate, format_number, number
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import POSITIVE, mean_interval, tail
from parley.analysis.surrogate.fit import QUANTILES, Transitions, run_transitions
from parley.analysis.surrogate.report import choose_grader, choose_heard
from parley.analysis.tables import Tables
from parley.model.titles import join_phrases

from .contest import DRAWS, Candidate, Contest, difference_interval, run_contest
from .rows import read_rows

NUMBER_ROOMS = 40
"""Rooms that intervals of the numbers of a law need: with 5 to 20, 6 to 21% of them miss (docs/exam.md)."""
LAW, BASELINE, LEFT = "#0072b2", "#777777", "white"
"""Blue and grey differ in lightness too; a law that is beaten is drawn hollow, so no meaning hangs on colour alone."""
ABOUT = (
    "Each law predicts the next attitude of an agent from the messages that the agent read. Each room is predicted by a fit "
    "to all other rooms. The error is the root mean square over rooms, in points. The column `explained` has the share by "
    "which a law reduces the squared error of the law `no agent moves`. Brackets hold 95% intervals over rooms."
)
WORSE = (
    "The column `worse` has the squared error minus the squared error of the best law, in squared points, with intervals "
    "widened for the number of laws. A law is beaten if the squared error of another law is smaller, and the interval of the "
    "difference excludes 0."
)
CONTAINS = (
    "If a law contains a simpler law, only the simpler law stays in the contest, unless the larger law is "
    "better by the test of Clark and West (2007)."
)
LIMITS = (
    "In each law, all agents have the same numbers, except for laws in which each party has its own numbers. A law outside the "
    "table cannot win. Noise in the ratings makes every law look weaker and favours `regression`. The contest compares "
    "predictions from one survey to the next, and says nothing about more rounds than the run has. Agents of a debate speak in "
    "turn, but a law moves all agents at once. Therefore intervals of numbers can be a little too narrow in debates: in "
    "simulated debates of 40 to 320 rooms, 91 to 98% of the 95% intervals contained the planted numbers "
    "(benchmarks/law_intervals.py)."
)


def contest(tables: Tables, mechanisms: Mapping[str, Any], heard: str = "", draws: int = DRAWS) -> dict[str, Any]:
    """Return by topic the transitions and the contest: (Transitions, Contest). heard: as for a surrogate.

    Errors: UserError when a run has fewer than 5 rooms, a mediator, interventions or one survey only.
    """
    heard, results = choose_heard(tables, heard), {}
    for topic in tables.topics:
        data = run_transitions(tables, topic, choose_grader(topic, heard), "a law")
        results[topic] = data, run_contest(read_rows(data, tables, topic), mechanisms, draws)
    return results


def verdict_line(result: Contest) -> str:
    """Return the verdict as a sentence."""
    verdict, titles = result.verdict, {candidate.name: candidate.mechanism.title for candidate in result.candidates}
    if not verdict.winner:
        names = join_phrases([f"{name} ({titles[name]})" for name in verdict.rivals])
        return f"The run does not decide between {names}: {verdict.reason}."
    sentence = f"{verdict.winner}: {titles[verdict.winner]}."
    if result.best.mechanism.baseline:
        sentence = f"No law predicts better than a baseline. The baseline is {sentence}"
    if verdict.equals:
        sentence += f" The run does not exclude laws that contain the best law: {', '.join(verdict.equals)}."
    return sentence


def laws_table(topic: str, result: Contest) -> pd.DataFrame:
    """Return a row per law: topic, law, what, baseline, error with its interval, explained, worse with its interval (than
    the best), beaten, rooms.
    """
    count, best, rooms = len(result.candidates), result.best, result.rows.count
    still = next(candidate.error for candidate in result.candidates if candidate.name == "still")
    beaten = {candidate.name for candidate in result.candidates if _is_beaten(candidate, result)}
    rows = []
    for candidate in result.candidates:
        ends = np.sqrt(mean_interval(candidate.errors, bounds=POSITIVE))
        worse = candidate.errors - best.errors
        low, high = difference_interval(worse, count) if candidate is not best else (math.nan, math.nan)
        rows.append({
            "topic": topic, "law": candidate.name, "what": candidate.mechanism.title, "baseline": candidate.mechanism.baseline,
            "error": math.sqrt(candidate.error), "error_low": ends[0], "error_high": ends[1],
            "explained": 1 - candidate.error / still if still > 0 else math.nan,
            "worse": float(worse.mean()), "worse_low": low, "worse_high": high,
            "beaten": candidate.name in beaten, "rooms": rooms,
        })  # fmt: skip
    return pd.DataFrame(rows)


def _is_beaten(candidate: Candidate, result: Contest) -> bool:
    count = len(result.candidates)
    return any(difference_interval(candidate.errors - other.errors, count)[0] > 0 for other in result.candidates)


def numbers_table(topic: str, result: Contest) -> pd.DataFrame:
    """Return a row per number of a law: topic, law, number, rooms, value, and low, high of the draws (from `NUMBER_ROOMS` on)."""
    share, few = tail(result.rows.count), result.rows.count < NUMBER_ROOMS
    rows = []
    for candidate in result.candidates:
        values, drawn = (_numbers(candidate, fit, result) for fit in (candidate.fit, candidate.draws))
        for name, value in values.items():
            finite = drawn[name][np.isfinite(drawn[name])]
            low, high = (math.nan, math.nan) if few or not len(finite) else np.quantile(finite, [share, 1 - share])
            rows.append({
                "topic": topic, "law": candidate.name, "number": name, "rooms": result.rows.count, "value": float(value[0]),
                "low": float(low), "high": float(high),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=["topic", "law", "number", "rooms", "value", "low", "high"])


def _numbers(candidate: Candidate, fit: Any, result: Contest) -> dict[str, Floats]:
    """Return the numbers of a law by name, with the SD of what it leaves over."""
    numbers = candidate.mechanism.parameters(fit.coefficients, fit.thresholds, result.rows.situation)
    return numbers | {"noise": fit.spread}


def as_json(tables: Tables, results: Mapping[str, Any], heard: str = "") -> dict[str, Any]:
    """Return what laws.json holds: by topic the laws with all fits, the verdict, and what a population has to say."""
    run = {key: tables.header.scenario[key] for key in ("name", "llm", "seed", "repetitions", "rounds")}
    heard = choose_heard(tables, heard)
    topics = {topic: _topic_json(tables, topic, heard, *result) for topic, result in results.items()}
    return {"schema": SCHEMA, "run": run | {"finished": tables.finished}, "topics": topics}


def _topic_json(tables: Tables, topic: str, heard: str, data: Transitions, result: Contest) -> dict[str, Any]:
    gap = (data.spoken["grade"] - data.spoken["own"]).to_numpy(dtype=float)
    where = f"{disclaimers.model_label(tables.header)} on {topic}"
    table = laws_table(topic, result).set_index("law")
    return {
        "probe": tables.header.scenario["probe"],
        "how": data.how,
        "heard": heard,
        "rounds": data.levels.shape[1] - 1,
        "said": [float(gap.mean()), float(gap.std(ddof=1))] if len(gap) > 1 else [0.0, 0.0],
        "parties": _parties(data),
        "missing": result.rows.missing,
        "verdict": {name: getattr(result.verdict, name) for name in ("winner", "rivals", "equals", "reason")},
        "told": [f"Laws fitted to {escape_markdown(where)}. {escape_markdown(verdict_line(result))}"],
        "laws": {candidate.name: _law_json(candidate, table) | {"caption": _caption(candidate, table, where)}
                 for candidate in result.candidates},
    }  # fmt: skip


def _parties(data: Transitions) -> dict[str, Any]:
    """Return by party the share of agents, and quantiles of first attitudes: who a population starts with."""
    first, parties = data.levels.iloc[:, 0], {}
    for name in data.parties.unique():
        attitudes = first[data.parties == name].dropna()
        starts = np.quantile(attitudes, np.linspace(0, 1, QUANTILES + 1)).tolist()
        parties[str(name)] = {"share": float((data.parties == name).mean()), "starts": starts}
    return parties


def _law_json(candidate: Candidate, table: pd.DataFrame) -> dict[str, Any]:
    parts = [
        np.concatenate((getattr(candidate.fit, name), getattr(candidate.draws, name))).round(8).tolist()
        for name in ("coefficients", "thresholds", "spread")
    ]
    fits = [
        dict(zip(("coefficients", "thresholds", "spread"), values, strict=True)) for values in zip(*parts, strict=True)
    ]
    return {
        "spec": candidate.spec,
        "title": candidate.mechanism.title,
        "error": float(table.loc[candidate.name, "error"]),
        "fits": fits,
    }


def _caption(candidate: Candidate, table: pd.DataFrame, where: str) -> str:
    error, still = (format_number(float(table.loc[name, "error"]), 3) for name in (candidate.name, "still"))
    return f"fit to {where}: error on unseen rooms {error} points (no agent moves {still})"


def write(tables: Tables, results: Mapping[str, Any], folder: Path, heard: str = "") -> dict[str, Path]:
    """Write laws.json, laws.md, tables and the figure into a folder; return the paths of the file, report and figure."""
    report = Report(folder, "laws", "A contest of laws")
    folder.mkdir(parents=True, exist_ok=True)
    report.disclaim(tables.header)
    report.add(ABOUT, WORSE, CONTAINS)
    scores = pd.concat([laws_table(topic, result) for topic, (_, result) in results.items()], ignore_index=True)
    numbers = pd.concat([numbers_table(topic, result) for topic, (_, result) in results.items()], ignore_index=True)
    report.data(laws=scores, numbers=numbers)
    drawn = draw(tables, results, scores)
    figure = report.figure(drawn, "laws", "Error of each law on rooms not used for its fit, with 95% intervals")
    for topic, (data, result) in results.items():
        shown, fitted = (frame[frame["topic"] == topic] for frame in (scores, numbers))
        fitted = fitted.assign(number=[_number_title(name, tables.names) for name in fitted["number"]])
        _add_topic(report, tables.title(topic), data, result, shown, fitted)
    report.section("Limits", LIMITS)
    path = save_text(folder / "laws.json", json.dumps(as_json(tables, results, heard), indent=None) + "\n")
    return {"laws": path, "report": report.write(), "figure": figure}


def _add_topic(
    report: Report, title: str, data: Transitions, result: Contest, scores: pd.DataFrame, numbers: pd.DataFrame
) -> None:
    """Add the verdict and the tables of a topic."""
    left_out = ", ".join(f"{reason} {count:,}" for reason, count in result.rows.missing.items())
    unfit = "; ".join(f"{name}: {why}" for name, why in result.unfit.items())
    report.section(title, f"**{escape_markdown(verdict_line(result))}**")
    report.add(
        f"{result.rows.count} rooms, {len(result.rows.after):,} intervals between surveys (attitudes: {data.how}). "
        f"Left out: {escape_markdown(left_out) or 'nothing'}. Laws not fitted: {escape_markdown(unfit) or 'none'}."
    )
    report.table(
        scores,
        {"law": "law", "what it says": "what", "kind": lambda row: "baseline" if row["baseline"] else "law",
         "error": estimate("error", 3), "explained": number("explained"), "worse": estimate("worse", 4),
         "beaten": lambda row: "yes" if row["beaten"] else "no"},
    )  # fmt: skip
    report.table(
        list(_number_rows(numbers)), ["law", f"numbers of the law, with 95% intervals (from {NUMBER_ROOMS} rooms on)"]
    )


def _number_title(name: str, names: Mapping[str, str]) -> str:
    """Return the name of a number, with the label of the party whose it is: `level spd` -> `level SPD`."""
    kind, _, party = name.partition(" ")
    return f"{kind} {party_name(party, names)}" if party in names else name


def _number_rows(numbers: pd.DataFrame) -> Iterator[Sequence[str]]:
    for law, rows in numbers.groupby("law", sort=False):
        cells = [
            f"{row['number']} {_number_cell(row['value'], row['low'], row['high'])}" for row in rows.to_dict("records")
        ]
        yield str(law), "; ".join(cells)


def _number_cell(value: float, low: float, high: float) -> str:
    """Return a number with its interval; without one if all draws are the same, as thresholds of a grid can be."""
    return format_number(value, 3) if low == high else format_estimate(value, low, high, 3)


def draw(tables: Tables, results: Mapping[str, Any], scores: pd.DataFrame) -> Figure:
    """Draw the error of each law, and how much worse it is than the best, a row of panels per topic."""
    caption = (
        f"Laws fitted to {tables.header.scenario['name']} on {disclaimers.model_label(tables.header)}. Errors on rooms not used "
        "for the fit. Circles are laws, squares are baselines; a law with a hollow sign is beaten by another law. Bars are 95% "
        "intervals over rooms, on the right widened for the number of laws"
    )
    height = 0.24 * len(scores) + 0.8 * len(results) + 0.6
    with new_figure(8.0, height, caption) as figure:
        grid = figure.subplots(len(results), 2, squeeze=False)
        for (left, right), (topic, (_, result)) in zip(grid, results.items(), strict=True):
            rows = scores[scores["topic"] == topic].reset_index(drop=True)
            _points(left, rows, "error", "root mean square error (points)")
            _points(right, rows, "worse", f"squared error minus that of {result.best.name}")
            left.set_title(tables.title(topic), loc="left")
            draw_null(right, upright=True)
            right.set_yticklabels([])
    return figure


def _points(axis: Axes, rows: pd.DataFrame, value: str, label: str) -> None:
    places = name_rows(axis, list(rows["law"]))
    for place, (at, row) in zip(places, rows.iterrows(), strict=True):
        colour, marker = (BASELINE, "s") if row["baseline"] else (LAW, "o")
        face = LEFT if row["beaten"] else colour
        draw_points(axis, [place], rows.loc[[at]], value, color=colour, fmt=marker, markerfacecolor=face)
    axis.set_xlabel(label)
