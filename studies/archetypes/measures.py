"""What archetypes save and what they cost: the same debates once with every agent surveyed, once with shared answers.

llm/answer_sharing.py shares the answers. Both runs have the same people, seats and seed. No agent remembers a survey. Therefore,
where nothing in the environment depends on attitudes, the lines of both runs are the same word for word, and every difference is
one of the answers alone.

The report compares calls saved with error added, by topic, group, party and round, and draws both runs in one figure.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.agents.society import party_name
from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.figures import make_panels, new_figure, styles_by_party
from parley.analysis.formatting import Column, estimate
from parley.analysis.line_gaps import UNIT
from parley.analysis.metrics._cells import REFERENCE, spans
from parley.analysis.model_calls import asked_of_model
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import Floats, interval, with_interval
from parley.analysis.studies.paired_conditions import draw_attitudes, legend_lines
from parley.analysis.tables import Tables
from parley.llm.answer_sharing import REUSE
from parley.model.events import Header
from parley.model.scenario import Scenario
from parley.model.titles import group_title

KEYS = ("topic", "group", "party", "round")
ALL, SHARED = "every agent asked", "archetypes"
"""The two runs, and their folders in a study's folder."""
DRAWN = "archetype"
"""The end of the column `how` of a rating that was drawn from the answers of others."""


@dataclass(frozen=True)
class SavingsResult:
    """What a study of archetypes found.

    cells: see `compare_cells`. overall: see `pooled`. savings: one row per run, see `calls_used`. same: share of the lines that
    are the same in both runs.
    """

    header: Header
    cells: pd.DataFrame
    overall: dict[str, Any]
    savings: pd.DataFrame
    same: float


def archetypes(base: Scenario, size: int) -> Generator[Scenario, Tables, SavingsResult]:
    """Yield the scenario with every agent surveyed, then with `size` answers per kind; receive the tables of each run."""
    whole = yield base.with_settings({"archetypes": 0})
    shared = yield base.with_settings({"archetypes": size})
    savings = pd.DataFrame([{"run": ALL, **calls_used(whole)}, {"run": SHARED, **calls_used(shared)}])
    lines = ["room", "iteration", "text"]
    spoken = whole.utterances[lines].merge(shared.utterances[lines], on=["room", "iteration"])
    same = spoken["text_x"].eq(spoken["text_y"]) | spoken[["text_x", "text_y"]].isna().all(axis=1)
    pairs = matched(whole, shared)
    return SavingsResult(whole.header, compare_cells(pairs), pooled(pairs), savings, float(same.mean()))


def calls_used(tables: Tables) -> dict[str, int]:
    """Return what a run used: calls, ratings (wanted), surveys (calls for ratings), tokens, renewed and drifted samples."""
    calls = asked_of_model(tables.calls)
    return {
        "calls": len(calls),
        "ratings": len(tables.attitudes),
        "surveys": int((calls["purpose"] == "survey").sum()),
        "tokens_in": int(calls["prompt_tokens"].sum()),
        "tokens_out": int(calls["completion_tokens"].sum()),
        "renewed": int(tables.calls["checked"].sum()),
        "drifted": int(tables.calls["drifted"].sum()),
    }


def matched(whole: Tables, shared: Tables) -> pd.DataFrame:
    """Return one row per person and survey of both runs.

    KEYS, repetition, room, agent, `attitude_all`, `attitude_shared`, `drawn` (was the second one drawn?); where neither is
    missing also `error`, their distance, and `stranger` (see `from_others`).
    """
    who = [*KEYS, "repetition", "room", "agent"]
    pairs = _rated(whole)[[*who, "attitude"]].merge(
        _rated(shared)[[*who, "attitude", "how"]], on=who, suffixes=("_all", "_shared")
    )
    pairs["drawn"] = pairs.pop("how").astype("string").str.endswith(DRAWN).fillna(False).astype(bool)
    pairs["error"] = (pairs["attitude_shared"] - pairs["attitude_all"]).abs().astype(float)
    attitudes = pairs["attitude_all"].where(pairs["error"].notna()).astype(float)
    return pairs.assign(stranger=attitudes.groupby([pairs[key] for key in KEYS]).transform(from_others).astype(float))


def _rated(tables: Tables) -> pd.DataFrame:
    ratings = tables.attitudes
    group_ratings = ratings[(ratings["group"] != REFERENCE) & (ratings["probe"] == tables.header.scenario["probe"])]
    return group_ratings.assign(attitude=group_ratings["answer"])  # the answers themselves are drawn


def from_others(values: pd.Series) -> Floats:
    """Return for each person the mean distance to the ratings of all others: how far off another person's rating would be.

    NaN where a person has no rating, or there is no other.

    >>> from_others(pd.Series([1.0, 2.0, 4.0, np.nan])).tolist()
    [2.0, 1.5, 2.5, nan]
    """
    ratings, ordered = values.to_numpy(dtype=float), np.sort(values.dropna().to_numpy(dtype=float))
    count, sums = len(ordered), np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, ratings)
    distances = ratings * below - sums[below] + (sums[-1] - sums[below]) - ratings * (count - below)
    return distances / (count - 1) if count > 1 else np.full(len(ratings), np.nan)


