"""How much of a taxonomy personas cover, and how different they are from one another. The unit is the person."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from parley.agents.deep_personas import DeepPersona
from parley.agents.respondent import Group
from parley.agents.taxonomy import Taxonomy
from parley.analysis.polls.table import OPTIONS, PEOPLE, PLANTED, SUBJECTS, SurveyRow, SurveyTable, make_table
from parley.analysis.statistics.intervals import FEWEST, SHARE, Ends, Floats, mean_interval
from parley.analysis.statistics.null import Null
from parley.llm.backends.oracle.attributes import kinds_in
from parley.llm.backends.oracle.people_laws import PLANTED_SURVEY, AttributeLaw
from parley.llm.backends.oracle.phrases import banks
from parley.llm.seeding import derive
from parley.model.word_index import WordIndex

EFFECT = 0.5
"""The planted effect of a sentence: `--llm oracle,attribute_effect=0.5` answers as the people of these surveys."""
GROUP = "the people of Lindmoor"
TYPICAL = (0, 0, 1)
"""Kinds of the sentences of each person in the survey of `run.py study evolve`."""


def survey_of_texts(texts: Sequence[str], society: str, seed: int = 0) -> SurveyTable:
    """Return a survey of people who have the sentences of these backstories; PEOPLE of them answered."""
    return survey_of_kinds([kinds_in(banks(society), text) for text in texts], seed)


def survey_of_kinds(kinds: Sequence[Sequence[int]], seed: int = 0) -> SurveyTable:
    """Return a survey of people, each with sentences of these kinds, in equal parts."""
    law, rng, rows = AttributeLaw(effect=EFFECT), np.random.default_rng(derive(seed, "planted people")), []
    for subject in SUBJECTS:
        question = f"How satisfied are you with {subject} of Lindmoor?"
        usual = PLANTED_SURVEY.shares(question, OPTIONS)
        shares = np.mean([law.move(usual, question, OPTIONS, person_kinds) for person_kinds in kinds], axis=0)
        counts = rng.multinomial(PEOPLE, shares / shares.sum())
        drawn = tuple((counts / PEOPLE).tolist())
        rows.append(SurveyRow(question, OPTIONS, Group(GROUP), drawn, float(PEOPLE), (1.0, 2.0, 3.0, 4.0)))
    return make_table(rows, PLANTED, Path(PLANTED))


SHUFFLES = 99
"""Sets in which the sentences on each attribute are shuffled."""


class Coverage(NamedTuple):
    """What a set covers at a depth. Shares of 0 to 1. even_: expected if every attribute were drawn with the same chance.

    leaves: attributes that some person has. branches: of a person, the mean with its interval.
    """

    leaves: float
    even_leaves: float
    branches: float
    branches_ends: Ends
    even_branches: float


class Uniqueness(NamedTuple):
    """1 minus the cosine with the most similar other person. NaN: unknown.

    each, alone: of each person, as it is, and if all sentences on an attribute were equal. dealt: the mean over sets in which
    the sentences on each attribute are shuffled among the people who have it. p: the share of these sets, and of this one,
    that are at least as far from the mean of all.
    """

    each: Floats
    alone: Floats
    dealt: float
    p: float


def measure_coverage(people: Sequence[DeepPersona], taxonomy: Taxonomy, depth: int) -> Coverage:
    """Return what the first `depth` attributes of people cover."""
    all_paths = [{value.path for value in person.values[:depth] if value.sentence} for person in people]
    size, sizes = len(taxonomy.leaves), Counter(leaf.branch for leaf in taxonomy.leaves)
    leaves = len(set().union(*all_paths)) / size
    missed = math.prod(1 - len(paths) / size for paths in all_paths)
    shares = np.array([len({path.partition("/")[0] for path in paths}) / len(sizes) for paths in all_paths])
    even = [
        sum(1 - math.comb(size - count, len(paths)) / math.comb(size, len(paths)) for count in sizes.values())
        / len(sizes)
        for paths in all_paths
    ]
    return Coverage(leaves, 1 - missed, float(shares.mean()), mean_interval(shares, bounds=SHARE), float(np.mean(even)))


def measure_uniqueness(people: Sequence[DeepPersona], depth: int, rng: np.random.Generator | None = None) -> Uniqueness:
    """Return how unlike one another people are at a depth, without names and parties. rng: for `dealt` (None: unknown)."""
    if len(people) < 2:
        unknown = np.full(len(people), np.nan)
        return Uniqueness(unknown, unknown, math.nan, math.nan)
    sentences = [{value.path: value.sentence for value in person.values[:depth] if value.sentence} for person in people]
    holders: dict[str, list[int]] = defaultdict(list)
    for place, person_sentences in enumerate(sentences):
        for path in person_sentences:
            holders[path].append(place)
    shared = {path: places for path, places in holders.items() if len(places) > 1}
    each = _unlike(people, sentences)
    first = {path: sentences[places[0]][path] for path, places in holders.items()}
    alone = _unlike(people, [{path: first[path] for path in person_sentences} for person_sentences in sentences])
    dealt, p = math.nan, math.nan
    if rng and shared and len(people) >= FEWEST:
        sets = np.array([_unlike(people, _deal(sentences, shared, rng)).mean() for _ in range(SHUFFLES)])
        dealt, middle = float(sets.mean()), float(np.append(sets, each.mean()).mean())
        p = Null(sets, middle).p(each.mean())
    return Uniqueness(each, alone, dealt, p)


def _deal(
    sentences: Sequence[dict[str, str]], shared: dict[str, list[int]], rng: np.random.Generator
) -> list[dict[str, str]]:
    """Return the sentences with those on each attribute shuffled among the people who have it."""
    dealt = [dict(person_sentences) for person_sentences in sentences]
    for path, places in shared.items():
        for place, other in zip(places, rng.permutation(places), strict=True):
            dealt[place][path] = sentences[other][path]
    return dealt


def _unlike(people: Sequence[DeepPersona], sentences: Sequence[dict[str, str]]) -> Floats:
    """Return 1 minus the cosine with the most similar other person, of the TF-IDF weights of core and sentences."""
    index, places = WordIndex(), range(len(people))
    for place, (person, person_sentences) in enumerate(zip(people, sentences, strict=True)):
        index.add(place, place, " ".join([*(sentence for _, _, sentence in person.core), *person_sentences.values()]))
    cosines = np.array([index.likeness(place, places) for place in places])
    np.fill_diagonal(cosines, -1.0)
    return np.asarray(1 - cosines.max(axis=1))
