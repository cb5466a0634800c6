"""What archetypes save and what they cost: the same debates with everybody asked, and with shared answers
(llm/answer_sharing.py).

Same people, same seats, same seed. A survey is never remembered, so that where nothing in the environment depends on attitudes
what is said is the same in both runs, word for word, and every difference is that of the answers alone.

The report on archetypes: what was saved beside what it cost, by cell, and a figure of both runs.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.bootstrap import Floats, interval
from parley.analysis.figures import make_panels, new_figure, styles_by_party
from parley.analysis.formatting import Column, estimate, format_estimate, group_title
from parley.analysis.metrics._cells import REFERENCE, spans, with_interval
from parley.analysis.report import Report
from parley.analysis.summary import asked_of_model
from parley.analysis.tables import Tables
from parley.llm.answer_sharing import REUSE
from parley.model.events import Header
from parley.model.scenario import Scenario

KEYS = ("topic", "group", "party", "round")
ALL, SHARED = "everybody asked", "archetypes"
"""The two runs, and their folders in a study's folder."""


DRAWN = "archetype"
"""How the `how` of a rating ends that was drawn from the answers of others."""


@dataclass(frozen=True)
class SavingsResult:
    """cells: see `compare_cells`. overall: see `pooled`. savings: one row a run: calls, ratings (wanted), surveys
    (calls for them),
    tokens_in, tokens_out, renewed and drifted (samples). same: share of the lines that are the same in both runs.
    """

    header: Header
    cells: pd.DataFrame
    overall: dict[str, Any]
    savings: pd.DataFrame
    same: float


def archetypes(base: Scenario, size: int) -> Generator[Scenario, Tables, SavingsResult]:
    """Yields the scenario with everybody asked, then with `size` answers a kind; is sent the tables of their records."""
    whole = yield base.with_settings({"archetypes": 0})
    shared = yield base.with_settings({"archetypes": size})
    savings = pd.DataFrame([{"run": ALL, **calls_used(whole)}, {"run": SHARED, **calls_used(shared)}])
    lines = ["room", "iteration", "text"]
    said = whole.utterances[lines].merge(shared.utterances[lines], on=["room", "iteration"])
    same = said["text_x"].eq(said["text_y"]) | said[["text_x", "text_y"]].isna().all(axis=1)
    both = matched(whole, shared)
    return SavingsResult(
        whole.header, compare_cells(both), pooled(both), savings, float(same.mean()) if len(same) else np.nan
    )


def calls_used(tables: Tables) -> dict[str, int]:
    """What a run asked and used."""
    asked = asked_of_model(tables.calls)
    return {
        "calls": len(asked),
        "ratings": len(tables.attitudes),
        "surveys": int((asked["purpose"] == "survey").sum()),
        "tokens_in": int(asked["prompt_tokens"].sum()),
        "tokens_out": int(asked["completion_tokens"].sum()),
        "renewed": int(tables.calls["checked"].sum()),
        "drifted": int(tables.calls["drifted"].sum()),
    }


def matched(whole: Tables, shared: Tables) -> pd.DataFrame:
    """One row a person and survey, of both runs.

    KEYS, room, agent, `attitude_all`, `attitude_shared`, `drawn` (whether the second was drawn); where both could be read
    `error`, their distance, and `stranger` (see `from_others`).
    """
    who = [*KEYS, "room", "agent"]
    both = _rated(whole)[[*who, "attitude"]].merge(
        _rated(shared)[[*who, "attitude", "how"]], on=who, suffixes=("_all", "_shared")
    )
    both["drawn"] = both.pop("how").astype("string").str.endswith(DRAWN).fillna(False).astype(bool)
    both["error"] = (both["attitude_shared"] - both["attitude_all"]).abs().astype(float)
    known = both["attitude_all"].where(both["error"].notna()).astype(float)
    return both.assign(stranger=known.groupby([both[key] for key in KEYS]).transform(from_others).astype(float))


def compare_cells(both: pd.DataFrame) -> pd.DataFrame:
    """One row a topic, group, party and round of `matched`.

    n (people rated in both runs), missing (in either), rooms; mean and sd (over people) of both runs (`mean_all`, `sd_all`,
    `mean_shared`, `sd_shared`); `mean_off` and `sd_off`, shared minus all, each with a 95% interval over rooms; and the columns
    of `_errors`, which are over the people whose rating was drawn.
    """
    rows = [_row(dict(zip(KEYS, key, strict=True)), part) for key, part in both.groupby([*KEYS], sort=False)]
    kinds = {"round": "int64", "n": "int64", "missing": "int64", "rooms": "int64"}
    kinds |= dict.fromkeys(("mean_all", "mean_shared", "sd_all", "sd_shared"), "float64")
    kinds |= spans("mean_off", "sd_off") | {"drawn": "int64", "drawn_rooms": "int64"}
    kinds |= spans("error", "stranger", "gain") | {"error_asked": "float64"}
    columns = [*KEYS, *[name for name in kinds if name != "round"]]
    return pd.DataFrame(rows, columns=columns).astype(kinds)


