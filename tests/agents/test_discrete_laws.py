"""Laws of discrete opinions against what is known of them: who wins how often, cases by hand, and NDlib's own models."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from data_checks import check_each
from law_runs import after, complete, copies, generator, moved
from scipy.integrate import solve_ivp
from scipy.sparse import csr_array

from parley.agents.laws import Floats, Law, People, open_law
from parley.agents.laws._meetings import draw_meetings
from parley.agents.laws.q_voter import QVoter
from parley.agents.laws.sznajd import Sznajd
from parley.agents.laws.voter import Voter
from parley.environments.sparse_graphs import from_networkx, ring, small_world
from parley.llm.errors import UserError

DISCRETE = ("voter", "q_voter", "q_voter,q=3,epsilon=0.2", "sznajd")


def ends(law: Law, start: Floats, graph: csr_array, steps: int, count: int, seed: int = 1) -> Floats:
    """(count, n) the opinions at the end of many independent runs that start alike."""
    return after(law, np.tile(start, count), copies(graph, count), steps, seed).reshape(count, -1)


def share_won(found: Floats) -> float:
    """The share of runs that ended with 10; all runs must have ended."""
    assert (found == found[:, :1]).all(), "a run has not ended"
    return float((found[:, 0] == 10).mean())


@check_each("spec", DISCRETE)
def test_a_start_anywhere_goes_to_the_nearest_state(spec: str) -> None:
    """Two states: below the middle to 0, the middle and above to 10. Five: whole multiples of 2.5."""
    law = open_law(spec)
    assert law.admit(np.array([0.0, 4.99, 5.0, 10.0])).tolist() == [0.0, 0.0, 10.0, 10.0]
    five = open_law(f"{spec},states=5")
    assert five.admit(np.array([1.2, 1.25, 3.7, 8.8])).tolist() == [0.0, 2.5, 2.5, 10.0]
    assert (five.admit(np.linspace(0, 10, 5)) == np.linspace(0, 10, 5)).all()


@check_each("spec", DISCRETE)
def test_opinions_stay_states_and_consensus_stays(spec: str) -> None:
    """With pull and noise too: what is between two states goes to one of them."""
    graph, rng = small_world(200, 6, 0.2, generator(1)), generator(2)
    for options in ("", ",noise=2", ",pull=0.1,toward=7"):
        law = open_law(f"{spec},states=3{options}")
        start = law.admit(rng.random(200) * 10)
        assert all(set(found.tolist()) <= {0.0, 5.0, 10.0} for found in moved(law, start, graph, 4))
    assert (after(open_law(spec), np.full(200, 10.0), graph, 3) == 10.0).all()


def test_rounding_after_a_pull_keeps_the_expectation() -> None:
    """2 of 10 becomes 10 with probability 0.2; 20,000 draws within 3.3 standard errors. A state itself never moves."""
    law = Voter()
    settled = law.settle(np.full(20_000, 2.0), generator(3))
    assert set(settled.tolist()) == {0.0, 10.0}
    assert settled.mean() == pytest.approx(2.0, abs=3.3 * 4 / np.sqrt(20_000))
    seven = Voter(states=7)
    states = np.repeat(np.arange(7) * seven.width, 1000)
    assert (seven.settle(states, generator(4)) == states).all()


@check_each(
    ("spec", "told"),
    [
        ("voter,states=1", "states is 1, but must be 2 or more"),
        ("q_voter,q=0", "q is 0, but must be 1 or more"),
        ("q_voter,epsilon=2", "epsilon is 2, but must be between 0 and 1"),
        ("sznajd,q=2", "unknown option"),
        ("voter,fixed=1", "unknown option"),
    ],
)
def test_options_out_of_range_are_refused(spec: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        open_law(spec)


@check_each("law", [Voter(), QVoter(q=1), QVoter(q=1, epsilon=0.7), QVoter(q=2, epsilon=0.5)])
def test_the_mean_is_conserved_on_a_regular_graph(law: Law) -> None:
    """A martingale (Holley and Liggett 1975): over 2,000 runs the mean stays 3 within 3.3 standard errors, which are
    small enough to see a drift of a tenth of a point. q = 1 is the voter model, and so is q = 2 with epsilon 1/2."""
    start = np.where(np.arange(40) % 10 < 3, 10.0, 0.0)
    means = ends(law, start, ring(40, 4), 4, 2000).mean(axis=1)
    error = means.std(ddof=1) / np.sqrt(2000)
    assert 0 < 3.3 * error < 0.2
    assert means.mean() == pytest.approx(3.0, abs=3.3 * error)


@pytest.mark.thorough
@check_each("law", [Voter(), QVoter(q=2, epsilon=0.5)])
def test_an_opinion_wins_as_often_as_its_share_of_degrees(law: Law) -> None:
    """Complete graph: 3 of 10 agents win in 30% of runs. Star: the hub alone has half of all degrees and wins in 50%,
    not in a fifth. 2,000 runs: 3.3 standard errors are 3.7 percentage points at most."""
    some = np.where(np.arange(10) < 3, 10.0, 0.0)
    assert share_won(ends(law, some, complete(10), 300, 2000)) == pytest.approx(0.3, abs=0.034)
    hub = np.where(np.arange(5) == 0, 10.0, 0.0)
    star = from_networkx(nx.star_graph(4))
    assert share_won(ends(law, hub, star, 120, 2000)) == pytest.approx(0.5, abs=0.037)


@pytest.mark.thorough
@pytest.mark.parametrize("law", [QVoter(q=2), QVoter(q=3, epsilon=0.1), QVoter(q=4, epsilon=0.4)])
def test_q_voters_follow_the_mean_field(law: QVoter) -> None:
    """On a complete graph dx/dt = (1 - x) f(x) - x f(1 - x), f(x) = x^q + epsilon (1 - x^q - (1 - x)^q) (Castellano and
    others 2009): after 2 steps of 1,000 agents, 40 runs, within 0.01 (four standard errors are 0.008)."""

    def flip(x: float) -> float:
        return x**law.q + law.epsilon * (1 - x**law.q - (1 - x) ** law.q)

    path = solve_ivp(lambda _, x: (1 - x) * flip(x) - x * flip(1 - x), (0, 2), [0.35], rtol=1e-8)
    start, graph = np.where(np.arange(1000) < 350, 10.0, 0.0), complete(1000)
    found = [after(law, start, graph, 2, seed).mean() / 10 for seed in range(40)]
    assert np.mean(found) == pytest.approx(path.y[0, -1], abs=0.01)


def test_q_voters_by_hand() -> None:
    """A loop over the same draws gives the same opinions, also for the flips to one of three states."""
    law, graph = QVoter(q=3, epsilon=0.3, states=3), small_world(300, 6, 0.2, generator(1))
    start = law.admit(generator(2).random(300) * 10)
    rng = generator(5)
    meetings = np.stack(draw_meetings(graph, rng, 3))
    flips, shifts = rng.random(300) < 0.3, rng.integers(1, np.full(300, 3))
    expected = start.copy()
    for (one, *others), flip, shift in zip(meetings.T, flips, shifts, strict=True):
        if len(set(expected[others])) == 1:
            expected[one] = expected[others[0]]
        elif flip:
            expected[one] = (expected[one] + 5.0 * shift) % 15.0
    assert (law.step(start, graph, generator(5)) == expected).all()
    assert (expected != start).sum() > 30


def test_voters_one_after_the_other() -> None:
    """A loop over the same meetings gives the same opinions: batches are no approximation."""
    graph, start = small_world(3000, 10, 0.1, generator(1)), Voter(states=11).admit(generator(2).random(3000) * 10)
    expected = start.copy()
    for one, other in zip(*draw_meetings(graph, generator(7)), strict=True):
        expected[one] = expected[other]
    assert (Voter(states=11).step(start, graph, generator(7)) == expected).all()


def test_zealots_set_the_level() -> None:
    """Among 20 agents who all hear each other, 3 stubborn at 10 and 1 at 0 hold the mean of the others at 7.5 over time
    (Mobilia and others 2007): 300 runs of 60 steps, the last 30 of them. Stubborn agents that moved within a step would
    be copied by others."""
    fixed, start = np.arange(20) < 4, np.where(np.arange(20) < 3, 10.0, 0.0)
    people = People(np.zeros(6000, dtype=np.int64), stubborn=np.tile(fixed, 300))
    law, rng, opinions = Voter().begin(np.tile(start, 300), people), generator(3), np.tile(start, 300)
    levels = []
    for step in range(60):
        opinions = law.step(opinions, copies(complete(20), 300), rng)
        assert (opinions.reshape(300, 20)[:, :4] == start[:4]).all()
        if step >= 30:
            levels.append(opinions.reshape(300, 20)[:, 4:].mean(axis=1))
    level = np.mean(levels, axis=0)
    error = level.std(ddof=1) / np.sqrt(300)
    assert 3.3 * error < 0.4
    assert level.mean() == pytest.approx(7.5, abs=3.3 * error)


def test_two_who_agree_convince_their_neighbours() -> None:
    """A chain 0 10 10 0: the pair in the middle meets and convinces both ends; then all agree. 0 10 0 10: no pair agrees,
    so nothing ever moves. Who is stubborn is not convinced. On one-way links, only those who hear the pair are."""
    chain = from_networkx(nx.path_graph(4))
    assert after(Sznajd(), np.array([0.0, 10.0, 10.0, 0.0]), chain, 60).tolist() in ([10.0] * 4, [0.0] * 4)
    apart = np.array([0.0, 10.0, 0.0, 10.0])
    assert (after(Sznajd(), apart, chain, 20) == apart).all()
    held = People(np.zeros(4, dtype=np.int64), stubborn=np.array([True, False, False, False]))
    assert after(Sznajd(), np.array([0.0, 10.0, 10.0, 0.0]), chain, 60, people=held)[0] == 0.0
    one_way = csr_array((np.ones(3), ([0, 1, 2], [1, 0, 0])), shape=(4, 4))  # 0 and 1 hear each other, 2 hears 0
    assert after(Sznajd(), np.array([10.0, 10.0, 0.0, 0.0]), one_way, 20).tolist() == [10.0, 10.0, 10.0, 0.0]


def test_pairs_convince_one_after_the_other() -> None:
    """A loop over the same meetings, neighbours by networkx: all who hear either of the two, and no one else."""
    graph = nx.watts_strogatz_graph(400, 6, 0.3, seed=1)
    start = np.where(generator(2).random(400) < 0.5, 10.0, 0.0)
    expected, sparse = start.copy(), from_networkx(graph)
    for one, other in zip(*draw_meetings(sparse, generator(7)), strict=True):
        if expected[one] == expected[other]:
            expected[[*graph[one], *graph[other]]] = expected[one]
    assert (Sznajd().step(start, sparse, generator(7)) == expected).all()
    assert (expected != start).mean() > 0.1


@pytest.mark.thorough
def test_a_minority_wins_on_a_ring_as_theory_says() -> None:
    """p^2 / (p^2 + (1 - p)^2) (Lambiotte and Redner 2008): with p = 0.3 in 15.5% of 1,000 runs, and not in 30%."""
    start = np.where(generator(6).random(12_000) < 0.3, 10.0, 0.0)
    found = after(Sznajd(), start, copies(ring(12, 2), 1000), 80, 7).reshape(1000, 12)
    frozen = (found != np.roll(found, 1, axis=1)).all(axis=1)  # 0 10 0 10 ...: no pair agrees
    assert frozen.mean() < 0.02
    assert share_won(found[~frozen]) == pytest.approx(0.155, abs=0.04)  # 3.3 standard errors


@pytest.mark.parametrize(
    ("kind", "law", "sweeps"), [("VoterModel", "voter", 4), ("QVoterModel", "q_voter", 3), ("SznajdModel", "sznajd", 1)]
)
def test_ndlib_itself_agrees(kind: str, law: str, sweeps: int) -> None:
    """The same mean, squared distance from the middle and share of links between different opinions, on the same graph
    and starts, where NDlib is installed (no dependency of ours). An iteration of NDlib is one meeting."""
    opinions = pytest.importorskip("ndlib.models.opinions", exc_type=ImportError)
    from ndlib.models.ModelConfig import Configuration

    graph, pairs = nx.watts_strogatz_graph(60, 6, 0.3, seed=1), []
    for seed in range(80):
        start = np.where(generator(seed).random(60) < 0.4, 10.0, 0.0)
        model, config = getattr(opinions, kind)(graph, seed=seed), Configuration()
        if kind == "QVoterModel":
            config.add_model_parameter("q", 2)
        config.add_model_parameter("fraction_infected", 0.5)
        model.set_initial_status(config)
        model.status = {node: int(one > 5) for node, one in enumerate(start)}
        model.iteration_bunch(60 * sweeps + 1)
        theirs = 10.0 * np.array([model.status[node] for node in range(60)])
        pairs.append(
            [_measures(end, graph) for end in (after(open_law(law), start, from_networkx(graph), sweeps, seed), theirs)]
        )
    ours, theirs = np.moveaxis(np.array(pairs), 1, 0)
    error = np.sqrt((ours - theirs).var(axis=0, ddof=1) / 80)
    assert (np.abs((ours - theirs).mean(axis=0)) <= 3.4 * error + 1e-9).all()
    assert np.abs(ours[:, 2] - 0.48).mean() > 0.05  # links have ordered: there is something to agree on


def _measures(opinions: Floats, graph: nx.Graph) -> tuple[float, float, float]:
    one, other = np.array(graph.edges).T
    mean = opinions.mean()
    return float(mean), float((mean - 5) ** 2), float((opinions[one] != opinions[other]).mean())
