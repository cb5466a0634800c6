"""summary.md: the findings, how to read them, what is missing, what was run, and the command to run it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis import disclaimers, provenance, transcript
from parley.analysis import formatting as words
from parley.analysis.branch_report import add_branch
from parley.analysis.figure_text import rooms_phrase
from parley.analysis.findings import Results, findings, missing_ratings
from parley.analysis.formatting import REFERENCE
from parley.analysis.meetings import stages_sentence
from parley.analysis.metric_section import add_metric
from parley.analysis.metrics import applies, metrics
from parley.analysis.metrics._cells import DEFAULT, default_level
from parley.analysis.model_calls import asked_of_model, mixed_models, model_names, outgrown, used_tokens
from parley.analysis.network_plot import network_caption
from parley.analysis.qualify.in_reports import first_sentences, withholds
from parley.analysis.rating_value import CAPTIONS
from parley.analysis.reply_faults import ways_read
from parley.analysis.report import Report
from parley.analysis.run_tables import run_tables
from parley.analysis.statistics.intervals import FEWEST, too_few
from parley.analysis.table_export import SPREADSHEET, parquet_alone
from parley.analysis.tables import Tables, asked_for
from parley.llm.errors import UserError
from parley.llm.prices import UNPRICED, Prices, cost_by_model
from parley.model import attendance
from parley.model.missing_replies import UNASKED
from parley.model.titles import group_title, join_phrases, seats_in

AXIS = {
    "rounds": "Agents rate each topic before the debate and after each round. The axis of a topic runs from 0 to 10:",
    "stages": "Agents rate each topic before the debate and after each stage. The axis of a topic runs from 0 to 10:",
    "ends": "Agents rate each topic before and after the debate. The axis of a topic runs from 0 to 10:",
    "never": "This run had no survey, so there are no attitudes. With a survey, the axis from 0 to 10 would be:",
}
FEW = 10
"""Below this number of rooms a summary warns of wide intervals."""
NETWORK = "network"
"""The name of the figure of a network."""
NO_COMMAND = (
    "No command repeats this run, because the run used your own preset file or a preset that has changed since. The "
    "first line of `record.jsonl` has every setting."
)


def write_summary(
    tables: Tables,
    results: Results,
    path: Path,
    figure: Path,
    prices: Prices = UNPRICED,
    measured: Mapping[str, ModuleType] | None = None,
) -> Path:
    """Write the summary; return its path. results: the metrics' tables by name; measured: the metrics (default: all)."""
    measured = metrics() if measured is None else measured
    rounds = int(tables.utterances["round"].max()) if len(tables.utterances) else 0
    report = open_summary(tables, path, f": {rounds} of {tables.header.scenario['rounds']} rounds are finished")
    report.in_short(_in_short(tables, results, measured, path.parent))
    report.picture(figure, "Attitudes by round")
    if (network := figure.with_name(f"{NETWORK}.png")).exists():
        report.picture(network, network_caption(tables))
    add_branch(report, tables, path.parent)
    _how_to_read(report, tables)
    report.lines(provenance.intervention_table(tables))
    shown = [metric for metric in measured if measured[metric].LABELS and applies(measured[metric], tables)]
    short = [name for name in shown if _needs_rooms(results[name])]
    for name in shown:
        if name not in short:
            add_metric(report, tables, measured[name], results[name])
    if short:
        report.section("Needs more rooms", _needs(measured[name].TITLE for name in short))
    missing(report, tables)
    run_on(report, tables, prices)
    again(report, tables)
    return report.write()


def _in_short(tables: Tables, results: Results, measured: Mapping[str, ModuleType], folder: Path) -> list[str]:
    """Return what makes the results useless, whether the model plays people, then the findings, withheld where it does not."""
    about_model = first_sentences(tables.header, folder)
    if withholds(tables.header, folder):
        return [*about_model, missing_ratings(tables)]
    lines, before = findings(tables, results, measured), 1 if about_model else 0
    cautions = [line for line in lines if line.startswith("**")]
    same, others = _same_people(tables), [line for line in lines if line not in cautions]
    return [
        *cautions, *about_model[:before], *same, *(others if same else _about_few_people(others, tables)), *about_model[before:]
    ]  # fmt: skip