def pooled(both: pd.DataFrame) -> dict[str, Any]:
    """The columns of `_errors` over all rows of `matched`, and n."""
    known = both.dropna(subset="error")
    return {"n": len(known), **_errors(known)}


def _rated(tables: Tables) -> pd.DataFrame:
    ratings = tables.attitudes
    return ratings[(ratings["group"] != REFERENCE) & (ratings["probe"] == tables.header.scenario["probe"])]


def _row(keys: dict[str, Any], part: pd.DataFrame) -> dict[str, Any]:
    kept = part.dropna(subset="error")
    row = {**keys, "n": len(kept), "missing": len(part) - len(kept), "rooms": kept["room"].nunique()}
    row |= _errors(kept)
    if kept.empty:
        return row
    one, other = (kept[f"attitude_{run}"].to_numpy(dtype=float) for run in ("all", "shared"))
    sums = _sums(kept["room"].to_numpy(), one, other)
    row |= {"mean_all": one.mean(), "mean_shared": other.mean()}
    row |= with_interval("mean_off", float(other.mean() - one.mean()), interval(sums, _mean_off))
    if len(kept) < 2:
        return row
    spread = {"sd_all": float(one.std(ddof=1)), "sd_shared": float(other.std(ddof=1))}
    sd_off = spread["sd_shared"] - spread["sd_all"]
    return row | spread | with_interval("sd_off", sd_off, interval(sums, _sd_off))


def _errors(kept: pd.DataFrame) -> dict[str, Any]:
    """Errors of the people whose rating was drawn (`drawn`, in `drawn_rooms` rooms), with 95% intervals over rooms.

    `error`: the mean distance of their two ratings. `stranger`: the same if they had the rating of somebody else of their row.
    `gain`: stranger minus error, what the draws hold of a person beyond topic, group, party and round. `error_asked`: the error
    of those who were asked.
    """
    drawn, asked = kept[kept["drawn"]], kept[~kept["drawn"]]
    found = {"drawn": len(drawn), "drawn_rooms": drawn["room"].nunique(), "error_asked": asked["error"].mean()}
    both = drawn.assign(gain=drawn["stranger"] - drawn["error"])
    for column in ("error", "stranger", "gain"):
        sums = both.dropna(subset=column).groupby("room", sort=False)[column].agg(["size", "sum"]).to_numpy(dtype=float)
        span = interval(sums, _ratio)
        found |= with_interval(column, float(both[column].mean()), span)
    return found


def _sums(rooms: np.ndarray, one: Floats, other: Floats) -> Floats:
    """By room: people, sums of both ratings, and of their squares."""
    places = pd.factorize(rooms)[0]
    columns = (np.ones(len(one)), one, other, one**2, other**2)
    return np.column_stack([np.bincount(places, column) for column in columns])


def _mean_off(drawn: Floats) -> Floats:
    n, one, other, *_ = np.moveaxis(drawn.sum(axis=1), -1, 0)
    return np.asarray((other - one) / n)


def _ratio(drawn: Floats) -> Floats:
    sums = drawn.sum(axis=1)
    return np.asarray(sums[..., 1] / sums[..., 0])


def _sd_off(drawn: Floats) -> Floats:
    n, one, other, ones, others = np.moveaxis(drawn.sum(axis=1), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = ((squares - total**2 / n) / (n - 1) for total, squares in ((one, ones), (other, others)))
        return np.asarray(np.sqrt(np.maximum(after, 0)) - np.sqrt(np.maximum(before, 0)))


def from_others(values: pd.Series) -> Floats:
    """For each person the mean distance from all others' ratings: what the rating of somebody else would be off by.

    NaN where a person has no rating, or there is no other.

    >>> from_others(pd.Series([1.0, 2.0, 4.0, np.nan])).tolist()
    [2.0, 1.5, 2.5, nan]
    """
    known = values.notna().to_numpy()
    found = np.full(len(values), np.nan)
    here = values.to_numpy(dtype=float)[known]
    n, order = len(here), np.argsort(here)
    if n < 2:
        return found
    ordered = here[order]
    below, rank = np.cumsum(ordered) - ordered, np.arange(n)
    above = ordered.sum() - below - ordered
    distances = np.empty(n)
    distances[order] = (ordered * rank - below + above - ordered * (n - 1 - rank)) / (n - 1)
    found[known] = distances
    return found


LOOKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (ALL, "mean_all", {"linestyle": "-", "fillstyle": "full"}),
    (SHARED, "mean_shared", {"linestyle": (0, (4, 2)), "fillstyle": "none"}),
)
HEAD: Mapping[str, Column] = {
    "topic": lambda row: load_topic(row["topic"]).heading, "group": lambda row: group_title(row["group"]),
    "party": lambda row: row["party"].title(), "round": "round", "people": "n", "rooms": "rooms", "mean": "mean_all",
    "off by": estimate("mean_off"), "spread": "sd_all", "spread off by": estimate("sd_off"), "drawn": "drawn",
    "error": estimate("error"), "of a stranger": "stranger",
}  # fmt: skip
COST = (
    "Spread is the standard deviation over people. Error is the mean absolute difference of a person's two ratings (0-10). "
    "It is over the people whose rating was drawn; those who were asked have the answer they gave. Of a stranger: what the "
    "error of the same people would be if each had the rating of somebody else of the same row. Brackets hold 95% intervals "
    "over rooms, for these answers of those asked: with others asked a mean would be off by something else. "
    "{same:.0%} of the lines said are the same in both runs. First and last round; all are in cells.csv."
)


