"""Metrics of networks: by hand on small graphs, against networkx on drawn ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

from parley.analysis.metrics import applies, metrics
from parley.analysis.metrics._network import Links, populations
from parley.analysis.metrics.assortativity import assortativity
from parley.analysis.metrics.cascades import cascades, depth, in_turn, virality
from parley.analysis.metrics.consensus import agrees_from
from parley.analysis.metrics.echo_chamber import index
from parley.analysis.metrics.friendship import paradox
from parley.analysis.metrics.modularity import modularity
from parley.analysis.tables import Tables
from parley.model.events import Event, Utterance

Pair = tuple[int, int]
Build = Callable[..., Tables]


def both(*pairs: Pair) -> list[Pair]:
    """Undirected links stand both ways."""
    return [*pairs, *[(target, source) for source, target in pairs]]


@pytest.fixture
def networked(held: Callable[..., Tables]) -> Build:
    """Tables of networked rooms: {seat: ratings} a room; `links` at the start, `changes` (round, change, source, target),
    `said` (round, speakers in turn), `heard` (round, hearer, line); people by their place, the same in every room.
    """

    def make(
        *rooms: dict[str, Sequence[float | None]],
        links: Iterable[Pair] = (),
        changes: Iterable[tuple[int, str, int, int]] = (),
        said: Iterable[tuple[int, Sequence[int]]] = (),
        heard: Iterable[tuple[int, int, int]] = (),
        **options: str,
    ) -> Tables:
        people = held(*rooms).agents
        numbers = {room: list(part["agent"]) for room, part in people.groupby("room", sort=False)}
        turns = [(round_, speaker) for round_, speakers in said for speaker in speakers]
        spoken: list[Event] = [
            Utterance(room, round_, line, ids[speaker], "Words.", None)
            for room, ids in numbers.items()
            for line, (round_, speaker) in enumerate(turns, 1)
        ]
        changed = [*[(0, "added", *pair) for pair in links], *changes]
        graph = [
            (room, at, change, ids[source], ids[target])
            for room, ids in numbers.items()
            for at, change, source, target in changed
        ]
        exposed = [(room, at, ids[who], line) for room, ids in numbers.items() for at, who, line in heard]
        tables = held(*rooms, more=spoken)
        scenario = tables.header.scenario | {"options": {"timing": "sequential", **options}}
        return replace(
            tables,
            header=replace(tables.header, scenario=scenario),
            links=pd.DataFrame(graph, columns=["room", "round", "change", "source", "target"]),
            heard=pd.DataFrame(exposed, columns=["room", "round", "agent", "iteration"]),
        )

    return make


def people(*ratings: Sequence[float | None]) -> dict[str, Sequence[float | None]]:
    """The first half Republicans, the rest Democrats."""
    half = len(ratings) // 2
    seats = [f"republican {place}" if place < half else f"democrat {place}" for place in range(len(ratings))]
    return dict(zip(seats, ratings, strict=True))


def measured(name: str, tables: Tables) -> pd.DataFrame:
    return metrics()[name].compute(tables)


PATH = both((0, 1), (1, 2), (2, 3))


def test_assortativity_by_hand(networked: Build) -> None:
    """A path of 0, 0, 10, 10: of its six links four join like and two unlike, each end 5 from the mean: (4 - 2) / 6."""
    found = measured("assortativity", networked(people([0], [0], [10], [10]), links=PATH))
    assert found["assortativity"].to_list() == pytest.approx([1 / 3])
    assert found["reason"].to_list() == ["fewer than 5 rooms"]


def test_everybody_alike_has_no_assortativity(networked: Build) -> None:
    """A correlation of constants is none, and no perfect agreement."""
    found = measured("assortativity", networked(people([4], [4], [4], [4]), people([0], [0], [10], [10]), links=PATH))
    assert found["assortativity"].to_list() == pytest.approx([1 / 3])
    assert found["reason"].to_list() == ["fewer than 5 rooms; assortativity: all agents alike (1 of 2 rooms)"]


def test_an_unrated_person_takes_its_links_along(networked: Build) -> None:
    """0 - 0 - unread - 10: what is left is one link between alike, which says nothing."""
    found = measured("assortativity", networked(people([0], [0], [None], [10]), links=PATH))
    assert found["assortativity"].isna().all()
    assert found["missing"].to_list() == [1]


@check_each("seed", range(5))
def test_against_networkx(seed: int) -> None:
    """The field's library finds the same assortativity and modularity, on directed graphs."""
    graph = nx.gnp_random_graph(30, 0.2, seed=seed, directed=True)
    rng = np.random.default_rng(seed)
    values, blocks = rng.integers(0, 11, 30), rng.integers(0, 3, 30)
    nx.set_node_attributes(graph, {node: int(value) for node, value in enumerate(values)}, "attitude")
    links = Links(*np.array(graph.edges).T)
    theirs = nx.numeric_assortativity_coefficient(graph, "attitude")
    assert assortativity(links, values.astype(float)).value == pytest.approx(theirs)
    parts = [set(np.flatnonzero(blocks == block)) for block in range(3)]
    assert modularity(links, blocks).value == pytest.approx(nx.community.modularity(graph, parts))


