"""Private bets scored against a judge's verdict: how much too high, how far off, and whether they know who wins.

A debate is zero-sum: one of two debaters wins, so the mean of both bets is 50 if they are right about any winner. The unit is the
pairing of people (the repetition) with all its debates: the same people debate every topic, in a tournament with changed models.
Source: "When Two LLMs Debate, Both Think They'll Win" (2025).

    overconfidence   bet - verdict (1 won, 0.5 tie, 0 lost), in points of 100
    brier            mean squared distance of bet and verdict, 0 to 1
    even             the same for a bet of 50 in every debate: what a debater reaches without knowing anything
    shuffled         the same for bets shuffled among the pairings, all bets of a pairing together: the null
    ahead            the winner's bet minus the loser's, in points; 0 for bets that know nothing
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.formatting import format_estimate, format_p
from parley.analysis.statistics.intervals import FEWEST, SHARE, Ends, Floats, clustered_share_interval, verdict
from parley.analysis.statistics.null import share_as_large
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

DEBATE = ["condition", "topic", "repetition", "room"]
PAIRING = "repetition"
MEASURES: Mapping[str, Ends] = {"overconfidence": (-100.0, 100.0), "brier": SHARE, "even": SHARE}
EVERYONE = "all"
BINS = (0, 20, 40, 60, 80, 100)
SHUFFLES = 2000
TIE = 0.5
PERCENT = 100
CHANCE = 0.05


def bet_table(
    runs: Mapping[str, Tables], verdicts: pd.DataFrame, probe: str, models: Mapping[str, tuple[str, str]]
) -> pd.DataFrame:
    """Return one row per bet: DEBATE, seat (0, 1), model, round, bet (0-100; NaN: missing), won (1, 0.5, 0; NaN: no verdict).

    models: the models of both seats, by condition.
    """
    frames = []
    for condition, tables in runs.items():
        bets = tables.probes[tables.probes["probe"] == probe]
        seats = tables.agents.groupby("room").cumcount()
        seat = dict(zip(tables.agents["agent"], seats, strict=True))
        rows = bets[["topic", "repetition", "room", "agent", "round", "rating"]].assign(condition=condition)
        rows["seat"] = rows["agent"].map(seat)
        rows["model"] = rows["seat"].map(dict(enumerate(models[condition])))
        frames.append(rows.rename(columns={"rating": "bet"}))
    table = pd.concat(frames, ignore_index=True)
    both = table.merge(verdicts[["condition", "room", "won"]], on=["condition", "room"], how="left")
    both["won"] = both["won"].where(both["seat"] == 0, 1 - both["won"])
    return both[[*DEBATE, "seat", "model", "round", "bet", "won"]].astype({"bet": "float64", "won": "float64"})


def ends(bets: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the first and the last bets, of debates in which both bets and the verdict are known."""
    rounds = bets["round"].min(), bets["round"].max()
    return {name: _whole(bets[bets["round"] == round_]) for name, round_ in zip(("first", "last"), rounds, strict=True)}


def _whole(bets: pd.DataFrame) -> pd.DataFrame:
    known_count = (bets["bet"].notna() & bets["won"].notna()).groupby([bets[name] for name in DEBATE]).transform("sum")
    return bets[known_count == 2].reset_index(drop=True)


def score_table(bets: Mapping[str, pd.DataFrame], seed: int) -> pd.DataFrame:
    """Return one row per end (first, last) and model, and for all: debates, pairings, bet, won, MEASURES with intervals over
    pairings; for all only shuffled, p (of a Brier score this low by chance), and ahead, over debates with a winner.

    bets: of `ends`.
    """
    rows = []
    for when, end_bets in bets.items():
        scored = end_bets.assign(**_scores(end_bets))
        for model, model_bets in [*scored.groupby("model", sort=False), (EVERYONE, scored)]:
            means = model_bets.groupby(PAIRING)[["bet", "won", *MEASURES]].mean()
            counts = {"debates": model_bets.groupby(DEBATE).ngroups, "pairings": len(means)}
            row: dict[str, object] = {"when": when, "model": model, **counts}
            row |= {name: float(means[name].mean()) if len(means) else np.nan for name in ("bet", "won")}
            for name in MEASURES:
                row |= mean_row(means[name].to_numpy(dtype=float), name, f"{name}_", MEASURES[name])
            everyone = end_bets if model == EVERYONE else end_bets.iloc[:0]
            row |= shuffled_brier(everyone, seed) | _ahead(everyone)
            rows.append(row)
    return pd.DataFrame(rows)


def _scores(bets: pd.DataFrame) -> dict[str, Floats]:
    bet, won = bets["bet"].to_numpy(dtype=float) / PERCENT, bets["won"].to_numpy(dtype=float)
    return {"overconfidence": PERCENT * (bet - won), "brier": (bet - won) ** 2, "even": (0.5 - won) ** 2}


