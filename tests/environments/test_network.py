"""Networks: graphs, rules and rewiring by hand and by law. What every environment promises is in exam.py."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.environments._social_graph import Links, Post, SocialGraph
from parley.environments.base import Room, Turn, concurrent_turns
from parley.environments.graphs import GRAPHS
from parley.environments.network import Network
from parley.environments.recommenders import RECOMMENDERS
from parley.environments.round_table import RoundTable
from parley.llm.errors import UserError

Pairs = list[tuple[int, int]]


def society(people: int, pairs: Pairs, attitudes: dict[int, float | None] | None = None) -> SocialGraph:
    """People numbered from 1 with these links; without attitudes nobody's is known."""
    known = attitudes or {}
    return SocialGraph(
        Links(range(1, people + 1), pairs), lambda one: known.get(one), lambda *of: random.Random(repr(of))
    )


def room(found: SocialGraph) -> Room:
    ids = tuple(found.links.hears)
    return Room(ids, ids, lambda: ids[::-1], found)


def both(*pairs: tuple[int, int]) -> Pairs:
    return [*pairs, *[(target, source) for source, target in pairs]]


LINE = both((1, 2), (2, 3), (3, 4))


def anybody(people: int, density: float, seed: int) -> SocialGraph:
    """People with chance links, one way or both, and attitudes of which a fifth are not known."""
    rng = random.Random(seed)
    pairs = [(one, other) for one in range(1, people + 1) for other in range(1, people + 1) if one != other]
    felt = {one: None if rng.random() < 0.2 else float(rng.randint(0, 10)) for one in range(1, people + 1)}
    return society(people, [pair for pair in pairs if rng.random() < density], felt)


societies = st.builds(anybody, st.integers(2, 12), st.sampled_from([0.1, 0.4, 1.0]), st.integers(0, 999))
timings = st.sampled_from(["simultaneous", "sequential"])


@check_each("size", [2, 3, 5])
def test_a_round_table_is_a_complete_graph(size: int) -> None:
    """The paper's debates are special cases: the same speakers in the same order, each alone, heard by the same people."""
    network = Network(graph="complete", timing="sequential", order="fixed", size=size)
    pairs = network.links(network.groups()[0].seats, random.Random(0))
    place = room(society(size, [(one + 1, other + 1) for one, other in pairs]))
    assert list(network.turns(place, 1)) == list(RoundTable(order="fixed").turns(place, 1))


def test_neighbours_are_heard_along_links_and_their_direction() -> None:
    """2 hears 1 and nobody hears 2: who follows hears, not who is followed."""
    turns = list(Network().turns(room(society(3, [(2, 1)])), 1))
    assert {turn.speaker: turn.hearers for turn in turns} == {1: (2,), 2: (), 3: ()}
    assert [turn.together for turn in turns] == [False, True, True]


def test_in_turn_only_those_who_are_linked_wait_for_each_other() -> None:
    """On a line spoken from its end, 4 is asked alone, then 3, 2, 1; two separate pairs take two waves, not four."""
    network = Network(timing="sequential")
    assert [[turn.speaker for turn in wave] for wave in concurrent_turns(network.turns(room(society(4, LINE)), 1))] == [
        [4],
        [3],
        [2],
        [1],
    ]
    apart = room(society(4, both((1, 2), (3, 4))))
    assert [[turn.speaker for turn in wave] for wave in concurrent_turns(network.turns(apart, 1))] == [[4, 2], [3, 1]]


@settings(max_examples=40, deadline=None)
@given(societies, st.sampled_from(["neighbours", "bounded_confidence", "sequential"]), st.integers(1, 3))
def test_waves_change_nothing_that_is_heard(found: SocialGraph, rule: str, round_: int) -> None:
    """Asked in lots, everybody has heard before it speaks whom it would have heard had they spoken one by one."""
    turns = list(Network(rule=rule, timing="sequential").turns(room(found), round_))
    assert heard_first(found, concurrent_turns(turns)) == heard_first(found, [[turn] for turn in turns])


