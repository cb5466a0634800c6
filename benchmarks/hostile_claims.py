"""How often a report claims something of data in which there is nothing, where the data are made to mislead it.

    python benchmarks/hostile_claims.py            every design
    python benchmarks/hostile_claims.py waves      the designs of one report
    --sets 200                                     data sets of each design

Each design is unlike what a statistic supposes: unequal spreads, skewed groups, a taste that a room shares, ratings at the end of
the scale. A row is a design, the share of sets with a claim (5% are allowed, or 2.5% where one side alone is claimed) and its
Wilson interval. Designs with an effect say how often it is found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

from claims import CLAIM

from parley.analysis.statistics.intervals import Floats, share_interval
from parley.studies.claims.curve import draw_curve
from parley.studies.claims.verdict import MOST_SKEWED, against
from parley.studies.herding import signal_weights
from parley.analysis.rooms import RoomMeasurement, room_means
from parley.analysis.metrics.polarisation import at_the_ends, headline, spreading, with_ends
from parley.analysis.studies.wave import PLAIN
from parley.analysis.studies.wave_comparison import Answers, contrast, symmetry
from parley.studies.herding.law import log_odds, updated

CHOICES = ["topic", "group", "room", "round", "position", "state", "prior", "precision", "signal", "act", "probability"]
Claim = Callable[[np.random.Generator], bool]
Designs = Iterator[tuple[str, Claim]]
QUESTIONS = 8


def answers(rng: np.random.Generator, count: int, spread: float, level: float, kind: str = "normal") -> Floats:
    """Return answers to a question with a mean of `level`; skewed ones are exponential."""
    noise = rng.exponential(size=count) - 1 if kind == "skewed" else rng.normal(size=count)
    values = level + spread * noise
    return np.round(values) if kind == "whole" else values


def waves() -> Designs:
    """Yield designs of `contrast`: numbers of answers and spreads before and after, a change; and of `symmetry`."""

    def claims(before: tuple[int, float], after: tuple[int, float], change: float, kind: str) -> Claim:
        def claim(rng: np.random.Generator) -> bool:
            sides = [
                {str(question): answers(rng, *side, 3 + question / 2 + shift, kind) for question in range(QUESTIONS)}
                for side, shift in ((before, 0.0), (after, change))
            ]
            return bool(contrast(*sides)["p"] < 0.05)

        return claim

    designs = [
        ((10, 1.0), (10, 1.0)),
        ((10, 0.5), (10, 2.0)),
        ((20, 0.5), (5, 2.0)),
        ((5, 0.5), (20, 2.0)),
        ((8, 0.5), (4, 2.0)),
    ]
    for kind in ("normal", "whole", "skewed"):
        for before, after in designs:
            yield f"waves, no change, {kind}: {before} {after}", claims(before, after, 0.0, kind)
    for before, after in (((10, 1.0), (10, 1.0)), ((20, 0.5), (5, 2.0)), ((20, 1.0), (5, 1.0))):
        yield f"waves, change of 1: {before} {after}", claims(before, after, 1.0, "normal")
    for effect, first, second in ((0.0, 1.0, 2.5), (1.0, 1.0, 2.5), (1.0, 1.0, 1.0)):
        yield f"symmetry, both move {effect:g}: SD {first:g}, {second:g}", _sides(effect, effect, first, second)
    yield "symmetry, 1 against 2: SD 1, 2.5", _sides(1.0, 2.0, 1.0, 2.5)


def _sides(first: float, second: float, spread: float, other: float) -> Claim:
    def claim(rng: np.random.Generator) -> bool:
        rows = []
        for question in range(14):
            for name, moved, noise in ((PLAIN, 0.0, 1.0), ("a", first, spread), ("b", -second, other)):
                rows += [(name, str(question), value) for value in answers(rng, 5, noise, 5 + moved)]
        wave = Answers("w", "", "", pd.DataFrame(rows, columns=["steering", "question", "value"]), {}, [("a", "b")])
        return str(symmetry([wave]).iloc[0]["verdict"]) in ("a", "b")

    return claim


def ceiling() -> Designs:
    """Yield designs of the sentence on polarisation: opinions of constant spread all drift, and ratings are cut at 0 and 10."""

    def claims(rooms: int, level: float, spread: float, drift: float) -> Claim:
        def claim(rng: np.random.Generator) -> bool:
            shared = np.sqrt(0.3) * spread * rng.normal(size=(rooms, 1, 1))
            people = level + shared + np.sqrt(0.7) * spread * rng.normal(size=(rooms, 6, 1))
            latent = people + np.array([0.0, drift]) + 0.5 * rng.normal(size=(rooms, 6, 2))
            ratings = np.clip(np.round(latent), 0, 10)
            measured = [
                {
                    "topic": "t",
                    "group": "g",
                    "room": str(room),
                    "round": after,
                    "missing": 0,
                    "ends": at_the_ends(values[:, after]),
                }
                | {"change": RoomMeasurement(None) if not after else spreading(values)}
                for room, values in enumerate(ratings)
                for after in (0, 1)
            ]
            table = with_ends(room_means(measured, ("change",)), measured)
            told = headline(table)
            return told.startswith("Opinions within rooms") and "did not" not in told

        return claim

    for rooms in (10, 40):
        for level, spread, drift in (
            (5, 1.5, 1.5),
            (6, 2, 1.5),
            (7, 1.5, 1.5),
            (8, 1, 1.5),
            (8, 1.5, 1.5),
            (5, 2, -1.5),
            (6, 1.5, -3),
        ):
            yield (
                f"ceiling, {rooms} rooms, opinions {level}, SD {spread}, drift {drift:+}",
                claims(rooms, level, spread, drift),
            )


def herding() -> Designs:
    """Yield designs of the weight of others: rooms share a liking of A or B (SD in log-odds), people look at others or do not."""

    def claims(taste: float, others: float) -> Claim:
        def claim(rng: np.random.Generator) -> bool:
            rows = []
            for room in range(20):
                liking = taste * rng.normal()
                for round_ in range(2):
                    state, belief = rng.choice(["A", "B"]), 0.0
                    for position in range(1, 9):
                        signal = state if rng.random() < 0.7 else "AB".replace(state, "")
                        own_signal = log_odds(0.7) * (1 if signal == "A" else -1)
                        chance = 1 / (1 + np.exp(-(liking + own_signal + others * belief)))
                        act = "A" if rng.random() < chance else "B"
                        rows.append(("t", "g", str(room), round_, position, state, 0.5, 0.7, signal, act, np.nan))
                        belief = updated(belief, act, 0.7, "coin")
            options = {"options": {"size": 8, "precision": 0.7}}
            tables = SimpleNamespace(
                decisions=pd.DataFrame(rows, columns=CHOICES), header=SimpleNamespace(scenario=options)
            )
            row = signal_weights.compute(tables).iloc[0]
            return bool(row["others_low"] > 0 and row["p"] < 0.05)

        return claim

    for taste, others in ((0, 0), (0.5, 0), (1, 0), (0, 0.5), (0, 1), (1, 0.5)):
        yield f"herding, taste {taste}, weight of others {others}", claims(taste, others)


def claim() -> Designs:
    """Yield designs of the verdict on a claim: effects of groups with a mean of 0, normal or skewed to the right."""
    kinds: dict[str, Callable[[np.random.Generator, int], Floats]] = {
        "normal": lambda rng, groups: rng.normal(size=groups),
        "exponential": lambda rng, groups: rng.exponential(size=groups) - 1,
        "lognormal": lambda rng, groups: rng.lognormal(size=groups) - np.exp(0.5),
    }

    def claims(kind: str, groups: int, expected: str) -> Claim:
        def shown(rng: np.random.Generator) -> bool:
            rows = [
                (specification, topic, f"s p {group}", effect + 0.5 * rng.normal())
                for group, effect in enumerate(kinds[kind](rng, groups))
                for specification in range(16)
                for topic in ("a", "b")
            ]
            table = pd.DataFrame(rows, columns=["specification", "topic", "people", "difference"])
            expects = replace(CLAIM, expected=expected)
            curve = draw_curve(expects, table, rng)
            return curve.p < 0.05 and against(expects, curve, 1) <= MOST_SKEWED

        return shown

    for kind in kinds:
        for groups in (8, 20):
            for expected in ("less", "greater"):
                yield f"claim, {kind} effects of {groups} groups, {expected}", claims(kind, groups, expected)


REPORTS: dict[str, Callable[[], Designs]] = {"waves": waves, "ceiling": ceiling, "herding": herding, "claim": claim}


def main() -> None:
    """Print a row per design of the reports that are named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="*", choices=[[], *REPORTS], help="all")
    parser.add_argument("--sets", type=int, default=200)
    args = parser.parse_args()
    for report in args.reports or REPORTS:
        for name, claim in REPORTS[report]():
            rng = np.random.default_rng(0)
            count = sum(claim(rng) for _ in range(args.sets))
            low, high = share_interval(count, args.sets)
            print(f"{name:60} {count / args.sets:6.1%} ({low:.1%} to {high:.1%})", flush=True)


if __name__ == "__main__":
    main()
