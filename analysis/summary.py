"""summary.md: what came out, how to read it, what is missing, what was run on what, how to run it again."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from parley.agents.fact_checker import PURPOSE as CHECK
from parley.agents.topic import load_topic
from parley.analysis import disclaimers, provenance
from parley.analysis.bootstrap import FEWEST
from parley.analysis.formatting import (
    REFERENCE,
    count_phrase,
    count_table,
    escape_markdown,
    estimate,
    format_number,
    format_range,
    group_title,
    join_phrases,
    seat_title,
    seats_in,
    strip_controls,
)
from parley.analysis.metrics import applies, metrics
from parley.analysis.metrics._cells import DEFAULT, default_level
from parley.analysis.report import Report
from parley.analysis.tables import Tables, rating_value_note
from parley.llm.budget import UNPRICED, Prices, cost_by_model
from parley.llm.errors import UserError
from parley.llm.request import Usage
from parley.model import attendance
from parley.model.interventions import parse_intervention
from parley.model.interventions.fact_check import FactCheck
from parley.model.scenario import REPRESENTATIVE

ASKED = {
    "rounds": "Attitudes are asked before the debate and after each round, and shown on an axis from 0 to 10:",
    "ends": "Attitudes are asked before and after the debate, and shown on an axis from 0 to 10:",
    "never": "No attitude was asked; it would have been, to be shown on an axis from 0 to 10:",
}
FEW = 10
"""Rooms below which a summary warns of wide intervals."""
NO_COMMAND = (
    "This run used your own preset file, or its preset has changed since: no command repeats it. "
    "Its every field is in the first line of the record."
)
Results = Mapping[str, pd.DataFrame]
Measured = Mapping[str, ModuleType]
NOTHING: Mapping[str, str] = {}


def write_summary(
    tables: Tables,
    results: Results,
    path: Path,
    figure: Path,
    prices: Prices = UNPRICED,
    measured: Measured | None = None,
) -> Path:
    """Write the summary beside the figure's folder. results: the metrics' tables by name; prices: of the models, by voice;
    measured: the metrics (all that have a name).
    """
    shown = metrics() if measured is None else measured
    done = f": {_rounds_done(tables)} of {tables.header.scenario['rounds']} rounds are here"
    report = open_summary(tables, path, done)
    report.picture(figure, "Attitudes by number of replies")
    report.section("In short", _in_short(tables, results, shown))
    _how_to_read(report, tables)
    report.lines(provenance.intervention_table(tables))
    for name, metric in shown.items():
        if metric.LABELS and applies(metric, tables):
            _metric(report, tables, metric, results[name])
    missing(report, tables)
    run_on(report, tables, prices)
    again(report, tables)
    return report.write()


def open_summary(tables: Tables, path: Path, done: str = "") -> Report:
    """A summary with its head: what was run, whether it is finished (`done`: what there is of it), what must be known of it."""
    report = Report(path.parent, path.stem, tables.header.scenario["name"])
    report.plain(f"{provenance.experiment_title(tables.header)}.")
    if not tables.finished:
        report.add(f"**Unfinished**{done}. Run the same command again to go on.")
    report.disclaim(tables.header)
    return report


def caption(tables: Tables, points: pd.DataFrame) -> str:
    """One line over every figure: scenario, model, seed, what the points are."""
    scenario = tables.header.scenario
    unfinished = "" if tables.finished else " (unfinished)"
    run = f"{scenario['name']}{unfinished} on {disclaimers.model_label(tables.header)}, seed {scenario['seed']}"
    rooms = format_range(points.loc[points["group"] != REFERENCE, "n"])
    return strip_controls(f"{run}: means over {rooms} rooms, bars are standard errors")


def _rounds_done(tables: Tables) -> int:
    return int(tables.utterances["round"].max()) if len(tables.utterances) else 0


def _in_short(tables: Tables, results: Results, measured: Measured) -> str:
    """The headline of each metric, and how many ratings are missing, as a list."""
    lines = [
        metric.headline(results[name])
        for name, metric in measured.items()
        if hasattr(metric, "headline") and len(results[name])
    ]
    ratings, lacking = len(tables.attitudes), int(tables.attitudes["rating"].isna().sum())
    share = f" ({lacking / ratings:.1%})" if lacking else ""
    lines.append(f"{lacking:,} of {ratings:,} ratings are missing{share}." if ratings else "There are no ratings.")
    return "\n".join(f"- {line}" for line in lines)


def _how_to_read(report: Report, tables: Tables) -> None:
    scenario = tables.header.scenario
    report.section(
        "How to read the numbers",
        f"The unit of analysis is the room, one debate: n = {scenario['repetitions']} rooms per topic and group. Agents of "
        "a room are averaged first. Brackets hold 95% intervals over rooms; nothing is corrected for the number "
        f"of rows.{_few(scenario['repetitions'])} {rating_value_note(tables)}{_shared(tables)}{_donors(tables)} "
        f"{ASKED[scenario['survey']]}",
    )
    probe = str(scenario["probe"])
    report.lines(f"- {escape_markdown(tables.title(topic))}: {_axis(topic, probe)}" for topic in tables.topics)
    report.plain(_level(tables))


def _few(rooms: int) -> str:
    if rooms < FEWEST:
        return f" With fewer than {FEWEST} rooms there are no intervals, and nothing can be concluded."
    return " With so few rooms intervals are wide and little can be concluded." if rooms < FEW else ""


def _shared(tables: Tables) -> str:
    """A warning when rooms have personas in common; the Default, who has no views of its own, is left aside."""
    seats = tables.agents[(tables.agents["group"] != REFERENCE) & (tables.agents["party"] != DEFAULT)]
    most = seats.groupby(["topic", "group", "persona"])["room"].nunique().max()
    if not most > 1:
        return ""
    return (
        f" A persona sits in up to {most} rooms of a topic and group, each time in other company: rooms then share "
        "personas, and intervals are somewhat too narrow."
    )


def _donors(tables: Tables) -> str:
    if not (tables.calls["drawn"] > 0).any():
        return ""
    return (
        " People of one kind share answers here (archetypes): ratings of different rooms have donors in common, and "
        "intervals are too narrow."
    )


def _level(tables: Tables) -> str:
    """Where each group's level of the Default (the dashed line) comes from, and of how many agents a topic."""
    known: dict[tuple[str, str], list[int]] = defaultdict(list)
    for group in tables.groups:
        for topic in tables.topics:
            level = default_level(tables, topic, group)
            if level:
                known[group, level.source].append(level.n)
    told = [
        f"{group_title(group, tables.names)}: {_source(group, source, tables.names)} (n = {format_range(ns)} a topic)"
        for (group, source), ns in known.items()
    ]
    return f"The Default's level is its mean before the debates. {'; '.join(told)}." if told else ""


