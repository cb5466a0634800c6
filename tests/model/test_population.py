"""Populations as arrays: the same seed gives the same record, what is recorded is what was there, and Mesa's rules hold."""

from __future__ import annotations

import random
import re
from contextlib import nullcontext
from pathlib import Path

import mesa
import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
from data_checks import check_each

from parley.environments.graphs import GRAPHS
from parley.llm.errors import UserError
from parley.model.population import PopulationModel
from parley.model.population_record import AGENTS, ATTITUDES, ToParquet
from parley.model.population_setup import Party, draw_parties, initial_attitudes, parse_parties

TWO = "republican:3:1,democrat:8:1:3"


def recorded(folder: Path, every: int = 2, **settings: object) -> PopulationModel:
    recorder = ToParquet(folder, every, {"seed": 1})
    model = PopulationModel(**{"agents": 300, "steps": 4, "rng": 1, "recorder": recorder} | settings)  # type: ignore[arg-type]
    model.run()
    recorder.close()
    return model


@check_each(
    "graph", ["small_world", "random", "ring", "blocks", "scale_free,links=2", "random,degree=10,directed=true"]
)
@check_each("law", ["deffuant", "hegselmann_krause", "degroot", "friedkin_johnsen"])
def test_every_law_runs_on_every_graph(law: str, graph: str) -> None:
    """Means stay (but for the directedness of degree), opinions within the axis, the variance falls: averaging all of it."""
    model = PopulationModel(law, graph, 200, TWO, 3, 1)
    model.run()
    table = model.datacollector.get_model_vars_dataframe()
    assert table["step"].tolist() == [0, 1, 2, 3]
    assert table["variance"].is_monotonic_decreasing
    assert table["mean"].iloc[-1] == pytest.approx(table["mean"].iloc[0], abs=0.35)
    assert table["beyond"].isna().all()
    assert not model.running


@pytest.mark.parametrize("name", [name for name in GRAPHS.names() if name != "file"])
def test_a_population_and_a_network_have_the_same_graphs(name: str) -> None:
    """One spec, with the same defaults: the same mean number of people whom one hears, whoever draws it."""
    graph, size = GRAPHS.open(name), 400
    model = PopulationModel("degroot", name, size, "a,b", 0, 1)
    pairs = graph.pairs(("a", "b") * (size // 2), random.Random(1))
    assert model.graph.nnz / size == pytest.approx(len(pairs) / size, rel=0.1)


def test_scalars_by_hand() -> None:
    """Four people at 1, 2, 6, 9: mean 4.5, variance 10.25, half above the middle; the party of the last two has 7.5, 2.25,
    all."""
    model = PopulationModel("degroot", "ring,degree=2", 4, "a,b", 0, 1)
    model.opinions, model.codes = np.array([1.0, 2.0, 6.0, 9.0]), np.array([0, 0, 1, 1])
    model.datacollector.collect(model)
    row = model.datacollector.get_model_vars_dataframe().iloc[-1]
    assert (row["mean"], row["variance"], row["above"]) == (4.5, 10.25, 0.5)
    assert (row["mean_b"], row["variance_b"], row["above_b"]) == (7.5, 2.25, 1.0)
    model.codes = np.zeros(4, dtype=np.int64)
    model.datacollector.collect(model)
    assert model.datacollector.get_model_vars_dataframe()["mean_b"].isna().iloc[-1]  # nobody there: no number


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    """Record and agents, byte for byte; another seed gives others."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        recorded(tmp_path / name, rng=seed, parties=TWO)
    for file in (ATTITUDES, AGENTS):
        a, b, c = ((tmp_path / name / file).read_bytes() for name in "abc")
        assert a == b
        assert a != c


def test_the_record_holds_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second step, everybody, float32, in groups of rows that are small on purpose here; the last one is the model's
    state."""
    monkeypatch.setattr("parley.model.population_record.ROWS", 128)
    model = recorded(tmp_path, parties=TWO)
    file = pq.ParquetFile(tmp_path / ATTITUDES)
    assert file.metadata.num_row_groups == 3 * 3
    table = file.read().to_pandas()
    assert sorted(table["step"].unique()) == [0, 2, 4]
    assert (table.groupby("step")["agent"].apply(list).map(sorted) == [list(range(300))] * 3).all()
    last = table[table["step"] == 4]
    assert (last["attitude"].to_numpy() == model.opinions.astype(np.float32)).all()
    assert pq.read_table(tmp_path / AGENTS)["party"].to_pandas().value_counts().to_dict() == {
        "democrat": 225,
        "republican": 75,
    }


def test_what_is_recorded_shifts_nothing(tmp_path: Path) -> None:
    """Neither the recorder nor the number of steps draws: a longer run begins like a shorter one."""
    quiet = PopulationModel(agents=300, steps=2, rng=1)
    quiet.run()
    loud = recorded(tmp_path, every=1, steps=3)
    path = loud.datacollector.get_model_vars_dataframe()
    assert (path.iloc[:3]["variance"] == quiet.datacollector.get_model_vars_dataframe()["variance"]).all()


@pytest.mark.parametrize("collect", [False, True])
def test_a_full_disk_is_told_and_leaves_a_partial_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collect: bool
) -> None:
    """It is raised where it happens, and with `collect_errors` kept for the table and raised by `run` alone."""
    recorder = ToParquet(tmp_path, 1, {})
    model = PopulationModel(agents=50, rng=1, recorder=recorder, collect_errors=collect)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorder._writer, "write_table", full)
    with nullcontext() if collect else pytest.raises(UserError, match="No space left"):
        model.step()
    assert model.over
    with pytest.raises(UserError, match="No space left"):
        model.run()
    assert not collect or "No space" in model.datacollector.get_model_vars_dataframe()["stopped"].iloc[-1]
    monkeypatch.undo()
    recorder.close(whole=False)
    assert not (tmp_path / ATTITUDES).exists()


