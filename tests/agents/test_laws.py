"""The classical laws against what is known of them: fixed points, cases by hand, invariants, and NDlib's own definitions."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from law_runs import after, complete, generator, weighted
from scipy.sparse import csr_array

from parley.agents.laws import LAWS, Floats, open_law
from parley.agents.laws._meetings import concurrent_batches, draw_meetings
from parley.agents.laws.base import neighbour_mean
from parley.agents.laws.deffuant import Deffuant
from parley.agents.laws.degroot import DeGroot
from parley.agents.laws.friedkin_johnsen import FriedkinJohnsen
from parley.agents.laws.hegselmann_krause import HegselmannKrause
from parley.environments.sparse_graphs import from_networkx, ring, small_world
from parley.llm.errors import UserError

CLASSICAL = ("degroot", "friedkin_johnsen", "hegselmann_krause", "deffuant")


def test_the_folder_is_the_registry() -> None:
    """One file is one law, and modules that laws share are none."""
    new = ("altafini", "dissonance", "fitted", "jager_amblard", "q_voter", "surrogate", "sznajd", "voter")
    assert set(LAWS.builtin()) == {*CLASSICAL, *new}
    assert all(LAWS.file(name) is None and LAWS.find(name) for name in LAWS.builtin())
    assert open_law("deffuant,epsilon=1.5,mu=0.25") == Deffuant(1.5, 0.25)


@check_each(
    ("spec", "told"),
    [
        ("defuant", "did you mean deffuant"),
        ("deffuant,epsillon=1", "did you mean epsilon"),
        ("deffuant,mu=0.9", "mu must be above 0"),
        ("deffuant,mu=nan", "finite number"),
        ("deffuant,mu", "KEY=VALUE"),
        ("degroot,own=2", "own is 2, but must be between 0 and 1"),
        ("hegselmann_krause,epsilon=-1", "0 or more"),
        ("degroot:file", "cannot have a file"),
        ("friedkin_johnsen,initial=3", "unknown option"),
    ],
)
def test_what_is_mistyped_is_told(spec: str, told: str) -> None:
    """One line that says what was wrong; a law with a nonsensical parameter is never run."""
    with pytest.raises(UserError, match=told):
        open_law(spec)


@check_each("spec", CLASSICAL)
def test_consensus_stays_and_isolated_people_stay(spec: str) -> None:
    """Where all agree nothing moves, and who hears nobody keeps its opinion: laws of all four."""
    graph = csr_array((np.ones(4), ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(4, 4))
    assert after(open_law(spec), np.full(4, 6.5), graph, 5) == pytest.approx(np.full(4, 6.5))
    assert after(open_law(spec), np.array([1.0, 2.0, 3.0, 9.0]), graph, 5)[3] == pytest.approx(9.0)


@pytest.mark.parametrize("spec", CLASSICAL)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_opinions_stay_between_the_ends_and_the_start_is_untouched(spec: str, seed: int) -> None:
    """Every one of them takes means: nobody leaves the range that was there. A step must not write into its argument."""
    start = generator(seed).random(30) * 10
    kept, graph = start.copy(), small_world(30, 4, 0.3, generator(seed))
    end = after(open_law(spec), start, graph, 3, seed)
    assert start.min() - 1e-9 <= end.min() <= end.max() <= start.max() + 1e-9
    assert (start == kept).all()


@pytest.mark.parametrize("own", [0.0, 0.5])
def test_degroot_ends_at_the_left_eigenvector(own: float) -> None:
    """Consensus at v x(0), v W = v (DeGroot 1974), in a directed and weighted graph; in an undirected one v is the degree's
    share."""
    graph, start = weighted(), generator(1).random(12) * 10
    matrix = graph.toarray() / graph.toarray().sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(matrix.T)
    left = np.real(vectors[:, np.argmax(np.real(values))])
    assert after(DeGroot(own), start, graph, 400) == pytest.approx(np.full(12, left @ start / left.sum()))
    plain = small_world(40, 6, 0.5, generator(2))
    degree, begun = np.diff(plain.indptr), generator(4).random(40)
    assert after(DeGroot(own), begun, plain, 900) == pytest.approx(np.full(40, degree @ begun / degree.sum()))


def test_friedkin_johnsen_ends_at_its_fixed_point() -> None:
    """(I - (1 - s) W)^-1 s x(0), solved densely; the prejudice is that of the start, however often it is stepped."""
    graph, start, hold = weighted(), generator(1).random(12) * 10, 0.3
    matrix = graph.toarray() / graph.toarray().sum(axis=1, keepdims=True)
    fixed = np.linalg.solve(np.eye(12) - (1 - hold) * matrix, hold * start)
    assert after(FriedkinJohnsen(hold), start, graph, 120) == pytest.approx(fixed)
    with pytest.raises(ValueError, match="needs the first opinions"):
        FriedkinJohnsen().step(start, graph, generator())


def test_hegselmann_krause_by_hand() -> None:
    """0 1 2 9 on a complete graph, epsilon 1: 0 hears 0 1, 1 hears 0 1 2 (the end of the interval counts), 9 itself alone."""
    first = after(HegselmannKrause(1.0), np.array([0.0, 1.0, 2.0, 9.0]), complete(4), 1)
    assert first.tolist() == [0.5, 1.0, 1.5, 9.0]
    assert after(HegselmannKrause(1.0), first, complete(4), 1) == pytest.approx([1.0, 1.0, 1.0, 9.0])
    line = csr_array((np.ones(2), ([0, 1], [1, 0])), shape=(3, 3))  # the third hears nobody
    assert after(HegselmannKrause(1.0), np.array([0.0, 1.0, 1.0]), line, 1).tolist() == [0.5, 0.5, 1.0]


def test_hegselmann_krause_stands_still_in_finite_time() -> None:
    """On a complete graph opinions keep their order and freeze, in clusters more than epsilon apart (Hegselmann and Krause
    2002)."""
    start = np.sort(generator(5).random(60) * 10)
    path = [start]
    while len(path) < 60 and (len(path) == 1 or np.abs(path[-1] - path[-2]).max() > 1e-9):
        path.append(after(HegselmannKrause(1.0), path[-1], complete(60), 1))
        assert (np.diff(path[-1]) > -1e-9).all()
    gaps = np.diff(path[-1])
    assert len(path) < 30
    assert ((gaps < 1e-9) | (gaps > 1.0)).all()


def test_hegselmann_krause_in_blocks_is_the_plain_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """A population is walked in blocks of links; the outcome is that of a loop over everybody, whatever the block (and with
    one person that has more links than a block)."""
    graph = from_networkx(nx.star_graph(40))
    start = generator(6).random(41) * 10
    found = [0.0] * 41
    for person in range(41):
        near = [start[person]] + [
            x for x in start[graph.indices[slice(*graph.indptr[person : person + 2])]] if abs(x - start[person]) <= 2
        ]
        found[person] = sum(near) / len(near)
    for links in (1, 7, 1000):
        monkeypatch.setattr("parley.agents.laws.hegselmann_krause.LINKS", links)
        assert after(HegselmannKrause(2.0), start, graph, 1) == pytest.approx(found)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda pair: pair[0] != pair[1]), max_size=40))
def test_lots_hold_everybody_once_and_in_order(pairs: list[tuple[int, int]]) -> None:
    """Each meeting is in one lot, nobody twice in one, and whoever has two meetings has them in the order drawn."""
    one, other = (np.array([pair[end] for pair in pairs], dtype=np.int64) for end in (0, 1))
    held = [lot.tolist() for lot in concurrent_batches(9, one, other)]
    assert sorted(meeting for lot in held for meeting in lot) == list(range(len(pairs)))
    for lot in held:
        people = [person for meeting in lot for person in pairs[meeting]]
        assert len(people) == len(set(people))
    for person in range(9):
        mine = [meeting for lot in held for meeting in lot if person in pairs[meeting]]
        assert mine == sorted(mine)


@pytest.mark.parametrize("mu", [0.5, 0.3])
def test_deffuant_is_one_meeting_after_the_other_to_the_last_bit(mu: float) -> None:
    """The sequential law (NDlib's), written as a loop over the same meetings, gives the very same floats: lots are no
    approximation."""
    graph, start = small_world(3000, 10, 0.1, generator(1)), generator(2).random(3000) * 10
    expected = start.copy()
    for one, other in zip(*draw_meetings(graph, generator(7)), strict=True):
        gap = expected[other] - expected[one]
        if abs(gap) < 2.0:
            expected[one], expected[other] = expected[one] + mu * gap, expected[other] - mu * gap
    assert (Deffuant(2.0, mu).step(start, graph, generator(7)) == expected).all()


def test_who_meets_is_drawn_as_in_ndlib() -> None:
    """The first of a pair is anybody, the second any of its neighbours: chi-square over 10,000 meetings on a star."""
    graph, rng = from_networkx(nx.star_graph(4)), generator(8)
    drawn = [np.column_stack(draw_meetings(graph, rng)) for _ in range(2000)]
    pairs = np.concatenate(drawn)
    assert ((pairs == 0).sum(axis=1) == 1).all()
    first = np.bincount(pairs[:, 0], minlength=5)
    assert ((first - 2000.0) ** 2 / 2000).sum() < 18.5  # the 99.9th percentile with 4 degrees of freedom
    second = np.bincount(pairs[pairs[:, 0] == 0][:, 1], minlength=5)[1:]
    assert ((second - second.mean()) ** 2 / second.mean()).sum() < 16.3


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 10), st.floats(0.01, 0.5))
def test_deffuant_conserves_the_mean(seed: int, epsilon: float, mu: float) -> None:
    start = generator(seed).random(50) * 10
    end = after(Deffuant(epsilon, mu), start, ring(50, 4), 5, seed)
    assert end.mean() == pytest.approx(start.mean())
    assert end.var() <= start.var() + 1e-9


def clusters(opinions: Floats) -> int:
    """Groups of more than one agent whose neighbours on the axis are less than half a point apart."""
    ends = np.flatnonzero(np.diff(np.sort(opinions)) > 0.5)
    sizes = np.diff(np.concatenate(([-1], ends, [len(opinions) - 1])))
    return int((sizes > 1).sum())


def restated(opinions: Floats, graph: nx.Graph, epsilon: float, steps: int, rng: np.random.Generator) -> Floats:
    """NDlib's AlgorithmicBiasModel with gamma 0, as it defines it, in plain Python: node by node, mean of the two."""
    found, around = opinions.tolist(), [list(graph.neighbors(node)) for node in graph]
    for _ in range(steps * len(found)):
        one = int(rng.integers(len(found)))
        other = around[one][int(rng.integers(len(around[one])))]
        if abs(found[one] - found[other]) < epsilon:
            found[one] = found[other] = (found[one] + found[other]) / 2
    return np.array(found)


def test_final_clusters_agree_with_the_sequential_reference() -> None:
    """Mean number of clusters and mean variance at the end over 30 starts each: within 3.4 standard errors of each other."""
    graph = nx.watts_strogatz_graph(60, 10, 0.3, seed=1)
    sparse, ends = from_networkx(graph), []
    for seed in range(30):
        start = generator(seed).random(60) * 10
        ours = after(Deffuant(2.0), start, sparse, 20, seed)
        theirs = restated(start, graph, 2.0, 20, generator(1000 + seed))
        ends.append([(clusters(end), end.var()) for end in (ours, theirs)])
    ours, theirs = np.moveaxis(np.array(ends, dtype=float), 1, 0)
    spread = np.sqrt((ours - theirs).var(axis=0, ddof=1) / 30)
    assert (np.abs((ours - theirs).mean(axis=0)) <= 3.4 * spread + 1e-9).all()
    assert ours[:, 0].mean() > 1  # more than one cluster: there is something to agree on


def test_ndlib_itself_agrees() -> None:
    """The same with NDlib where it is installed (no dependency of ours)."""
    pytest.importorskip("ndlib.models.opinions", exc_type=ImportError)
    from ndlib.models.ModelConfig import Configuration
    from ndlib.models.opinions import AlgorithmicBiasModel

    graph, ends = nx.watts_strogatz_graph(60, 10, 0.3, seed=1), []
    for seed in range(12):
        start = generator(seed).random(60)
        model = AlgorithmicBiasModel(graph, seed=seed)
        config = Configuration()
        config.add_model_parameter("epsilon", 0.2)
        config.add_model_parameter("gamma", 0)
        model.set_initial_status(config)
        model.status = dict(enumerate(start))
        model.iteration_bunch(31)
        ours = after(Deffuant(2.0), start * 10, from_networkx(graph), 30, seed)
        ends.append([(clusters(end), end.var()) for end in (ours, 10 * np.array(list(model.status.values())))])
    ours, theirs = np.moveaxis(np.array(ends, dtype=float), 1, 0)
    spread = np.sqrt((ours - theirs).var(axis=0, ddof=1) / 12)
    assert (np.abs((ours - theirs).mean(axis=0)) <= 4.4 * spread + 1e-9).all()  # t with 11 degrees of freedom


def test_heard_is_the_weighted_mean_of_what_was_said() -> None:
    """Who is linked with nothing keeps its own opinion, not 0."""
    graph = csr_array([[0, 1, 3], [1, 0, 0], [0, 0, 0]])
    assert neighbour_mean(np.array([0.0, 4.0, 7.0]), graph, np.array([9.0, 2.0, 6.0])).tolist() == [5.0, 9.0, 7.0]
