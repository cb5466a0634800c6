"""People play a game in several conditions, each with its null: the same condition once more with another seed.

Trust game: what players are known to do is imposed (low, high). Prisoner's dilemma and public goods: the end is announced or not.
Negotiation: no private note before a move, a bounded one, and a model that thinks by itself (`--native`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.contrasts import MORE, amount
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import count_table, format_estimate, format_number, format_p
from parley.analysis.statistics.intervals import LEVEL, NO_VARIATION, SCALE, SHARE
from parley.analysis.studies.paired_conditions import COLUMNS, PAIR, compare_conditions, conditions_report, mean_row
from parley.analysis.tables import Tables
from parley.analysis.unknown import clause, unknown_sentence
from parley.llm.backends import check_spec
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

from . import expectation_gap, game_moves, game_points
from .ending_diversity import FEWEST_ROOMS, diversity
from .environment import Game
from .played import amounts, endings, rules
from .rules import IMPOSED, most_points, package_points, selfish_points
from .run_report import MOVES, by_round
from .user_games import load_games, read_games

AGAIN, PEOPLE, NATIVE = "again", "people", "native"
LOW, HIGH = 2, 8
"""What players are known to do, where beliefs are imposed."""
NAMES = {
    "mean": "mean move", "last": "last round", "change": "last minus first", "gap": "said minus done", "closer": "closer",
    "share": "share of points", "agreed": "agreements", "compromise": "compromises",
}  # fmt: skip
MEASURES: Mapping[str, tuple[str, ...]] = {
    "trust": ("mean", "last", "gap", "closer", "share"),
    "prisoners": ("mean", "last", "change", "gap", "share"),
    "public_goods": ("mean", "last", "change", "gap", "share"),
    "negotiation": ("agreed", "compromise", "share"),
}
BOUNDS = {"mean": SCALE, "last": SCALE, "share": SHARE, "agreed": SHARE, "compromise": SHARE}
MAIN = {"trust": ("mean", "what is sent"), "negotiation": ("entropy", "the diversity of endings (bits)")}
"""The measure of the sentences, and its words; of the other games it is the last round."""
CAPTION = (
    "Every row is a condition, and numbers are means over rooms (games) with 95% intervals. Differences are from the first "
    "condition, within rooms of the same people and seed. The condition `again` repeats the first condition with another seed "
    "and other people, so its difference shows the effect of chance. Moves are from 0 to 10 (A is 10, B is 0). The column `gap` "
    "has the move that players predicted for themselves minus the move that they made. The column `closer` has the distance of "
    "a prediction from a stranger's move minus its distance from the player's own move. A compromise is an agreement in which "
    "both players get at least what an authority gives."
)


def conditions(base: Scenario, native: str = "", human: Path | None = None) -> dict[str, dict[str, Any]]:
    """Return the settings of each condition: the first is the reference, the second its repetition with another seed.

    native: the model of the condition in which a model thinks by itself; "" for none. human: a CSV of games that people played.
    Errors: UserError.
    """
    again = {AGAIN: {"seed": base.seed + 1}}
    rules = cast(Game, base.environment)
    game = rules.game
    if human:
        read_games(human, rules)  # a file that cannot be read is refused before a model is asked
    if native and game != "negotiation":
        raise UserError(f"--native only works with the game negotiation, not with {base.name}: leave out --native")
    if native:
        check_spec(native)  # an unknown model is refused before the other conditions run
    if game == "negotiation":
        settings: dict[str, dict[str, Any]] = {
            "no note": {"think": "none"},
            AGAIN: {"think": "none", **again[AGAIN]},
            "bounded note": {"think": "bounded"},
        }
        return settings | ({NATIVE: {"think": "none", "llm": native, "llms": ()}} if native else {})
    if game == "trust":
        plain = {"beliefs": "elicited"}
        low, high = ({"beliefs": "imposed", "imposed": number} for number in (LOW, HIGH))
        return {"elicited": plain, AGAIN: plain | again[AGAIN], f"imposed {LOW}": low, f"imposed {HIGH}": high}
    announced = {"end": "announced"}
    return {"announced": announced, AGAIN: announced | again[AGAIN], "unannounced": {"end": "unannounced"}}


def rooms(tables: Tables) -> pd.DataFrame:
    """Return one row per room: PAIR and the measures of its game (NaN where one is missing)."""
    game = rules(tables).game
    places = tables.moves.drop_duplicates("room").set_index("room")[PAIR]
    measures = pd.DataFrame(index=places.index, columns=list(MEASURES[game]), dtype=float)
    _fill(measures, "share", game_points.by_room(tables), "share")
    if game == "negotiation":
        ends = endings(tables).set_index("room")
        has_outcome = ends["outcome"].notna()
        measures["agreed"] = ends["package"].notna().where(has_outcome).astype(float)
        fair = [not np.isnan(package) and min(package_points(int(package))) >= IMPOSED for package in ends["package"]]
        measures["compromise"] = pd.Series(fair, index=ends.index).where(has_outcome).astype(float)
        return places.join(measures).reset_index(drop=True)
    main = [row for row in game_moves.by_room(tables) if row["move"] != "returned"]
    for name in {"mean", "last", "change"} & set(measures):
        _fill(measures, name, main, name)
    own_rows = (
        [row for row in expectation_gap.by_room(tables) if row["about"] == "self"] if len(tables.expectations) else []
    )
    for name in {"gap", "closer"} & set(measures):
        _fill(measures, name, own_rows, name)
    return places.join(measures).reset_index(drop=True)


def _fill(measures: pd.DataFrame, column: str, rows: list[dict[str, Any]], measure: str) -> None:
    """Put the mean of a measurement by room into a column."""
    values = pd.DataFrame([(row["room"], row[measure].value) for row in rows], columns=["room", "value"])
    means = values.astype({"value": float}).groupby("room")["value"].mean()
    measures[column] = means.reindex(measures.index)


def compare(runs: Mapping[str, Tables]) -> pd.DataFrame:
    """Return one row per measure and condition, as compare_conditions has them. People have no pairs."""
    ours = {name: rooms(tables) for name, tables in runs.items() if name != PEOPLE}
    game = rules(next(iter(runs.values()))).game
    parts = {measure: compare_conditions(ours, measure, BOUNDS.get(measure)) for measure in MEASURES[game]}
    if PEOPLE in runs:
        theirs = rooms(runs[PEOPLE])
        for measure, measure_rows in parts.items():
            values = theirs[measure].dropna().to_numpy(dtype=float)
            row = {"condition": PEOPLE, "rooms": len(values), "missing": len(theirs) - len(values), "pairs": 0}
            parts[measure] = pd.concat(
                [
                    measure_rows,
                    pd.DataFrame([row | mean_row(values, "value", bounds=BOUNDS.get(measure))], columns=COLUMNS),
                ],
                ignore_index=True,
            )
    return pd.concat(parts, names=["measure"]).reset_index(level=0)


def writer(human: Path | None) -> Callable[[dict[str, Tables], Path], Path]:
    """Return the function that writes the report of all conditions. human: a CSV of games that people played."""

    def write(runs: dict[str, Tables], folder: Path) -> Path:
        first = next(iter(runs.values()))
        if human:
            runs = {**runs, PEOPLE: load_games(human, rules(first), first.header)}
        compared, diverse, header = compare(runs), diversity(runs), first.header
        report = conditions_report(folder, "games", "Games", CAPTION, header, games=compared, diversity=diverse)
        game = rules(first).game
        for what in ("expectations", "moves"):
            due = pd.concat([getattr(tables, what) for tables in runs.values()])
            due = due[due["asked"] > 0]
            lost = due["reason"][due["value"].isna()]
            report.missing(len(lost), len(due), f"{what} are missing", count_table(lost))
        if len(amounts(first)):
            report.figure(_figure(runs, disclaimers.model_label(header)), "games", "Moves by round")
        report.in_short(sentences(compared, diverse, game))
        report.section("Conditions")
        cells = [_cells(compared, name, MEASURES[game]) for name in runs]
        report.table(cells, ["condition", "rooms", *[NAMES[measure] for measure in MEASURES[game]]])
        report.section("Differences from the first condition")
        rows = [_cells(compared, name, MEASURES[game], "difference", "difference_") for name in runs]
        report.table(rows[1:], ["condition", "rooms", *[NAMES[measure] for measure in MEASURES[game]]])
        report.section(
            "How games end",
            "The column `p` says how often conditions with shuffled rooms differ as much in entropy as the real conditions.",
        )
        report.table(
            [_diversity_cells(row) for row in diverse.to_dict("records")],
            ["condition", "rooms", "different endings", "entropy (bits)", "difference", "p"],
        )
        _add_benchmark(report, first)
        return report.write()

    return write


def sentences(compared: pd.DataFrame, diverse: pd.DataFrame, game: str) -> list[str]:
    """Return a sentence per condition after the first, on the main measure of the game; no verdict without an interval."""
    measure, what = MAIN.get(game, ("last", "cooperation in the last round"))
    source = diverse if measure == "entropy" else compared[compared["measure"] == measure]
    first = source.iloc[0]["condition"]
    rows = [_entropy_row(row) if measure == "entropy" else row for row in source.to_dict("records")]
    lines = [_compared_line(row, first, what) for row in rows[1:]]
    gaps = compared[(compared["measure"] == "gap") & (compared["condition"] == first)]
    return lines + [_gap_line(row) for row in gaps.to_dict("records")]


def _entropy_row(row: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """Return a row of `diversity` with the value and the reason that a row of `compare` has."""
    few = f"fewer than {FEWEST_ROOMS} rooms"
    return {**row, "value": row["entropy"], "reason": few if row["rooms"] < FEWEST_ROOMS else NO_VARIATION}


def _compared_line(row: Mapping[Hashable, Any], first: str, what: str) -> str:
    """Return what a condition changes. row: of `compare` or `diversity`."""
    name, low, high = row["condition"], row["difference_low"], row["difference_high"]
    if name == PEOPLE:
        return f"People: {what} is {format_number(row['value'])}."
    if np.isnan(row["difference"]):
        return f"{name}: the difference from `{first}` is unknown, because no room has a readable number in both conditions."
    start = f"{name}: {what} is {format_number(row['value'])}"
    apart = amount((row["difference"], low, high), MORE, "")
    if name == AGAIN and not np.isnan(low):
        return f"{start}. This is `{first}` with other people, so the difference is chance: {apart}."
    if np.isnan(low) and row["reason"] == NO_VARIATION:
        return (
            f"{start}, as with `{first}`."
            if row["difference"] == 0
            else f"{start}, in every room {apart} than with `{first}`."
        )
    if np.isnan(low):
        return f"{start}; whether {name} differs from `{first}` is unknown, because {clause(row['reason'])}."
    if low <= 0 <= high or row.get("p", 0.0) >= 1 - LEVEL:
        return f"{start}, not clearly different from `{first}`: {apart}."
    return f"{start}; compared with `{first}`, {apart}."


def _gap_line(row: Mapping[Hashable, Any]) -> str:
    """Return whether players of the first condition do what they said."""
    players, size = f"Players of `{row['condition']}`", format_estimate(row["value"], row["low"], row["high"])
    if row["reason"] == NO_VARIATION:
        return f"{players}: in every room, the predicted move minus the move made is {size}."
    if np.isnan(row["low"]):
        return unknown_sentence(f"whether players of `{row['condition']}` do what they said", row["reason"])
    if row["low"] <= 0 <= row["high"]:
        return f"{players}: it is not shown that their moves differ from what they said (predicted minus made move: {size})."
    return f"{players} do {'less' if row['low'] > 0 else 'more'} than they said (predicted minus made move: {size})."


def _cells(
    compared: pd.DataFrame, name: str, measures: tuple[str, ...], value: str = "value", ends: str = ""
) -> list[str]:
    rows = compared[compared["condition"] == name].set_index("measure")
    keys = [value, f"{ends}low", f"{ends}high"]
    return [name, f"{rows['rooms'].max():.0f}", *[format_estimate(*rows.loc[measure, keys]) for measure in measures]]


def _diversity_cells(row: Mapping[str, Any]) -> list[str]:
    difference = format_estimate(row["difference"], row["difference_low"], row["difference_high"])
    counts = [f"{row['rooms']}", f"{row['distinct']}", format_number(row["entropy"])]
    return [row["condition"], *counts, difference, format_p(row["p"])]


def _add_benchmark(report: Any, tables: Tables) -> None:
    game = rules(tables)
    share = selfish_points(game.game, game.size) / most_points(game.game, game.size, game.factor)
    report.section(
        "What selfish players would do",
        f"Selfish players who know the end get {share:.0%} of the points that all players can get together (the "
        "subgame-perfect equilibrium). Selfish players send nothing, return nothing, put in nothing and never cooperate. In a "
        "negotiation of selfish players, the player who makes the last offer gets the best package that leaves the other "
        "player as much as an authority would.",
    )


def _figure(runs: Mapping[str, Tables], caption: str) -> Figure:
    note = f"Points are means over rooms, bars are 95% intervals over repetitions (people: over rooms). {caption}"
    with new_figure(5.2, 3.6, note, title="What people do, round by round") as figure:
        axis = figure.subplots()
        move = next(kind for kind in MOVES if kind in set(amounts(next(iter(runs.values())))["move"]))
        for (name, tables), look in zip(runs.items(), OTHERS, strict=False):
            plot_line(axis, by_round(tables, move), "round", "value", name, look)
        axis.set(ylim=(-0.3, 10.3), xlabel="Round", ylabel=f"{MOVES[move]} (0 to 10)")
        add_legend(figure, [axis], 2)
    return figure