def test_dimensions_are_columns_of_the_record_and_of_the_scalars(tmp_path: Path) -> None:
    """Two opinions each: two columns, as the model has them; statistics by dimension and party, by hand from them."""
    recorder = ToParquet(tmp_path, 1, {}, dimensions=2)
    model = PopulationModel("deffuant", "ring", 300, TWO, 2, 1, dimensions=2, recorder=recorder)
    model.run()
    recorder.close()
    table = pq.read_table(tmp_path / ATTITUDES).to_pandas()
    assert list(table) == ["step", "agent", "attitude_1", "attitude_2"]
    last = table[table["step"] == 2][["attitude_1", "attitude_2"]].to_numpy()
    assert (last == model.opinions.astype(np.float32)).all()
    row = model.datacollector.get_model_vars_dataframe().iloc[-1]
    assert row["mean_2"] == model.opinions[:, 1].mean()
    assert row["variance_1_democrat"] == model.opinions[model.codes == 1, 0].var()
    assert "mean" not in row
    start = PopulationModel("deffuant", "ring", 300, TWO, 0, 1, dimensions=2).opinions
    assert abs(np.corrcoef(start[model.codes == 0].T)[0, 1]) < 0.4  # dimensions are drawn by themselves
    assert (start[:, 0] == PopulationModel("deffuant", "ring", 300, TWO, 0, 1).opinions).all()


@pytest.mark.parametrize("dimensions", [1, 3])
def test_a_run_stops_when_opinions_hardly_move(tmp_path: Path, dimensions: int) -> None:
    """At the first step whose largest shift is at most `until`: found in the run without it, which goes on the same way.
    The last step is recorded, though it is no multiple of `every`."""
    settings = {"law": "degroot", "graph": "random,degree=12", "agents": 200, "rng": 1, "dimensions": dimensions}
    free, path = PopulationModel(**settings, steps=100), []
    while not free.over:
        before = free.opinions
        free.step()
        path.append((np.abs(free.opinions - before).max(), free.opinions))
    first = next(step for step, (shift, _) in enumerate(path, 1) if shift <= 0.01)
    recorder = ToParquet(tmp_path, 50, {}, dimensions)
    model = PopulationModel(**settings, steps=100, until=0.01, recorder=recorder)
    model.run()
    recorder.close()
    assert model.converged == model.round == first < 50
    assert model.over
    assert (model.opinions == path[first - 1][1]).all()
    assert pq.read_table(tmp_path / ATTITUDES)["step"].unique().to_pylist() == [0, first]
    assert free.converged is None


