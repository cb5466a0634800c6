"""Laws in which some opinions repel: signed links (Altafini) and far opinions (Jager and Amblard)."""

from __future__ import annotations

import numpy as np
import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from law_runs import after, complete, generator, weighted
from scipy.sparse import csr_array

from parley.agents.laws import Floats, People, open_law
from parley.agents.laws._meetings import draw_meetings
from parley.agents.laws.altafini import Altafini
from parley.agents.laws.deffuant import Deffuant
from parley.agents.laws.degroot import DeGroot
from parley.agents.laws.jager_amblard import JagerAmblard
from parley.environments.sparse_graphs import small_world
from parley.llm.errors import UserError

CAMPS = np.array([1.0, 1, 1, -1, -1, -1, -1, -1])


def signed(camps: Floats) -> csr_array:
    """A weighted undirected graph in which links within a camp are positive, and those across negative."""
    size = len(camps)
    links = np.triu(generator(4).random((size, size)) + 0.1, 1)
    return csr_array((links + links.T) * np.outer(camps, camps))


def test_altafini_by_hand() -> None:
    """9 hears a friend at 7 (weight 1) and a foe at 8 (weight -2): the mean of +2 and twice -3 around the middle is
    -4/3; half of 4 and half of that is 4/3, so 6 1/3. A foe's opposite lies on the other side of the middle."""
    graph = csr_array(np.array([[0.0, 1.0, -2.0], [0, 0, 0], [0, 0, 0]]))
    found = after(Altafini(), np.array([9.0, 7.0, 8.0]), graph, 1)
    assert found == pytest.approx([5 + 4 / 3, 7.0, 8.0])


@pytest.mark.parametrize("own", [0.5, 0.2])
def test_two_camps_end_at_mirrored_opinions(own: float) -> None:
    """Bipartite consensus (Altafini 2013): in balance, camp s ends at 5 + s m, m the mean of s (x - 5) by degree."""
    graph, start = signed(CAMPS), generator(1).random(8) * 10
    degree = abs(graph).sum(axis=1)
    level = degree @ (CAMPS * (start - 5)) / degree.sum()
    assert abs(level) > 0.1
    assert after(Altafini(own), start, graph, 400) == pytest.approx(5 + CAMPS * level)


def test_without_balance_all_end_in_the_middle() -> None:
    """One link with the other sign is enough."""
    graph = signed(CAMPS).toarray()
    graph[0, 1] = graph[1, 0] = -graph[0, 1]
    assert after(Altafini(), generator(1).random(8) * 10, csr_array(graph), 3000) == pytest.approx(np.full(8, 5.0))


def test_among_friends_alone_altafini_is_degroot() -> None:
    start = generator(2).random(12) * 10
    friends, means = (after(law, start, weighted(), 5) for law in (Altafini(0.3), DeGroot(0.3)))
    assert friends == pytest.approx(means)


def test_jager_amblard_by_hand() -> None:
    """Alone with one other: near ones close a fifth of the gap per meeting, far ones widen it, others do not move."""
    pair, law = complete(2), JagerAmblard(acceptance=2, rejection=6, mu=0.1)  # a step of two agents is two meetings
    assert after(law, np.array([4.0, 5.0]), pair, 1) == pytest.approx([4.18, 4.82])
    assert after(law, np.array([1.5, 8.0]), pair, 1) == pytest.approx([0.07, 9.43])
    assert after(law, np.array([1.5, 8.0]), pair, 2).tolist() == [0.0, 10.0]  # within the axis
    for gap in (2.0, 4.0, 6.0):  # both latitudes are open intervals
        assert after(law, np.array([2.0, 2.0 + gap]), pair, 3).tolist() == [2.0, 2.0 + gap]


def test_jager_amblard_is_one_meeting_after_the_other() -> None:
    """A loop over the same meetings gives the same opinions; some are stubborn and move in no meeting."""
    graph, start = small_world(2000, 10, 0.1, generator(1)), generator(2).random(2000) * 10
    stubborn = generator(3).random(2000) < 0.2
    people = People(np.zeros(2000, dtype=np.int64), stubborn=stubborn)
    expected = start.copy()
    for one, other in zip(*draw_meetings(graph, generator(7)), strict=True):
        gap = expected[other] - expected[one]
        sign = 1 if abs(gap) < 1.5 else -1 if abs(gap) > 5 else 0
        for agent, shift in ((one, sign * 0.2 * gap), (other, -sign * 0.2 * gap)):
            if not stubborn[agent]:
                expected[agent] = min(max(expected[agent] + shift, 0.0), 10.0)
    law = JagerAmblard(1.5, 5, 0.2).begin(start, people)
    assert law.step(start, graph, generator(7)) == pytest.approx(expected)
    assert (expected != start).mean() > 0.3


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_without_rejection_it_is_deffuant(seed: int) -> None:
    """To the last bit. With rejection, opinions stay within the axis."""
    graph, start = small_world(100, 6, 0.2, generator(seed)), generator(seed + 1).random(100) * 10
    contrast = after(JagerAmblard(3, 10, 0.3), start, graph, 3, seed)
    assert (contrast == after(Deffuant(3, 0.3), start, graph, 3, seed)).all()
    found = after(JagerAmblard(1, 3, 0.5), start, graph, 5, seed)
    assert 0 <= found.min() <= found.max() <= 10


def test_uniformity_and_two_poles() -> None:
    """Jager and Amblard 2005: much acceptance ends in one opinion, little acceptance and much rejection at both ends."""
    start, graph = generator(5).random(300) * 10, complete(300)
    assert np.ptp(after(JagerAmblard(9, 10, 0.2), start, graph, 60)) < 0.1
    poles = after(JagerAmblard(1, 2, 0.2), start, graph, 60)
    assert np.isin(poles, (0.0, 10.0)).all()
    assert 0.3 < (poles == 10).mean() < 0.7


@check_each(
    ("spec", "told"),
    [
        ("altafini,own=2", "own is 2, but must be between 0 and 1"),
        ("jager_amblard,acceptance=5,rejection=4", "rejection must not be less than acceptance"),
        ("jager_amblard,mu=0.6", "at most 0.5"),
    ],
)
def test_options_out_of_range_are_refused(spec: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        open_law(spec)
