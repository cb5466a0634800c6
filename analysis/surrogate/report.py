"""The surrogate of a run as a file, with what it has to say of itself wherever it is used."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.opinion_dynamics import SCHEMA
from parley.analysis import disclaimers
from parley.analysis.formatting import count_phrase, escape_markdown, format_estimate, format_number, markdown_table
from parley.analysis.surrogate.fidelity import DEAF, WHO, fidelity
from parley.analysis.surrogate.fit import FITTED, Grade, Transitions, fit_response, run_transitions
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.phrases import topics
from parley.llm.errors import UserError

BASELINES = {"nobody moves": "nobody moved", "to the mean": "everybody went to the room's mean"}
OURS = ("oracle", "pocket")
TOLD = {
    "path": "path error (points)",
    "spread": "spread at the end",
    "moved": "share that moved",
}


def surrogate(tables: Tables, heard: str = "") -> dict[str, Any]:
    """What `surrogate.json` holds: by topic the fitted parties, fidelity, and `told`, lines of Markdown.

    heard: `grades` (of lines, by the oracle's banks) or `attitudes` (of who speaks); "" takes grades where all speakers are
    ours. Errors: UserError when a run is too small to hold rooms out.
    """
    specs = [
        str(tables.header.scenario["llm"]),
        *[one.partition("=")[2] for one in tables.header.scenario.get("llms", [])],
    ]
    ours = all(spec.split(",")[0].split(":")[0] in OURS for spec in specs)
    heard = heard or ("grades" if ours else "attitudes")
    found = {topic: _topic(tables, topic, heard) for topic in tables.topics}
    return {"schema": SCHEMA, "run": _source(tables), "topics": found}


def write(found: dict[str, Any], path: Path) -> Path:
    """Write the file. Errors: UserError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return path


def _source(tables: Tables) -> dict[str, Any]:
    scenario = tables.header.scenario
    return {key: scenario[key] for key in ("name", "llm", "seed", "repetitions", "rounds")} | {
        "finished": tables.finished
    }


def _grade(topic: str, text: str) -> float | None:
    return topics()[topic].grade(text)


def _topic(tables: Tables, topic: str, heard: str) -> dict[str, Any]:
    grade: Grade | None = _grade if heard == "grades" else None
    if grade and topic not in topics():
        raise UserError(f"{topic}: the oracle has no sentences to grade lines by; say --heard attitudes")
    data = run_transitions(tables, topic, grade)
    parties, scores = fit_response(data), fidelity(data, topic)
    told = list(_told(tables, topic, heard, data, parties, scores))
    kept = scores.astype(object).where(scores.notna(), None).to_dict("records")
    error = _cell(scores, "path", WHO[0])
    caption = (
        f"surrogate of {disclaimers.model_label(tables.header)} on {topic}: path error on unseen rooms {error} points"
    )
    caption = f"{caption} ({DEAF} {format_number(_row(scores, 'path', DEAF)['value'])})"
    fitted = {
        "probe": tables.header.scenario["probe"],
        "how": data.how,
        "heard": heard,
        "rounds": data.levels.shape[1] - 1,
    }
    fitted |= {"parties": parties, "missing": data.missing}
    return {**fitted, "fidelity": kept, "told": told, "caption": caption}


def _told(
    tables: Tables, topic: str, heard: str, data: Transitions, parties: dict[str, Any], scores: pd.DataFrame
) -> Iterator[str]:
    yield f"## The surrogate: {escape_markdown(tables.title(topic))}\n"
    model = escape_markdown(disclaimers.model_label(tables.header))
    rooms = data.levels.index.get_level_values("room").nunique()
    name = escape_markdown(str(tables.header.scenario["name"]))
    probe = escape_markdown(str(tables.header.scenario["probe"]))
    yield f"Fitted to {rooms} rooms of {name} on {model}; probe: {probe}, heard: {heard}, attitudes: {data.how}.\n"
    if note := disclaimers.disclaimer(tables.header):
        yield f"> {note}\n"
    yield "Rooms that it was not fitted to (five folds), predicted from their first survey alone; 95% intervals over rooms:\n"
    yield markdown_table(["", *WHO, "real"], _rows(scores))
    yield f"\n{_gains(scores)}\n"
    yield markdown_table(
        ["party", "stays", *FITTED, "spread", "transitions"], [_party(*one) for one in parties.items()]
    )
    left = ", ".join(f"{reason} {count:,}" for reason, count in data.missing.items())
    yield f"\nLeft out: {left or 'nothing'}. " + _limits(parties) + "\n"


def _gains(scores: pd.DataFrame) -> str:
    """What the surrogate gains over each baseline; the first is what hearing adds."""
    low, high = (float(_row(scores, "gain", DEAF)[name]) for name in ("low", "high"))
    said = "**That hearing adds anything to the prediction is not shown.**"
    if low > 0:
        said = "**Hearing adds to the prediction.**"
    elif high < 0:
        said = "**Hearing makes the prediction worse.**"
    others = [f"{_cell(scores, 'gain', who)} smaller than if {told}" for who, told in BASELINES.items()]
    return (
        f"{said} The path error is {_cell(scores, 'gain', DEAF)} points smaller than that of a law without hearing, in which "
        "each party drifts to a level of its own (two numbers, fitted to the same rooms). It is "
        f"{' and '.join(others)}. Below 0 the baseline is better."
    )


def _limits(parties: dict[str, Any]) -> str:
    lines = sum(one["lines"] for one in parties.values())
    said = "Lines were not graded: people say their attitude."
    if lines:
        said = f"What is said varies around attitudes as in {count_phrase(lines, 'line')} of the run."
    return (
        f"{said} It answers to the mean of what is heard, however many say it, and knows no order, no names and no arguments; "
        "people of a party differ in where they begin and by noise alone. Outside of what it was fitted to (`beyond`, the "
        "share of people there at a step) nothing is known."
    )


def _rows(scores: pd.DataFrame) -> Iterator[list[str]]:
    for score, title in TOLD.items():
        real = format_number(None) if score == "path" else _cell(scores, score, "real")
        yield [title, *[_cell(scores, score, who) for who in WHO], real]


def _row(scores: pd.DataFrame, score: str, who: str) -> pd.Series:
    return scores[(scores["score"] == score) & (scores["who"] == who)].iloc[0]


def _cell(scores: pd.DataFrame, score: str, who: str) -> str:
    row = _row(scores, score, who)
    value, low, high = (None if math.isnan(row[name]) else float(row[name]) for name in ("value", "low", "high"))
    return format_estimate(value, low, high)


def _party(name: str, one: dict[str, Any]) -> list[str]:
    ends = one["intervals"] or {}
    fitted = []
    for key in FITTED:
        low, high = ends.get(key, (None, None))
        fitted.append(format_estimate(one[key], low, high, 3))
    return [name, format_number(one["stay"]), *fitted, format_number(one["spread"]), f"{one['transitions']:,}"]
