"""summary.md: what came out, how to read it, what is missing, what was run on what, how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from agents.topic import load_topic
from analysis.load import Tables
from analysis.metrics import metrics
from analysis.wording import REFERENCE, estimate, group_title, harmless, markdown_table, number, plain, span, tally
from llm.errors import UserError
from model.scenario import load_preset

HONEST = {
    "oracle": "These debates were held by the **known-truth speaker**, a rule-based backend with a planted bias, "
    "influence and drift (its parameters are in the record's header). That the figures resemble a paper's shows that "
    "the pipeline works; it is no evidence about people or about language models.",
    "fake": "These debates were held by a **stand-in** that says a fixed line. They show nothing but that the pipeline "
    "runs.",
}
ASKED = {"rounds": "before the debate and after each round", "ends": "before and after the debate", "never": "never"}
FEW = " With so few rooms they are a rough guide at best."
Results = Mapping[str, pd.DataFrame]


def write_summary(tables: Tables, results: Results, path: Path, figure: Path) -> Path:
    """Write the summary beside the figure's folder. results: the metrics' tables by name."""
    lines = _lines(tables, results, figure.relative_to(path.parent).as_posix())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def caption(tables: Tables, points: pd.DataFrame) -> str:
    """One line over every figure: scenario, model, seed, what the points are."""
    scenario = tables.header.scenario
    unfinished = "" if tables.finished else " (unfinished)"
    run = f"{scenario['name']}{unfinished} on {scenario['llm']}, seed {scenario['seed']}"
    rooms = span(points.loc[points["group"] != REFERENCE, "n"])
    return plain(f"{run}: means over {rooms} rooms, bars are standard errors")


def _lines(tables: Tables, results: Results, figure: str) -> Iterator[str]:
    scenario = tables.header.scenario
    yield f"# {harmless(scenario['name'])}\n"
    yield harmless(f"{scenario['title']} ({scenario['source']}).") + "\n"
    if not tables.finished:
        done = f"{_rounds_done(tables)} of {scenario['rounds']} rounds are here"
        yield f"**Unfinished**: {done}. Run the same command again to go on.\n"
    note = HONEST.get(str(tables.header.model.get("backend")))
    if note:
        yield f"> {note}\n"
    yield f"![Attitudes by number of replies]({figure})\n"
    yield from _in_short(tables, results)
    yield from _how_to_read(tables)
    for name, metric in metrics().items():
        if metric.LABELS:
            yield from _metric(tables, metric, results[name])
    yield from _missing(tables)
    yield from _run_on(tables)
    yield from _again(tables)


def _rounds_done(tables: Tables) -> int:
    return int(tables.utterances["round"].max()) if len(tables.utterances) else 0


def _in_short(tables: Tables, results: Results) -> Iterator[str]:
    yield "## In short\n"
    for name, metric in metrics().items():
        if hasattr(metric, "headline") and len(results[name]):
            yield f"- {metric.headline(results[name])}"
    ratings, missing = len(tables.attitudes), int(tables.attitudes["rating"].isna().sum())
    yield f"- {missing:,} of {ratings:,} ratings are missing{f' ({missing / ratings:.1%})' if missing else ''}.\n"


def _how_to_read(tables: Tables) -> Iterator[str]:
    scenario = tables.header.scenario
    yield "## How to read the numbers\n"
    yield (
        f"The unit of analysis is the room, one debate: n = {scenario['repetitions']} rooms per topic and group. Agents of "
        "a room are averaged first. Brackets hold 95% bootstrap intervals over rooms; nothing is corrected for the number "
        f"of rows.{FEW if scenario['repetitions'] < 10 else ''} Attitudes are asked {ASKED[scenario['survey']]} and run from "
        "0 to 10:\n"
    )
    for topic in tables.topics:
        yield f"- {harmless(tables.title(topic))}: {_axis(topic, str(scenario['probe']))}"
    yield ""


def _axis(topic: str, probe: str) -> str:
    try:
        found = load_topic(topic)
        return harmless(f"10 is highest {found.axis} ({found.probe(probe).question})")
    except UserError:
        return "not a topic of this version"


def _missing(tables: Tables) -> Iterator[str]:
    ratings, spoken, calls = tables.attitudes, tables.utterances, tables.calls
    unrated, silent = ratings[ratings["rating"].isna()], spoken[spoken["text"].isna()]
    rows = [
        ("ratings", len(ratings), unrated["reason"], unrated["party"]),
        ("replies", len(spoken), silent["reason"], silent["party"]),
        ("calls that failed", len(calls), calls["failure"].dropna(), ()),
        ("ratings asked more than once", len(ratings), ratings.loc[ratings["asked"] > 1, "asked"], ()),
        ("calls with lines that the model could not read", len(calls), calls.loc[calls["unread"] > 0, "purpose"], ()),
    ]
    yield "## What is missing\n"
    told = [[what, f"{len(why)}", f"{of}", tally(why), tally(who)] for what, of, why, who in rows if len(why)]
    if told:
        yield markdown_table(["what", "count", "of", "reasons", "by party"], told) + "\n"
    else:
        yield f"Nothing: {len(ratings):,} ratings, {len(spoken):,} replies and {len(calls):,} calls, all readable.\n"


def _run_on(tables: Tables) -> Iterator[str]:
    scenario, calls, seats = tables.header.scenario, tables.calls, tables.agents
    rooms = seats.loc[seats["group"] != REFERENCE, "room"].nunique()
    tokens = f"{calls['prompt_tokens'].sum():,} tokens in, {calls['completion_tokens'].sum():,} out"
    rows = {
        "model": scenario["llm"],
        "groups": "; ".join(group_title(group) for group in tables.groups),
        "topics": ", ".join(tables.title(topic) for topic in tables.topics),
        "rooms": f"{rooms:,} ({scenario['repetitions']} per topic and group), {len(seats):,} agents",
        "length": f"{scenario['rounds']} rounds; {len(tables.utterances):,} replies, {len(tables.attitudes):,} ratings",
        "calls": f"{len(calls):,} ({tokens}, in the backend's own unit)",
        "survey": f"probe {scenario['probe']}, temperature {scenario['survey_temperature']}, reader {scenario['reader']}",
        "replies": f"temperature {scenario['temperature']}, at most {scenario['max_tokens']} tokens",
        "seed, revision": f"{scenario['seed']}, {tables.header.revision}",
        "versions": ", ".join(f"{name} {version}" for name, version in tables.header.versions.items()),
    }
    yield "## What was run on what\n"
    yield markdown_table(["what", "value"], [list(row) for row in rows.items()]) + "\n"


def _metric(tables: Tables, metric: ModuleType, frame: pd.DataFrame) -> Iterator[str]:
    yield f"## {metric.TITLE}\n"
    if frame.empty:
        yield "Nothing to report: no line has ratings from two surveys.\n"
        return
    rooms = f" n = {span(frame['rooms'])} rooms a row." if "rooms" in frame else ""
    yield f"{metric.NOTE}{rooms}\n"
    shown = [name for name in metric.LABELS if frame[name].notna().any() and not _same_rooms(name, frame)]
    keys = _keys(frame)
    rows = [
        [_key(tables, key, row[key]) for key in keys] + [_cell(row, name) for name in shown]
        for row in frame.to_dict("records")
    ]
    yield markdown_table([*keys, *[metric.LABELS[name] for name in shown]], rows) + "\n"


def _same_rooms(name: str, frame: pd.DataFrame) -> bool:
    return name == "rooms" and frame[name].nunique() == 1


def _keys(frame: pd.DataFrame) -> list[str]:
    """The columns that tell the rows apart; at least the party."""
    keys = [key for key in ("topic", "group") if frame[key].nunique() > 1]
    told = not keys or frame.duplicated(keys).any()
    return [*keys, "party"] if told else keys


def _key(tables: Tables, key: str, value: str) -> str:
    return {"topic": tables.title, "group": group_title, "party": str.title}[key](value)


def _cell(row: Mapping[Any, Any], name: str) -> str:
    return estimate(row[name], row[f"{name}_low"], row[f"{name}_high"]) if f"{name}_low" in row else number(row[name])


def _again(tables: Tables) -> Iterator[str]:
    yield "## Run it again\n"
    command = _command(tables)
    if command:
        yield f"    {command}\n"
    else:
        yield (
            "The preset that this ran on is a file of its own, or has changed since: no command line gives it back. "
            "Its every field is in the first line of the record.\n"
        )
    yield (
        "Tables are in `tables/`, every debate is in `transcript.md`, every event in `record.jsonl`, "
        "every reply in `journal.sqlite`."
    )


def _command(tables: Tables) -> str | None:
    """The command line of this very scenario, or None when this version's presets do not give it."""
    scenario = tables.header.scenario
    settings = {key: _value(scenario, key) for key in tables.header.given}
    try:
        again = load_preset(str(scenario["name"])).with_settings(settings).to_dict()
    except UserError:
        return None
    parts = ["python run.py --scenario", shlex.quote(scenario["name"])]
    parts += [f"--set {shlex.quote(f'{key}={value}')}" for key, value in settings.items()]
    command = " ".join(parts)
    return command if again == scenario and command.isprintable() else None


def _value(scenario: Mapping[str, Any], key: str) -> str:
    value = scenario.get(key, scenario["options"].get(key))
    return ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)
