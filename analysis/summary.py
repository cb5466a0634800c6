"""summary.md: what was run on what, what came out, what is missing, how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from analysis.load import Tables
from analysis.metrics import metrics
from analysis.wording import REFERENCE, estimate, group_title, harmless, markdown_table, number

HONEST = {
    "oracle": "These debates were held by the **known-truth speaker**, a rule-based backend with a planted bias, "
    "influence and drift (its parameters are in the record's header). That the figures resemble a paper's shows that "
    "the pipeline works; it is no evidence about people or about language models.",
    "fake": "These debates were held by a **stand-in** that says a fixed line. They show nothing but that the pipeline "
    "runs.",
}
INTERVALS = {"drift": ("drift", "closed", "rate"), "first_cycle": ("share",), "crossing": ("share",)}


def write_summary(tables: Tables, path: Path, figure: Path) -> Path:
    """Write the summary beside the figure's folder."""
    path.write_text("\n".join(_lines(tables, figure.relative_to(path.parent).as_posix())) + "\n", encoding="utf-8")
    return path


def caption(tables: Tables) -> str:
    """One line over every figure: scenario, model, seed, what the points are."""
    scenario = tables.header.scenario
    unfinished = "" if tables.finished else " (unfinished)"
    run = f"{scenario['name']}{unfinished} on {scenario['llm']}, seed {scenario['seed']}"
    return f"{run}: mean of {scenario['repetitions']} rooms, bars are standard errors"


def _lines(tables: Tables, figure: str) -> Iterator[str]:
    scenario = tables.header.scenario
    yield f"# {scenario['name']}\n"
    yield f"{scenario['title']} ({scenario['source']}).\n"
    if not tables.finished:
        done = f"{_rounds_done(tables)} of {scenario['rounds']} rounds are here"
        yield f"**Unfinished**: {done}. Run the same command again to go on.\n"
    note = HONEST.get(str(tables.header.model.get("backend")))
    if note:
        yield f"> {note}\n"
    yield f"![Attitudes]({figure})\n"
    yield from _run_on(tables)
    yield from _missing(tables)
    for name, metric in metrics().items():
        if name != "trajectory":
            yield from _metric(name, metric.TITLE, metric.NOTE, metric.compute(tables))
    yield from _again(tables)


def _rounds_done(tables: Tables) -> int:
    return int(tables.utterances["round"].max()) if len(tables.utterances) else 0


def _run_on(tables: Tables) -> Iterator[str]:
    scenario, calls, seats = tables.header.scenario, tables.calls, tables.agents
    rooms = seats.loc[seats["group"] != REFERENCE, "room"].nunique()
    tokens = f"{calls['prompt_tokens'].sum():,} tokens in, {calls['completion_tokens'].sum():,} out"
    survey = f"probe `{scenario['probe']}`, temperature {scenario['survey_temperature']}, read `{scenario['reader']}`"
    yield "## What was run on what\n"
    rows = [
        ["model", f"`{scenario['llm']}`"],
        ["groups", "; ".join(group_title(group) for group in tables.groups)],
        ["topics", ", ".join(tables.title(topic) for topic in tables.topics)],
        ["rooms", f"{rooms:,} ({scenario['repetitions']} per topic and group), {len(seats):,} agents"],
        [
            "length",
            f"{scenario['rounds']} rounds; {len(tables.utterances):,} replies, {len(tables.attitudes):,} ratings",
        ],
        ["calls", f"{len(calls):,} ({tokens}, in the backend's own unit)"],
        ["survey", f"{survey}; replies at temperature {scenario['temperature']}"],
        ["seed, revision", f"{scenario['seed']}, {tables.header.revision}"],
        ["versions", ", ".join(f"{name} {version}" for name, version in tables.header.versions.items())],
    ]
    yield markdown_table(["what", "value"], rows) + "\n"


def _missing(tables: Tables) -> Iterator[str]:
    ratings, spoken, calls = tables.attitudes, tables.utterances, tables.calls
    yield "## What is missing\n"
    rows = [
        [
            "ratings",
            str(len(ratings)),
            str(int(ratings["rating"].isna().sum())),
            _reasons(ratings.loc[ratings["rating"].isna(), "reason"]),
        ]
    ]
    rows.append(["ratings asked twice or more", str(len(ratings)), str(int((ratings["asked"] > 1).sum())), ""])
    rows.append(
        [
            "replies",
            str(len(spoken)),
            str(int(spoken["text"].isna().sum())),
            _reasons(spoken.loc[spoken["text"].isna(), "reason"]),
        ]
    )
    rows.append(
        [
            "calls that failed",
            str(len(calls)),
            str(int(calls["failure"].notna().sum())),
            _reasons(calls["failure"].dropna()),
        ]
    )
    rows.append(
        ["calls with lines that the model could not read", str(len(calls)), str(int((calls["unread"] > 0).sum())), ""]
    )
    yield markdown_table(["what", "of", "missing", "reasons"], rows) + "\n"


def _reasons(values: pd.Series) -> str:
    return ", ".join(f"{harmless(str(reason))} {count}" for reason, count in values.value_counts().items())


def _metric(name: str, title: str, note: str, frame: pd.DataFrame) -> Iterator[str]:
    yield f"## {title}\n"
    if frame.empty:
        yield "Nothing to report: no cell has ratings from two rounds.\n"
        return
    yield f"{note}\n"
    spans = [column for column in INTERVALS.get(name, ()) if column in frame]
    hidden = {f"{column}_{end}" for column in spans for end in ("low", "high")} | {"topic", "group", "party"}
    plain = [column for column in frame if column not in hidden and column not in spans]
    header = ["topic", "group", "party", *plain, *spans]
    rows = [
        [
            row["topic"],
            group_title(row["group"]),
            row["party"],
            *[_plain(row[column]) for column in plain],
            *[_span(row, column) for column in spans],
        ]
        for row in frame.to_dict("records")
    ]
    yield markdown_table(header, rows) + "\n"


def _plain(value: object) -> str:
    return number(int(value)) if isinstance(value, float) and value.is_integer() and value < 0 else number(value)


def _span(row: dict, column: str) -> str:
    return estimate(row[column], row[f"{column}_low"], row[f"{column}_high"])


def _again(tables: Tables) -> Iterator[str]:
    scenario = tables.header.scenario
    settings = [f"--set {shlex.quote(f'{key}={_value(scenario, key)}')}" for key in tables.header.given]
    yield "## Run it again\n"
    yield f"    python run.py --scenario {shlex.quote(scenario['name'])} {' '.join(settings)}".rstrip() + "\n"
    yield (
        "Tables are in `tables/`, every debate is in `transcript.md`, every event in `record.jsonl`, "
        "every reply in `journal.sqlite`."
    )


def _value(scenario: dict, key: str) -> str:
    value = scenario.get(key, scenario["options"].get(key))
    return ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)