def _source(group: str, source: str, names: Mapping[str, str]) -> str:
    if source == REFERENCE:
        return "of those asked outside"
    return "of its own" if source == group else f"of those in {group_title(source, names)}"


def _axis(topic: str, probe: str) -> str:
    try:
        found = load_topic(topic).probe(probe)
    except UserError:
        return "not a topic or probe of this version"
    scale = found.scale
    asked_on = " to ".join(f"{end} ({scale.labels[end]})" for end in (scale.low, scale.high))
    low, high = (f"{found.attitude(end):g}" for end in (scale.low, scale.high))
    shown = "" if (low, high) == (f"{scale.low}", f"{scale.high}") else f", which are {low} and {high} here"
    return escape_markdown(f"{found.construct}, asked from {asked_on}{shown}: {found.question}")


def missing(report: Report, tables: Tables) -> None:
    """Add what could not be read, counted, with reasons."""
    ratings, spoken, calls = tables.attitudes, tables.utterances, tables.calls
    unrated, silent = ratings[ratings["rating"].isna()], spoken[spoken["text"].isna()]
    notes = tables.private[tables.private["text"].isna()]
    unanswered = tables.probes[tables.probes["rating"].isna()]
    rows = [
        ("ratings", len(ratings), unrated["reason"], unrated["party"]),
        ("ratings of further probes", len(tables.probes), unanswered["reason"], unanswered["party"]),
        ("replies", len(spoken), silent["reason"], silent["party"]),
        ("notes to themselves", len(tables.private), notes["reason"], notes["party"]),
        ("calls that failed", len(calls), calls["failure"].dropna(), ()),
        ("ratings asked more than once", len(ratings), ratings.loc[ratings["asked"] > 1, "asked"], ()),
        ("calls with lines that the model could not read", len(calls), calls.loc[calls["unread"] > 0, "purpose"], ()),
    ]
    report.section("What is missing")
    told = [
        [what, f"{len(why)}", f"{of}", count_table(why), count_table(who)] for what, of, why, who in rows if len(why)
    ]
    if told:
        report.table(told, ["what", "count", "of", "reasons", "by party"])
        return
    there = {"rating": ratings, "further rating": tables.probes, "reply": spoken, "call": calls}
    named = [count_phrase(len(frame), noun) for noun, frame in there.items() if len(frame)]
    none = "" if len(ratings) else " There are no ratings."
    report.add(f"Nothing: {join_phrases(named)}, all readable.{none}" if named else "Nothing was asked yet.")