def test_modularity_by_hand(networked: Build) -> None:
    """Two pairs and a bridge: 4 of 6 links within, 2 * (3 * 3) / 36 by chance. Sides 1, 9, 1, 1: 2 of 6, (2 * 2 + 4 * 4) / 36."""
    found = measured("modularity", networked(people([4, 1], [4, 9], [6, 1], [6, 1]), links=PATH))
    assert found["party"].to_list() == pytest.approx([1 / 6, 1 / 6])
    assert found["side"].to_list() == pytest.approx([1 / 6, 2 / 6 - (2 * 2 + 4 * 4) / 36])


def test_the_middle_of_the_axis_is_a_side_of_its_own(networked: Build) -> None:
    """4, 5, 5, 6 in a path: (5, 5) alone is within; 2/6 - (1 + 16 + 1)/36. All on one side: no partition."""
    found = measured("modularity", networked(people([4, 1], [5, 2], [5, 3], [6, 4]), links=PATH))
    assert found["side"].iloc[0] == pytest.approx(2 / 6 - 18 / 36)
    assert np.isnan(found["side"].iloc[1])
    assert "side: one block only" in found["reason"].iloc[1]


def test_echo_chamber_by_hand(networked: Build) -> None:
    """Path 0, 0, 10, 10: heard means 0, 5, 5, 10; r = 1/sqrt(2). Two separate pairs of like: 1; of unlike: -1."""
    values = np.array([0.0, 0, 10, 10])
    assert index(Links(*np.array(PATH).T), values).value == pytest.approx(0.5**0.5)
    for pairs, r in (([(0, 1), (2, 3)], 1), ([(0, 2), (1, 3)], -1)):
        assert index(Links(*np.array(both(*pairs)).T), values).value == pytest.approx(r)


def test_an_echo_chamber_stands_out_of_its_null_and_a_mixed_graph_does_not(networked: Build) -> None:
    """Twelve people in two cliques of a mind, and the same two cliques with the minds mixed."""
    cliques = both(*[(i, j) for start in (0, 6) for i in range(start, start + 6) for j in range(i) if j >= start])
    split = people(*[[1, 1] if place < 6 else [9, 2 + place % 2] for place in range(12)])
    found = measured("echo_chamber", networked(split, split, links=cliques))
    assert found["index"].iloc[0] == pytest.approx(1)
    assert found["p"].iloc[0] == pytest.approx(1 / 500)
    assert found["null_high"].iloc[0] < 0.9
    mixed = people(*[[place % 2 * 8 + 1] for place in range(12)])
    assert measured("echo_chamber", networked(mixed, links=cliques))["p"].iloc[0] > 0.5


