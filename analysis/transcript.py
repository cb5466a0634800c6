"""The debates as a person would read them, in Markdown. Texts of a model are not trusted: they are shown as plain text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.society import PartyNames
from parley.analysis import disclaimers, provenance
from parley.analysis.formatting import REFERENCE, escape_markdown, format_feelings, format_number
from parley.analysis.meetings import meetings
from parley.analysis.tables import Tables
from parley.environments.dyads import POST
from parley.model.titles import group_title, seat_label

MOST = 20_000
"""The most turns of a transcript: about six megabytes."""
ACT = "act"
Rows = list[dict[str, Any]]
Events = dict[tuple[str, int], Rows]
"""Rows by room and round."""


def write_transcript(tables: Tables, path: Path) -> Path:
    """Write every room's debate with the ratings that followed each round."""
    path.write_text(text(tables), encoding="utf-8")
    return path


def text(tables: Tables) -> str:
    """Return the transcript as text; of a run with many turns the first of them, with a sentence that says which."""
    return "\n".join(_lines(*shortened(tables)))


def shortened(tables: Tables) -> tuple[Tables, str]:
    """Return the tables of the first agents of a large run, with all that they said, and a sentence that says so.

    Rooms are whole where they have at most MOST turns together. Of a larger first room, agents are taken in seating order.
    """
    turns = tables.utterances
    if len(turns) <= MOST:
        return tables, ""
    counts = turns.groupby("room").size().reindex(tables.agents["room"].unique(), fill_value=0)
    fits = counts.cumsum() <= MOST
    agents = tables.agents[tables.agents["room"].isin(counts.index[fits])]
    if not counts[fits].any():  # the first debate has more turns by itself
        agents = pd.concat([agents, first_agents(tables, str(counts.index[~fits][0]), MOST)])
    shown = pd.MultiIndex.from_frame(agents[["room", "agent"]])
    parts = {
        name: frame[pd.MultiIndex.from_frame(frame[["room", "agent"]]).isin(shown)]
        for name in ("utterances", "summaries", "private", "attitudes", "probes", "acts")
        if len(frame := getattr(tables, name))
    }
    some, every = parts["utterances"], turns
    agents_of, rooms_of = ([f"{frame[name].nunique():,}" for frame in (some, every)] for name in ("agent", "room"))
    sentence = (
        f"This transcript has {len(some):,} of {len(every):,} turns: the turns of {agents_of[0]} of {agents_of[1]} "
        f"agents who spoke, in {rooms_of[0]} of {rooms_of[1]} rooms. All turns are in `tables/utterances.parquet`.\n"
    )
    return replace(tables, agents=agents, **parts), sentence


def first_agents(tables: Tables, room: str, most: int) -> pd.DataFrame:
    """Return the first agents of a room in seating order, who together have so many turns at most."""
    seats, turns = tables.agents[tables.agents["room"] == room], tables.utterances
    said = turns[turns["room"] == room].groupby("agent").size().reindex(seats["agent"], fill_value=0)
    return seats[said.cumsum().to_numpy() <= most]


def _lines(tables: Tables, limit: str) -> Iterator[str]:
    scenario = tables.header.scenario
    yield f"# {escape_markdown(scenario['name'])}: transcripts\n"
    yield escape_markdown(
        f"{provenance.experiment_title(tables.header)}. Model: {disclaimers.model_label(tables.header)}. Seed {scenario['seed']}."
    )
    yield "Ratings (0-10) are private: the other agents do not see them.\n"
    if limit:
        yield limit
    sections, contents = _sections(tables), []
    turns, ratings, feelings, interventions = (
        _by_room(frame) for frame in (_turns(tables), tables.attitudes, tables.emotions, tables.interventions)
    )
    body, number = [], 0
    for (topic, group), rooms in sections.items():
        heading, links = _heading(tables, topic, group), []
        body.append(f"\n## {heading}\n")
        for seats in rooms:
            number += 1
            links.append(f"[{seats[0]['repetition'] + 1}](#room-{number})")
            body.append(f'<a id="room-{number}"></a>\n')
            body += _room(seats, group, turns, ratings, feelings, interventions, tables.names)
        contents.append(f"- {heading}: room {' '.join(links)}")
    if number > 1:
        yield "\n".join(["\n## Contents\n", *contents])
    yield from body


def _sections(tables: Tables) -> dict[tuple[str, str], list[Rows]]:
    """Return the seats of each room by topic and group. Agents asked outside a topic's debates are shown as one room."""
    rooms: dict[str, Rows] = {}
    sections: dict[tuple[str, str], list[Rows]] = defaultdict(list)
    for row in tables.agents.to_dict("records"):
        section = sections[row["topic"], row["group"]]
        if row["room"] not in rooms:
            if row["group"] != REFERENCE or not section:
                section.append([])
            rooms[row["room"]] = section[-1]
        rooms[row["room"]].append(row)
    return sections


def _by_room(frame: pd.DataFrame) -> Events:
    events: Events = defaultdict(list)
    for row in frame.to_dict("records"):
        events[row["room"], row["round"]].append(row)
    return events


