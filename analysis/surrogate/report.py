"""The surrogate of a run as a file, with its own report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.datafiles import save_text
from parley.agents.laws.surrogate import SCHEMA
from parley.agents.society import party_name
from parley.analysis import disclaimers
from parley.analysis.formatting import (
    DASH,
    count_phrase,
    escape_markdown,
    format_estimate,
    format_number,
    markdown_table,
)
from parley.analysis.surrogate.act_choices import SLOPES, fit_acts
from parley.analysis.surrogate.fidelity import DEAF, WHO, fidelity
from parley.analysis.surrogate.fit import FITTED, Grade, Transitions, fit_response, graded_lines, run_transitions
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.phrases import topic_bank
from parley.llm.errors import UserError

BASELINES = {"no agent moves": "no agent moved", "to the mean": "all agents went to the room's mean"}
OURS = ("oracle", "pocket")
SCORES = {"path": "path error (points)", "spread": "spread at the end", "moved": "share that moved"}


def surrogate(tables: Tables, heard: str = "") -> dict[str, Any]:
    """Return what `surrogate.json` holds: by topic the fitted parties, fidelity, and `told`, lines of Markdown.

    heard: `grades` (of lines, by the oracle's banks) or `attitudes` (of their speakers); "" takes grades if all
    speakers are ours. Errors: UserError when a run is too small to hold rooms out.
    """
    heard = choose_heard(tables, heard)
    run = {key: tables.header.scenario[key] for key in ("name", "llm", "seed", "repetitions", "rounds")}
    fits = {topic: _fit_topic(tables, topic, heard) for topic in tables.topics}
    return {"schema": SCHEMA, "run": run | {"finished": tables.finished}, "topics": fits}


def write(fitted: dict[str, Any], path: Path) -> Path:
    """Write the file. Errors: UserError."""
    return save_text(path, json.dumps(fitted, indent=1) + "\n")


def choose_heard(tables: Tables, heard: str = "") -> str:
    """Return what agents of a run respond to, `grades` or `attitudes`: as given, else grades if all speakers are ours."""
    scenario = tables.header.scenario
    specs = [str(scenario["llm"]), *[spec.partition("=")[2] for spec in scenario.get("llms", [])]]
    ours = all(spec.split(",")[0].split(":")[0] in OURS for spec in specs)
    return heard or ("grades" if ours else "attitudes")


def choose_grader(topic: str, heard: str) -> Grade | None:
    """Return the function that grades lines; None for attitudes. Errors: UserError for a topic without grades."""
    if heard == "grades" and topic_bank(topic) is None:
        raise UserError(
            f"{topic}: the oracle does not know this topic, so lines cannot be graded: add --heard attitudes"
        )
    return _grade if heard == "grades" else None


def _fit_topic(tables: Tables, topic: str, heard: str) -> dict[str, Any]:
    grader = choose_grader(topic, heard)
    data = run_transitions(tables, topic, grader)
    parties, scores = fit_response(data), fidelity(data, topic)
    acts = fit_acts(tables, data.levels, graded_lines(tables, topic, grader))
    deaf = format_number(_score(scores, "path", DEAF)["value"])
    caption = (
        f"surrogate of {disclaimers.model_label(tables.header)} on {topic}: path error on unseen rooms "
        f"{_cell(scores, 'path', WHO[0])} points ({DEAF} {deaf})"
    )
    return {
        "probe": tables.header.scenario["probe"],
        "how": data.how,
        "heard": heard,
        "rounds": data.levels.shape[1] - 1,
        "parties": parties,
        **({"acts": acts} if acts else {}),
        "missing": data.missing,
        "fidelity": scores.astype(object).where(scores.notna(), None).to_dict("records"),
        "told": [*_report_lines(tables, topic, heard, data, parties, scores), *_act_lines(acts)],
        "caption": caption,
    }


def _grade(topic: str, text: str) -> float | None:
    bank = topic_bank(topic)
    return bank.grade(text) if bank else None


def _report_lines(
    tables: Tables, topic: str, heard: str, data: Transitions, parties: dict[str, Any], scores: pd.DataFrame
) -> Iterator[str]:
    scenario, model = tables.header.scenario, disclaimers.model_label(tables.header)
    rooms = data.levels.index.get_level_values("room").nunique()
    name, probe, model = (escape_markdown(str(text)) for text in (scenario["name"], scenario["probe"], model))
    yield f"## The surrogate: {escape_markdown(tables.title(topic))}\n"
    yield (
        f"Fitted to {rooms} rooms of {name} on {model}. Survey question: {probe}; agents respond to {heard}; "
        f"attitudes: {data.how}.\n"
    )
    if note := disclaimers.disclaimer(tables.header):
        yield f"> {note}\n"
    yield (
        "The table compares predictions with rooms that the surrogate was not fitted to (five folds). "
        "A prediction uses only the first survey of the room. Brackets hold 95% intervals over rooms.\n"
    )
    rows = [
        [title, *[DASH if (score, who) == ("path", "real") else _cell(scores, score, who) for who in (*WHO, "real")]]
        for score, title in SCORES.items()
    ]
    yield markdown_table(["", *WHO, "real"], rows)
    yield f"\n{_gains(scores)}\n"
    fitted = [_party_row(party_name(party, tables.names), fit) for party, fit in parties.items()]
    yield markdown_table(["party", "stays", *FITTED, "spread", "transitions"], fitted)
    left_out = ", ".join(f"{reason} {count:,}" for reason, count in data.missing.items())
    yield f"\nLeft out: {left_out or 'nothing'}. {_limits(parties)}\n"


def _act_lines(acts: dict[str, Any] | None) -> Iterator[str]:
    """Yield the law of acts of a run on a platform."""
    if not acts:
        return
    yield (
        f"\n### Acts\n\nThe law of acts is fitted to {acts['visits']:,} visits in {acts['rooms']} rooms (docs/networks.md). "
        "Brackets hold 95% intervals over rooms. Homophily is by how much the log odds of liking a post, compared with doing "
        "nothing, fall with each point of distance; herd is by how much they rise with a score above 0. Both are 0 if people do "
        "not look at opinions and scores.\n"
    )
    numbers = {name: acts[name] for name in SLOPES if name in acts} | acts["constants"]
    yield markdown_table(
        ["", "log odds"],
        [[name, format_estimate(estimate[0], estimate[1], estimate[2])] for name, estimate in numbers.items()],
    )
    left_out = ", ".join(f"{reason} {count:,}" for reason, count in acts["left_out"].items())
    yield f"\nVisits left out: {left_out or 'none'}. People of the surrogate never choose an act that is missing here. "
    yield (
        "The path error above is that of people who all read in every round, as in a network. On a platform only those who are "
        "shown posts read, so the path error is too high.\n"
    )


def _gains(scores: pd.DataFrame) -> str:
    """Return what the surrogate gains over each baseline; the first gain is what hearing adds."""
    low, high = (float(_score(scores, "gain", DEAF)[name]) for name in ("low", "high"))
    verdict = "What agents read does not detectably improve the prediction."
    if low > 0:
        verdict = "What agents read improves the prediction."
    elif high < 0:
        verdict = "Using what agents read makes the prediction worse."
    others = [
        f"{_cell(scores, 'gain', who)} points smaller than the error of assuming that {event}"
        for who, event in BASELINES.items()
    ]
    return (
        f"**{verdict}** The path error is {_cell(scores, 'gain', DEAF)} points smaller than the error of a model "
        "in which agents read nothing and each party drifts to its own level (two numbers, fitted to the same rooms). "
        f"The path error is {' and '.join(others)}. A number below 0 means that the other prediction is better."
    )


def _limits(parties: dict[str, Any]) -> str:
    count = sum(fit["lines"] for fit in parties.values())
    speech = "Lines were not graded, so each agent of the surrogate says its attitude."
    if count:
        speech = f"What agents say differs from their attitudes as much as in {count_phrase(count, 'line')} of the run."
    return (
        f"{speech} The surrogate responds to the mean of what an agent reads, however many agents say it. It ignores "
        "order, names and arguments. Agents of a party differ only in their first attitude and by chance. The fit "
        "says nothing about attitudes outside its range (`beyond` is the share of agents there at a step)."
    )


def _score(scores: pd.DataFrame, score: str, who: str) -> pd.Series:
    return scores[(scores["score"] == score) & (scores["who"] == who)].iloc[0]


def _cell(scores: pd.DataFrame, score: str, who: str) -> str:
    value, low, high = (
        None if math.isnan(end) else float(end) for end in _score(scores, score, who)[["value", "low", "high"]]
    )
    return format_estimate(value, low, high)


def _party_row(name: str, fit: dict[str, Any]) -> list[str]:
    intervals = [(fit["intervals"] or {}).get(key, (None, None)) for key in FITTED]
    fitted = [format_estimate(fit[key], low, high, 3) for key, (low, high) in zip(FITTED, intervals, strict=True)]
    return [name, format_number(fit["stay"]), *fitted, format_number(fit["spread"]), f"{fit['transitions']:,}"]