def test_the_null_is_the_same_for_the_same_record(networked: Build) -> None:
    """A number in a table may not depend on when it was made."""
    tables = networked(people([0, 3], [1, 4], [8, 5], [10, 9]), links=PATH)
    pd.testing.assert_frame_equal(measured("echo_chamber", tables), measured("echo_chamber", tables))


@check_each(
    ("surveys", "when"),
    [
        ([[0, 10], [4, 5], [5, 5]], 2),
        ([[5, 5], [0, 9], [5, 5], [5, 5]], 2),
        ([[5, 5], [5, 5]], 0),
        ([[5, 5], [5, 6]], np.inf),
        ([[0, 9], [5, 5], [5, None], [5, 5]], 1),
        ([[5, 5], [0, 9], [5, None], [5, 5]], 3),
        ([[5, 5], [5, None]], np.nan),
        ([], np.nan),
    ],
)
def test_consensus_is_the_first_round_of_lasting_agreement(surveys: list, when: float) -> None:
    """4 and 5 differ by a standard deviation of .71; an agreement that is lost again does not count.

    A survey that was not read says nothing.
    """
    assert agrees_from(pd.DataFrame(dict(enumerate(surveys)), dtype=float)) == pytest.approx(when, nan_ok=True)


def test_the_median_of_two_rooms_lies_between_them(networked: Build) -> None:
    """From round 1 and 2 on: 1.5; where the later of the middle two never agrees, half of them never do, and there is none."""
    rooms = [people([0, 5, 5], [9, 5, 5]), people([0, 0, 5], [9, 9, 5]), people([0, 0, 0], [9, 9, 9])]
    assert measured("consensus", networked(*rooms[:2], links=[(0, 1)]))["round"].to_list() == [1.5]
    assert measured("consensus", networked(*rooms[1:], links=[(0, 1)]))["round"].isna().all()


def test_consensus_counts_the_rooms_that_never_agree(networked: Build) -> None:
    """From round 1 and 2 on, and never: the median is 2, two of three; with one more that never does there is none."""
    rooms = [people([0, 5, 5], [9, 5, 5]), people([0, 0, 5], [9, 9, 5]), people([0, 0, 0], [9, 9, 9])]
    found = measured("consensus", networked(*rooms, links=[(0, 1)])).iloc[0]
    assert (found["rooms"], found["agreed"], found["round"]) == (3, 2, 2)
    assert found["share"] == pytest.approx(2 / 3)
    none = measured("consensus", networked(*rooms, rooms[-1], links=[(0, 1)])).iloc[0]
    assert np.isnan(none["round"])
    assert none["reason"] == "fewer than 5 rooms; half of the rooms or more never agree"
    assert measured("consensus", networked(rooms[-1], links=[(0, 1)]))["reason"].iloc[0] == "fewer than 5 rooms; never"


def test_rooms_whose_last_survey_was_not_read_are_left_out_of_consensus(networked: Build) -> None:
    """Five rooms agree and one is not read: it is no room that disagrees. Where none is read, there is no share."""
    agree, unread = people([0, 5], [9, 5]), people([0, None], [9, 5])
    found = measured("consensus", networked(*[agree] * 5, unread, links=[(0, 1)])).iloc[0]
    assert (found["rooms"], found["agreed"], found["share"]) == (5, 5, 1)
    assert found["reason"] == "the ratings of the last survey could not be read in 1 of 6 rooms"
    none = measured("consensus", networked(unread, links=[(0, 1)])).iloc[0]
    assert none[["share", "round"]].isna().all()
    assert none["reason"] == "fewer than 5 rooms; the ratings of the last survey could not be read in 1 of 1 rooms"


FOUR = people([5], [5], [5], [5])


def test_cascades_by_hand(networked: Build) -> None:
    """0 speaks, 1 and 2 hear it and speak, 3 hears 2 and speaks: lines 1 <- 2, 1 <- 3 <- 4. Distances 1 1 2 2 3 1: 10/6."""
    heard = [(1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 3, 3), (1, 0, 4)]
    found = measured("cascades", networked(FOUR, links=PATH, said=[(1, [0, 1, 2, 3])], heard=heard)).iloc[0]
    assert found["audience"] == 5 / 4
    assert found[["size", "largest", "depth"]].to_list() == [4, 4, 2]
    assert found["virality"] == pytest.approx(10 / 6)