def run_on(report: Report, tables: Tables, prices: Prices, changed: Mapping[str, str] = NOTHING) -> None:
    """Add what was run on what; `changed` are rows that read otherwise, or come in addition."""
    scenario, calls, seats = tables.header.scenario, asked_of_model(tables.calls), tables.agents
    rooms, own = seats.loc[seats["group"] != REFERENCE, "room"].nunique(), disclaimers.own_models(tables.header)
    rows = {
        "model": "; ".join([scenario["llm"], *[f"{who}: {spec}" for who, spec in own.items()]]),
        "groups": "; ".join(group_title(group, tables.names) for group in tables.groups),
        "topics": ", ".join(tables.title(topic) for topic in tables.topics),
        "rooms": f"{rooms:,} ({scenario['repetitions']} per topic and group), {len(seats):,} agents",
        "personas": _personas(tables),
        **({"weights of links": "recorded; debates ignore them"} if tables.links["weight"].notna().any() else {}),
        "length": f"{scenario['rounds']} rounds; {len(tables.utterances):,} replies, {len(tables.attitudes):,} ratings",
        "calls": f"{len(calls):,} asked ({_tokens(calls)}){_saved(tables.calls)}",
        "sent before": _sent_before(calls),
        **({"cost": cost} if (cost := _cost(tables, prices)) else {}),
        "survey": f"probe {scenario['probe']}, temperature {scenario['survey_temperature']}, reader {scenario['reader']}",
        **({"before speaking": scenario["think"]} if scenario.get("think", "none") != "none" else {}),
        **({"asked as well": ", ".join(scenario["also"])} if scenario.get("also") else {}),
        **({"ratings read": _ways(tables.attitudes)} if len(tables.attitudes) else {}),
        "replies": f"temperature {scenario['temperature']}, at most {scenario['max_tokens']} tokens",
        "seed, revision": f"{scenario['seed']}, {tables.header.revision}",
        "versions": ", ".join(f"{name} {version}" for name, version in tables.header.versions.items()),
    }
    report.section("What was run on what")
    report.table((rows | dict(changed)).items(), ["what", "value"])


def _personas(tables: Tables) -> str:
    """How many of the personas sat in a debate, and who did not, and why; as far as their set is still as it was."""
    scenario, rooms = tables.header.scenario, tables.agents[tables.agents["group"] != REFERENCE]
    seats = dict.fromkeys(seat for group in tables.groups for seat in seats_in(group))
    ids = set(rooms["persona"]) - {""}
    try:
        found = attendance.attendance(seats, str(scenario["personas"]), ids)
    except UserError:
        return f"{len(ids):,} sat; the set {scenario['personas']} is not here, so it is not known who has no seat"
    named = rooms["attributes"].notna().all() and rooms["attributes"].str.contains('"persona"').all()
    changed = sum(len(one.seated) for one in found) < len(ids)
    return (
        f"{len(ids):,} sat; their files have changed since"
        if changed
        else attendance.attendance_lines(found, attendance.NAMED if named else str(scenario["cast"]))
    )


def asked_of_model(calls: pd.DataFrame) -> pd.DataFrame:
    """The calls that were asked: the first of those with the same key, of which the others have its reply (llm/journal.py)."""
    return calls[calls["drawn"] == 0].drop_duplicates("key")


def _tokens(calls: pd.DataFrame) -> str:
    """The tokens of calls, as far as they were told."""
    missing = int(calls["uncounted"].sum())
    if missing and missing == len(calls):
        return "the server told no tokens"
    told = f"{calls['prompt_tokens'].sum():,} tokens in, {calls['completion_tokens'].sum():,} out, in the backend's own unit"
    return told + (f"; none were told for {missing:,} calls, which are not in this" if missing else "")


def _cost(tables: Tables, prices: Prices) -> str:
    """What the tokens cost that were told, empty where nothing has a price."""
    calls = asked_of_model(tables.calls)
    missing, cost = int(calls["uncounted"].sum()), cost_by_model(_used(tables), prices)
    if not cost or not missing:
        return cost
    if missing == len(calls):
        return "not known: the server told no tokens"
    return f"{cost}; without {missing:,} calls whose tokens were not told"


def _saved(calls: pd.DataFrame) -> str:
    """Of those that were not asked, how many had a twin, and how many drew from their archetype (docs/savings.md)."""
    drawn = int((calls["drawn"] > 0).sum())
    twins = len(calls) - drawn - len(asked_of_model(calls))
    samples = f" ({int(calls['checked'].sum())} samples renewed, {int(calls['drifted'].sum())} had drifted)"
    told = [(twins, "answered with the reply to the same question"), (drawn, f"drawn from archetypes{samples}")]
    return "".join(f"; {count:,} more {how}" for count, how in told if count)