def heard_first(found: SocialGraph, lots: Iterable[list[Turn]]) -> dict[int, list[int]]:
    """Whom everybody has heard when it is asked."""
    heard: dict[int, list[int]] = {one: [] for one in found.links.hears}
    first = {}
    for lot in lots:
        first |= {turn.speaker: list(heard[turn.speaker]) for turn in lot}
        for turn in lot:
            for hearer in turn.hearers:
                heard[hearer].append(turn.speaker)
    return first


@settings(max_examples=40, deadline=None)
@given(societies, timings, st.integers(1, 3))
def test_pairs_are_a_maximal_matching_of_mutual_links(found: SocialGraph, timing: str, round_: int) -> None:
    """Nobody is in two pairs, partners hear each other and nobody else, and no two who could have talked are left over."""
    turns = list(Network(rule="pairs", timing=timing).turns(room(found), round_))  # type: ignore[arg-type]
    partner = {turn.speaker: turn.hearers for turn in turns}
    assert len(partner) == len(turns)
    assert all(len(hearers) == 1 and partner[hearers[0]] == (one,) for one, hearers in partner.items())
    assert all(hearers[0] in found.links.mutual(one) for one, hearers in partner.items())
    left = [one for one in found.links.hears if one not in partner]
    assert not any(other in found.links.mutual(one) for one in left for other in left)


def test_pairs_in_turn_answer_each_other() -> None:
    """All who begin are asked at once, then all who answer: two waves, whatever the number of pairs."""
    found = society(4, both((1, 2), (3, 4)))
    sequential = list(concurrent_turns(Network(rule="pairs", timing="sequential").turns(room(found), 1)))
    assert [len(wave) for wave in sequential] == [2, 2]
    assert {turn.hearers[0] for turn in sequential[0]} == {turn.speaker for turn in sequential[1]}
    assert len(list(concurrent_turns(Network(rule="pairs").turns(room(found), 1)))) == 1


@settings(max_examples=40, deadline=None)
@given(societies, st.integers(1, 3))
def test_social_learning_is_heard_by_those_still_to_come(found: SocialGraph, round_: int) -> None:
    """Of the people linked to a speaker, exactly those later in the order hear it."""
    turns = list(Network(rule="sequential").turns(room(found), round_))
    spoken: list[int] = []
    for turn in turns:
        linked = set(found.links.heard_by[turn.speaker])
        assert linked - set(turn.hearers) <= set(spoken)
        assert not set(turn.hearers) & set(spoken)
        spoken.append(turn.speaker)


def test_whoever_is_not_active_hears_social_learning_too() -> None:
    found = society(3, both((1, 2), (1, 3), (2, 3)))
    turns = list(Network(rule="sequential", activation="share,share=0.34").turns(room(found), 1))
    assert len(turns) == 1
    assert len(turns[0].hearers) == 2


def test_bounded_confidence_by_hand() -> None:
    """At most epsilon apart is near; whose attitude is not known neither listens nor is listened to."""
    everybody = both((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4))
    found = society(4, everybody, {1: 2.0, 2: 5.0, 3: 5.5, 4: None})
    turns = Network(rule="bounded_confidence,epsilon=3").turns(room(found), 1)
    assert {turn.speaker: turn.hearers for turn in turns} == {1: (2,), 2: (1, 3), 3: (2,), 4: ()}


@settings(max_examples=40, deadline=None)
@given(societies, st.integers(2, 4))
def test_rewiring_keeps_how_many_everybody_hears_and_brings_them_nearer(found: SocialGraph, round_: int) -> None:
    """One link for one, its hearer the same, the new one nearer than the old one, which was beyond the limit."""
    network, links = Network(rewiring="nearer,probability=1,beyond=3"), found.links
    degrees = Counter(source for source, _ in links.pairs)
    removed, added = network.rewired(room(found), round_)
    for (source, old), (again, new) in zip(removed, added, strict=True):
        assert source == again
        assert new not in links.hears[source]
        assert (found.distance(source, new) or 0) < (found.distance(source, old) or 0)
        assert (found.distance(source, old) or 0) > 3
    links.change(removed, added)
    assert Counter(source for source, _ in links.pairs) == degrees