def test_what_is_heard_after_speaking_or_in_another_round_begins_nothing(networked: Build) -> None:
    """1 hears line 1 after its own turn, and speaks in the next round without having heard: four lines, four trees."""
    said = [(1, [1, 0]), (2, [0, 1])]
    found = measured("cascades", networked(FOUR, links=PATH, said=said, heard=[(1, 1, 2)])).iloc[0]
    assert found[["size", "largest", "depth"]].to_list() == [1, 1, 0]
    assert "virality: no agent spoke after hearing" in found["reason"]


@pytest.mark.parametrize("options", [{"timing": "simultaneous"}, {"rule": "posts,length=3"}])
def test_where_all_speak_at_once_a_line_belongs_to_what_was_heard_in_the_round_before(
    options: dict, networked: Build
) -> None:
    """Lines of a wave are numbered in some order, but nobody had heard any of them; a feed is read after posting, and what it
    showed of older lines counts when it was shown. In round 3 nothing is left of round 1.
    """
    said = [(1, [0, 1]), (2, [2, 1]), (3, [3])]
    heard = [(1, 1, 1), (1, 2, 1), (1, 2, 2), (2, 3, 1), (1, 3, 2)]
    found = measured("cascades", networked(FOUR, links=PATH, said=said, heard=heard, **options)).iloc[0]
    assert found[["largest", "depth"]].to_list() == [3, 1]  # 1 <- 4 (who heard 1), 1 <- 5 (shown 1 in round 2), 2 <- 3
    assert found["size"] == 5 / 2


@check_each(
    ("options", "turns"),
    [
        ({}, False),
        ({"timing": "sequential"}, True),
        ({"rule": "sequential"}, True),
        ({"rule": "posts", "timing": "sequential"}, False),
    ],
)
def test_who_speaks_in_turn(options: dict, turns: bool) -> None:
    """As the environment has it: at once unless told otherwise, social learning always in turn, posts never."""
    assert in_turn(options) == turns


def test_structural_virality_of_known_trees() -> None:
    """Goel et al. 2016: a broadcast to n - 1 tends to 2, a chain grows with its length ((n + 1) / 3)."""
    star, chain = dict.fromkeys(range(2, 101), 1), {line: line - 1 for line in range(2, 101)}
    tree = list(range(1, 101))
    assert virality(tree, star).value == pytest.approx(2 - 2 / 100)
    assert virality(tree, chain).value == pytest.approx(101 / 3)
    graph = nx.random_labeled_rooted_tree(40, seed=3)
    parents = {child: parent for parent, child in nx.bfs_edges(graph, 0)}
    order = {node: line for line, node in enumerate([0, *[child for _, child in nx.bfs_edges(graph, 0)]], 1)}
    numbered = {order[child]: order[parent] for child, parent in parents.items()}
    mean = nx.average_shortest_path_length(graph)
    assert virality(list(range(1, 41)), numbered).value == pytest.approx(mean)
    assert cascades(list(range(1, 41)), numbered) == [list(range(1, 41))]
    assert depth(numbered) == nx.eccentricity(graph, 0)


def test_friendship_paradox_by_hand(networked: Build) -> None:
    """A star: three of four hear somebody with more hearers. The centre says one line, the others two each: one of four."""
    star = both((0, 1), (0, 2), (0, 3))
    found = measured("friendship", networked(FOUR, links=star, said=[(1, [0, 1, 1, 2, 2, 3, 3])]))
    assert found["degree"].to_list() == [0.75, 0.75]
    assert np.isnan(found["activity"].iloc[0])
    assert found["activity"].iloc[1] == 0.25
    assert "activity: no agent has spoken" in found["reason"].iloc[0]


