"""The debates as a person would read them, in Markdown. What a model said is untrusted: it is shown as plain text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis import disclaimers, provenance
from parley.analysis.formatting import REFERENCE, escape_markdown, format_number, group_title
from parley.analysis.tables import Tables
from parley.environments.dyads import POST

Rows = list[dict[str, Any]]


@dataclass
class _Room:
    """One room: who sits there, and turns (summaries of memory, each before its turn, among them), ratings and what
    came from outside by round.
    """

    seated: Rows
    turns: dict[int, Rows] = field(default_factory=lambda: defaultdict(list))
    ratings: dict[int, Rows] = field(default_factory=lambda: defaultdict(list))
    outside: dict[int, Rows] = field(default_factory=lambda: defaultdict(list))


def write_transcript(tables: Tables, path: Path) -> Path:
    """Write every room's debate with the ratings that followed each round."""
    path.write_text(text(tables), encoding="utf-8")
    return path


def text(tables: Tables) -> str:
    """The same as text."""
    return "\n".join(_lines(tables))


def _lines(tables: Tables) -> Iterator[str]:
    scenario = tables.header.scenario
    yield f"# {escape_markdown(scenario['name'])}: transcripts\n"
    yield escape_markdown(
        f"{provenance.experiment_title(tables.header)}. Model: {disclaimers.model_label(tables.header)}. Seed {scenario['seed']}."
    )
    yield "Ratings (0-10) are private: nobody in the room sees them.\n"
    sections = _sections(tables)
    if len(tables.agents) and sum(map(len, sections.values())) > 1:
        yield from _contents(tables, sections)
    number_ = 0
    for (topic, group), rooms in sections.items():
        yield f"\n## {_heading(tables, topic, group)}\n"
        for room in rooms:
            number_ += 1
            yield from _room(room, number_, group)


def _sections(tables: Tables) -> dict[tuple[str, str], list[_Room]]:
    """The rooms by topic and group, in seating order; those who were asked outside a topic's debates are shown as one."""
    rooms: dict[str, _Room] = {}
    sections: dict[tuple[str, str], list[_Room]] = defaultdict(list)
    for row in tables.agents.to_dict("records"):
        section = sections[row["topic"], row["group"]]
        if row["room"] not in rooms:
            if row["group"] != REFERENCE or not section:
                section.append(_Room([]))
            rooms[row["room"]] = section[-1]
        rooms[row["room"]].seated.append(row)
    for row in _turns(tables).to_dict("records"):
        rooms[row["room"]].turns[row["round"]].append(row)
    for row in tables.attitudes[["room", "round", "name", "attitude", "reason"]].to_dict("records"):
        rooms[row["room"]].ratings[row["round"]].append(row)
    for row in tables.interventions.to_dict("records"):
        rooms[row["room"]].outside[row["round"]].append(row)
    return sections


def _turns(tables: Tables) -> pd.DataFrame:
    """Utterances, each after the summary of memory and the notes to itself that were made for it, in order."""
    columns = ["room", "round", "iteration", "name", "text", "reason"]
    memories = tables.summaries[columns].assign(what="memory")
    spoken = tables.utterances[[*columns, "form"]].assign(what="")
    shown = tables.private[tables.private["purpose"] != "importance"]
    notes = shown[columns].assign(what="note to itself (" + shown["purpose"] + ")")
    return pd.concat([memories, notes, spoken]).sort_values("iteration", kind="stable")


def _contents(tables: Tables, sections: dict[tuple[str, str], list[_Room]]) -> Iterator[str]:
    """One line a topic and group, one link a room."""
    yield "\n## Contents\n"
    number_ = 0
    for (topic, group), rooms in sections.items():
        links = []
        for room in rooms:
            number_ += 1
            links.append(f"[{room.seated[0]['repetition'] + 1}](#room-{number_})")
        yield f"- {_heading(tables, topic, group)}: room {' '.join(links)}"


def _heading(tables: Tables, topic: str, group: str) -> str:
    told = "asked outside the debates" if group == REFERENCE else group_title(group, tables.names)
    return escape_markdown(f"{tables.title(topic)}: {told}")


def _room(room: _Room, number_: int, group: str) -> Iterator[str]:
    yield f'<a id="room-{number_}"></a>\n'
    if group != REFERENCE:
        seated = ", ".join(
            f"**{escape_markdown(row['name'])}** ({escape_markdown(row['seat'])})" for row in room.seated
        )
        yield f"### Room {room.seated[0]['repetition'] + 1}\n\n{seated}\n"
    yield from _ratings(room, 0)
    for round_, turns in room.turns.items():
        yield f"#### Round {round_}\n"
        for row in room.outside.get(round_, ()):
            yield f"*{provenance.intervention_sentence(row, room.seated)}*\n"
        for row in turns:
            label = f"{escape_markdown(row['name'])}{' (post)' if row['form'] == POST else ''}"
            yield f"**{label}:** {_said(row)}\n" if not row["what"] else f"*{_remembered(row)}*\n"
        yield from _ratings(room, round_)


def _said(row: dict[str, Any]) -> str:
    return (
        escape_markdown(row["text"])
        if isinstance(row["text"], str)
        else f"*(silent: {escape_markdown(str(row['reason']))})*"
    )


def _remembered(row: dict[str, Any]) -> str:
    """What stands between two asterisks of emphasis: no space at its end."""
    none = "no summary" if row["what"] == "memory" else "none"
    told = row["text"] if isinstance(row["text"], str) else f"– ({none}: {row['reason']})"
    return escape_markdown(f"{row['name']}'s {row['what']}: {told}").strip()


def _ratings(room: _Room, round_: int) -> Iterator[str]:
    told = ", ".join(f"{escape_markdown(row['name'])} {_rated(row)}" for row in room.ratings.get(round_, ()))
    if told:
        yield f"> {'Before the debate' if round_ == 0 else f'After round {round_}'}: {told}\n"


def _rated(row: dict[str, Any]) -> str:
    if pd.notna(row["attitude"]):
        return format_number(row["attitude"], 1)
    return f"– (no rating: {escape_markdown(str(row['reason']))})"