def test_an_unknown_attitude_is_neither_near_nor_far() -> None:
    """Nobody leaves it, it leaves nobody, and nobody comes to it."""
    for felt in ({1: None, 2: 9.0, 3: 1.0}, {1: 1.0, 2: None, 3: 1.0}, {1: 1.0, 2: 9.0, 3: None}):
        found = society(3, [(1, 2)], felt)
        assert Network(rewiring="nearer,probability=1").rewired(room(found), 2) == ((), ())
    known = society(3, [(1, 2)], {1: 1.0, 2: 9.0, 3: 1.0})
    assert Network(rewiring="nearer,probability=1").rewired(room(known), 2) == (((1, 2),), ((1, 3),))
    assert Network(rewiring="nearer,probability=1").rewired(room(known), 1) == ((), ())


def wall(found: SocialGraph, *posts: Post) -> SocialGraph:
    found.wall.keep(posts, 0)
    return found


FOUR = both((1, 2), (1, 3), (1, 4))


@check_each(
    ("feed", "shown"),
    [("chronological", (12, 11)), ("hot", (11, 13)), ("affinity", (13, 12)), ("homophilous", (12, 13))],
)
def test_feeds_by_hand(feed: str, shown: tuple[int, ...]) -> None:
    """Reader 1 sees 2, 3, 4 (posts 11, 12, 13). Newest: 12 and 11, of rounds 3 and 2. Hot: 2 + 2 > 0 + 1.5 + 1 > 0 + 3 - 0.7."""
    found = wall(
        society(4, FOUR, {1: 4.0, 2: 9.0, 3: 4.0, 4: 5.0}),
        Post(11, 2, 2, votes=100),
        Post(12, 3, 3, votes=-5),
        Post(13, 4, 1, votes=32),
    )
    found.wall.liked[1] = Counter({4: 2, 3: 0, 2: -1})
    feeds = {feed.reader: feed for feed in Network(rule=f"posts,feed={feed},length=2").feeds(room(found), 4)}
    assert feeds[1].iterations == shown


def test_votes_go_by_attitude_and_a_post_is_shown_once() -> None:
    """2 points apart or less is for it, 5 or more against it; whose attitude is not known does not vote, nor is voted on."""
    found = wall(
        society(4, FOUR, {1: 4.0, 2: 9.0, 3: 6.0, 4: None}), Post(1, 2, 1), Post(2, 3, 1), Post(3, 4, 1), Post(4, 1, 1)
    )
    network = Network(rule="posts,feed=chronological,length=9")
    feeds = {feed.reader: feed for feed in network.feeds(room(found), 1)}
    assert dict(zip(feeds[1].iterations, feeds[1].votes, strict=True)) == {1: -1, 2: 1, 3: 0}
    assert feeds[2] == (2, (4,), (-1,), ())
    for feed in feeds.values():
        found.wall.show(feed)
    assert (found.wall.posts[4].votes, found.wall.liked[1]) == (0, Counter({3: 1, 2: -1}))
    assert list(network.feeds(room(found), 2)) == []
    found.wall.keep([], since=2)
    assert not found.wall.posts
    assert not any(found.wall.read.values())


def test_the_hot_score_is_that_of_the_formula() -> None:
    """Ten times the votes are worth 45,000 seconds; votes against count the other way; no votes are an order of 0."""
    posts = RECOMMENDERS.get("hot,hours=12.5")
    assert [posts.hotness(votes, 0) for votes in (0, 1, 10, -100)] == pytest.approx([0, 0, 1, -2])
    assert posts.hotness(0, 1) == pytest.approx(posts.hotness(10, 0))
    assert RECOMMENDERS.get("hot,hours=25").hotness(0, 1) == pytest.approx(2)


def test_many_heard_are_looked_through_in_part() -> None:
    """A feed of somebody who hears hundreds costs no more than one of somebody who hears `pool`."""
    found = society(300, [(1, other) for other in range(2, 301)])
    found.wall.keep([Post(number, number, 1) for number in range(2, 301)], 0)
    (feed,) = Network(rule="posts,feed=chronological,pool=7,length=50").feeds(room(found), 1)
    assert len(feed.iterations) == 7


