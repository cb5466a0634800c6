"""Facts on the design of a run: people, models, environment, settings, data, code."""

from __future__ import annotations

import json
from typing import Any

from parley.analysis import disclaimers
from parley.analysis.formatting import REFERENCE, count_phrase
from parley.analysis.provenance import experiment_title, field_value, rerun_command
from parley.analysis.steering import SETTINGS
from parley.model.titles import join_phrases
from parley.studies.sheets.facts import HEADER, Fact, SheetRun, fact, setting

FREE: dict[str, Any] = {**SETTINGS, "adapters": ()}
"""Settings by which an author says how agents behave, each with its value that says nothing."""
ROBUST = {
    "personas": "the set of personas",
    "disclose": "what agents know of each other",
    "frame": "the frame of the conversation",
    "memory": "the form of memory",
    "words": "the length of a message",
    "temperature": "the temperature of replies",
    "probe": "the wording of the survey question",
    "environment": "the environment",
    "llm": "the model",
    "seed": "the seed",
}


@fact
def title(run: SheetRun) -> Fact:
    return setting(run, f"{experiment_title(run.tables.header)}.", "title", "source")


@fact
def people(run: SheetRun) -> Fact | None:
    """How many different personas sit in how many seats."""
    seats = run.tables.agents[run.tables.agents["persona"] != ""]
    if seats.empty:
        return None
    different, parties = seats["persona"].nunique(), seats["party"].nunique()
    text = (
        f"{count_phrase(len(seats), 'agent')} with {count_phrase(different, 'different persona')} of "
        f"{count_phrase(parties, 'kind')} ({', '.join(sorted(seats['party'].unique()))}); set: {run.scenario['personas']}."
    )
    return Fact(text, "tables/agents.csv, persona, party")


@fact
def characters(run: SheetRun) -> Fact:
    """Roles, traits and confirmation bias that agents were given."""
    rows = run.tables.characters
    given = [
        name
        for name in rows.columns
        if name not in run.tables.agents.columns and (rows[name].notna() & (rows[name] != "")).any()
    ]
    text = (
        f"{count_phrase(len(rows), 'agent')} got {join_phrases(given)}."
        if given
        else "No agent got a role, a trait or a bias."
    )
    return Fact(text, "tables/characters.csv" if given else f"{HEADER}, scenario.roles, traits, confirmation_bias")


@fact
def models(run: SheetRun) -> Fact:
    counts = run.tables.agents["llm"].value_counts()
    seats = ", ".join(f"{name}: {count_phrase(int(count), 'agent')}" for name, count in counts.items())
    return Fact(
        f"Speaker: {disclaimers.model_label(run.tables.header)} ({seats}).", f"{HEADER}, model; tables/agents.csv, llm"
    )


@fact
def own_speaker(run: SheetRun) -> Fact | None:
    """What a reader has to know of a speaker of Parley."""
    note = disclaimers.short_disclaimer(run.tables.header)
    return Fact(note.replace("**", ""), f"{HEADER}, model.backend") if note else None


@fact
def topics(run: SheetRun) -> Fact:
    names = [run.tables.title(topic) for topic in run.tables.topics]
    text = (
        f"{count_phrase(len(names), 'topic')}: {', '.join(names) or 'none so far'}; society {run.scenario['society']}."
    )
    return Fact(text, "tables/agents.csv, topic")


@fact
def environment(run: SheetRun) -> Fact:
    options = ", ".join(f"{key}={field_value(run.scenario, key)}" for key in run.scenario["options"])
    text = f"Environment {run.scenario['environment']} ({options or 'default options'})."
    return setting(run, text, "environment", "options")


@fact
def schedule(run: SheetRun) -> Fact:
    scenario, lines = run.scenario, run.tables.utterances
    done = int(lines["round"].max()) if len(lines) else 0
    text = f"{done} of {scenario['rounds']} rounds; survey: {scenario['survey']}."
    return Fact(text, f"{HEADER}, scenario.rounds, survey; tables/utterances.csv, round")


@fact
def size(run: SheetRun) -> Fact:
    seats = run.tables.agents[run.tables.agents["group"] != REFERENCE]
    rooms = seats["room"].nunique()
    text = (
        f"{count_phrase(rooms, 'room')} ({run.scenario['repetitions']} per topic and group) with "
        f"{count_phrase(len(seats), 'agent')}; the unit of analysis is the room."
    )
    return Fact(text, "tables/agents.csv, room")


@fact
def memory(run: SheetRun) -> Fact:
    counts = {"summary": len(run.tables.summaries), "private note": len(run.tables.private)}
    made = [count_phrase(number, name) for name, number in counts.items() if number]
    text = (
        f"Memory: {run.scenario['memory']}{f'; {join_phrases(made)}' if made else ''}. No agent forgets between rounds."
    )
    text = text if run.scenario["memory"] == "whole" else text.replace(" No agent forgets between rounds.", "")
    return setting(run, text, "memory", "reflect", "plan")


