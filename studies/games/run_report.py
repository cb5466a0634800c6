"""The report of a run in which people play a game: summary, tables, figure and transcript."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import count_phrase, escape_markdown, strip_controls
from parley.analysis.line_gaps import UNIT
from parley.analysis.own_reports import RunReport
from parley.analysis.statistics.intervals import SCALE, mean_interval
from parley.analysis.studies.paired_conditions import unit_means
from parley.analysis.tables import Tables

from .played import amounts, endings
from .rules import RESPONSES

READING = (
    "The unit of analysis is the room (one game): players and rounds of a room are averaged first. Brackets hold 95% intervals "
    "over rooms. A missing move is never replaced by a number, so the points of a round with a missing move are unknown."
)
MOVES = {
    "sent": "Points sent",
    "returned": "Returned of every 10",
    "choice": "Choices of A (10)",
    "contributed": "Points put in",
}


def by_round(tables: Tables, move: str) -> pd.DataFrame:
    """Return a row per round: round, rooms, value (mean move of repetitions) with its interval over repetitions.

    The same people play on every topic of a repetition, so its rooms are averaged first.
    """
    moves_made = amounts(tables).dropna(subset=["value"])
    rows = []
    for round_, round_moves in moves_made[moves_made["move"] == move].groupby("round"):
        rooms = round_moves.groupby([*UNIT, "room"])["value"].mean()
        values = unit_means(rooms)
        low, high = mean_interval(values, bounds=SCALE)
        rows.append(
            {"round": round_, "rooms": len(rooms), "value": values.mean(), "value_low": low, "value_high": high}
        )
    return pd.DataFrame(rows, columns=["round", "rooms", "value", "value_low", "value_high"])


def figure(tables: Tables) -> Figure:
    """Draw the moves by round, and how often each ending occurred."""
    scenario, rooms = tables.header.scenario, tables.moves["room"].nunique()
    unfinished = "" if tables.finished else " (unfinished)"
    about = f"{scenario['name']}{unfinished} on {disclaimers.model_label(tables.header)}, seed {scenario['seed']}"
    note = f"Points are means over {count_phrase(rooms, 'room')}, bars are 95% intervals over repetitions. {about}"
    kinds = [move for move in MOVES if move in set(amounts(tables)["move"])]
    with new_figure(
        6.4, 2.9, strip_controls(note), title="What do people do in the game, and how does the game end?"
    ) as drawn:
        if not kinds:
            _draw_endings(drawn.subplots(), tables)
            return drawn
        left, right = drawn.subplots(1, 2, width_ratios=(3, 2))
        for move, look in zip(kinds, OTHERS[1:], strict=False):
            plot_line(left, by_round(tables, move), "round", "value", MOVES[move], look)
        left.set(ylim=(-0.3, 10.3), xlabel="Round", ylabel="Move (0 to 10)")
        _draw_endings(right, tables)
        add_legend(drawn, [left], 2)
    return drawn


def _draw_endings(axis: Axes, tables: Tables) -> None:
    counts = endings(tables)["ending"].fillna("unknown").value_counts().sort_values()
    names = [str(name).replace("agreement on", "package") for name in counts.index]
    axis.barh(names, counts.to_numpy(dtype=float), color="#777777")
    axis.set(xlabel="Rooms")
    axis.tick_params(axis="y", labelsize=6)


def _transcript(tables: Tables) -> Iterator[str]:
    yield f"# {escape_markdown(tables.header.scenario['name'])}: moves\n"
    yield f"Model: {escape_markdown(disclaimers.model_label(tables.header))}. All players see all moves.\n"
    ends = endings(tables).set_index("room")["ending"]
    for room, rows in tables.moves.groupby("room", sort=False):
        yield f"\n## Room {escape_markdown(str(room))}\n"
        expectations = tables.expectations[tables.expectations["room"] == room]
        for expectation in expectations.to_dict("records"):
            whose = "itself" if expectation["about"] == "self" else "the others"
            round_, move = expectation["ahead"], expectation["move"]
            yield f"- {_name(expectation)} expects of {whose} in round {round_}, `{move}`: {_value(expectation)}"
        for round_, round_moves in rows.groupby("round", sort=False):
            yield f"- Round {round_}: " + "; ".join(
                f"{_name(row)} `{row['move']}` {_value(row)}" for row in round_moves.to_dict("records")
            )
        if isinstance(ends.get(room), str):
            yield f"- End: {ends[room]}"
    yield ""


def _name(row: dict[str, Any]) -> str:
    return f"**{escape_markdown(row['name'])}**"


def _value(row: dict[str, Any]) -> str:
    if pd.isna(row["value"]):
        return f"*(missing: {escape_markdown(str(row['reason']))})*"
    if row["move"] == "response":
        return RESPONSES[int(row["value"])]
    return ("A" if row["value"] else "B") if row["move"] == "choice" and "about" not in row else f"{row['value']:g}"


REPORT = RunReport(
    table="moves",
    name="game",
    figure=figure,
    caption="Moves by round, and how games ended",
    metrics=("game_moves", "game_points", "expectation_gap", "outcome_diversity"),
    reading=lambda _: READING,
    transcript=_transcript,
    files="`transcript.md` shows every move. The tables `moves`, `expectations` and `outcomes` have all moves as "
    "rows (studies/games/README.md).",
)