def _same_people(tables: Tables) -> list[str]:
    """Return that the same people debate in all rooms of a group, where this is so: an interval then says nothing of others."""
    seats = tables.agents[tables.agents["group"].isin(tables.groups) & (tables.agents["party"] != DEFAULT)]
    casts = seats[seats["persona"] != ""].groupby(["topic", "group", "room"])["persona"].agg(frozenset)
    rooms = casts.groupby(["topic", "group"]).agg(["size", "nunique"])
    alike = rooms[(rooms["size"] > 1) & (rooms["nunique"] == 1)]
    if alike.empty:
        return []
    return [
        f"**The same people debate in all {alike['size'].max():,} rooms of a group**, so the intervals describe repeated debates "
        "of these people, and say nothing about other people."
    ]


FEW_PEOPLE, INTERVAL = 10, "95% interval"
"""With fewer different people of a party in all rooms, "In short" says that an interval is about these people."""


def _about_few_people(lines: list[str], tables: Tables) -> list[str]:
    """Add to the first sentence with an interval that it is about the few people of a party, who sit again and again."""
    seats = tables.agents[tables.agents["group"].isin(tables.groups) & (tables.agents["party"] != DEFAULT)]
    people = seats[seats["persona"] != ""].groupby(["topic", "group", "party"])[["persona", "room"]].nunique()
    few = people.loc[(people["persona"] < FEW_PEOPLE) & (people["persona"] < people["room"]), "persona"]
    place = next((place for place, line in enumerate(lines) if INTERVAL in line), None)
    if few.empty or place is None:
        return lines
    about = (
        f"{lines[place].removesuffix('.')}; {words.format_range(few)} people of a party debate in all rooms, so "
        "intervals are about these people in other conversations, not about other people."
    )
    return [*lines[:place], about, *lines[place + 1 :]]


def open_summary(tables: Tables, path: Path, done: str = "") -> Report:
    """Return a summary with its head: the experiment, whether it is finished (`done`: how far), and the disclaimer."""
    report = Report(path.parent, path.stem, run_heading(tables))
    report.plain(f"Scenario {tables.header.scenario['name']}: {provenance.experiment_title(tables.header)}.")
    if not tables.finished:
        report.add(f"**Unfinished**{done}. Repeat the command to continue.")
    report.note(disclaimers.disclaimer(tables.header))
    if mixed := mixed_models(tables):
        report.add(f"**Several models.** {words.escape_markdown(mixed)}")
    return report


def run_heading(tables: Tables) -> str:
    """Return the title of a run: who debates, and on what if it is one topic."""
    people = provenance.run_title(tables.header)
    topics = {tables.title(topic) for topic in tables.topics}
    return f"{people}: {topics.pop()}" if len(topics) == 1 else people


def caption(tables: Tables, points: pd.DataFrame) -> str:
    """Return the note below every figure: scenario, model, seed, and what points and bars are."""
    rooms = rooms_phrase(points.loc[points["group"] != REFERENCE, "n"])
    kinds = tables.attitudes["measure"].unique()
    opinions = " ".join(sentence for kind, sentence in CAPTIONS.items() if kind in kinds)
    return words.strip_controls(f"{run_note(tables)} {rooms}. {opinions}".strip())


def run_note(tables: Tables) -> str:
    """Return scenario, model and seed of a run, as a sentence."""
    scenario, unfinished = tables.header.scenario, "" if tables.finished else " (unfinished)"
    models = disclaimers.model_label(tables.header)
    return words.strip_controls(f"{scenario['name']}{unfinished} on {models}, seed {scenario['seed']}.")


def _copies(tables: Tables) -> str:
    """Return that several agents of a room have one persona, where this is so."""
    debating = tables.agents[tables.agents["group"].isin(tables.groups) & (tables.agents["persona"] != "")]
    most = int(debating.groupby(["room", "persona"]).size().max()) if len(debating) else 0
    if most < 2 or tables.header.scenario.get("cast") == "copies":
        return ""
    return (
        f" {len(debating):,} agents have {debating['persona'].nunique():,} personas, and up to {most} agents of a room have the "
        "same persona. So the agents of a room are not independent people."
    )


def _unstated(tables: Tables) -> str:
    """Return that the personas of a society state nothing about a topic of the user's own, where a run has both."""
    scenario = tables.header.scenario
    personas, society = str(scenario["personas"]), str(scenario["society"])
    own_topics = [words.escape_markdown(tables.title(topic)) for topic in tables.topics if topic.endswith(".toml")]
    if not own_topics or (personas.startswith((".", "/", "~")) and not personas.startswith(f"{society}/")):
        return ""
    return (
        " The personas of this run come with the society and state nothing about a topic of your own "
        f"({join_phrases(own_topics)}). So the personas' answers about such a topic show what the model "
        'thinks of their party (see "More of your own" in docs/societies.md).'
    )


