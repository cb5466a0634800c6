"""Contradictions in deep personas, by a judge whose hits and false alarms are measured on the same people.

For each core attribute a person gives a planted contradiction (its sentence with another value, after the whole text) and a true
sentence (it is taken out of the core, without attributes, because these could contradict it in truth). The rate of contradictions
is corrected for both (Rogan and Gladen 1978). The unit is the person.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.deep_personas import DeepPersona
from parley.agents.taxonomy import AGE, Taxonomy
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import Item, judge_item, load_rubric, undecided
from parley.analysis.statistics.intervals import (
    FEWEST,
    Ends,
    Floats,
    clustered_share_interval,
    interval,
    is_even,
    mean_interval,
)
from parley.llm.seeding import stream

RUBRIC = "contradiction"
OWN, PLANTED, TRUE = "own", "planted", "true"
APART = 15
"""Years by which a planted age differs at least."""


class Contradictions(NamedTuple):
    """Shares of 0 to 1 with intervals: of planted contradictions that were found, of true sentences that were called
    contradictions, of the people's own sentences, and of these after the correction. reason: why the last is unknown.
    """

    found: float
    found_ends: Ends
    false: float
    false_ends: Ends
    own: float
    own_ends: Ends
    corrected: float
    corrected_ends: Ends
    people: int
    reason: str


def judge_people(
    people: Sequence[DeepPersona], taxonomy: Taxonomy, checked: int, judge: str, desk: CallDesk, seed: int
) -> pd.DataFrame:
    """Return a row per sentence: person, kind (own, planted, true), statement, value (1: a contradiction), reasons.

    checked: own sentences of each person, drawn with the seed, each judged given all before it. Errors: Unreadable, BudgetSpent.
    """
    cases = [
        case
        for person in people
        for case in _cases(person, taxonomy, checked, stream(seed, RUBRIC, person.party, person.name))
    ]
    items = [
        Item((person, kind, statement), {"persona": persona_text, "statement": statement})
        for person, kind, persona_text, statement in cases
    ]
    rubric = load_rubric(RUBRIC)
    verdicts = desk.ask([judge_item(rubric, item, seed) for item in items], judge, "verdicts", undecided)
    rows = [
        (person, kind, statement, verdict.value, verdict.reason)
        for (person, kind, _, statement), verdict in zip(cases, verdicts, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["person", "kind", "statement", "value", "reasons"])
    return table.astype({"value": "float64"})


def _cases(
    deep_person: DeepPersona, taxonomy: Taxonomy, checked: int, rng: random.Random
) -> list[tuple[str, str, str, str]]:
    person = f"{deep_person.party} {deep_person.name}"
    places = [place for place, value in enumerate(deep_person.values) if value.sentence]
    drawn = sorted(rng.sample(places, min(checked, len(places))))
    cases = [(person, OWN, deep_person.text(place), deep_person.values[place].sentence) for place in drawn]
    by_name = {core.name: core for core in taxonomy.core}
    for name, own_value, sentence in deep_person.core:
        core = by_name.get(name)
        others = [value for value in core.values if _differs(name, value, own_value)] if core else []
        if core and others:
            cases.append((person, PLANTED, deep_person.text(), core.sentence(rng.choice(others))))
            cases.append((person, TRUE, deep_person.text(0).replace(f" {sentence}", "", 1), sentence))
    return cases


def _differs(name: str, value: str, own_value: str) -> bool:
    return value != own_value and not (name == AGE and abs(int(value) - int(own_value)) < APART)


def estimate_contradictions(judged: pd.DataFrame) -> Contradictions:
    """Return how often the judge calls each kind of sentence a contradiction, and the corrected rate of own sentences."""
    decided = judged.dropna(subset=["value"])
    shares = {kind: _share(decided[decided["kind"] == kind]) for kind in (OWN, PLANTED, TRUE)}
    means = decided.pivot_table(index="person", columns="kind", values="value", aggfunc="mean")
    means = means.reindex(columns=[OWN, PLANTED, TRUE])
    whole = means.dropna().to_numpy(dtype=float)
    reason = why_unknown(whole)
    corrected: tuple[float, Ends] = (np.nan, (np.nan, np.nan))
    if not reason:
        ends = interval(whole, _corrected, None)
        corrected = (
            float(np.clip(_corrected(whole[None])[0], 0, 1)),
            (float(np.clip(ends[0], 0, 1)), float(np.clip(ends[1], 0, 1))),
        )
    return Contradictions(*shares[PLANTED], *shares[TRUE], *shares[OWN], *corrected, len(whole), reason)


def _share(verdicts: pd.DataFrame) -> tuple[float, Ends]:
    """Return the share of verdicts that are contradictions, with its interval over people."""
    by_person = verdicts.groupby("person")["value"].agg(["sum", "size"])
    if by_person.empty:
        return np.nan, (np.nan, np.nan)
    hits, sizes = (by_person[name].to_numpy(dtype=float) for name in ("sum", "size"))
    return float(hits.sum() / sizes.sum()), clustered_share_interval(hits, sizes)


def why_unknown(whole: Floats) -> str:
    """Return why the corrected rate is unknown, or "". whole: (people, 3) own, planted, true."""
    if len(whole) < FEWEST:
        return f"fewer than {FEWEST} people have verdicts of every kind"
    gap = whole[:, 1] - whole[:, 2]
    low = float(gap.mean()) if is_even(gap) else mean_interval(gap)[0]
    if low <= 0:
        return "the judge does not find planted contradictions clearly more often than it suspects true sentences"
    return ""


def _corrected(whole: Floats) -> Floats:
    own_rate, planted_rate, false = (whole[..., place].mean(axis=-1) for place in range(3))
    gap = planted_rate - false
    return np.asarray(np.where(gap > 0, (own_rate - false) / np.where(gap > 0, gap, 1.0), np.nan))
