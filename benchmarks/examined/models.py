"""Statistics of fitted models: laws of opinion, choices between beliefs and signals, scores of statements."""

from __future__ import annotations

import numpy as np
import pandas as pd
from law_contest import Plan, ranks
from null_scores import SCORES
from null_simulation import TESTS
from rating_noise import Kind, claims_of, simulate
from uneven import UNEVEN, rows_of

from examined.entry import Draw, Entry, Outcome, claimed, outside
from parley.analysis.surrogate.fit import Transitions, fit_response
from parley.llm.errors import UserError
from parley.studies.dissonance.choices import fit as fit_beliefs
from parley.studies.herding.signal_weights import fit as fit_signals
from parley.studies.law_contest.contest import difference_interval
from parley.studies.law_contest.report import NUMBER_ROOMS

DRAWS = 99
LAW = "studies.law_contest."
RESPONSE = {"intercept": 0.6, "own": -0.2, "heard": 0.1}
"""The planted response of agents to what they hear."""


def _of_law(parameter: int) -> Draw:
    """The rank of a number of the law, drawn from a prior, among the draws of its fit; 0 to 1."""

    def draw(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
        if rooms < NUMBER_ROOMS:
            return None
        plan = Plan("pull_and_hearing", rooms=rooms, noise=0.2 if kind == "usual" else 0.6)
        law_ranks = next(ranks(plan, 1, DRAWS, int(rng.integers(1 << 30))))
        return (float(law_ranks[parameter]) + float(rng.random())) / (DRAWS + 1)

    return draw


def _of_errors(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    values = rng.exponential(1, rooms) - rng.exponential(1, rooms) if kind == "heavy" else rng.normal(0, 1, rooms)
    return outside(difference_interval(values, 2), 0.0)


def _of_beliefs(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    """Ten choices a person, each with the slope 1; in the other kinds no slope on average, but one in each person."""
    person = np.repeat(np.arange(people), rows_of(people, kind, 10))
    slope = np.ones(people) if kind == "slope" else rng.normal(0, 1, people)
    gain = rng.normal(0, 1, len(person))
    chosen = np.where(rng.random(len(person)) < 1 / (1 + np.exp(-slope[person] * gain)), gain, -gain)
    beliefs = fit_beliefs(pd.DataFrame({"person": person.astype(str), "near": 1.0, "far": np.exp(chosen)}))
    return outside((beliefs["low"], beliefs["high"]), 1.0 if kind == "slope" else 0.0)


def _of_signals(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """Eight choices a room; `leaning`: rooms lean to one option, and choices follow nothing else."""
    room = np.repeat(np.arange(rooms), rows_of(rooms, kind, 8))
    own_signal, others = rng.normal(0, 1, (2, len(room)))
    logit = rng.normal(0, 1, rooms)[room] if kind == "leaning" else own_signal + 0.5 * others
    y = (rng.random(len(room)) < 1 / (1 + np.exp(-logit))).astype(float)
    shared = others + rng.normal(0, 1, rooms)[room] if kind == "leaning" else others
    room_choices = pd.DataFrame({"own": own_signal, "others": shared, "y": y, "room": room})
    weights, reason = fit_signals(room_choices)
    return outside(weights[1][2], 0.0 if kind == "leaning" else 0.5) if weights and not reason else None


def _transitions(rng: np.random.Generator, rooms: int, kind: str) -> Transitions:
    """Three people a room over five intervals, who follow RESPONSE; `deaf`: they do not hear; `missing`: a fifth of the steps."""
    weight = 0.0 if kind == "deaf" else RESPONSE["heard"]
    people = rows_of(rooms, kind, 3)
    room, agent = np.repeat(np.arange(rooms), people), np.concatenate([np.arange(size) for size in people])
    level, surveys, rows = rng.uniform(3, 7, len(room)), [], []
    for before in range(5):
        surveys.append(level)
        spoken = level + rng.normal(0.4, 0.5, len(level))
        others = np.maximum(people[room] - 1, 1)
        heard = np.where(people[room] > 1, (np.bincount(room, spoken, rooms)[room] - spoken) / others, np.nan)
        shift = RESPONSE["intercept"] + RESPONSE["own"] * level + weight * heard
        moved = level + np.nan_to_num(shift) + rng.normal(0, 0.3, len(level))
        after = np.where(rng.random(len(level)) < 0.3, level, moved)
        rows.append(pd.DataFrame({"room": room.astype(str), "agent": agent, "party": "p", "before": before,
                                  "own": level, "heard": heard, "after": after}))  # fmt: skip
        level = after
    steps = pd.concat(rows, ignore_index=True).dropna()
    steps = steps[rng.random(len(steps)) > 0.2] if kind == "missing" else steps
    index = pd.MultiIndex.from_arrays([room.astype(str), agent], names=["room", "agent"])
    none = pd.DataFrame(columns=["room", "agent", "party", "own", "grade", "text"])
    levels = pd.DataFrame(np.array(surveys).T, index=index)
    return Transitions(levels, pd.Series("p", index=index), steps, none, none, none, none, {}, "attitude")


def _of_response(name: str) -> Draw:
    """The interval of a number of the response of a surrogate."""

    def draw(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
        try:
            ends = fit_response(_transitions(rng, rooms, kind))["p"]["intervals"]
        except UserError:
            return None
        return outside(ends[name], 0.0 if (name, kind) == ("heard", "deaf") else RESPONSE[name]) if ends else None

    return draw


def _published(test: str) -> Draw:
    return lambda rng, rooms, kind: claimed(TESTS[test](rng))


NOISE = {"exact": Kind(), "transient": Kind(sd=0.5), "whole": Kind(whole=True), "nothing": Kind(0.0, 0.0, sd=1.0)}
"""Ratings of a bias card: exact, with noise that is gone at the next survey, whole points, and such noise without a pull."""


def _of_card(quantity: str, parameter: str) -> Draw:
    """The interval of a row of "Own pull and influence", one topic over five rounds."""

    def draw(rng: np.random.Generator, blocks: int, kind: str) -> Outcome:
        claims = claims_of(simulate(rng, NOISE[kind], "racism", blocks))
        claim = next(claim for claim in claims if claim.quantity == quantity)
        return outside((claim.low, claim.high), getattr(NOISE[kind], parameter)) if claim.known else None

    return draw


SCORED = "analysis.scores."
ENTRIES = (
    *[Entry(f"law: {name} (rank among draws)", (LAW + "fit.fit_with_draws",), _of_law(place), ("usual", "noisy"), role="rank",
            sizes=(5, 10, 20, 40), sets=200) for place, name in enumerate(("kappa", "mu", "point"))],
    Entry("law: difference in error of two laws", (LAW + "contest.difference_interval",), _of_errors, ("normal", "heavy"),
          sets=500),
    *[Entry(f"surrogate: {name}", ("analysis.surrogate.fit.fit_response",), _of_response(name),
            ("usual", "deaf", "missing", *UNEVEN), sizes=(3, 5, 10, 40), sets=300) for name in RESPONSE],
    *[Entry(f"card: {name}", ("analysis.card.estimates.from_fit",), _of_card(quantity, parameter), tuple(NOISE),
            unit="block", sizes=(5, 10), sets=200)
      for name, quantity, parameter in (("own pull", "mu", "mu"), ("influence", "kappa", "kappa"),
                                        ("own pull of a party", "mu_first", "mu"))],
    Entry("choices between beliefs: slope", ("studies.dissonance.choices.fit",), _of_beliefs, ("slope", "tastes", *UNEVEN),
          unit="person", sizes=(3, 5, 10, 40), sets=200),
    Entry("herding: weight of others' choices", ("studies.herding.signal_weights.fit",), _of_signals,
          ("weights", "leaning", *UNEVEN),
          sizes=(3, 5, 10, 40), sets=200),
    Entry("scores: slope of an agent", (SCORED + "reversion.gradients",), _published("gradient"), ("statements",),
          role="test", unit="run",
          sizes=(20,), sets=300),
    Entry("scores: echo chamber", (SCORED + "reversion.echo_chambers",), _published("echo chamber"), ("statements",), role="test",
          unit="run", sizes=(20,), sets=200, at_most=True),
    *[Entry(f"scores: {name}", (SCORED + examined,), _published(name), ("statements",), role="test", unit="run", sizes=(10,),
          sets=200,
            at_most=name.startswith("echo"))
      for name, examined in zip(SCORES, ("reversion.echo_chambers", "contrasts.contrast", "ucl.compare"), strict=True)],
)  # fmt: skip