def _ways(ratings: pd.DataFrame) -> str:
    """How many ratings were read in which way: `strict, logprobs: 118; strict, text: 2`."""
    return "; ".join(f"{how}: {count:,}" for how, count in ratings["how"].value_counts().items())


def _used(tables: Tables) -> dict[str, Usage]:
    """Tokens by voice: that of the seat or the party where it has a model of its own, else ""; from its round on a later one."""
    own = set(disclaimers.own_models(tables.header))
    agents = tables.agents.drop_duplicates("agent").set_index("agent")  # a mediator has one number in every room
    named = agents["seat"].where(agents["seat"].isin(own), agents["party"].where(agents["party"].isin(own), ""))
    who = tables.calls["agent"]  # a representative has the number of its member with a minus
    voices = who.map(named).where(who >= 0, REPRESENTATIVE if REPRESENTATIVE in own else "")
    for one in tables.interventions[tables.interventions["what"] == "model"].itertuples():
        theirs = tables.calls["agent"].isin(json.loads(one.agents)) & (tables.calls["room"] == one.room)
        voices = voices.mask(theirs & (tables.calls["round"] >= one.round), one.text)
    checks = [
        one for one in tables.header.scenario.get("interventions", ()) if one.get("llm") and one["kind"] == "fact_check"
    ]
    for one in map(parse_intervention, checks):
        assert isinstance(one, FactCheck)
        due = tables.calls["round"].map(one.due).astype(bool) & (tables.calls["purpose"] == CHECK)
        voices = voices.mask(due, one.voice)
    paid = asked_of_model(tables.calls)
    sums = paid.groupby(voices[paid.index])[["prompt_tokens", "completion_tokens"]].sum()
    return {str(voice): Usage(*map(int, row)) for voice, *row in sums.itertuples()}


def _sent_before(calls: pd.DataFrame) -> str:
    """The share of prompt tokens that an agent had sent before, and what a server says that it reused."""
    tokens = calls["prompt_tokens"].sum()
    if not tokens:
        return "no tokens were counted"
    share = (calls["prompt_tokens"] * calls["sent_before"] / calls["prompt_chars"].clip(lower=1)).sum() / tokens
    cached = calls["cached_tokens"].sum()
    told = f"; the server reused {cached / tokens:.0%}" if cached else ""
    return f"{share:.0%} of prompt tokens repeat the start of the same agent's earlier prompt{told}"


def _metric(report: Report, tables: Tables, metric: ModuleType, frame: pd.DataFrame) -> None:
    report.section(metric.TITLE)
    if frame.empty:
        report.add("Nothing to report: no line has ratings from two surveys.")
        return
    rooms = f" n = {format_range(frame['rooms'])} rooms a row." if "rooms" in frame else ""
    shown = [name for name in metric.LABELS if frame[name].notna().any() and not _same_rooms(name, frame)]
    keys = _keys(frame, metric)
    if "round" in keys:
        rooms += " The first and the last round; the others are in `tables/`."
        frame = frame[frame.groupby(["topic", "group"])["round"].transform(lambda of: of.isin([of.min(), of.max()]))]
    report.add(f"{metric.NOTE}{rooms}")
    rows = [
        [_key(tables, key, row[key]) for key in keys] + [_cell(row, name) for name in shown]
        for row in frame.to_dict("records")
    ]
    report.table(rows, [*keys, *[metric.LABELS[name] for name in shown]])


def _same_rooms(name: str, frame: pd.DataFrame) -> bool:
    return name == "rooms" and frame[name].nunique() == 1


def _keys(frame: pd.DataFrame, metric: ModuleType) -> list[str]:
    """The columns that tell the rows apart; at least the party, the round or the group, where there is one."""
    keys = [key for key in ("topic", "group") if key in frame and frame[key].nunique() > 1]
    if "round" in frame and "round" not in metric.LABELS:
        return [*keys, "round"]
    told = not keys or frame.duplicated(keys).any()
    return [*keys, *[key for key in ("party", "group") if key in frame][:1]] if told else keys


def _key(tables: Tables, key: str, value: Any) -> str:
    told: dict[str, Callable[[Any], str]] = {
        "topic": tables.title,
        "group": lambda group: group_title(group, tables.names),
        "party": lambda party: seat_title(party, tables.names),
        "round": str,
    }
    return told[key](value)


def _cell(row: Mapping[Any, Any], name: str) -> str:
    return estimate(name)(row) if f"{name}_low" in row else format_number(row[name])


def again(report: Report, tables: Tables) -> None:
    """Add how to run it again, and where everything is."""
    command = provenance.rerun_command(tables.header)
    report.section("Run it again", f"    {command}" if command else NO_COMMAND)
    report.add(
        "Tables are in `tables/`, every debate is in `transcript.md`, every event in `record.jsonl`, "
        "every reply in `journal.sqlite`."
    )