def _how_to_read(report: Report, tables: Tables) -> None:
    scenario = tables.header.scenario
    rooms, warnings = scenario["repetitions"], ""
    if rooms < FEWEST:
        warnings = f" With fewer than {FEWEST} rooms there are no intervals, and nothing can be concluded."
    elif rooms < FEW:
        warnings = " With so few rooms, intervals of all numbers are wide, and the run supports few conclusions."
    report.section(
        "How to read the numbers",
        f"The unit of analysis is the room, which is one debate (n = {rooms} rooms per topic and group). The ratings of the "
        "agents in a room are averaged first. Brackets hold 95% intervals over rooms. The intervals are not corrected for the "
        "number of rows."
        f"{warnings} {tables.opinion_note}{_dependence(tables)}{_copies(tables)}{_unstated(tables)} "
        f"{stages_sentence(tables)}{AXIS[scenario['survey']]}",
    )
    probe = str(scenario["probe"])
    report.lines(f"- {words.escape_markdown(tables.title(topic))}: {_axis(topic, probe)}" for topic in tables.topics)
    report.plain(_default_levels(tables))


def _dependence(tables: Tables) -> str:
    """Return a warning when rooms share personas or replies. The Default, which has no views of its own, does not count."""
    seats = tables.agents[(tables.agents["group"] != REFERENCE) & (tables.agents["party"] != DEFAULT)]
    most, warning = seats.groupby(["topic", "group", "persona"])["room"].nunique().max(), ""
    if most > 1:
        warning = (
            f" A persona takes part in up to {most} rooms of a topic and group. Because rooms share personas, the intervals are "
            "too narrow for a statement about other people."
        )
    if (tables.calls["drawn"] > 0).any():
        warning += (
            " Agents of one kind share survey answers in this run (archetypes). So ratings of different rooms are not "
            "independent, and the intervals of all tables are too narrow."
        )
    return warning


def _default_levels(tables: Tables) -> str:
    """Return where the Default's first rating of each group (the dashed line) comes from, and over how many agents per topic."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for group in tables.groups:
        for topic in tables.topics:
            if level := default_level(tables, topic, group):
                counts[_group(tables, group), _source(tables, group, level.source)].append(level.n)
    sources = [f"{group} ({source}, n = {words.format_range(n)} per topic)" for (group, source), n in counts.items()]
    about = "The Default's first rating is the mean rating of Defaults before the debates. Defaults by group:"
    return f"{about} {'; '.join(sources)}." if sources else ""


def _source(tables: Tables, group: str, source: str) -> str:
    if source == REFERENCE:
        return "Defaults surveyed outside the debates"
    return "its own Defaults" if source == group else f"the Defaults of {_group(tables, source)}"


def _group(tables: Tables, group: str) -> str:
    return group_title(group, tables.names)


def _axis(topic: str, probe: str) -> str:
    """Return what a topic's axis measures, the labels of its ends, and the question."""
    try:
        survey_question = load_topic(topic).probe(probe)
    except UserError:
        return "this version of Parley has no such topic or survey question"
    scale = survey_question.scale
    labels = " to ".join(f"{end} ({scale.labels[end]})" for end in (scale.low, scale.high))
    low, high = (f"{survey_question.attitude(end):g}" for end in (scale.low, scale.high))
    shown = "" if (low, high) == (f"{scale.low}", f"{scale.high}") else f", converted to {low} and {high}"
    return words.escape_markdown(f"{survey_question.construct}, asked from {labels}{shown}: {survey_question.question}")


