"""Populations from a survey: agents are respondents in proportion to their weights, and old populations stay as they were."""

from __future__ import annotations

import time
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.llm.errors import UserError
from parley.model.population import PopulationModel
from parley.model.population_record import AGENTS, ATTITUDES, ToParquet
from parley.model.survey_people import draw_rows

SIZE = 400
SPEC = "people.csv,opinion=x,low=0,high=10,party=p,weight=w"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a survey of 400 respondents: half of each party, and opinions that differ by party."""
    random = np.random.default_rng(5)
    rows = [
        f"{'ab'[number % 2]},{random.uniform(0, 4) + 6 * (number % 2):.3f},{random.uniform(0, 10):.3f},{random.lognormal():.4f},1"
        for number in range(SIZE)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["p,x,y,w,one", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def model(people: str = SPEC, **settings_: object) -> PopulationModel:
    return PopulationModel(**{"law": "degroot", "agents": 3000, "steps": 1, "rng": 1, "people": people} | settings_)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.integers(1, 3000), st.integers(0, 1000))
def test_a_respondent_has_its_share_of_agents_to_within_one(people: int, size: int, seed: int) -> None:
    """For any weights, of which some are tiny."""
    random = np.random.default_rng(seed)
    weights = random.lognormal(0, 2, people)
    counts = np.bincount(draw_rows(weights, size, random), minlength=people)
    assert (np.abs(counts - size * weights / weights.sum()) < 1 + 1e-6).all()


def test_equal_weights_give_the_plain_sample() -> None:
    """As many agents as respondents: each is there once, whether weights are 1 or not named."""
    for weight in ("", ",weight=one"):
        drawn = model(f"people.csv,opinion=x,low=0,high=10{weight}", agents=SIZE)
        assert drawn.people is not None
        assert sorted(drawn.people.lines.tolist()) == list(range(1, SIZE + 1))


def test_the_means_of_agents_agree_with_the_weighted_survey() -> None:
    """Over 40 seeds, overall and by party, within what chance allows; the parties have their weighted shares."""
    for seed in range(40):
        drawn = model(rng=seed)
        assert drawn.people is not None
        found = drawn.people.respondents
        mean = np.average(found.opinions[:, 0], weights=found.weights)
        assert drawn.opinions.mean() == pytest.approx(mean, abs=4 * found.opinions.std() / np.sqrt(3000))
        for code, share in enumerate(found.shares.values()):
            assert (drawn.codes == code).mean() == pytest.approx(share, abs=0.03)


def test_agents_have_opinion_and_party_of_one_respondent() -> None:
    """Two opinions and the party stay together, as in the file; party a is below 4, party b above 6."""
    drawn = model("people.csv,opinion=(x,y),low=0,high=10,party=p", dimensions=2, steps=0)
    rows = (Path("people.csv").read_text().splitlines()[line] for line in drawn.people.lines)  # type: ignore[union-attr]
    for (x, y), code, row in zip(drawn.opinions.tolist(), drawn.codes, rows, strict=True):
        party, one, other, *_ = row.split(",")
        assert (x, y) == pytest.approx((float(one), float(other)))
        assert party == drawn.parties[code].name


def test_nodes_with_parties_get_respondents_of_their_party() -> None:
    graph = nx.path_graph(30)
    nx.set_node_attributes(graph, {node: "ab"[node // 20] for node in graph}, "party")
    drawn = model(graph=graph, agents=30, steps=0)
    assert (drawn.opinions[:20] < 5).all()
    assert (drawn.opinions[20:] > 5).all()


def test_same_seed_same_bytes(folder: Path) -> None:
    """Record and agents, with the respondent of each; another seed gives others."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        recorder = ToParquet(folder / name, 1, {})
        model(recorder=recorder, rng=seed).run()
        recorder.close()
    for file in (ATTITUDES, AGENTS):
        a, b, c = ((folder / name / file).read_bytes() for name in "abc")
        assert a == b != c
    assert pq.read_table(folder / "a" / AGENTS).column_names == ["agent", "party", "respondent"]


def test_a_million_agents_are_drawn_without_a_search_for_each() -> None:
    """A search for each agent takes minutes; the bound is far from both, because a busy machine counts twice."""
    weights = np.random.default_rng(1).lognormal(0, 1, 12_400)
    start = time.process_time()
    assert len(draw_rows(weights, 1_000_000, np.random.default_rng(2))) == 1_000_000
    assert time.process_time() - start < 10


@check_each(
    ("people", "settings_", "told"),
    [
        (SPEC, {"parties": "a,b"}, "leave out --parties"),
        (SPEC, {"dimensions": 2}, "opinion names 1 of the 2 opinions"),
        ("people.csv,party=p", {}, "opinion names 0 of the 1 opinions"),
        (f"{SPEC},variant=one", {}, "have no variant"),
        ("none.csv,opinion=x,low=0,high=1", {}, "cannot read none.csv"),
    ],
)
def test_what_does_not_fit_is_told(people: str, settings_: dict[str, object], told: str) -> None:
    with pytest.raises(UserError, match=told):
        model(people, **settings_)


def test_nodes_and_survey_do_not_both_say_who_agents_are() -> None:
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, 3.0, "attitude")
    with pytest.raises(UserError, match=r"\(attribute attitude\) and --people give opinions"):
        model(graph=graph, agents=4)
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, "c", "party")
    with pytest.raises(UserError, match="the parties c, but --people names a,b"):
        model(graph=graph, agents=4)
    with pytest.raises(UserError, match="add party=COLUMN to --people"):
        model("people.csv,opinion=x,low=0,high=10", graph=graph, agents=4)
