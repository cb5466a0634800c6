"""Feeds, rewiring and interventions of a population: known truths, by hand and against the rules of a network."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from data_checks import check_each
from scipy.sparse import csr_array

import run
from parley.agents.laws import LAWS, People, open_law
from parley.agents.laws.motion import Motion
from parley.agents.laws.surrogate import NAMES, Surrogate
from parley.environments._social_graph import Links, Post, SocialGraph
from parley.environments.rewiring import Nearer
from parley.environments.rules import Posts
from parley.environments.sparse_feeds import Chronological, Homophilous, Hot
from parley.environments.sparse_links import contains, draw_distinct, draw_unlinked
from parley.llm.errors import UserError
from parley.model.population import PopulationModel
from parley.model.population_interventions import KINDS, Message
from parley.model.population_record import ATTITUDES, INTERVENTIONS, LINKS, ToParquet
from parley.studies.network_export.graph import network_of

pytestmark = pytest.mark.usefixtures("pictures")

TWO = "republican:3:1,democrat:8:1"
FOUR = csr_array(np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]], dtype=float))
PLAIN = [name for name in LAWS.builtin() if name not in ("surrogate", "fitted", "friedkin_johnsen")]
"""Laws without an anchor, in which only others move a person."""


def moved(law: str = "degroot", **settings: Any) -> PopulationModel:
    model = PopulationModel(law, **{"agents": 200, "steps": 4, "rng": 1, "parties": TWO} | settings)
    model.run()
    return model


def four(law: str, **settings: Any) -> PopulationModel:
    """Four people at 2, 4, 5 and 9, after one step on FOUR."""
    model = PopulationModel(law, FOUR, 4, steps=1, rng=1, **settings)
    model.opinions = np.array([2.0, 4.0, 5.0, 9.0])
    model.run()
    return model


def written(folder: Path, **settings: Any) -> bytes:
    recorder = ToParquet(folder, 1, {"seed": 1})
    moved(recorder=recorder, **settings)
    recorder.close()
    return (folder / ATTITUDES).read_bytes()


@check_each("law", PLAIN)
def test_a_feed_of_everybody_and_rewiring_of_nobody_change_no_byte(tmp_path_factory: Any, law: str) -> None:
    """Else a feed or rewiring would have an effect that is not its own."""
    folder = tmp_path_factory.mktemp("same")
    plain = written(folder / "plain", law=law)
    for name in ("homophilous", "chronological", "hot"):
        assert written(folder / name, law=law, feed=f"{name},length=50") == plain
    assert written(folder / "still", law=law, rewiring="nearer,probability=0") == plain
    assert written(folder / "none", law=law, rewiring="none") == plain
    nobody = "message round=2 value=9 share=0.000001"
    assert written(folder / "nobody", law=law, interventions=nobody) == plain
    assert not (folder / "nobody" / INTERVENTIONS).exists()


def test_a_feed_by_hand() -> None:
    """Person 0 at 2 hears 4, 5 and 9, and reads 4: under degroot it goes to 3. Persons 1 to 3 hear at most 2."""
    assert four("degroot").opinions.tolist() == pytest.approx([4.0, 3.0, 4.0, 7.0])
    assert four("degroot", feed="homophilous,length=1").opinions[[0, 1, 3]].tolist() == pytest.approx([3.0, 3.0, 7.0])
    assert four("degroot", feed="homophilous,length=1").opinions[2] == pytest.approx(4.5)  # at 5, reads 4 and not 2


def society(opinions: list[float]) -> SocialGraph:
    pairs = [(int(one), int(other)) for one, other in zip(*FOUR.nonzero(), strict=True)]
    return SocialGraph(Links(range(4), pairs), opinions.__getitem__, lambda *name: random.Random(repr(name)))


def test_a_population_reads_and_rewires_as_a_network() -> None:
    """Four people: the feed `homophilous` shows, and `nearer` replaces, the same people in both."""
    opinions = [2.0, 4.0, 5.0, 9.0]
    network = society(opinions)
    network.wall.keep([Post(agent, agent, 1) for agent in range(4)], 0)
    shown = {feed.reader: set(feed.iterations) for feed in Posts(feed="homophilous", length=1).feeds(network, 1)}
    read = Homophilous(length=1).select(FOUR, np.array(opinions), np.zeros(4), np.random.default_rng(1))
    assert {one: {int(other) for other in read[[one]].nonzero()[1]} for one in range(4)} == shown
    rule = Nearer(probability=1.0, beyond=3.5, choices=10)  # 0 drops 3 but hears all; 3 drops 2 only if one is nearer
    done = rule.rewire(FOUR, np.array(opinions), np.random.default_rng(1))
    assert rule.changes(network, 2) == ((), ()) == (tuple(done.rows), tuple(done.added))
    opinions[1] = 8.0  # 1 hears 0, 6 points away, and takes 3, who is 1 away; 3 takes 1 for 2, 4 points away
    removed, added = rule.changes(society(opinions), 2)
    done = rule.rewire(FOUR, np.array(opinions), np.random.default_rng(1))
    fixed = [(1, 0, 3), (3, 2, 1)]
    assert [row for row in zip(*(done.rows, done.dropped, done.added), strict=True) if row[0] in (1, 3)] == fixed
    assert [(*one, two[1]) for one, two in zip(removed, added, strict=True) if one[0] in (1, 3)] == fixed


@check_each("seed", range(5))
def test_rewiring_keeps_degrees_and_makes_links_nearer(seed: int) -> None:
    """As many links and weights for each hearer, none to itself, none twice; each new one is nearer than the dropped one."""
    rng = np.random.default_rng(seed)
    graph, opinions = csr_array((rng.random((60, 60)) < 0.15) * (1 - np.eye(60)) * 2.5), rng.random(60) * 10
    opinions[:5] = np.nan
    rule = Nearer(probability=0.7, beyond=2.0, choices=8)
    done = rule.rewire(graph, opinions, rng)
    assert (np.diff(done.graph.indptr) == np.diff(graph.indptr)).all()
    assert len(done.rows) > 5
    assert (done.graph.data == 2.5).all()
    after = done.graph.toarray()
    assert after.max() == 2.5  # no link twice
    assert not after.diagonal().any()
    gaps = [np.abs(opinions[other] - opinions[done.rows]) for other in (done.dropped, done.added)]
    assert (gaps[0] > 2.0).all()
    assert (gaps[1] < gaps[0]).all()
    assert not contains(graph, done.rows, done.added).any()
    changed = graph.toarray()
    changed[done.rows, done.dropped], changed[done.rows, done.added] = 0.0, 2.5
    assert (changed == after).all()


def test_draws_are_distinct_and_even() -> None:
    """Different numbers in a row, and each number as often as another: the chance of a draw does not depend on its place."""
    for size, number in ((7, 3), (50, 4), (3, 9)):
        drawn = draw_distinct(size, 20_000, number, np.random.default_rng(1))
        assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()
        share = np.bincount(drawn.ravel(), minlength=size) / drawn.size
        assert np.abs(share * size - 1).max() < 0.1


@check_each("pool", [20, 190])
def test_new_links_are_new(pool: int) -> None:
    """None exists already, none is to oneself, and everybody gets the number; from a small pool as many as there are."""
    rng = np.random.default_rng(1)
    graph = csr_array((rng.random((200, 200)) < 0.05) * (1 - np.eye(200)))
    rows = np.arange(0, 200, 2)
    sources, targets = draw_unlinked(graph, rows, np.arange(pool), 3, rng)
    assert not contains(graph, sources, targets).any()
    assert (sources != targets).all()
    assert len(set(zip(sources, targets, strict=True))) == len(sources)
    assert (np.bincount(sources, minlength=200)[rows] == 3).all()
    every = draw_unlinked(graph, rows, np.arange(pool), 0, rng)
    assert len(every[0]) == 100 * pool - graph[rows][:, :pool].nnz - min(pool, 200) // 2


@dataclass(frozen=True)
class Shuffled(Homophilous):
    """The null of `homophilous`: near in the opinions of other people, in the same graph."""

    def ranks(self, graph: Any, opinions: Any, votes: Any, generator: Any) -> Any:
        return super().ranks(graph, generator.permutation(opinions), votes, generator)


@check_each("law", ["degroot", "hegselmann_krause,epsilon=3"])
def test_a_similar_feed_slows_consensus_and_shuffled_similarity_does_not(law: str) -> None:
    """12 pairs with the same people and graph: variance after 5 steps is higher with `homophilous` than with `chronological`
    every time. With similarity shuffled over people, the mean difference is within 3.5 standard errors of 0.
    """

    def variance(feed: Any, seed: int) -> float:
        return float(moved(law, agents=1000, steps=5, rng=seed, feed=feed, graph="random,degree=12").opinions.var())

    random_, similar, null = (
        np.array([variance(feed, seed) for seed in range(12)])
        for feed in (Chronological(length=4), Homophilous(length=4), Shuffled(length=4))
    )
    assert (similar > random_).all()
    gaps = null - random_
    assert abs(gaps.mean()) < 3.5 * gaps.std(ddof=1) / np.sqrt(12)
    assert (similar - random_).mean() > 10 * abs(gaps.mean())


def test_votes_of_a_hot_feed_by_hand() -> None:
    """At 2, 4, 5, 9: votes for those at most 2 away, against those 5 or more away. 0 gets one vote from 1 (2 away); 3 gets
    one against from 0 (7 away); 1 gets two, from 0 and 2; 2 gets none (3 and 4 away). So 0 and 1 are read first.
    """
    opinions = np.array([2.0, 4.0, 5.0, 9.0])
    votes = Hot().count_votes(FOUR, opinions)
    assert votes.tolist() == [1.0, 2.0, 0.0, -1.0]
    read = Hot(length=1).select(FOUR, opinions, votes, np.random.default_rng(1))
    assert read.indices.tolist() == [1, 0, 1, 2]


@check_each("law", PLAIN)
def test_nobody_moves_where_everybody_is_muted(law: str) -> None:
    """From the step on; and removing all links is the same. Before, the run is that without an intervention."""
    first = moved(law, steps=2)
    for act in ("mute round=3", "links round=3 change=remove"):
        later = moved(law, interventions=act)
        assert np.abs(later.opinions - first.opinions).max() < 1e-12
        assert later.datacollector.model_vars["mean"][:3] == first.datacollector.model_vars["mean"]


def test_unmuted_people_are_read_again() -> None:
    """The step after, opinions move as they would have moved in the step before."""
    paused = moved(interventions=["mute round=3", "unmute round=4"])
    assert (paused.opinions == moved(steps=3).opinions).all()


@check_each("law", ["deffuant,epsilon=10", "jager_amblard,acceptance=10,rejection=10", "voter", "degroot", "sznajd"])
def test_a_muted_party_moves_no_one(law: str) -> None:
    """If only muted people differ, everybody else ends where they end if the muted are not linked at all."""
    acts = ("mute round=1 to=democrat", "links round=1 change=remove hear=democrat both=true")
    muted, unlinked = (moved(law, interventions=act, steps=1) for act in acts)
    others = muted.codes == 0
    if open_law(law).mutual:  # a meeting has two ends, so the same meetings are left
        assert (muted.opinions == unlinked.opinions).all()
    assert muted.opinions[others].mean() == pytest.approx(unlinked.opinions[others].mean(), abs=0.5)
    silent = moved(law, interventions="mute round=1 to=democrat", steps=8, parties="republican:1:.1,democrat:9:.1")
    assert silent.opinions[others].max() < 2


def test_a_message_under_degroot_by_hand() -> None:
    """Own 0.5, at 2, 4, 5, 9 on FOUR, and 10 is heard as one more person: 0 goes to 1 + (4 + 5 + 9 + 10) / 8 = 4.5, 1 to
    2 + (2 + 10) / 4 = 5, 2 to 2.5 + (2 + 4 + 10) / 6, 3 to 4.5 + (5 + 10) / 4. Three lines count three times.
    """
    expected = [4.5, 5.0, 2.5 + 16 / 6, 8.25]
    assert four("degroot", interventions="message round=1 value=10").opinions.tolist() == pytest.approx(expected)
    thrice = four("degroot", interventions="message round=1 value=10 lines=3").opinions
    assert thrice.tolist() == pytest.approx([1 + 48 / 12, 2 + 32 / 8, 2.5 + 36 / 10, 4.5 + 35 / 8])
    both = four("degroot", interventions=["message round=1 value=10 lines=2", "message round=1 value=10"]).opinions
    assert both.tolist() == pytest.approx(thrice.tolist())


def test_a_broadcast_moves_the_mean_by_a_known_amount() -> None:
    """In a ring of degree 4 all weights are equal: the mean moves by (1 - own) k / (4 + k) of its distance to the value."""
    for lines, value in ((1, 10.0), (4, 0.0)):
        ring = partial(moved, graph="ring,degree=4", steps=1)
        plain = ring(steps=0).opinions.mean()
        after = ring(interventions=f"message round=1 value={value} lines={lines}").opinions.mean()
        assert ring().opinions.mean() == pytest.approx(plain)
        assert after - plain == pytest.approx(0.5 * lines / (4 + lines) * (value - plain))


def alone(law: Any, opinion: float, value: float, lines: int = 1) -> np.ndarray:
    """Return where 4,000 people end who hear no one but a message."""
    model = PopulationModel(
        law, csr_array((4000, 4000)), 4000, steps=1, rng=1, interventions=f"message round=1 value={value} lines={lines}"
    )
    model.opinions = np.full(4000, opinion)
    model.run()
    return model.opinions


def test_a_message_moves_as_a_person_there_under_each_law() -> None:
    """Who hears only the message: the mean (degroot), half of it (hegselmann_krause), nothing if it is too far, mu of the gap
    for each meeting (deffuant), repulsion (jager_amblard), its state (voter), 0.2 x(0) + 0.8 of it (friedkin_johnsen).
    """
    assert (alone("degroot", 4, 8) == 6).all()
    assert (alone("hegselmann_krause,epsilon=5", 4, 8) == 6).all()
    assert (alone("hegselmann_krause,epsilon=3", 4, 8) == 4).all()
    assert set(alone("deffuant,epsilon=5", 4, 8).tolist()) >= {4.0, 6.0, 7.0}
    assert alone("jager_amblard", 4, 10).max() == 4
    assert alone("jager_amblard,rejection=5", 4, 10).min() < 3.5
    assert set(alone("voter", 0, 8).tolist()) == {0.0, 10.0}
    assert (alone("friedkin_johnsen,stubbornness=0", 4, 8) == 8).all()
    assert (alone("altafini", 4, 8) == 6).all()
    assert (alone("degroot,stubborn=1", 4, 8) == 4).all()


def test_a_surrogate_hears_exactly_what_a_message_says() -> None:
    """Its people say 3 points more than they think, with noise; a message of 8 is heard as 8: 4 + 0.5 (8 - 4) = 6."""
    party = dict(zip(NAMES, (3.0, 2.0, 0.0, 0.0, -0.5, 0.5, 0.0, 0.0, 10.0, 0.0, 10.0), strict=True))
    fit = {"parties": {"all": party | {"share": 1.0, "starts": [4.0, 4.0]}}}
    assert alone(Surrogate(fit=fit), 4.0, 8.0) == pytest.approx(np.full(4000, 6.0))


def test_stubborn_traits_and_vectors_hear_messages() -> None:
    """Two dimensions, one value for each; a law that was made for n people is not changed by a line."""
    model = moved(
        "friedkin_johnsen", dimensions=2, interventions="message round=2 value=9,1", steps=2, graph="ring,degree=2"
    )
    plain = moved("friedkin_johnsen", dimensions=2, steps=2, graph="ring,degree=2")
    shift = (model.opinions - plain.opinions).mean(axis=0)
    before = moved("friedkin_johnsen", dimensions=2, steps=1, graph="ring,degree=2").opinions.mean(axis=0)
    assert shift == pytest.approx(0.8 / 3 * (np.array([9.0, 1.0]) - before))
    with pytest.raises(UserError, match="value has 2 numbers, but agents have 3 opinions"):
        moved("degroot", dimensions=3, interventions="message round=1 value=9,1")


def test_a_shock_moves_a_share_or_a_party_by_its_points() -> None:
    """All of a party, a quarter of all, within the axis; stubborn people and everybody else stay."""

    def shocked(law: str = "degroot", act: str = "shock round=1 to=democrat shift=-1.5") -> tuple[PopulationModel, Any]:
        model = PopulationModel(law, csr_array((200, 200)), 200, TWO, 1, 1, interventions=act)
        before = model.opinions.copy()
        model.run()
        return model, model.opinions - before

    model, shift = shocked()
    assert (shift[model.codes == 0] == 0).all()
    assert shift[model.codes == 1] == pytest.approx(-1.5)
    assert np.count_nonzero(shocked(act="shock round=1 share=0.25 shift=1")[1]) == 50
    assert shocked(act="shock round=1 shift=9")[0].opinions.max() == 10
    assert np.count_nonzero(shocked("degroot,stubborn=0.5", "shock round=1 shift=1")[1]) == 100
    assert set(shocked("voter", "shock round=1 shift=3")[0].opinions.tolist()) == {0.0, 10.0}


def test_absent_people_are_missing_and_come_back(tmp_path: Path) -> None:
    """Their attitude is null in the record, they are in no mean and move no one; they come back where they left."""
    recorder = ToParquet(tmp_path, 1, {})
    acts = ["leave round=2 to=democrat", "join round=4 to=democrat"]
    model = moved("degroot,noise=0.5", interventions=acts, recorder=recorder)
    recorder.close()
    record = pd.read_parquet(tmp_path / ATTITUDES).pivot(index="agent", columns="step", values="attitude")
    away = model.codes == 1
    assert record[[2, 3]].to_numpy()[away].size == 200
    assert record[[2, 3]].isna().to_numpy().sum(axis=0).tolist() == [100, 100]
    assert record[[0, 1, 4]].notna().all(axis=None)
    table = model.datacollector.get_model_vars_dataframe()
    assert table["present"].tolist() == [200, 200, 100, 100, 200]
    assert table["mean_democrat"].isna().tolist() == [False, False, True, True, False]
    assert table["mean"][2] == pytest.approx(record[2].mean(), abs=1e-5)
    late = moved(interventions="join round=3 to=democrat")
    assert late.datacollector.model_vars["present"] == [100, 100, 100, 200, 200]
    kept = PopulationModel("degroot", agents=200, parties=TWO, steps=1, rng=1, interventions=acts[0].replace("2", "1"))
    before = kept.opinions.copy()
    kept.run()
    assert (kept.opinions[kept.codes == 1] == before[kept.codes == 1]).all()
    assert np.isnan(kept.shown[kept.codes == 1]).all()


def test_links_are_added_and_removed_by_number() -> None:
    """Two new ones for each of a party, both ways; one less for each of the other; weights of new links are 1."""
    plain = moved(steps=0)
    model = moved(steps=1, interventions="links round=1 change=add to=republican hear=democrat number=2")
    more = np.diff(model.graph.indptr) - np.diff(plain.graph.indptr)
    assert (more == np.where(model.codes == 0, 2, 0)).all()
    both = moved(steps=1, interventions="links round=1 change=add to=republican hear=democrat number=2 both=true")
    assert (both.graph != both.graph.T).nnz == 0
    less = moved(steps=1, interventions="links round=1 change=remove to=democrat number=1")
    fewer = np.diff(plain.graph.indptr) - np.diff(less.graph.indptr)
    assert (fewer == np.where(less.codes == 1, 1, 0)).all()


def test_a_run_is_that_of_its_seed_and_the_same_people_are_reached(tmp_path: Path) -> None:
    """Same bytes again; other words of a message reach the same people, and the past of an intervention does not change."""
    acts = ["message round=3 value=9 share=0.3", "mute round=4 share=0.2"]
    settings: dict[str, Any] = {"feed": "homophilous,length=3", "rewiring": "nearer", "interventions": acts}
    assert written(tmp_path / "a", **settings) == written(tmp_path / "b", **settings)
    plain = moved(**settings | {"interventions": ()}).datacollector.model_vars["mean"]
    written(tmp_path / "c", **settings | {"interventions": [acts[0].replace("9", "1"), acts[1]]})
    assert moved(**settings).datacollector.model_vars["mean"][:3] == plain[:3]
    reached = [pq.read_table(tmp_path / name / INTERVENTIONS)["agent"].to_pylist() for name in "ac"]
    assert reached[0] == reached[1]
    assert len(reached[0]) == 60 + 40
    assert (tmp_path / "a" / LINKS).read_bytes() == (tmp_path / "b" / LINKS).read_bytes()


def test_repeated_interventions_and_convergence() -> None:
    """Every second step, the same people; a run does not stop before the last intervention."""
    model = moved(steps=6, interventions="message round=2 every=2 value=9 share=0.5")
    assert [(one.step, one.people) for one in model.happened] == [(2, 100), (4, 100), (6, 100)]
    early = moved("hegselmann_krause,epsilon=0", until=0.001)
    late = moved("hegselmann_krause,epsilon=0", until=0.001, interventions="shock round=3 shift=1")
    assert (early.converged, late.converged) == (1, 4)


REFUSED = {
    "planner round=1": "a planner chooses among texts",
    "fact_check round=1": "writes or says a text",
    "moderator round=1 text=reasons": "ask for something in words",
    "guidance round=1 style=empathic": "says a text in a style",
    "model round=1 llm=oracle": "do not speak through a model",
    "mesage round=1 value=1": "did you mean message",
    "message round=1": "message lacks value",
    "message round=9 value=1": "after the last step, 4",
    "message round=1 value=11": "value is 11, but must be an attitude between 0 and 10",
    "message round=1 value=1 to=green": "unknown party or node 'green'",
    "message round=1 value=1 rooms=x": "unknown key of message",
    "shock round=1 shift=99": "shift is 99, but must be between -10 and 10",
}


@check_each("line", REFUSED)
def test_what_makes_no_sense_without_words_is_refused(line: str) -> None:
    """In one line, which says why or what is right."""
    with pytest.raises(UserError, match=REFUSED[line]) as caught:
        moved(interventions=line)
    assert "\n" not in str(caught.value)


def test_other_names_are_refused() -> None:
    """A feed that a population cannot have, and a table of links that no memory holds."""
    with pytest.raises(UserError, match="earlier votes of each reader"):
        moved(feed="affinity")
    with pytest.raises(UserError, match="did you mean homophilous"):
        moved(feed="homophilus")
    with pytest.raises(UserError, match="no method rewire"):
        moved(rewiring=type("Old", (), {"changes": None})())
    with pytest.raises(UserError, match="set fewer links"):
        moved(agents=5000, steps=1, interventions="links round=1 change=add")


def test_the_command_shows_and_exports_what_changed(tmp_path: Path) -> None:
    """The summary has each intervention with its text; the exported network has links of the end with their steps."""
    words = [
        "population",
        "--law",
        "degroot",
        "--agents",
        "100",
        "--steps",
        "4",
        "--parties",
        TWO,
        "--feed",
        "homophilous,length=4",
    ]
    acts = ["message round=2 to=democrat value=2 text='A storm comes.'", "leave round=4 to=democrat"]
    more = [word for act in acts for word in ("--intervene", act)]
    folder = tmp_path / "p"
    assert run.main([*words, "--rewiring", "nearer,beyond=1", *more, "--out", str(folder)]) == 0
    summary = (folder / "summary.md").read_text()
    for text in (
        "A storm comes.",
        "homophilous,length=4",
        "nearer,beyond=1",
        "people read by one person",
        "links.parquet",
    ):
        assert text in summary
    table = pd.read_csv(folder / "tables" / "interventions.csv")
    assert table[["step", "kind", "people"]].to_numpy().tolist() == [[2, "message", 50], [4, "leave", 50]]
    assert "A storm comes." in (folder / "figures" / "distribution.svg").read_text()
    model = moved(
        "degroot", agents=100, rng=0, feed="homophilous,length=4", rewiring="nearer,beyond=1", interventions=acts
    )
    graph = network_of(folder)
    now = {
        (int(one), int(two)) for one, two, link in graph.edges(data=True) if "end" not in link and "spells" not in link
    }
    links = {(int(one), int(two)) for one, two in zip(*model.graph.nonzero(), strict=True)}
    assert now <= links
    assert len(links) - len(now) < 5  # a link that came back has spells
    assert "attitude_step_4" not in graph.nodes["0" if model.codes[0] else str(int(np.argmax(model.codes)))]


def test_every_kind_and_motion_is_of_one_law() -> None:
    """Each kind is documented by its class, and lines from outside move by `begin` and `step` of the law itself."""
    assert KINDS.builtin() == ["join", "leave", "links", "message", "mute", "shock", "unmute"]
    assert Message(round=1, value=(3.0,)).kind == "message"
    law = open_law("degroot")
    people = People.alike(2)
    motion = Motion.start(law, np.array([1.0, 3.0]), people, np.random.default_rng(1))
    larger = motion.with_lines(law, np.array([1.0, 3.0]), people, np.array([9.0]))
    assert larger.stubborn is not None
    assert larger.stubborn.tolist() == [False, False, True]
