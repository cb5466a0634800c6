"""People play a game in several conditions, each with its null: the same condition once more with another seed.

Trust game: what players are known to do is imposed (low, high). Prisoner's dilemma and public goods: the end is announced or not.
Negotiation: no private note before a move, a bounded one, and a model that thinks by itself (`--native`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.agents.game_rules import IMPOSED, package_points
from parley.analysis import disclaimers
from parley.analysis.bootstrap import FEWEST, LEVEL, NONE, Ends, Floats, mean_interval, means_interval, too_few
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import format_estimate, format_number
from parley.analysis.game_data import load_games, read_games
from parley.analysis.game_report import MOVES, by_round
from parley.analysis.metrics import expectation_gap, game_moves, game_points
from parley.analysis.metrics._games import amounts, endings, rules
from parley.analysis.metrics.outcome_diversity import entropy, one_hot
from parley.analysis.studies.paired_conditions import COLUMNS, PAIR, compare_conditions, conditions_report, mean_row
from parley.analysis.tables import Tables
from parley.environments.game import Game
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

AGAIN, PEOPLE, NATIVE = "again", "people", "native"
LOW, HIGH = 2, 8
"""What players are known to do, where beliefs are imposed."""
DRAWS = 2000
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
CAPTION = (
    "Every row is a condition, and numbers are means over rooms (games) with 95% intervals. Differences are from the first "
    "condition, within rooms of the same people and seed. The condition `again` is the first one with another seed and other "
    "people: its difference shows what chance does. Moves are from 0 to 10 (A is 10, B is 0). `gap` is what players said of "
    "themselves before minus what they did, over all rounds that they were asked about; `closer` is how much nearer that is to "
    "their own move than to a stranger's. A compromise is an agreement in which both get at least what an authority gives."
)


def conditions(base: Scenario, native: str = "", human: Path | None = None) -> dict[str, dict[str, Any]]:
    """Return the settings of each condition: the first is the reference, the second its repetition with another seed.

    native: the model of the condition in which a model thinks by itself; "" for none. human: a CSV of games that people played.
    Errors: UserError.
    """
    again = {AGAIN: {"seed": base.seed + 1}}
    own = cast(Game, base.environment)
    game = own.game
    if human:
        read_games(human, own)  # a file that cannot be read is refused before a model is asked
    if native and game != "negotiation":
        raise UserError(f"--native compares notes in a negotiation; leave it out for {base.name}")
    if game == "negotiation":
        found: dict[str, dict[str, Any]] = {
            "no note": {"think": "none"},
            AGAIN: {"think": "none", **again[AGAIN]},
            "bounded note": {"think": "bounded"},
        }
        return found | ({NATIVE: {"think": "none", "llm": native, "llms": ()}} if native else {})
    if game == "trust":
        plain = {"beliefs": "elicited"}
        low, high = ({"beliefs": "imposed", "imposed": number} for number in (LOW, HIGH))
        return {"elicited": plain, AGAIN: plain | again[AGAIN], f"imposed {LOW}": low, f"imposed {HIGH}": high}
    known = {"end": "announced"}
    return {"announced": known, AGAIN: known | again[AGAIN], "unannounced": {"end": "unannounced"}}


def rooms(tables: Tables) -> pd.DataFrame:
    """Return one row per room: PAIR and the measures of its game (NaN where one is missing)."""
    game = rules(tables).game
    places = tables.moves.drop_duplicates("room").set_index("room")[PAIR]
    found = pd.DataFrame(index=places.index, columns=list(MEASURES[game]), dtype=float)
    _fill(found, "share", game_points.by_room(tables), "share")
    if game == "negotiation":
        ends = endings(tables).set_index("room")
        known = ends["outcome"].notna()
        found["agreed"] = ends["package"].notna().where(known).astype(float)
        fair = [not np.isnan(one) and min(package_points(int(one))) >= IMPOSED for one in ends["package"]]
        found["compromise"] = pd.Series(fair, index=ends.index).where(known).astype(float)
        return places.join(found).reset_index(drop=True)
    main = [row for row in game_moves.by_room(tables) if row["move"] != "returned"]
    for name in {"mean", "last", "change"} & set(found):
        _fill(found, name, main, name)
    own = [row for row in expectation_gap.by_room(tables) if row["about"] == "self"] if len(tables.expectations) else []
    for name in {"gap", "closer"} & set(found):
        _fill(found, name, own, name)
    return places.join(found).reset_index(drop=True)


def _fill(found: pd.DataFrame, column: str, rows: list[dict[str, Any]], measure: str) -> None:
    """Put the mean of a measurement by room into a column."""
    values = pd.DataFrame([(row["room"], row[measure].value) for row in rows], columns=["room", "value"])
    means = values.astype({"value": float}).groupby("room")["value"].mean()
    found[column] = means.reindex(found.index)


def diversity(runs: Mapping[str, Tables]) -> pd.DataFrame:
    """Return one row per condition: rooms, distinct (different endings), entropy (bits) with its interval, and its difference
    from the first condition with an interval (jackknife of both) and the p of a permutation of rooms between the two.
    """
    known = {name: endings(tables)["ending"].dropna().reset_index(drop=True) for name, tables in runs.items()}
    first, *_ = known
    rows: list[dict[str, Any]] = []
    for name, ends in known.items():
        row: dict[str, Any] = {"condition": name, "rooms": len(ends), "distinct": ends.nunique()}
        values = pseudo_entropies(ends)
        row |= {"entropy": entropy(ends.value_counts().to_numpy(dtype=float))}
        row |= dict(zip(("low", "high"), np.clip(mean_interval(values), 0, None), strict=True))  # entropy is 0 or more
        if name != first:
            row["difference"] = row["entropy"] - rows[0]["entropy"]
            ends_of = difference_interval(values, pseudo_entropies(known[first]))
            row |= dict(zip(("difference_low", "difference_high"), ends_of, strict=True))
            row["p"] = permutation_p(known[first], ends)
        rows.append(row)
    columns = [
        "condition",
        "rooms",
        "distinct",
        "entropy",
        "low",
        "high",
        "difference",
        "difference_low",
        "difference_high",
        "p",
    ]
    return pd.DataFrame(rows, columns=columns)


def pseudo_entropies(ends: pd.Series) -> Floats:
    """Return the pseudo-values of the entropy of endings, one a room, from leaving out one room at a time (Tukey 1958)."""
    if len(ends) < 2:
        return np.array([])
    matrix = one_hot(ends)
    counts = matrix.sum(axis=0)
    without = np.array([entropy(counts - row) for row in matrix])
    return len(ends) * entropy(counts) - (len(ends) - 1) * without


def difference_interval(values: Floats, others: Floats) -> Ends:
    """Return the 95% interval of the mean of `values` minus that of `others`, two independent groups of rooms (Welch)."""
    if min(len(values), len(others)) < FEWEST:
        return NONE
    low, high = means_interval([values, -others])
    return 2 * low, 2 * high


def permutation_p(first: pd.Series, second: pd.Series) -> float:
    """Return the p of a difference in entropy this large if rooms are shuffled between the two; NaN below FEWEST rooms."""
    if min(len(first), len(second)) < FEWEST:
        return float("nan")
    matrix, size = one_hot(pd.concat([first, second], ignore_index=True)), len(first)

    def distance(order: Any) -> float:
        return abs(entropy(matrix[order[:size]].sum(axis=0)) - entropy(matrix[order[size:]].sum(axis=0)))

    rng, seen = np.random.default_rng(0), distance(np.arange(len(matrix)))
    drawn = sum(distance(rng.permutation(len(matrix))) >= seen - 1e-12 for _ in range(DRAWS))
    return (1 + drawn) / (1 + DRAWS)


def compare(runs: Mapping[str, Tables]) -> pd.DataFrame:
    """Return one row per measure and condition, as compare_conditions has them. People have no pairs."""
    ours = {name: rooms(tables) for name, tables in runs.items() if name != PEOPLE}
    game = rules(next(iter(runs.values()))).game
    parts = {measure: compare_conditions(ours, measure) for measure in MEASURES[game]}
    if PEOPLE in runs:
        theirs = rooms(runs[PEOPLE])
        for measure, part in parts.items():
            values = theirs[measure].dropna().to_numpy(dtype=float)
            row = {"condition": PEOPLE, "rooms": len(values), "missing": len(theirs) - len(values), "pairs": 0}
            parts[measure] = pd.concat(
                [part, pd.DataFrame([row | mean_row(values, "value")], columns=COLUMNS)], ignore_index=True
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
        if len(amounts(first)):
            report.figure(_figure(runs, disclaimers.model_label(header)), "games", "Moves by round")
        report.section("In short", "\n".join(f"- {line}" for line in sentences(compared, diverse, game)))
        report.section("Conditions")
        cells = [_cells(compared, name, MEASURES[game]) for name in runs]
        report.table(cells, ["condition", "rooms", *[NAMES[one] for one in MEASURES[game]]])
        report.section("Differences from the first condition")
        rows = [_cells(compared, name, MEASURES[game], "difference", "difference_") for name in runs]
        report.table(rows[1:], ["condition", "rooms", *[NAMES[one] for one in MEASURES[game]]])
        report.section(
            "How games end",
            "`p`: how often rooms that are shuffled between the two conditions differ as much in entropy.",
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
    measure = {"trust": "mean", "negotiation": "entropy"}.get(game, "last")
    what = {"trust": "what is sent", "negotiation": "the diversity of endings (bits)"}.get(
        game, "cooperation in the last round"
    )
    source = diverse if measure == "entropy" else compared[compared["measure"] == measure]
    first = source.iloc[0]["condition"]
    lines = []
    for row in source.to_dict("records")[1:]:
        name, own = row["condition"], row["entropy"] if measure == "entropy" else row["value"]
        if name == PEOPLE:
            lines.append(f"People: {what} is {format_number(own)}.")
            continue
        low, high = row["difference_low"], row["difference_high"]
        start = f"{name}: {what} is {format_number(own)}"
        if np.isnan(low) and row["rooms"] >= FEWEST and row["difference"] == 0:
            lines.append(f"{start}, as with `{first}`.")
        elif np.isnan(low):
            reason = too_few() if row["rooms"] < FEWEST else "all rooms differ alike"
            lines.append(f"{start}; whether it differs from `{first}` is unknown: {reason}.")
        elif low <= 0 <= high or row.get("p", 0.0) >= 1 - LEVEL:
            lines.append(f"{start}, not clearly different from `{first}` ({low:+.2f} to {high:+.2f}).")
        else:
            way = "more" if low > 0 else "less"
            lines.append(
                f"{start}, {abs(row['difference']):.2f} {way} than with `{first}` ({low:+.2f} to {high:+.2f})."
            )
    gaps = compared[(compared["measure"] == "gap") & (compared["condition"] == first)]
    for row in gaps.to_dict("records"):
        size = format_estimate(row["value"], row["low"], row["high"])
        if np.isnan(row["low"]):
            why = too_few() if row["rooms"] < FEWEST else "no interval"
            lines.append(f"Whether players of `{first}` do what they said is unknown: {why}.")
        elif row["low"] <= 0 <= row["high"]:
            lines.append(f"Players of `{first}` do on average what they said (said minus done {size}).")
        else:
            lines.append(
                f"Players of `{first}` do {'less' if row['low'] > 0 else 'more'} than they said (said minus done {size})."
            )
    return lines


def _cells(
    compared: pd.DataFrame, name: str, measures: tuple[str, ...], value: str = "value", ends: str = ""
) -> list[str]:
    rows = compared[compared["condition"] == name].set_index("measure")
    keys = [value, f"{ends}low", f"{ends}high"]
    return [name, f"{rows['rooms'].max():.0f}", *[format_estimate(*rows.loc[one, keys]) for one in measures]]


def _diversity_cells(row: Mapping[str, Any]) -> list[str]:
    difference = format_estimate(row["difference"], row["difference_low"], row["difference_high"])
    shown = format_estimate(row["entropy"], row["low"], row["high"])
    return [row["condition"], f"{row['rooms']}", f"{row['distinct']}", shown, difference, format_number(row["p"], 3)]


def _add_benchmark(report: Any, tables: Tables) -> None:
    found = game_points.compute(tables)
    share = format_number(found["selfish"].iloc[0]) if len(found) else "unknown"
    report.section(
        "What selfish players would do",
        f"Players who want only points for themselves, and know the end, get {share} of the points that all can get together "
        "(the subgame-perfect equilibrium). They send, return, put in and cooperate nothing; in a negotiation the one who "
        "offers last gets its best package that leaves the other as much as an authority would.",
    )


def _figure(runs: Mapping[str, Tables], caption: str) -> Figure:
    note = f"Points are means over rooms, bars are 95% intervals over rooms. {caption}"
    with new_figure(5.2, 3.6, note, title="What people do, round by round") as figure:
        axis = figure.subplots()
        move = next(one for one in MOVES if one in set(amounts(next(iter(runs.values())))["move"]))
        for (name, tables), look in zip(runs.items(), OTHERS, strict=False):
            plot_line(axis, by_round(tables, move), "round", "value", name, look)
        axis.set(ylim=(-0.3, 10.3), xlabel="Round", ylabel=f"{MOVES[move]} (0 to 10)")
        add_legend(figure, [axis], 2)
    return figure