def _answered(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers in a table of a study that were asked for: not those of an agent that had nothing to answer."""
    return answers[answers["asked"] > 0]


def missing(report: Report, tables: Tables) -> None:
    """Add how many replies could not be read, with reasons."""
    ratings, calls = asked_for(tables.attitudes), tables.calls
    unread = {
        "ratings": (ratings, "rating"),
        "ratings of further probes": (asked_for(tables.probes), "rating"),
        "replies": (asked_for(tables.utterances), "text"),
        "notes to themselves": (tables.private, "text"),
    }
    studied = {name: table for name, table in run_tables().items() if table.noun}
    unread |= {f"{table.noun}s": (_answered(getattr(tables, name)), table.answer) for name, table in studied.items()}
    rows = []
    for what, (frame, column) in unread.items():
        lacking = frame[frame[column].isna()]
        rows.append((what, len(frame), lacking["reason"], lacking["party"]))
    unasked = {"ratings": tables.attitudes, "ratings of further probes": tables.probes, "replies": tables.utterances}
    for what, frame in unasked.items():
        silent = frame[frame["reason"].isin(UNASKED)]
        rows.append((f"{what} that were not asked for", len(frame), silent["reason"], silent["party"]))
    undone = tables.acts[tables.acts["reason"].notna()]
    rows += [
        ("acts that could not be read or done", len(tables.acts), undone["reason"], undone["party"]),
        ("calls that failed", len(calls), calls["failure"].dropna(), ()),
        ("ratings asked more than once", len(ratings), ratings.loc[ratings["asked"] > 1, "asked"], ()),
        *_mended_replies(tables.utterances),
        ("calls answered by another model than the first", len(calls), model_names(calls), ()),
        ("calls with lines that the model could not read", len(calls), calls.loc[calls["unread"] > 0, "purpose"], ()),
    ]
    report.section("What is missing")
    lines = [
        [what, f"{len(reasons)}", f"{of}", words.count_table(reasons), words.count_table(parties)]
        for what, of, reasons, parties in rows
        if len(reasons)
    ]
    if lines:
        report.table(lines, ["what", "count", "of", "reasons", "by party"])
        report.plain(outgrown(tables))
        return
    frames = {"rating": ratings, "further rating": tables.probes, "reply": tables.utterances, "call": calls}
    frames |= {"act": tables.acts} | {table.noun: _answered(getattr(tables, name)) for name, table in studied.items()}
    counts = [words.count_phrase(len(frame), noun) for noun, frame in frames.items() if len(frame)]
    none = "" if len(ratings) else " There are no ratings."
    report.add(f"Nothing is missing: {join_phrases(counts)} are readable.{none}" if counts else "No agent was asked.")


def _mended_replies(turns: pd.DataFrame) -> list[tuple[str, int, pd.Series, pd.Series]]:
    """Return the rows of replies that were mended, and of turns that were asked for again."""
    again, mended = turns[turns["earlier"].notna()], turns[turns["mended"].notna()]
    outcomes = again["reason"].where(again["text"].isna(), "then said")
    return [
        ("replies asked more than once", len(turns), outcomes, again["party"]),
        ("replies under the name of another agent, cut", len(turns), mended["mended"], mended["party"]),
    ]


def run_on(report: Report, tables: Tables, prices: Prices, changed: Mapping[str, str] | None = None) -> None:
    """Add the models, people, settings, calls and costs of the run. `changed`: rows with other text, or further rows."""
    scenario, calls, seats = tables.header.scenario, asked_of_model(tables.calls), tables.agents
    models = [scenario["llm"], *[f"{who}: {spec}" for who, spec in disclaimers.own_models(tables.header).items()]]
    think = scenario.get("think", "none")
    rows = {
        "model": "; ".join(models),
        "groups": "; ".join(_group(tables, group) for group in tables.groups),
        "topics": ", ".join(tables.title(topic) for topic in tables.topics),
        "rooms": f"{provenance.size_of(seats)} ({words.count_phrase(scenario['repetitions'], 'room')} per topic and group)",
        "personas": _personas(tables),
        "weights of links": "recorded; debates ignore them" if tables.links["weight"].notna().any() else "",
        "signs of links": "recorded; debates ignore them" if tables.links["sign"].notna().any() else "",
        "places and stages": str(scenario.get("options", {}).get("topology", "")),
        "length": (
            f"{words.count_phrase(scenario['rounds'], 'round')}; {len(tables.utterances):,} replies, "
            f"{len(tables.attitudes):,} ratings"
        ),
        "calls": f"{len(calls):,} asked ({_tokens(calls)}){_saved(tables.calls)}",
        "repeated tokens": _sent_before(calls),
        "cost": _cost(tables, prices),
        "survey": f"probe {scenario['probe']}, temperature {scenario['survey_temperature']}, reader {scenario['reader']}",
        "before speaking": "" if think == "none" else think,
        "further questions": ", ".join(scenario.get("also") or ()),
        "how ratings were read": ways_read(tables.attitudes),
        "replies": f"temperature {scenario['temperature']}, at most {scenario['max_tokens']} tokens",
        "seed, revision": f"{scenario['seed']}, {tables.header.revision}",
        "versions": ", ".join(f"{name} {version}" for name, version in tables.header.versions.items()),
        **(changed or {}),
    }
    report.section("Details of the run")
    report.table([row for row in rows.items() if row[1]], ["what", "value"])


def _personas(tables: Tables) -> str:
    """Return how many personas had a seat in a debate, who had none, and why."""
    scenario, rooms = tables.header.scenario, tables.agents[tables.agents["group"] != REFERENCE]
    seats = dict.fromkeys(seat for group in tables.groups for seat in seats_in(group))
    ids = set(rooms["persona"]) - {""}
    try:
        parties = attendance.attendance(seats, tables.personas, ids)
    except UserError:
        return (
            f"{len(ids):,} personas took part; further personas are unknown, because the set {scenario['personas']} is "
            "not on this machine"
        )
    if sum(len(party.seated) for party in parties) < len(ids):
        return f"{len(ids):,} personas took part; their files have changed since the run"
    named = rooms["attributes"].notna().all() and rooms["attributes"].str.contains('"persona"').all()
    return attendance.attendance_lines(parties, attendance.NAMED if named else str(scenario["cast"]), tables.names)


def _tokens(calls: pd.DataFrame) -> str:
    missing = int(calls["uncounted"].sum())
    if missing and missing == len(calls):
        return "the server reported no tokens"
    sums = (
        f"{calls['prompt_tokens'].sum():,} prompt tokens, {calls['completion_tokens'].sum():,} reply tokens, "
        "as the model counts them"
    )
    return sums + (
        f"; {missing:,} calls are not counted, because the server reported no tokens for these calls" if missing else ""
    )


def _cost(tables: Tables, prices: Prices) -> str:
    """Return the cost of the reported tokens; empty when nothing has a price."""
    calls = asked_of_model(tables.calls)
    missing, cost = int(calls["uncounted"].sum()), cost_by_model(used_tokens(tables), prices)
    if not cost or not missing:
        return cost
    if missing == len(calls):
        return "unknown: the server reported no tokens"
    return f"{cost}; {missing:,} calls are not counted, because the server reported no tokens for these calls"


def _saved(calls: pd.DataFrame) -> str:
    """Return how many calls took the reply to the same question, or one of their archetype (studies/archetypes/README.md)."""
    drawn = int((calls["drawn"] > 0).sum())
    twins = len(calls) - drawn - len(asked_of_model(calls))
    samples = (
        f"{int(calls['checked'].sum())} samples were checked again, {int(calls['drifted'].sum())} of them had changed"
    )
    ways = {"answered with the reply to the same question": twins, f"drawn from archetypes ({samples})": drawn}
    return "".join(f"; {count:,} more {way}" for way, count in ways.items() if count)


def _sent_before(calls: pd.DataFrame) -> str:
    """Return the share of prompt tokens that an agent had sent before, and the share that a server says it reused."""
    if not (tokens := calls["prompt_tokens"].sum()):
        return "no tokens were counted"
    share = (calls["prompt_tokens"] * calls["sent_before"] / calls["prompt_chars"].clip(lower=1)).sum() / tokens
    cached = calls["cached_tokens"].sum()
    reused = f"; the server reused {cached / tokens:.0%}" if cached else ""
    return f"{share:.0%} of prompt tokens repeat the start of the same agent's earlier prompt{reused}"


def _needs_rooms(table: pd.DataFrame) -> bool:
    """Return whether a metric has nothing but the reason that there are fewer than 5 rooms."""
    return len(table) > 0 and "reason" in table and bool(table["reason"].fillna("").str.startswith(too_few()).all())


def _needs(titles: Iterable[str]) -> str:
    """Return which tables are left out because intervals need more rooms."""
    return (
        f"With fewer than {FEWEST} rooms there are no intervals, so this page leaves out some tables: "
        f"{', '.join(titles)}. The numbers are in the folder `tables/`. Set `--repetitions {FEW}` or more."
    )


def again(report: Report, tables: Tables) -> None:
    """Add how to run it again, and where everything is."""
    command = provenance.rerun_command(tables.header)
    report.section("Run it again", f"    {command}" if command else NO_COMMAND)
    some = len(tables.utterances) > transcript.MOST
    report.add(
        f"The folder `tables/` has the tables, the file `transcript.md` {'a part of the debates' if some else 'every debate'}, "
        "`record.jsonl` every event, and `journal.sqlite` every reply."
    )
    if long := parquet_alone(tables):
        names = ", ".join(f"`{name}`" for name in long)
        report.add(f"Tables of more than {SPREADSHEET:,} rows are written as .parquet alone, without .csv: {names}.")