def compare_cells(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per topic, group, party and round of `matched`.

    n (people rated in both runs), missing (in either), rooms; mean and sd over people of both runs (`mean_all`, `sd_all`,
    `mean_shared`, `sd_shared`); `mean_off` and `sd_off`, shared minus all, each with a 95% interval over rooms; and the columns
    of `_errors`, which are over the people whose rating was drawn.
    """
    rows = [
        dict(zip(KEYS, key, strict=True)) | _row(cell_pairs) for key, cell_pairs in pairs.groupby([*KEYS], sort=False)
    ]
    kinds = {"round": "int64", "n": "int64", "missing": "int64", "rooms": "int64"}
    kinds |= dict.fromkeys(("mean_all", "mean_shared", "sd_all", "sd_shared"), "float64")
    kinds |= spans("mean_off", "sd_off") | {"drawn": "int64", "drawn_rooms": "int64"}
    kinds |= spans("error", "stranger", "gain") | {"error_asked": "float64"}
    return pd.DataFrame(rows, columns=[*KEYS, *(name for name in kinds if name != "round")]).astype(kinds)


def _row(cell_pairs: pd.DataFrame) -> dict[str, Any]:
    rated_pairs = cell_pairs.dropna(subset="error")
    row = {
        "n": len(rated_pairs),
        "missing": len(cell_pairs) - len(rated_pairs),
        "rooms": rated_pairs["room"].nunique(),
    } | _errors(rated_pairs)
    if rated_pairs.empty:
        return row
    whole, shared = (rated_pairs[f"attitude_{run}"].to_numpy(dtype=float) for run in ("all", "shared"))
    columns = rated_pairs.assign(n=1.0, whole=whole, shared=shared, wholes=whole**2, shareds=shared**2)
    sums = (
        columns.groupby("room", sort=False)[["n", "whole", "shared", "wholes", "shareds"]].sum().to_numpy(dtype=float)
    )
    row |= {"mean_all": whole.mean(), "mean_shared": shared.mean()}
    row |= with_interval("mean_off", row["mean_shared"] - row["mean_all"], interval(sums, _mean_off, sums[:, 0]))
    if len(rated_pairs) > 1:
        row |= {"sd_all": whole.std(ddof=1), "sd_shared": shared.std(ddof=1)}
        row |= with_interval("sd_off", row["sd_shared"] - row["sd_all"], interval(sums, _sd_off, sums[:, 0]))
    return row


def _mean_off(rooms: Floats) -> Floats:
    """Return the difference of means, of sums by room."""
    n, whole, shared, *_ = np.moveaxis(rooms.sum(axis=1), -1, 0)
    return np.asarray((shared - whole) / n)


def _sd_off(rooms: Floats) -> Floats:
    """Return the difference of standard deviations, of sums by room."""
    n, *sums = np.moveaxis(rooms.sum(axis=1), -1, 0)
    totals, squares = np.array(sums[:2]), np.array(sums[2:])
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = np.sqrt(np.maximum((squares - totals**2 / n) / (n - 1), 0))
    return np.asarray(after - before)


def pooled(pairs: pd.DataFrame) -> dict[str, Any]:
    """Return n and the columns of `_errors` over all rows of `matched`, of all topics."""
    rated_pairs = pairs.dropna(subset="error")
    return {"n": len(rated_pairs), **_errors(rated_pairs)}


def _errors(rated_pairs: pd.DataFrame) -> dict[str, Any]:
    """Return errors of the people whose rating was drawn (`drawn`, in `drawn_rooms` rooms), with 95% intervals over
    repetitions of a group: the same people meet on every topic of one. On one topic these are its rooms.

    `error`: mean distance of their two ratings. `stranger`: the same if they had the rating of another person of their row.
    `gain`: stranger minus error, what a draw knows about a person beyond topic, group, party and round. `error_asked`: the error
    of those who were asked.
    """
    drawn, surveyed = rated_pairs[rated_pairs["drawn"]], rated_pairs[~rated_pairs["drawn"]]
    row = {"drawn": len(drawn), "drawn_rooms": drawn["room"].nunique(), "error_asked": surveyed["error"].mean()}
    columns = drawn.assign(gain=drawn["stranger"] - drawn["error"])
    for name in ("error", "stranger", "gain"):
        units = columns.dropna(subset=name).groupby(UNIT, sort=False)[name].agg(["size", "sum"]).to_numpy(dtype=float)
        row |= with_interval(name, float(columns[name].mean()), interval(units, _ratio, units[:, 0]))
    return row


def _ratio(units: Floats) -> Floats:
    sums = units.sum(axis=1)
    return np.asarray(sums[..., 1] / sums[..., 0])


LINES: dict[str, dict[str, Any]] = {
    ALL: {"linestyle": "-", "fillstyle": "full"},
    SHARED: {"linestyle": (0, (4, 2)), "fillstyle": "none"},
}
HEAD: Mapping[str, Column] = {
    "topic": lambda row: load_topic(row["topic"]).heading, "group": "group", "party": "party", "round": "round",
    "people": "n", "rooms": "rooms", "mean": "mean_all", "off by": estimate("mean_off"),
    "spread": "sd_all", "spread off by": estimate("sd_off"), "drawn": "drawn", "error": estimate("error"),
    "of a stranger": "stranger",
}  # fmt: skip
COST = (
    "Spread is the standard deviation of ratings over people. Error is the mean absolute difference between a person's shared "
    "rating and the person's own rating (0-10). People who were surveyed themselves are left out. The column `of a stranger` "
    "has the error of another person's rating. Brackets are 95% confidence intervals over rooms (over repetitions for all "
    "topics together). The error of a mean depends on who was surveyed. In the two runs, {same:.0%} of the messages are the "
    "same. The table has the first and last round; the file cells.csv has all rounds."
)


def write_savings(result: SavingsResult, folder: Path, base: Scenario, size: int) -> Path:
    """Write archetypes.md, its tables (cells, savings) and its figure; return the path of the page."""
    model, cells = disclaimers.model_label(result.header), result.cells
    caption = f"{base.name} on {model}, {base.repetitions} repetitions, seed {base.seed}, {size} answers per kind"
    report = Report(folder, "archetypes", "Shared survey answers (archetypes): calls saved and error added")
    report.data(cells=cells, savings=result.savings)
    report.add(f"{caption}.")
    report.disclaim(result.header)
    report.add(savings_headline(result))
    report.figure(savings_figure(result, caption), "archetypes", "Both runs")
    report.section("What was saved")
    counts = result.savings.set_index("run").rename(columns=lambda name: name.replace("_", " "))
    rows = [[run, *(f"{count:,}" for count in row)] for run, *row in counts.itertuples()]
    report.table(rows, ["run", *counts])
    report.add(
        f"{size} agents of a kind (topic, group, party, persona variant, survey, last rating in whole points) are surveyed. "
        f"Every other agent of the kind gets one of these answers. After {REUSE} uses per answer the kind is surveyed again, "
        "and changed answers are replaced. Only answers to the main survey question are shared; every agent still speaks for "
        "itself."
    )
    report.section("Calls saved and error added", COST.format(same=result.same))
    report.table(
        cells[cells["round"].isin([cells["round"].min(), cells["round"].max()])], {**HEAD, **_named(result.header)}
    )
    return report.write()


def _named(header: Header) -> dict[str, Column]:
    """Return the columns of the table with the names of parties."""
    names = header.names
    return {"group": lambda row: group_title(row["group"], names), "party": lambda row: party_name(row["party"], names)}


def savings_headline(result: SavingsResult) -> str:
    """Return how many calls were saved, and how far off the drawn ratings are."""
    whole, shared = result.savings.to_dict("records")
    row, off = result.overall, result.cells["mean_off"].abs().max()
    saved = (
        f"With shared answers the run made {shared['surveys']:,} survey calls instead of "
        f"{whole['surveys']:,}, and {shared['calls']:,} calls instead of {whole['calls']:,} in all. "
    )
    if not row["drawn"]:
        return f"{saved}No rating was shared, because no kind of agent has more than --size agents: choose a smaller --size."
    error, stranger, gain = (estimate(name)(row) for name in ("error", "stranger", "gain"))
    closer = (
        f"A shared rating is {gain} points closer to the agent's own answer than another agent's rating"
        if row["gain_low"] > 0
        else "A shared rating is not detectably closer to the agent's own answer than another agent's rating "
        f"(difference {gain} points)"
    )
    return (
        f"{saved}{row['drawn']:,} of {row['n']:,} ratings were shared: another agent's answer was used. Shared ratings differ "
        f"from the agents' own answers by {error} points of 10 on average; the rating of another agent of the topic, party "
        f"and round differs by {stranger} points. {closer}. The mean of a topic, party and round changes by at most {off:.2f} "
        "points."
    )


def savings_figure(result: SavingsResult, caption: str) -> Figure:
    """Draw mean attitudes of both runs by round and party: a row per group, a column per topic."""
    cells = result.cells
    groups, topics = (list(cells[name].unique()) for name in ("group", "topic"))
    names = result.header.names
    looks = styles_by_party(cells["party"].unique(), result.header.parties)
    with new_figure(1.75 * max(len(topics), 2) + 0.6, 1.6 * len(groups) + 0.9, caption) as figure:
        titles = [load_topic(topic).heading for topic in topics]
        grid = make_panels(figure, len(groups), titles, "round", sharex=True, sharey=True)
        for axes, group in zip(grid, groups, strict=True):
            for axis, topic in zip(axes, topics, strict=True):
                here = cells[(cells["group"] == group) & (cells["topic"] == topic)]
                for party, rows in here.groupby("party", sort=False):
                    for column, line in zip(("mean_all", "mean_shared"), LINES.values(), strict=True):
                        draw_attitudes(axis, rows, "round", column, looks[str(party)], **line)
                axis.set_ylim(0, 10)
            axes[0].set_ylabel("attitude (0–10)")
        figure.legend(
            handles=legend_lines(looks, LINES, names), loc="outside lower center", ncols=3, frameon=False, fontsize=7
        )
    return figure