def test_a_run_that_goes_on_moving_does_not_converge() -> None:
    """Noise never rests; 0 is the strictest limit, which a frozen population keeps."""
    model = PopulationModel("degroot,noise=0.5", "ring", 100, steps=8, rng=1, until=0.5)
    model.run()
    assert (model.round, model.converged) == (8, None)
    frozen = PopulationModel("degroot,own=1", "ring", 100, steps=8, rng=1, until=0)
    frozen.run()
    assert frozen.converged == 1


def test_discrete_laws_are_recorded_as_they_begin() -> None:
    """Step 0 has states, not the opinions that were drawn."""
    model = PopulationModel("voter", "ring", 300, "a:3:1", 2, 1)
    assert set(model.opinions.tolist()) == {0.0, 10.0}
    model.run()
    assert model.datacollector.get_model_vars_dataframe()["mean"].iloc[0] < 1.0


def test_the_law_of_the_page_runs(tmp_path: Path) -> None:
    """The file that docs/populations.md prints, with an option of its own and those of every law: it drives apart."""
    page = (Path(__file__).parents[2] / "docs" / "populations.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(# contrarian\.py\n.*?)^```", page, re.M | re.S)
    (tmp_path / "contrarian.py").write_text(code, encoding="utf-8")
    model = PopulationModel(f"{tmp_path}/contrarian.py,rate=0.5,stubborn=0.2", "ring", 200, steps=5, rng=1)
    start = model.opinions
    model.run()
    assert model.opinions.var() > 1.5 * start.var()
    assert (model.opinions == start).sum() >= 40


def test_stubborn_people_of_a_population_are_drawn_once() -> None:
    """By the seed, in a stream of their own: the same people in all steps, and no other draw is shifted."""
    model = PopulationModel("degroot,stubborn=0.4", "ring", 200, steps=5, rng=1)
    start = model.opinions
    assert (start == PopulationModel("degroot", "ring", 200, steps=5, rng=1).opinions).all()
    model.run()
    assert (model.opinions == start).sum() == 80


def test_batch_run_holds_populations() -> None:
    """Parameters by name, as mesa.batch_run wants them, on both versions of Mesa; the last step is reported."""
    rows = mesa.batch_run(
        PopulationModel,
        {"law": ["degroot", "deffuant"], "agents": 100, "steps": 3},
        max_steps=10,
        display_progress=False,
        **SEEDS,
    )
    assert [row["step"] for row in rows] == [3, 3]
    assert {row["law"] for row in rows} == {"degroot", "deffuant"}


SEEDS = {"rng": [1]} if "rng" in mesa.batch_run.__code__.co_varnames[: mesa.batch_run.__code__.co_argcount] else {}


def test_parties_have_their_share_and_their_start() -> None:
    """As many of each as their weights say (exactly), starts with the mean and spread asked for (a million draws of none)."""
    parties = parse_parties(TWO)
    rng = np.random.default_rng(1)
    codes = draw_parties(parties, 4000, rng)
    assert np.bincount(codes).tolist() == [1000, 3000]
    starts = initial_attitudes(parties, codes, rng)
    assert starts[codes == 0].mean() == pytest.approx(3, abs=0.1)
    assert starts[codes == 0].std() == pytest.approx(1, abs=0.1)
    assert 0 <= starts.min() <= starts.max() <= 10
    assert np.diff(np.flatnonzero(codes == 0)).max() > 5  # mixed, not one after the other
    assert parse_parties("a:2,b") == (Party("a", 2.0, (0.0, 10.0)), Party("b", 1.0, (0.0, 10.0)))


