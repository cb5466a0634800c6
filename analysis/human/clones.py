"""Does a run on a real network share as its people did? Person by person, compared with shuffled people.

Source: Digital cloning of online social networks (2024), which compares how the same network spreads posts, real and simulated.
The people of the table are those of the run if their names are the nodes of the user's own network (docs/networks.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from parley.analysis.formatting import DASH, format_number
from parley.analysis.metrics._posts import Medium, media
from parley.analysis.report import Report
from parley.analysis.statistics.attenuation import gate_sentence
from parley.analysis.statistics.intervals import Floats
from parley.analysis.statistics.null import share_as_large
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.llm.seeding import derive

MEASURES: Mapping[str, str] = {"shared": "share many posts", "carried": "pass on posts that other people share, too,"}
"""Measures, as what people with a high number do."""
OTHER_PEOPLE = (
    "It is unknown whether the same people share in the run and in the table, because no name in the column person of the "
    "table is a node "
    "of the run's network. To compare person by person, run on your own network (docs/networks.md), and use its names."
)
REAL = {"shared": "person", "carried": "parent"}
"""The column of a real share that counts for a measure."""
FEWEST_PEOPLE, FEWEST_CASCADES = 10, 5
DEALS, HALVES = 999, 50
LIMIT = 0.05
ABOUT = (
    "The people of the table are nodes of the run's network, so each person can be compared with the same person in the run. "
    "*shared* is how many posts a person shared. *carried* is how often others shared a post that they got from this person. "
    f"rho is Spearman's correlation of run and table over people. p is the share of {DEALS} random assignments of the run's "
    "people to the nodes that give as high a correlation, times the number of measures (Bonferroni). *Halves* is the mean "
    "correlation of one half of the table's cascades with the other half. This mean correlation is the ceiling for rho. One "
    "network is one case, so the table says nothing about other networks."
)


def person_table(tables: Tables, shares: pd.DataFrame) -> pd.DataFrame | None:
    """Return one row per measure: measure, people, rho, p, halves, reason (why it is unknown); None if the run has other people.

    shares: a row per real share, with the columns cascade, person, parent.
    """
    nodes = tables.agents["node"].dropna().astype(str).unique()
    if not set(shares["person"]) & set(nodes):
        return None
    run = (
        pd.concat([_count_run(medium, tables, nodes) for medium in media(tables)]).groupby(level=0).sum().reindex(nodes)
    )
    real, rng = _count_real(shares, nodes), np.random.default_rng(derive(0, "clone"))
    rows = []
    for name in MEASURES:
        run_counts, other = (frame[name].to_numpy(dtype=float) for frame in (run, real))
        reason = _why_unknown(run_counts, other, shares["cascade"].nunique())
        rho = np.nan if reason else float(stats.spearmanr(run_counts, other).statistic)
        p = np.nan if reason else min(1.0, len(MEASURES) * _chance(run_counts, other, rho, rng))
        row = {"measure": name, "people": len(nodes), "rho": rho, "p": p}
        rows.append({**row, "halves": _halves(shares, nodes, name, rng), "reason": reason})
    return pd.DataFrame(rows)


def _count_run(medium: Medium, tables: Tables, nodes: Floats) -> pd.DataFrame:
    seats = tables.agents[tables.agents["room"] == medium.room.name]
    node = dict(zip(seats["agent"], seats["node"].astype(str), strict=True))
    shares = medium.shares
    passed = shares[shares["carrier"] != shares["target"].map(medium.posts["author"])]
    return pd.DataFrame({
        name: people.map(node).value_counts().reindex(nodes, fill_value=0)
        for name, people in (("shared", shares["agent"]), ("carried", passed["carrier"]))
    })  # fmt: skip


def _count_real(shares: pd.DataFrame, nodes: Floats) -> pd.DataFrame:
    return pd.DataFrame(
        {name: shares[column].value_counts().reindex(nodes, fill_value=0) for name, column in REAL.items()}
    )


def _why_unknown(run: Floats, real: Floats, cascades: int) -> str:
    if len(run) < FEWEST_PEOPLE:
        return f"the network has fewer than {FEWEST_PEOPLE} people"
    if cascades < FEWEST_CASCADES:
        return f"the table has fewer than {FEWEST_CASCADES} cascades"
    for where, values in (("run", run), ("table", real)):
        if np.ptp(values) == 0:
            return f"all people of the {where} have the same number"
    return ""


def _chance(run: Floats, real: Floats, rho: float, rng: np.random.Generator) -> float:
    """Return how often shuffled people correlate as much, themselves included."""
    ranks, other = stats.rankdata(run), stats.rankdata(real)
    dealt = np.array([rng.permutation(ranks) for _ in range(DEALS)]) @ (other - other.mean())
    dealt = dealt / (len(ranks) * ranks.std() * other.std())
    return share_as_large(dealt, rho)


def _halves(shares: pd.DataFrame, nodes: Floats, name: str, rng: np.random.Generator) -> float:
    """Return the mean correlation of two halves of the cascades; NaN where a half does not vary."""
    column = shares[REAL[name]]
    counts = pd.crosstab(shares["cascade"], column).reindex(columns=nodes, fill_value=0).to_numpy(dtype=float)
    correlations = []
    for _ in range(HALVES if len(counts) > 1 else 0):
        order = rng.permutation(len(counts))
        half, rest = (counts[places].sum(axis=0) for places in (order[: len(order) // 2], order[len(order) // 2 :]))
        if np.ptp(half) and np.ptp(rest):
            correlations.append(float(np.corrcoef(stats.rankdata(half), stats.rankdata(rest))[0, 1]))
    return float(np.mean(correlations)) if correlations else np.nan


def verdict(row: Mapping[str, object]) -> str:
    """Return whether the run has a measure of its people as the table has it."""
    same = f"the same people {MEASURES[str(row['measure'])]} in the run and in the table"
    if row["reason"]:
        return unknown_sentence(f"whether {same}", str(row["reason"]))
    evidence = f"(rho {format_number(row['rho'])}, p {format_number(row['p'], 3)})"
    if float(str(row["p"])) < LIMIT:
        return f"In part, {same} {evidence}."
    return f"It cannot be shown that {same} {evidence}."


def use_of(row: Mapping[str, object]) -> str:
    """Return whether the run may say which people have a high number."""
    name = MEASURES[str(row["measure"])].strip(",")
    reason = str(row["reason"]) or "one network is one case, so there is no interval"
    return gate_sentence(f"the run to say which people {name}", "rho", float(str(row["rho"])), np.nan, np.nan, reason)


def add_people(report: Report, table: pd.DataFrame) -> None:
    """Add the comparison person by person, and its table `clone`."""
    report.section("Person by person", ABOUT)
    report.lines(f"- {line}" for row in table.to_dict("records") for line in (verdict(row), use_of(row)))
    rows = [
        [
            row["measure"],
            str(row["people"]),
            *[format_number(row[name], 3 if name == "p" else 2) for name in ("rho", "p", "halves")],
        ]
        for row in table.to_dict("records")
    ]
    report.table([[cell or DASH for cell in row] for row in rows], ["measure", "people", "rho", "p", "halves"])
    report.data(clone=table)