def write_savings(found: SavingsResult, folder: Path, base: Scenario, size: int) -> Path:
    """Write archetypes.md, its tables (cells, savings) and the figure; the path of the first."""
    model = disclaimers.model_label(found.header)
    caption = f"{base.name} on {model}, {base.repetitions} repetitions, seed {base.seed}, {size} a kind"
    report = Report(folder, "archetypes", "Archetypes: what they save and what they cost")
    report.data(cells=found.cells, savings=found.savings)
    report.add(f"{caption}.")
    report.disclaim(found.header)
    report.add(savings_headline(found))
    report.figure(savings_figure(found, caption), "archetypes", "Both runs")
    report.section("What was saved")
    names = [name for name in found.savings if name != "run"]
    counts = [[row["run"], *[f"{row[name]:,}" for name in names]] for row in found.savings.to_dict("records")]
    report.table(counts, ["run", *[name.replace("_", " ") for name in names]])
    report.add(
        f"{size} people of a kind (topic, group, party, persona variant, survey, rating before in whole points) are asked; the "
        f"others draw one of their answers each. After {REUSE} draws for each answer the kind is asked again, and a sample that "
        "has drifted is replaced. Main probe only: what is said is asked of everybody."
    )
    report.section("What it cost", COST.format(same=found.same))
    cells = found.cells
    report.table(cells[cells["round"].isin([cells["round"].min(), cells["round"].max()])], HEAD)
    return report.write()


def savings_headline(found: SavingsResult) -> str:
    """What was saved, and what it cost the people whose rating was drawn."""
    whole, shared = found.savings.to_dict("records")
    told = (
        f"{shared['surveys']:,} survey calls instead of {whole['surveys']:,}, {shared['calls']:,} instead of {whole['calls']:,} "
        "in all. "
    )
    one, off = found.overall, found.cells["mean_off"].abs().max()
    if not one["drawn"]:
        return f"{told}No rating was drawn: each kind has no more people than are asked of it."
    error, stranger, gain = (format_estimate(one[name], *_ends(one, name)) for name in ("error", "stranger", "gain"))
    return (
        f"{told}{one['drawn']:,} of {one['n']:,} ratings were drawn from others' answers. These are off by {error} points on "
        f"average; the rating of a stranger of the same row would be off by {stranger}: {_kept(one, gain)}. "
        f"The mean of a row is off by {off:.2f} at most."
    )


def _kept(one: dict[str, Any], gain: str) -> str:
    if one["gain_low"] > 0:
        return f"a draw is nearer to the person by {gain} points"
    return f"that a draw holds anything of the person is not shown (stranger minus draw: {gain} points)"


def _ends(row: dict[str, Any], name: str) -> tuple[float, float]:
    return row[f"{name}_low"], row[f"{name}_high"]


def savings_figure(found: SavingsResult, caption: str) -> Figure:
    """A row a group, a column a topic: means of both runs by round and party."""
    groups, topics = (list(found.cells[name].unique()) for name in ("group", "topic"))
    parties, titles = list(found.cells["party"].unique()), [load_topic(topic).heading for topic in topics]
    with new_figure(1.75 * max(len(topics), 2) + 0.6, 1.6 * len(groups) + 0.9, caption) as drawn:
        grid = make_panels(drawn, len(groups), titles, "round", sharex=True, sharey=True)
        for axes, group in zip(grid, groups, strict=True):
            for axis, topic in zip(axes, topics, strict=True):
                cells = found.cells[(found.cells["group"] == group) & (found.cells["topic"] == topic)]
                _panel(axis, cells, parties)
            axes[0].set_ylabel("attitude (0–10)")
        drawn.legend(handles=_legend(parties), loc="outside lower center", ncols=3, frameon=False, fontsize=7)
    return drawn


def _panel(axis: Axes, cells: pd.DataFrame, parties: list[str]) -> None:
    for party, rows in cells.groupby("party", sort=False):
        look = _look(str(party), parties)
        for _, column, how in LOOKS:
            axis.plot(rows["round"], rows[column], **look, **how, linewidth=1.1)
    axis.set_ylim(0, 10)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _look(party: str, parties: list[str]) -> dict[str, Any]:
    found = styles_by_party(parties)[party]
    return {"color": found["color"], "marker": found["markers"][0], "markersize": 3.5}


def _legend(parties: list[str]) -> list[Line2D]:
    people = [Line2D([], [], **_look(party, parties), label=party.title()) for party in parties]
    return [*people, *[Line2D([], [], color="#333333", **how, label=run) for run, _, how in LOOKS]]