def test_in_a_ring_nobody_is_outshone(networked: Build) -> None:
    """Ties are no paradox; and who hears nobody is not counted."""
    ring = Links(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]))
    assert paradox(ring, np.ones(4)).value == 0
    assert paradox(Links(np.array([0]), np.array([1])), np.array([0.0, 1, 0, 0])).value == 1


def test_exposure_by_hand(networked: Build) -> None:
    """0 hears a 2 and a 6 of its own and the other party, 3 hears two 8s of its own: variances 8 and 0, cross .5 and 0."""
    room = people([2, 0], [6, 0], [8, 0], [8, 0])
    tables = networked(
        room, links=PATH, said=[(1, [0, 1, 2, 3, 2])], heard=[(1, 1, 1), (1, 0, 2), (1, 0, 3), (1, 3, 3), (1, 3, 5)]
    )
    found = measured("exposure", tables).iloc[0]
    assert found["variance"] == pytest.approx((2 + 0) / 2)
    assert found["entropy"] == pytest.approx((0 + np.log(2) / np.log(11) + 0) / 3)
    assert found["cross"] == pytest.approx((0 + 0.5 + 0) / 3)
    assert found["blind"] == pytest.approx(8 / 12)


def test_what_an_unrated_speaker_said_is_counted_as_unknown(networked: Build) -> None:
    """It counts as heard of a party, and as no attitude."""
    room = people([2], [None], [8], [8])
    found = measured("exposure", networked(room, links=PATH, said=[(1, [1])], heard=[(1, 0, 1)])).iloc[0]
    assert (found["missing"], found["cross"]) == (1, 0)
    assert "variance: no agent heard two rated speakers; entropy: no agent heard a rated speaker" in found["reason"]


def test_links_appear_vanish_and_come_back(networked: Build) -> None:
    """The graph after each round, and no other, is what is measured."""
    changes = [(1, "removed", 0, 1), (2, "added", 0, 2), (3, "added", 0, 1)]
    (one,) = populations(networked(people(*[[5] * 4] * 4), links=[(0, 1), (1, 0)], changes=changes))
    graphs = [set(zip(*map(list, one.links(round_)), strict=True)) for round_ in range(4)]
    assert graphs == [{(0, 1), (1, 0)}, {(1, 0)}, {(1, 0), (0, 2)}, {(1, 0), (0, 2), (0, 1)}]


def test_a_room_without_a_link_is_counted_with_its_reason(networked: Build) -> None:
    """It is one of two populations, whose number is missing; the other's is no mean over all there are."""
    tables = networked(people([0], [0], [10], [10]), people([0], [0], [10], [10]), links=PATH, said=[(1, [0, 1])])
    tables = replace(tables, links=tables.links[tables.links["room"] == tables.links["room"].iloc[0]])
    for name, metric in metrics().items():
        if getattr(metric, "NEEDS", "") == "links":
            assert (metric.compute(tables)["rooms"] == 2).all(), name
    found = measured("assortativity", tables)
    assert found["assortativity"].to_list() == pytest.approx([1 / 3])
    assert found["reason"].to_list() == ["fewer than 5 rooms; assortativity: no agent is linked (1 of 2 rooms)"]


def test_every_network_metric_has_its_rows_and_intervals_over_rooms(networked: Build) -> None:
    """Five populations: the unit is the room; what the summary shows is there."""
    rooms = [people([first, 4], [1, 5], [8, 6], [9, 6]) for first in (0, 1, 2, 3, 4)]
    heard = [(1, 1, 1), (1, 0, 2), (1, 2, 2), (1, 3, 3)]
    tables = networked(*rooms, links=PATH, said=[(1, [0, 1, 2, 3])], heard=heard)
    for name, metric in metrics().items():
        if getattr(metric, "NEEDS", "") == "links":
            assert applies(metric, tables)
            found = metric.compute(tables)
            assert (found["rooms"] == 5).all(), name
            assert set(metric.LABELS) <= set(found.columns)
            told = found["reason"].astype(str).str.contains("no variation").all()
            assert told or len(found.filter(like="_low").dropna(how="all")), name