@check_each(
    ("graph", "degree"),
    [
        ("complete", 199),
        ("random", 8),
        ("ring", 4),
        ("small_world", 6),
        ("scale_free", 5.91),
        ("blocks", 8),
        ("geometric", 8),
    ],
)
def test_graphs_have_the_degree_that_they_state(graph: str, degree: float) -> None:
    """Means over 200 people: exact where nothing is drawn, else within 15% (geometric: people at the border hear fewer)."""
    network = Network(graph=graph, size=200)
    pairs = network.links(network.groups()[0].seats, random.Random(1))
    slack = 0.15 if graph in ("blocks", "geometric") else 0
    assert len(pairs) / 200 == pytest.approx(degree, rel=slack)
    assert set(pairs) == {(target, source) for source, target in pairs}


def test_blocks_are_as_homophilous_as_they_state() -> None:
    """Three quarters of the links within the party, on the mean of ten graphs of 300 people with parties of two sizes."""
    within = total = 0
    for seed in range(10):
        network = Network(("republican", "democrat", "democrat"), 300, "blocks,degree=8,homophily=0.75")
        seats = network.groups()[0].seats
        pairs = network.links(seats, random.Random(seed))
        within += sum(seats[source] == seats[target] for source, target in pairs)
        total += len(pairs)
    assert total / 3000 == pytest.approx(8, rel=0.02)
    assert within / total == pytest.approx(0.75, abs=0.01)


def test_among_people_of_one_party_all_links_are_within_it() -> None:
    network = Network(("democrat",), 300, "blocks,degree=8,homophily=0.2")
    assert len(network.links(network.groups()[0].seats, random.Random(1))) / 300 == pytest.approx(8, rel=0.1)


@pytest.mark.parametrize("directed", ["true", "false"])
def test_all_pairs_of_blocks_are_reached(directed: str) -> None:
    """With chances of 1 the graph is complete: no pair is left out by the way in which they are numbered."""
    network = Network(size=6, graph=f"blocks,degree=5,homophily=0.4,directed={directed}")
    pairs = network.links(network.groups()[0].seats, random.Random(0))
    assert set(pairs) == {(one, other) for one in range(6) for other in range(6) if one != other}


def test_newcomers_follow_and_hubs_are_followed() -> None:
    """Directed: everybody but the first hears exactly three, and somebody is heard by many."""
    network = Network(size=200, graph="scale_free,directed=true")
    pairs = network.links(network.groups()[0].seats, random.Random(1))
    heard, hearers = Counter(source for source, _ in pairs), Counter(target for _, target in pairs)
    assert Counter(heard.values())[3] == 196
    assert max(hearers.values()) > 30


def test_where_a_graph_says_nothing_of_parties_people_sit_at_random() -> None:
    """Alternating seats on a ring would give everybody two neighbours of the other party; at random about half are."""
    network = Network(size=200, graph="ring,degree=2")
    seats = network.groups()[0].seats
    pairs = network.links(seats, random.Random(1))
    across = sum(seats[source] != seats[target] for source, target in pairs) / len(pairs)
    assert 0.35 < across < 0.65


def written(kind: str) -> Callable[[Path], Path]:
    texts = {
        "edges": ("net.txt", "# who follows whom\na b\nb c\nc d\n"),
        "graphml": (
            "net.graphml",
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
            + "".join(f'<node id="{name}"/>' for name in "abcd")
            + '<edge source="a" target="b"/><edge source="b" target="c"/><edge source="c" target="d"/></graph></graphml>',
        ),
        "broken": ("net.graphml", "<graphml"),
    }
    name, text = texts[kind]

    def write(folder: Path) -> Path:
        (folder / name).write_text(text)
        return folder / name

    return write