@check_each(
    ("settings", "told"),
    [
        ({"law": "degrot"}, "did you mean degroot"),
        ({"graph": "smallworld"}, "did you mean small_world"),
        ({"graph": "ring,rewired=1"}, "unknown option of ring"),
        ({"graph": "small_world,rewire=1"}, "did you mean rewired"),
        ({"graph": "scale_free,degree=4"}, "unknown option of scale_free"),
        ({"graph": "ring,degree=x"}, "degree of ring is 'x', but must be a whole number"),
        ({"graph": "ring,degree=3"}, "even number"),
        ({"agents": 0}, "1 to 100,000,000"),
        ({"dimensions": 0}, "1 to 12 dimensions"),
        ({"law": "voter", "dimensions": 2}, "law voter: this law works only if each agent has one opinion"),
        ({"law": "degroot,pull=0.1"}, "pull needs the opinion toward which it moves people"),
        ({"parties": "a:11:1"}, "from 0 to 10"),
        ({"parties": "a:1:1,a:2:1"}, "names a party twice"),
        ({"parties": "a:1:2:3:4"}, "NAME:MEAN:SD"),
    ],
)
def test_what_is_mistyped_is_told(settings: dict, told: str) -> None:
    with pytest.raises(UserError, match=told):
        PopulationModel(**settings)


def friends() -> nx.Graph:
    """Four named people; Ann hears Bob three times as much as Cem."""
    graph = nx.DiGraph()
    parties = {"Ann": "cdu", "Bob": "spd", "Cem": "spd", "Dora": "cdu"}
    graph.add_nodes_from((name, {"party": party}) for name, party in parties.items())
    graph.add_weighted_edges_from([("Ann", "Bob", 3.0), ("Ann", "Cem", 1.0), ("Bob", "Ann", 1.0)])
    return graph


@pytest.mark.parametrize("form", ["graph", "file"])
def test_a_network_of_ones_own_keeps_people_and_weights(tmp_path: Path, form: str) -> None:
    """The docs promised any graph of networkx; it raised. Names are in agents.parquet, weights in the means of degroot."""
    nx.write_graphml(friends(), tmp_path / "net.graphml")
    graph = friends() if form == "graph" else f"file,path={tmp_path}/net.graphml"
    model = recorded(tmp_path / "run", every=1, law="degroot,own=0", graph=graph, agents=4, steps=1)
    who = pq.read_table(tmp_path / "run" / AGENTS).to_pandas()
    assert who["node"].tolist() == ["Ann", "Bob", "Cem", "Dora"]
    assert who["party"].tolist() == ["cdu", "spd", "spd", "cdu"]
    steps = (
        pq.read_table(tmp_path / "run" / ATTITUDES).to_pandas().pivot(index="step", columns="agent", values="attitude")
    )
    start, end = steps.loc[0], steps.loc[1]
    assert end.tolist() == pytest.approx([0.75 * start[1] + 0.25 * start[2], start[0], start[2], start[3]], rel=1e-6)
    assert model.nodes == ["Ann", "Bob", "Cem", "Dora"]


@check_each(
    ("settings", "told"),
    [
        ({"agents": 5}, " has 4 nodes, but 5 agents were requested: set --agents 4"),
        (
            {"agents": 4, "parties": "cdu:3:1,fdp:8:1"},
            "the graph has nodes of the parties cdu,spd, but --parties names cdu,fdp",
        ),
        ({"agents": 4, "graph": "file,path=nowhere.txt"}, "cannot read nowhere.txt: No such file"),
    ],
)
def test_a_network_of_ones_own_that_does_not_fit_is_told(settings: dict, told: str) -> None:
    with pytest.raises(UserError, match=told):
        PopulationModel(**{"graph": friends(), **settings})


@check_each("graph", ["geometric", "complete", "blocks,directed=true", "scale_free,directed=true"])
def test_graphs_of_a_network_are_graphs_of_a_population(graph: str) -> None:
    """One set of names and options: what a debate takes, a population of up to 100,000 takes too."""
    model = PopulationModel("degroot", graph, 60, TWO, 2, 1)
    model.run()
    assert model.graph.shape == (60, 60)
    assert model.graph.nnz > 60
