"""DEBATE: statistics as its authors published them, of people and of a language model in the same groups. No raw data.

Process fidelity: do opinions move from turn to turn as those of people do?

A step is the change of an opinion (0-1) from one turn to the next, positive toward the other side. Compared are the distributions
of steps, of people who talked with a persuader (PersuasionTrace) and of agents that were asked after every turn that they heard
(`also=NAME:turns`), by the Wasserstein distance: the mean length of way by which the one has to be moved to become the other.
Beside it stand two yardsticks: the distance between random halves of the people (what chance alone makes), and that of somebody
who never moves. The score is 1 - distance / distance of who never moves: 1 the people's own distribution, 0 no nearer than that.

Steps of one person go together: intervals are bootstrapped over talks and rooms. A resampled distance is too large on average
(it cannot be below 0), so that an interval tells its spread, not that it differs from 0: the halves are there for that.
Source of the idea: Moore, Goodman, Haber and Kleiman-Weiner 2026, who compare with a Bayesian network as well; this has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import wasserstein_distance

from parley.analysis.bootstrap import Floats, tail
from parley.analysis.human.measures import FEWEST
from parley.analysis.human.readers import Source
from parley.llm.errors import UserError
from parley.llm.seeding import derive

NAMES = ("debate_benchmark_human_reference.json",)
ORIGIN = "DEBATE v1 2025, arXiv 2510.25110: groups of four, talks of two, opinions on six points; model: GPT-4o mini"


class Published(NamedTuple):
    """One published value, as it stands there. `measure` is the one of ours that comes nearest; "spread" is told as a test,
    the others are correlations. `public`: of what was posted, not of what was told in private.
    """

    measure: str
    title: str
    human: str
    model: str
    public: bool = False


ENTRIES = (
    ("own", "change against own initial opinion, r", "individual_level_correlations", "opinion_change_vs_initial"),
    ("distance", "change against distance to the first partner, r", "individual_level_correlations",
     "opinion_change_vs_first_partner_difference"),
    ("spread", "group SD, before to after", "group_level_depth_mode3_gpt4omini", "reported_opinion_SD_change"),
)  # fmt: skip
POSTED = (
    ("own", "posts: change against own first post, r", "individual_level_correlations", "tweet_change_vs_initial"),
    ("distance", "posts: change against distance to the first partner, r", "individual_level_correlations",
     "tweet_change_vs_first_partner_difference"),
    ("spread", "posts: group SD, first to last", "group_level_depth_mode3_gpt4omini", "tweet_stance_SD_change"),
)  # fmt: skip
"""The same of public posts; a file may be without them."""


def published(path: Path) -> list[Published]:
    """The values. Errors: UserError on a file that is not JSON or lacks one of them."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        pairs = [(measure, title, held[part][name]) for measure, title, part, name in ENTRIES]
        found = [Published(measure, title, str(pair["human"]), str(pair["LLM"])) for measure, title, pair in pairs]
        found += [
            Published(measure, title, str(held[part][name]["human"]), str(held[part][name]["LLM"]), True)
            for measure, title, part, name in POSTED
            if name in held[part]
        ]
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} as JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} lacks a published value: {error}") from error
    if wrong := [
        value
        for entry in found
        if entry.measure != "spread"
        for value in (entry.human, entry.model)
        if not _correlation(value)
    ]:
        raise UserError(f"{path}: {wrong[0]} is no correlation")
    return found


def _correlation(text: str) -> bool:
    """A number from -1 to 1 with a point, as JSON writes it."""
    return re.fullmatch(r"-?(0(\.\d+)?|1(\.0+)?)", text) is not None


DRAWS = 499
FEW = f"fewer than {FEWEST} talks with turns"
COLUMNS = ["people", "condition", "talks", "steps", "rooms", "run_steps", "distance", "distance_low", "distance_high", "halves",
           "still", "score", "score_low", "score_high", "reason"]  # fmt: skip


class Steps(NamedTuple):
    """The steps of each group (talk, room), in order."""

    groups: tuple[Floats, ...]

    @property
    def all(self) -> Floats:
        return np.concatenate(self.groups)


def steps(people: pd.DataFrame) -> Steps:
    """Steps toward the other side of all who have turns and a side, by group; a step over a gap is none.

    >>> people = pd.DataFrame({"group": ["a"], "before": [0.5], "side": [-1.0], "turns": [(0.4, 0.4, np.nan, 0.1)]})
    >>> [float(step) for step in steps(people).all.round(3)]
    [0.1, -0.0]
    """
    known = people[people["turns"].map(bool) & people["side"].notna() & people["before"].notna()]
    ways = [
        np.diff(np.array([row.before, *row.turns], dtype=float)) * row.side
        for row in known[_NEEDED].itertuples(index=False)
    ]
    found: dict[object, list[Floats]] = {}
    for group, way in zip(known["group"], ways, strict=True):
        found.setdefault(group, []).append(way[np.isfinite(way)])
    return Steps(tuple(way for way in map(np.concatenate, found.values()) if len(way)))


_NEEDED = ["before", "side", "turns"]


def fidelity(run: Source, people: Sequence[Source]) -> pd.DataFrame:
    """One row a condition of people who were asked turn by turn (COLUMNS); all conditions of the run together."""
    own = steps(run.people)
    rows = [
        {"people": source.name, "condition": condition} | _compared(own, steps(part), condition)
        for source in people
        for condition, part, _ in source.parts()
        if len(steps(part).groups)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _compared(own: Steps, human: Steps, name: str) -> dict[str, object]:
    counted: dict[str, object] = {
        "talks": len(human.groups),
        "steps": len(human.all),
        "rooms": len(own.groups),
        "reason": "",
    }
    if min(len(own.groups), len(human.groups)) < FEWEST:
        return counted | {"reason": FEW}
    rng = np.random.default_rng(derive(0, "fidelity", name))
    drawn = np.array([_distances(_again(own, rng), _again(human, rng)) for _ in range(DRAWS)])
    distance, still = _distances(own.all, human.all)
    ends = [tail(min(len(own.groups), len(human.groups))), 1 - tail(min(len(own.groups), len(human.groups)))]
    near, score = np.quantile(drawn[:, 0], ends), np.quantile(1 - drawn[:, 0] / drawn[:, 1], ends)
    return counted | {
        "run_steps": len(own.all), "distance": distance, "distance_low": near[0], "distance_high": near[1],
        "halves": _halves(human, rng), "still": still, "score": 1 - distance / still, "score_low": score[0],
        "score_high": score[1],
    }  # fmt: skip


def _distances(own: Floats, human: Floats) -> tuple[float, float]:
    """How far the run's steps are from the people's, and how far somebody is who never moves."""
    return float(wasserstein_distance(own, human)), float(np.abs(human).mean())


def _again(found: Steps, rng: np.random.Generator) -> Floats:
    """The steps of as many groups, drawn with replacement."""
    return np.concatenate([found.groups[place] for place in rng.integers(0, len(found.groups), len(found.groups))])


def _halves(human: Steps, rng: np.random.Generator) -> float:
    """The mean distance between two random halves of the talks."""
    half, found = len(human.groups) // 2, []
    for _ in range(DRAWS):
        order = [human.groups[place] for place in rng.permutation(len(human.groups))]
        found.append(wasserstein_distance(np.concatenate(order[:half]), np.concatenate(order[half:])))
    return float(np.mean(found))
