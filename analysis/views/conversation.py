"""One room as a conversation: lines, interventions and the ratings after each round; with a search over all rooms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import solara

from parley.agents.society import DEFAULT, PartyNames
from parley.analysis import provenance
from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.figures import styles_of_run
from parley.analysis.formatting import count_phrase, format_feelings, format_number
from parley.analysis.meetings import meetings
from parley.analysis.own_reports import own_report
from parley.analysis.tables import Tables
from parley.analysis.transcript import first_agents
from parley.analysis.views._finder import finder
from parley.analysis.views._html import Line, element, line, log
from parley.analysis.views._replay import moment
from parley.analysis.views._session import Shown, debates
from parley.model.titles import seat_label

ORDER = 2
TITLE = "Conversation"
PANE = "left"
MOST = 5_000
"""Lines of a room that are shown: of more, those of the first agents."""
EDGES = 3
"""Kinds of edges of a line (solid, double, dashed), by the place of the party; the neutral seat has a dotted one."""


def shows(tables: Tables) -> bool:
    return not deliberates(tables) and own_report(tables) is None


@solara.component
def View(shown: Shown) -> None:
    titles = debates(shown.tables)
    room, search = shown.session.room, solara.use_reactive("")
    here = room.value if room.value in titles else next(iter(titles))
    early = early_lines(shown, here)
    lines = solara.use_memo(lambda: room_lines(shown.tables, here), [shown.tables, here])
    with solara.Div(classes=["choose"]):
        if len(titles) > 1:
            finder("Room", titles, here, room.set, steps=True)
        Search(word=search.value, event_find=search.set)
    look, word = shown.session.look_at, search.value.strip()
    if not word:
        log([*lines, *early], "Conversation", shown.round, look)
        return

    def go(to: str) -> None:
        room.set(to)
        search.set("")

    hits = find_lines(shown.tables, titles, shown.round, word)
    element("p", hit_words(hits, word), css="soft", role="status")
    if len(hits) > MOST:
        element("p", f"The first {MOST:,} of them are shown.", css="soft")
    if hits:
        log(hit_lines(shown.tables, titles, hits[:MOST]), "Lines found", shown.round, look, word, go)


@solara.component_vue("search.vue")
def Search(word: str, event_find: Callable[[str], None]) -> None:
    """A field for a word. It is looked for while it is typed."""


Hit = tuple[str, dict[Any, Any]]


def find_lines(tables: Tables, titles: Mapping[str, str], last: int, word: str) -> list[Hit]:
    """Return the lines of all rooms with a word in their text or the name of their speaker, each with its room."""
    turns = tables.utterances[tables.utterances["round"] <= last]
    texts = (turns["name"] + " " + turns["text"].fillna("")).str.lower()
    rows = turns[texts.str.contains(word.lower(), regex=False)].to_dict("records")
    place = {room: number for number, room in enumerate(titles)}
    return [(row["room"], row) for row in sorted(rows, key=lambda row: place[row["room"]])]


def hit_words(hits: Sequence[Hit], word: str) -> str:
    """Return how many lines were found: `12 lines in 3 rooms contain “rent”.`"""
    if not hits:
        return f"Nothing found: no line in any room contains “{word}”."
    lines, many = count_phrase(len(hits), "line"), len({room for room, _ in hits})
    return f"{lines} in {count_phrase(many, 'room')} contain{'s' * (len(hits) == 1)} “{word}”."


def hit_lines(tables: Tables, titles: Mapping[str, str], hits: Sequence[Hit]) -> list[Line]:
    """Return a heading for each room, which opens it, and the lines that were found there."""
    looks, lines, now = edges(tables), [], ""
    for room, row in hits:
        if room != now:
            lines.append(line(f"{titles[room]} ", tag="h3", room=room))
        now = room
        lines.append(turn(row, looks[row["party"]], tables.names, f", round {row['round']}"))
    return lines


def room_lines(tables: Tables, room: str) -> list[Line]:
    """Return for each round of a room its heading, interventions, lines, and the ratings after it, each with its moment.

    Where people meet in several places, the lines of each table have a heading.
    """
    frames = (tables.utterances, tables.attitudes, tables.emotions, tables.interventions)
    seats = tables.agents[tables.agents["room"] == room]
    some = first_agents(tables, room, MOST)
    turns, ratings, felt, acts = (
        _by_round(frame[(frame["room"] == room) & (frame["agent"].isin(some["agent"]) if "agent" in frame else True)])
        for frame in frames
    )
    seated = seats.to_dict("records")
    where, latest = meetings(tables), (0, "")
    party, looks, names = {row["agent"]: str(row["party"]) for row in seated}, edges(tables), tables.names
    lines: list[Line] = []
    if len(some) < len(seats):
        words = f"Shown are the lines of the first {len(some):,} of {len(seats):,} agents. The search finds all lines."
        lines.append(line(words, "turn outside", at=moment(0)))
    for round_ in sorted({*turns, *ratings, *acts}):
        here = turns.get(round_, [])
        began = moment(round_, 1, 2 * len(here) + 1) if here else moment(round_)
        if round_:
            lines.append(line(f"Round {round_}", tag="h3", at=began))
        for act in acts.get(round_, []):
            lines.append(line(provenance.intervention_event(act, seated), "turn outside", at=began))
        for place, row in enumerate(here, 1):
            if (table := where.get((room, row["iteration"]), "")) and (round_, table) != latest:
                latest = round_, table
                lines.append(line(table[0].upper() + table[1:], tag="h4", at=moment(round_, place, len(here))))
            lines.append(turn(row, looks[party[row["agent"]]], names) | {"at": moment(round_, place, len(here))})
        after = _ratings(ratings.get(round_, []), round_) + _feelings(felt.get(round_, []), round_)
        lines += [rating_line | {"at": moment(round_)} for rating_line in after]
    return lines


def _by_round(frame: pd.DataFrame) -> dict[int, list[dict[Any, Any]]]:
    """Return the rows of a table by their round. (`to_dict` looks at every value, which takes half a second of 10,000 rows.)"""
    names, rounds = list(frame), dict[int, list[dict[Any, Any]]]()
    for cells in zip(*(frame[name].tolist() for name in names), strict=True):
        row = dict(zip(names, cells, strict=True))
        rounds.setdefault(row["round"], []).append(row)
    return rounds


def early_lines(shown: Shown, room: str) -> list[Line]:
    """Return what was said in a room in the round under way, and is in the record only when all rooms have spoken."""
    live = shown.session.live
    early_turns = [early_turn for early_turn in live.early() if early_turn.room == room] if live else []
    if not early_turns:
        return []
    seated = {row["agent"]: row for row in shown.tables.agents[shown.tables.agents["room"] == room].to_dict("records")}
    looks = edges(shown.tables)
    lines = [line(f"Round {early_turns[0].round}, under way", tag="h3", at=early_turns[0].round - 1)]
    for early_turn in early_turns:
        seat = seated[early_turn.agent]
        row = {**seat, "text": early_turn.text, "reason": early_turn.reason}
        lines.append(turn(row, looks[str(seat["party"])], shown.tables.names) | {"at": early_turn.round - 1})
    return lines


def edges(tables: Tables) -> dict[str, tuple[str, str]]:
    """Return by party the class and the colour of the edge of its lines."""
    looks = styles_of_run(tables)
    others = [party for party in looks if party != DEFAULT]
    kinds = {party: f"edge-{place % EDGES}" for place, party in enumerate(others)} | {DEFAULT: DEFAULT}
    return {party: (kinds[party], look["color"]) for party, look in looks.items()}


def turn(row: dict[Any, Any], edge: tuple[str, str], names: PartyNames, more: str = "") -> Line:
    """Return the line of an agent.

    edge: of its party, as `edges` has it; names: of parties; more: what follows the agent's name.
    """
    text = row["text"] if isinstance(row["text"], str) else f"(silent: {row['reason']})"
    kind, colour = edge
    who = f" ({seat_label(row, names)}){more}: "
    return line(text, f"turn {kind}", who=who, colour=colour, name=str(row["name"]), person=person_of(row))


def _ratings(rows: Sequence[dict[Any, Any]], round_: int) -> list[Line]:
    parts = [
        (
            f"{row['name']} {format_number(row['attitude'], 1) if pd.notna(row['attitude']) else row['reason']}",
            person_of(row),
        )
        for row in rows
    ]
    return [line(f"{_when(round_)}: ", "rated", parts=parts)] if parts else []


def _feelings(rows: Sequence[dict[Any, Any]], round_: int) -> list[Line]:
    parts = [(f"{row['name']} {text}", person_of(row)) for row, text in format_feelings(rows)]
    return [line(f"{_when(round_)}, emotion (1-7): ", "rated", parts=parts)] if parts else []


def _when(round_: int) -> str:
    return f"After round {round_}" if round_ else "Before the debate"


def person_of(row: Mapping[Any, Any]) -> tuple[str, int]:
    """Return the agent of a row of a table, as its panel is opened."""
    return str(row["room"]), int(row["agent"])
