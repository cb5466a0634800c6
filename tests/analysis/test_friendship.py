"""The friendship paradox beside its null: shuffled graphs keep degrees, chance is not called a paradox, and a planted one is."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, chisquare

from parley.analysis.metrics._network import Links
from parley.analysis.metrics.friendship import (
    _null_columns,
    _Shuffles,
    compute,
    dealt_null,
    degree_null,
    hearers,
    paradox,
    shuffled_links,
    two_sided,
)
from parley.analysis.tables import tables
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset

SIZE, FOLLOWED = 40, 5


def drawn(generator: np.random.Generator, weights: np.ndarray | None = None) -> Links:
    """Everyone follows five others: by chance, or with a probability in proportion to their weight."""
    weights = np.ones(SIZE) if weights is None else weights
    rows = []
    for one in range(SIZE):
        others = np.delete(np.arange(SIZE), one)
        rows.append(generator.choice(others, FOLLOWED, replace=False, p=weights[others] / weights[others].sum()))
    return Links(np.repeat(np.arange(SIZE), FOLLOWED), np.concatenate(rows))


def mutual(links: Links) -> Links:
    """The same links, read in both directions."""
    pairs = {tuple(sorted(pair)) for pair in zip(links.source.tolist(), links.target.tolist(), strict=True)}
    ends = np.array(sorted(pairs)).T
    return Links(np.concatenate((ends[0], ends[1])), np.concatenate((ends[1], ends[0])))


@pytest.mark.parametrize("undirected", [False, True])
def test_a_shuffle_keeps_how_many_one_hears_and_is_heard_by(undirected: bool) -> None:
    """Degrees stay, no link is double or leads from an agent to itself, undirected graphs stay undirected, links change."""
    links = drawn(np.random.default_rng(1))
    links = mutual(links) if undirected else links
    before = links.source * SIZE + links.target
    for shuffled in shuffled_links(links, SIZE, 20, np.random.default_rng(2)):
        codes = shuffled.source * SIZE + shuffled.target
        assert len(np.unique(codes)) == len(links.source)
        assert (shuffled.source != shuffled.target).all()
        for end, given in zip(shuffled, links, strict=True):
            assert (np.bincount(end, minlength=SIZE) == np.bincount(given, minlength=SIZE)).all()
        assert set(codes.tolist()) == set((shuffled.target * SIZE + shuffled.source).tolist()) or not undirected
        assert np.isin(codes, before).mean() < 0.7


def test_every_graph_with_these_degrees_is_equally_probable() -> None:
    """All directed graphs of four agents with one link out and one in, none to itself: nine of them, drawn alike."""
    ring = Links(np.arange(4), np.array([1, 2, 3, 0]))
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in range(450):
        *_, last = shuffled_links(ring, 4, 20, np.random.default_rng(seed))
        seen[tuple(last.target[np.argsort(last.source)].tolist())] += 1
    possible = [
        p for p in product(range(4), repeat=4) if sorted(p) == [0, 1, 2, 3] and all(a != b for a, b in enumerate(p))
    ]
    assert set(seen) == set(possible)
    assert chisquare([seen[one] for one in possible]).pvalue > 0.001


def test_one_pair_of_links_can_be_shuffled() -> None:
    """A graph without any exchange stays as it is: two agents who hear each other."""
    pair = Links(np.array([0, 1]), np.array([1, 0]))
    for shuffled in shuffled_links(pair, 2, 5, np.random.default_rng(0)):
        assert set(zip(shuffled.source.tolist(), shuffled.target.tolist(), strict=True)) == {(0, 1), (1, 0)}


@pytest.mark.thorough
def test_who_follows_by_chance_is_inside_the_null_at_the_nominal_rate() -> None:
    """60 networks in which people follow by chance and activity has nothing to do with it: p below .05 in about 5%."""
    alarms = Counter({"degree": 0, "activity": 0})
    for seed in range(60):
        generator = np.random.default_rng(seed)
        links, activity = drawn(generator), generator.poisson(4, SIZE).astype(float)
        nulls = {"degree": degree_null(links, SIZE, generator), "activity": dealt_null(links, activity, generator)}
        true = {"degree": paradox(links, hearers(links, SIZE)).value, "activity": paradox(links, activity).value}
        for quantity, null in nulls.items():
            alarms[quantity] += two_sided(null, float(true[quantity] or 0)) <= 0.05
    for count in alarms.values():
        assert binomtest(count, 60, 0.05).pvalue > 0.01


@pytest.mark.thorough
def test_the_same_graph_in_several_rooms_is_no_more_evidence_than_in_one() -> None:
    """Ten random graphs, each in six rooms: the p is that of one room, and so are the shuffles in another order of links."""
    for seed in range(10):
        links = drawn(np.random.default_rng(seed))
        turned = Links(links.source[::-1], links.target[::-1])
        rooms: list[Any] = [
            SimpleNamespace(
                room=SimpleNamespace(name=f"room {room}", parties=range(SIZE)), links=lambda _, one=one: one
            )
            for room, one in enumerate([links] * 5 + [turned])
        ]
        found = [_Shuffles(room).of_links(0) for room in rooms]
        nulls = [null for _, null in found if null is not None]
        alone, together = (_null_columns("degree", part, found[0][0].value or 0.0) for part in (nulls[:1], nulls))
        assert together == pytest.approx(alone)


def test_following_the_active_is_found() -> None:
    """Planted: people follow in proportion to activity. The paradox of activity is beyond its null, and grows with the
    planted preference; degrees alone explain the paradox of degree.
    """
    shares = []
    for power in (0.0, 1.0, 2.0):
        generator = np.random.default_rng(3)
        activity = generator.lognormal(0, 1, SIZE)
        links = drawn(generator, activity**power)
        shares.append(float(paradox(links, activity).value or 0))
        p = two_sided(dealt_null(links, activity, generator), shares[-1])
        assert (p <= 0.02) == (power > 0)
    assert shares == sorted(shares)
    assert two_sided(degree_null(links, SIZE, generator), float(paradox(links, hearers(links, SIZE)).value or 0)) > 0.05


def test_the_well_connected_among_themselves_are_beyond_the_null() -> None:
    """Two cliques of different size and nobody between: no one hears a better connected one, which shuffles would give."""
    pairs = [*combinations(range(12), 2), *combinations(range(12, 18), 2)]
    links = mutual(Links(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])))
    assert paradox(links, hearers(links, 18)).value == 0
    assert two_sided(degree_null(links, 18, np.random.default_rng(0)), 0.0) <= 0.02


def on_the_oracle(acts: str) -> pd.Series:
    """The last row of the table, of six rooms of 24 people on a platform who choose by the oracle's law."""
    settings = {"llm": "oracle,follow=1", "repetitions": 6, "rounds": 12, "survey": "never", "size": 24}
    settings |= {"acts": acts, "reach": "all", "recommender": "random", "lasting": 10, "activation": "every"}
    scenario, recorder = load_preset("platform").with_settings(settings), MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    return compute(tables([make_header(scenario, (), model.backend), *recorder.events])).iloc[-1]


@pytest.mark.thorough
def test_people_who_follow_whose_posts_they_see_follow_the_active() -> None:
    """On the oracle, who posts more is seen and followed more; where no one can follow, activity has no place in the graph."""
    followed, fixed = on_the_oracle("post,follow,nothing"), on_the_oracle("post,nothing")
    assert followed["activity_excess_low"] > 0
    assert followed["activity_p"] <= 0.05
    assert fixed["activity_excess_low"] < 0 < fixed["activity_excess_high"]
    assert followed["degree_p"] > 0.01