@check_each(("kind", "options", "count"), [("edges", "", 6), ("edges", ",directed=true", 3), ("graphml", "", 3)])
def test_a_graph_of_ones_own(tmp_path: Path, kind: str, options: str, count: int) -> None:
    """A chain of three links: as many pairs where it is directed, both ways where it is not."""
    network = Network(size=4, graph=f"file,path={written(kind)(tmp_path)}{options}")
    pairs = network.links(network.groups()[0].seats, random.Random(1))
    assert len(pairs) == count
    assert sorted(Counter(end for pair in pairs for end in pair).values()) == [count // 3] * 2 + [2 * count // 3] * 2


def linked(**options: Any) -> object:
    network = Network(**options)
    return network.links(network.groups()[0].seats, random.Random(1))


def test_a_graph_that_does_not_fit_is_told(tmp_path: Path) -> None:
    for kind, size, words in (
        ("edges", 5, "4 nodes, but there are 5 agents: set size=4"),
        ("broken", 4, "is not a readable graph file"),
    ):
        with pytest.raises(ValueError, match=words):
            linked(size=size, graph=f"file,path={written(kind)(tmp_path)}")
    with pytest.raises(ValueError, match="cannot read"):
        GRAPHS.get(f"file,path={tmp_path}/none.txt").build(("a",), random.Random(1))


@check_each(
    ("name", "content", "words"),
    [
        ("bad.gz", b"a b", "Not a gzipped file"),
        ("cut.gz", gzip.compress(b"a b", mtime=0)[:-6], "ended before the end"),
        ("worse.gz", gzip.compress(b"a b", mtime=0)[:10] + b"nonsense", "invalid"),
        ("bad.bz2", b"a b", "Invalid data stream"),
    ],
    ids=["no gzip", "cut off", "damaged", "no bzip2"],
)
def test_a_packed_graph_that_is_damaged_says_what_is_wrong(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    """What the reader finds is no error of the system, which has a text of its own."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"cannot read .*{words}"):
        GRAPHS.get(f"file,path={tmp_path}/{name}").build(("a", "b"), random.Random(1))


@check_each(
    ("options", "words"),
    [
        ({"graph": "smal_world"}, "unknown graph 'smal_world': did you mean small_world"),
        ({"graph": "ring,degre=2"}, "unknown option of ring 'degre': did you mean degree"),
        ({"graph": "ring,degree=3"}, "even number"),
        ({"graph": "ring,degree=two"}, "degree of ring is 'two', but must be a whole number"),
        ({"graph": "small_world,rewired=nan"}, "rewired of small_world is 'nan', but must be a finite number"),
        ({"graph": "scale_free,directed=both"}, "true or false"),
        ({"graph": "file"}, "file needs path: write file,path="),
        (
            {"rule": "posts,feed=top"},
            "unknown recommender 'top': known: affinity, bridging, chronological",
        ),
        ({"rule": "posts,near=6"}, "far is .*, but must be between 6 and 10"),
        ({"rule": "posts,length"}, "write it as KEY=VALUE"),
        ({"activation": "hawkes,branching=1"}, "branching is 1, but must be between 0 and 0.99"),
        ({"rewiring": "nearer,beyond=11"}, "beyond is 11, but must be between 0 and 10"),
        ({"size": 1}, "size must be at least 2"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, Any], words: str) -> None:
    """The scenario makes one line of it."""
    with pytest.raises((UserError, ValueError), match=words):
        Network(**options)


@check_each(("graph", "size"), [("ring,degree=4", 4), ("scale_free,links=3", 3), ("blocks,degree=20", 20)])
def test_a_graph_that_cannot_be_had_is_told(graph: str, size: int) -> None:
    """Before anything is made: a folder of a run would be left behind."""
    with pytest.raises(ValueError, match=r"(set a smaller|give fewer)"):
        Network(size=size, graph=graph)


def test_parties_are_shared_out_in_turn_and_counted_in_the_name() -> None:
    group = Network(("republican", "democrat", "democrat"), 7, "complete").groups()[0]
    assert group.seats == ("republican", "democrat", "democrat") * 2 + ("republican",)
    assert (group.name, group.networked, type(Turn(1, ()))) == ("3 republican+4 democrat", True, Turn)