@fact
def steering(run: SheetRun) -> Fact:
    """Which settings tell agents how to behave."""
    used = [
        f"{name}={run.scenario.get(name)}"
        for name, free in FREE.items()
        if run.scenario.get(name, free) not in (free, [], "", None)
    ]
    text = (
        f"Settings that tell agents how to behave: {', '.join(used)}."
        if used
        else (
            "No setting gives agents a role, a trait, a bias, a side or a belief, and the frame is the default (debate)."
        )
    )
    return setting(run, text, *FREE)


@fact
def interventions(run: SheetRun) -> Fact:
    rows = run.tables.interventions
    if rows.empty:
        return setting(run, "No intervention.", "interventions")
    kinds = ", ".join(f"{name} {count}" for name, count in rows["what"].value_counts().items())
    return Fact(f"{count_phrase(len(rows), 'intervention')} in rooms: {kinds}.", "tables/interventions.csv, what")


@fact
def sampling(run: SheetRun) -> Fact:
    settings = run.scenario
    text = (
        f"Replies: temperature {settings['temperature']}, top_p {settings['top_p']}, at most {settings['max_tokens']} tokens; "
        f"survey answers: temperature {settings['survey_temperature']}."
    )
    return setting(run, text, "temperature", "top_p", "max_tokens", "survey_temperature")


@fact
def seeds(run: SheetRun) -> Fact:
    text = f"Seed {run.scenario['seed']}; one named random stream per purpose, so the same seed gives the same record."
    return setting(run, text, "seed")


@fact
def prompt_files(run: SheetRun) -> Fact:
    prompts = run.tables.header.prompts
    text = f"{count_phrase(len(prompts), 'prompt file')}, each with its digest."
    return Fact(text, f"{HEADER}, prompts")


@fact
def data_files(run: SheetRun) -> Fact:
    text = f"Topics, personas and scales with the digest {run.tables.header.data[:12] or 'unknown'}."
    return Fact(text, f"{HEADER}, data")


@fact
def code(run: SheetRun) -> Fact:
    versions = ", ".join(f"{name} {version}" for name, version in run.tables.header.versions.items())
    return Fact(f"Revision {run.tables.header.revision}; {versions}.", f"{HEADER}, revision, versions")


@fact
def command(run: SheetRun) -> Fact | None:
    line = rerun_command(run.tables.header)
    return Fact(f"Repeated by: {line}", f"{HEADER}, given") if line else None


@fact
def network(run: SheetRun) -> Fact | None:
    links = run.tables.links
    first = links[(links["round"] == 0) & (links["change"] == "added")]
    if first.empty:
        return None
    later = len(links) - len(first)
    text = f"{count_phrase(len(first), 'directed link')} at the start; {count_phrase(later, 'change')} of links later."
    return Fact(text, "tables/links.csv, round, change")


@fact
def specification(run: SheetRun) -> Fact:
    """Which of the choices that keep the meaning were varied; a run alone varies none."""
    if run.sweep:
        tried = list(json.loads(run.sweep.read_text(encoding="utf-8")).get("combinations", {}))
        names = sorted(
            {
                setting.partition("=")[0]
                for specification in tried
                for setting in specification.split(",")
                if "=" in setting
            }
        )
        return Fact(
            f"Varied in the sweep of this run: {', '.join(names) or 'the seed alone'} ({len(tried)} combinations).",
            "../../sweep.json",
        )
    values = ", ".join(f"{what}: {run.scenario.get(name)}" for name, what in ROBUST.items() if name in run.scenario)
    return Fact(f"Not varied: this folder is one specification ({values}).", f"{HEADER}, scenario")


def _one_value(run: SheetRun, *names: str) -> Fact:
    """Return that settings have one value in this run, or that its sweep varies them."""
    fact_ = specification(run)
    assert fact_
    varied = run.sweep and [name for name in names if f" {name}" in fact_.text]
    if varied:
        return Fact(f"Varied in the sweep of this run: {', '.join(varied)}.", fact_.place)
    values = ", ".join(f"{name}={run.scenario.get(name)}" for name in names)
    return setting(run, f"Not varied in this run: {values}.", *names)


@fact
def persona_varied(run: SheetRun) -> Fact:
    return _one_value(run, "personas", "disclose", "introduce")


@fact
def wording_varied(run: SheetRun) -> Fact:
    return _one_value(run, "frame", "words", "probe", "listing")


@fact
def memory_varied(run: SheetRun) -> Fact:
    return _one_value(run, "memory", "think")


@fact
def interaction_varied(run: SheetRun) -> Fact:
    return _one_value(run, "environment", "format", "rounds")


@fact
def system_varied(run: SheetRun) -> Fact:
    return _one_value(run, "repetitions", "seed", "cast")


@fact
def model_varied(run: SheetRun) -> Fact:
    return _one_value(run, "llm", "temperature")