def _turns(tables: Tables) -> pd.DataFrame:
    """Return utterances in order, each after the summary of memory and the notes that were made for it (`what`)."""
    columns = ["room", "round", "iteration", "name", "text", "reason"]
    memories = tables.summaries[columns].assign(what="memory")
    spoken = tables.utterances[[*columns, "form"]].assign(what="")
    shown = tables.private[tables.private["purpose"] != "importance"]
    notes = shown[columns].assign(what="note to itself (" + shown["purpose"] + ")")
    acts = tables.acts[["room", "round", "iteration", "name", "reason"]].assign(text=_act_texts(tables), what=ACT)
    turns = pd.concat([memories, notes, acts, spoken]).sort_values("iteration", kind="stable")
    where = meetings(tables)
    return turns.assign(where=[where.get(turn, "") for turn in zip(turns["room"], turns["iteration"], strict=True)])


def _act_texts(tables: Tables) -> pd.Series:
    """Return what each person on a platform was shown and did, in words; missing where no act could be read."""
    turns = tables.utterances[["room", "iteration", "name"]].itertuples(index=False)
    authors = {(room, iteration): name for room, iteration, name in turns}
    shown_to = ["room", "round", "agent", "source"]
    feeds = tables.exposures.groupby(shown_to, sort=False)["iteration"].agg(list).to_dict()
    sources = tables.acts.groupby(["room", "iteration"]).cumcount().map({0: "feed", 1: "search"})
    texts = []
    for row, source in zip(tables.acts.to_dict("records"), sources, strict=True):
        posts = feeds.get((row["room"], row["round"], row["agent"], source), [])
        shown = f"sees {', '.join(map(str, posts))}; " if posts else ""
        texts.append(None if row["act"] is None else shown + _deed(row, authors))
    return pd.Series(texts, index=tables.acts.index, dtype="object")


def _deed(row: dict[str, Any], authors: dict[tuple[str, int], str]) -> str:
    """Return an act with its post, its words or the vote from outside: `like: post 9 of Ann`."""
    deed = str(row["act"])
    if pd.notna(row["target"]):
        deed += f": post {row['target']} of {authors.get((row['room'], row['target']), '?')}"
    if row["query"]:
        deed += f": {row['query']}"
    return f"{deed} (with one vote from outside, {row['seeded']:+d})" if row["seeded"] else deed


def _heading(tables: Tables, topic: str, group: str) -> str:
    title = "asked outside the debates" if group == REFERENCE else group_title(group, tables.names)
    return escape_markdown(f"{tables.title(topic)}: {title}")


def _room(
    seats: Rows,
    group: str,
    turns: Events,
    ratings: Events,
    feelings: Events,
    interventions: Events,
    parties: PartyNames,
) -> Iterator[str]:
    if group != REFERENCE:
        names = ", ".join(
            f"**{escape_markdown(row['name'])}** ({escape_markdown(seat_label(row, parties))})" for row in seats
        )
        yield f"### Room {seats[0]['repetition'] + 1}\n\n{names}\n"
    rooms = dict.fromkeys(row["room"] for row in seats)
    yield from _ratings([row for room in rooms for row in ratings.get((room, 0), ())], "Before the debate")
    yield from _feelings([row for room in rooms for row in feelings.get((room, 0), ())], "Before the debate")
    (room, *_) = rooms
    for round_ in [round_ for name, round_ in turns if name == room]:
        yield f"#### Round {round_}\n"
        for row in interventions.get((room, round_), ()):
            yield f"*{provenance.intervention_sentence(row, seats)}*\n"
        where = ""
        for row in turns[room, round_]:
            if row["where"] != where:
                where = row["where"]
                yield f"##### {where[:1].upper()}{where[1:]}\n"
            yield f"{_act(row) if row['what'] == ACT else _note(row) if row['what'] else _reply(row)}\n"
        yield from _ratings(ratings.get((room, round_), []), f"After round {round_}")
        yield from _feelings(feelings.get((room, round_), []), f"After round {round_}")


def _reply(row: dict[str, Any]) -> str:
    name = f"{escape_markdown(row['name'])}{' (post)' if row['form'] == POST else ''}"
    if isinstance(row["text"], str):
        return f"**{name}:** {escape_markdown(row['text'])}"
    return f"**{name}:** *(silent: {escape_markdown(str(row['reason']))})*"


def _act(row: dict[str, Any]) -> str:
    """Return an act in italics, with the number by which other acts name its post."""
    did = row["text"] if isinstance(row["text"], str) else "no act"
    missing = f" (not done: {row['reason']})" if isinstance(row["reason"], str) else ""
    text = f"{row['iteration']}. {row['name']}: {did}{missing}"
    return f"*{escape_markdown(text).strip()}*"


def _note(row: dict[str, Any]) -> str:
    """Return a summary of memory or a note in italics; emphasis ends only after a letter, so spaces at the end are removed."""
    none = "no summary" if row["what"] == "memory" else "none"
    note = row["text"] if isinstance(row["text"], str) else f"– ({none}: {row['reason']})"
    text = f"{row['name']}'s {row['what']}: {note}"
    return f"*{escape_markdown(text).strip()}*"


def _ratings(rows: Rows, when: str) -> Iterator[str]:
    if rows:
        ratings = ", ".join(f"{escape_markdown(row['name'])} {_rating(row)}" for row in rows)
        yield f"> {when}: {ratings}\n"


def _feelings(rows: Rows, when: str) -> Iterator[str]:
    if rows:
        people = "; ".join(
            f"{escape_markdown(row['name'])} {escape_markdown(text)}" for row, text in format_feelings(rows)
        )
        yield f"> {when}, emotion (1-7): {people}\n"


def _rating(row: dict[str, Any]) -> str:
    if pd.notna(row["attitude"]):
        return format_number(row["attitude"], 1)
    return f"– (no rating: {escape_markdown(str(row['reason']))})"