def shuffled_brier(bet_rows: pd.DataFrame, seed: int) -> dict[str, float]:
    """Return shuffled (the mean Brier score of bets shuffled among pairings, each with all its bets) and p.

    p: of a Brier score as low as that of the bets themselves. A dealt bet counts where a debate of that topic and condition is
    known. NaN below FEWEST pairings.
    """
    if bet_rows[PAIRING].nunique() < FEWEST:
        return {"shuffled": np.nan, "p": np.nan}
    wide = bet_rows.pivot_table(index=PAIRING, columns=["topic", "condition", "seat"], values=["bet", "won"])
    bets, won = wide["bet"].to_numpy(dtype=float) / PERCENT, wide["won"].to_numpy(dtype=float)
    order = np.random.default_rng(seed).permuted(np.tile(np.arange(len(wide)), (SHUFFLES, 1)), axis=1)
    null = np.nanmean((bets[order] - won) ** 2, axis=(1, 2))
    return {"shuffled": float(null.mean()), "p": share_as_large(-null, -np.nanmean((bets - won) ** 2))}


def _ahead(bets: pd.DataFrame) -> dict[str, float]:
    """Return by how many points the winner's bet is ahead of the loser's, over debates with a winner."""
    won = bets[bets["won"] != TIE]
    debates = (won["bet"] * (2 * won["won"] - 1)).groupby([won[name] for name in DEBATE]).sum()
    pairings = debates.groupby(level=PAIRING).mean().to_numpy(dtype=float)
    return {"decided": len(debates), **mean_row(pairings, "ahead", "ahead_")}


def curve(bets: pd.DataFrame) -> pd.DataFrame:
    """Return one row per range of bets: low_bet, high_bet, bets, pairings, bet (mean), won (share of debates; a tie counts half)
    with low and high over pairings. Ranges without bets are left out.
    """
    rows = []
    for low, high in pairwise(BINS):
        range_bets = bets[(bets["bet"] >= low) & ((bets["bet"] < high) | ((high == BINS[-1]) & (bets["bet"] == high)))]
        if range_bets.empty:
            continue
        grouped = range_bets.groupby(PAIRING)["won"]
        interval = clustered_share_interval(grouped.sum().to_numpy(dtype=float), grouped.size().to_numpy(dtype=float))
        counts = {"low_bet": low, "high_bet": high, "bets": len(range_bets), "pairings": grouped.ngroups}
        means = {"bet": float(range_bets["bet"].mean()), "won": float(range_bets["won"].mean())}
        rows.append({**counts, **means, "low": interval[0], "high": interval[1]})
    return pd.DataFrame(rows, columns=["low_bet", "high_bet", "bets", "pairings", "bet", "won", "low", "high"])


def findings(scores: pd.DataFrame) -> list[str]:
    """Return whether debaters bet too much, and whether their last bets know who wins; the unit is the pairing of people."""
    lines = []
    for _, row in scores[scores["model"] == EVERYONE].iterrows():
        lines.append(_overconfidence_line(row))
    last = scores[(scores["model"] == EVERYONE) & (scores["when"] == "last")]
    return [*lines, _knowledge_line(last.iloc[0])]


def _overconfidence_line(row: pd.Series) -> str:
    start = f"The {row['when']} bets"
    if np.isnan(row["overconfidence_low"]):
        if row["pairings"] < FEWEST:
            reason = f"fewer than {FEWEST} pairings of people have both bets and a verdict"
            return unknown_sentence(f"whether {start.lower()} are too high", reason)
        return f"{start} have the same mean in all pairings, {row['bet']:.1f}, so the mean has no interval; 50% of debaters win."
    low, high = row["overconfidence_low"], row["overconfidence_high"]
    word = verdict(low, high, "too high", "too low", "not clearly too high or too low")
    return (
        f"{start} are {word}: their mean is {row['bet']:.1f}, and 50% of debaters win. The mean is "
        f"{amount((row['overconfidence'], low, high), HIGHER, digits=1)}."
    )


def _knowledge_line(row: pd.Series) -> str:
    if np.isnan(row["p"]) or np.isnan(row["ahead_low"]):
        few = row["decided"] < FEWEST or row["pairings"] < FEWEST
        reason = f"fewer than {FEWEST} pairings of people have a winner" if few else "the bets do not vary"
        return unknown_sentence("whether debaters know who wins", reason)
    ahead = format_estimate(row["ahead"], row["ahead_low"], row["ahead_high"], 1)
    knowledge = "know something of" if row["p"] < CHANCE and row["ahead_low"] > 0 else "do not clearly know"
    return (
        f"In their last bets debaters {knowledge} who wins: the winner's bet is {ahead} points above the loser's. "
        f"The Brier score is {row['brier']:.3f}, for shuffled bets {row['shuffled']:.3f} (p {format_p(row['p'])}), "
        f"and {row['even']:.3f} for a bet of 50 in every debate."
    )
