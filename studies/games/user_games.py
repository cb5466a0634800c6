"""Games that people played, from a CSV of the user: the same tables as those of a run, so that the same measures apply.

Columns: `room` (who played together), `round` (from 1), `player`, `move` (sent, returned, choice, contributed, offer, response)
and `value` (0 to 10; A or B for a choice; the package 1 to 9 for an offer; accept, refuse or leave for a response; empty if it is
missing). Players sit in the order in which they first move. A row with `about` (self or other) and `ahead` (a round) is no move,
but what the player expected before the game, from 0 to 10.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from parley.analysis.table_files import read_table
from parley.analysis.tables import Tables, tables
from parley.llm.errors import UserError
from parley.model.events import Event, Header, Seated

from .environment import Game
from .events import Expected, Moved, Settled
from .rules import KINDS, RESPONSES, Play, answers, ending, ending_points, round_points, summary_outcome

NEEDED = ("room", "round", "player", "move", "value")
WORDS = {"choice": {"A": 10, "B": 0}, "response": {word: number for number, word in RESPONSES.items()}}
GROUP, TOPIC = "people", "game_of_points"


def load_games(path: Path, rules: Game, header: Header) -> Tables:
    """Return the tables of the people's games. header: of a run of the same game. Errors: UserError."""
    played = read_games(path, rules)
    last = max(event.round for event in played if isinstance(event, Moved))
    return tables([replace(header, scenario={**header.scenario, "rounds": last}), *played], str(path))


def read_games(path: Path, rules: Game) -> list[Event]:
    """Return the people's games as events. Errors: UserError that names the line or the room."""
    frame = read_table(path, NEEDED, "studies/games/README.md")
    frame = frame.reindex(columns=[*NEEDED, "about", "ahead"], fill_value="")
    rows = {number: _read_row(path, int(number), row, rules) for number, row in frame.to_dict("index").items()}
    if all(row.about for row in rows.values()):
        raise UserError(f"{path} has no moves")
    _refuse_twice(path, rows)
    return list(_events(path, list(rows.values()), rules))


def _refuse_twice(path: Path, rows: Mapping[Hashable, Row]) -> None:
    """Errors: UserError on two rows of the same move or expectation."""
    firsts: dict[Row, Hashable] = {}
    for number, row in rows.items():
        if (first := firsts.setdefault(row._replace(value=None), number)) != number:
            raise UserError(
                f"{path}, row {number}: {row.player} has the same move or expectation in row {first}: leave out one "
                "of the two rows"
            )


class Row(NamedTuple):
    """A row of the file, with its numbers."""

    room: str
    round: int
    player: str
    move: str
    value: float | None
    about: str
    ahead: int

    @property
    def reason(self) -> str | None:
        return "empty" if self.value is None else None


def _read_row(path: Path, line: int, row: dict[Hashable, str], rules: Game) -> Row:
    """Return a row with its numbers. Errors: UserError that names the line."""
    move, about, text = row["move"], row["about"], row["value"].strip()
    if move not in KINDS[rules.game]:
        raise UserError(f"{path}, row {line}: move is {move!r}, but must be {' or '.join(KINDS[rules.game])}")
    if about not in ("", "self", "other"):
        raise UserError(f"{path}, row {line}: about is {about!r}, but must be empty, self or other")
    try:
        value = float(WORDS.get(move, {}).get(text, text)) if text else None
    except ValueError:
        raise UserError(f"{path}, row {line}: {text!r} cannot be the value of {move}") from None
    whole = move in ("choice", "offer", "response") and not about
    if value is not None and not (value in answers(move) if whole else 0 <= value <= 10):
        raise UserError(
            f"{path}, row {line}: {text!r} cannot be the value of {move}; amounts are from 0 to 10, so scale "
            "your own points"
        )
    count = row["ahead"] if about else row["round"]
    if not (count.strip().isdigit() and int(count) >= 1):
        raise UserError(f"{path}, row {line}: {'ahead' if about else 'round'} must be a whole number of 1 or more")
    rounds = (1, int(count)) if about else (int(count), 0)
    return Row(row["room"], rounds[0], row["player"], move, value, about, rounds[1])


def _events(path: Path, rows: list[Row], rules: Game) -> Iterator[Event]:
    """Yield the events of the people's games, room by room.

    Errors: UserError on a room with other players than the game has, and on an expectation of someone who does not move.
    """
    by_room: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_room[row.room].append(row)
    first = 1
    for repetition, (name, room_rows) in enumerate(by_room.items()):
        moving = sorted([row for row in room_rows if not row.about], key=lambda row: row.round)
        players = list(dict.fromkeys(row.player for row in moving))
        if len(players) != rules.size:
            raise UserError(
                f"{path}: room {name} has {len(players)} players who move, but the game has {rules.size}: "
                "set size, or leave the room out"
            )
        if unknown := [row.player for row in room_rows if row.player not in players]:
            raise UserError(f"{path}: room {name}: {unknown[0]} has an expectation but no move: correct the name")
        numbers = {player: first + place for place, player in enumerate(players)}
        first += len(players)
        for place, (player, number) in enumerate(numbers.items(), 1):
            yield Seated(number, name, TOPIC, GROUP, repetition, f"player {place}", GROUP, "", player)
        for row in room_rows:
            if row.about:
                who = numbers[row.player]
                yield Expected(name, 1, who, row.about, row.move, row.ahead, row.value, row.reason, asked=1)
        yield from _room_events(name, moving, numbers, rules)


def _room_events(name: str, moving: list[Row], numbers: dict[str, int], rules: Game) -> Iterator[Event]:
    """Yield the moves of a room, and what each round paid."""
    plays: list[Play] = []
    rounds = sorted({row.round for row in moving})
    for round_ in rounds:
        for place, row in enumerate([row for row in moving if row.round == round_], 1):
            plays.append(Play(round_, numbers[row.player], row.move, row.value))
            yield Moved(name, round_, place, numbers[row.player], row.move, row.value, row.reason, asked=1)
        now, final, package = [play for play in plays if play.round == round_], round_ == rounds[-1], None
        by_agent = {play.agent: play.value for play in now}
        points: Sequence[float | None]
        if rules.game == "negotiation":
            outcome, package = ending(now, final)
            points = ending_points(outcome, package) if outcome else (None, None)
        else:
            points = round_points(rules.game, [by_agent.get(agent) for agent in numbers.values()], rules.factor)
            outcome = summary_outcome(rules.game, plays) if final else ""
        yield Settled(name, round_, tuple(numbers.values()), tuple(points), outcome or None, package, final)
