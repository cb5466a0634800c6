"""Populations as arrays: the same seed gives the same record, what is recorded is what was there, and Mesa's rules hold."""

from __future__ import annotations

from pathlib import Path

import mesa
import numpy as np
import pyarrow.parquet as pq
import pytest

from llm.errors import UserError
from model.columns import AGENTS, ATTITUDES, ToParquet
from model.people import Party, begun, parse_parties, seated
from model.population import PopulationModel

TWO = "republican:3:1,democrat:8:1:3"


def recorded(folder: Path, every: int = 2, **settings: object) -> PopulationModel:
    recorder = ToParquet(folder, every, {"seed": 1})
    model = PopulationModel(**{"agents": 300, "steps": 4, "rng": 1, "recorder": recorder} | settings)  # type: ignore[arg-type]
    model.run()
    recorder.close()
    return model


@pytest.mark.parametrize("graph", ["small_world", "random", "ring", "blocks", "scale_free,degree=4"])
@pytest.mark.parametrize("law", ["deffuant", "hegselmann_krause", "degroot", "friedkin_johnsen"])
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
    monkeypatch.setattr("model.columns.ROWS", 128)
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


def test_a_full_disk_is_told_and_leaves_a_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in `step` would stop a model of Mesa 3.5 for good without a word: it is kept, and `run` raises it."""
    recorder = ToParquet(tmp_path, 1, {})
    model = PopulationModel(agents=50, rng=1, recorder=recorder)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorder._writer, "write_table", full)
    model.step()
    assert model.over
    with pytest.raises(UserError, match="No space left"):
        model.run()
    assert "No space" in model.datacollector.get_model_vars_dataframe()["stopped"].iloc[-1]
    monkeypatch.undo()
    recorder.close(whole=False)
    assert not (tmp_path / ATTITUDES).exists()


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
    codes = seated(parties, 4000, rng)
    assert np.bincount(codes).tolist() == [1000, 3000]
    starts = begun(parties, codes, rng)
    assert starts[codes == 0].mean() == pytest.approx(3, abs=0.1)
    assert starts[codes == 0].std() == pytest.approx(1, abs=0.1)
    assert 0 <= starts.min() <= starts.max() <= 10
    assert np.diff(np.flatnonzero(codes == 0)).max() > 5  # mixed, not one after the other
    assert parse_parties("a:2,b") == (Party("a", 2.0, (0.0, 10.0)), Party("b", 1.0, (0.0, 10.0)))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"law": "degrot"}, "did you mean degroot"),
        ({"graph": "smallworld"}, "did you mean small_world"),
        ({"graph": "ring,rewire=1"}, "unknown option of ring"),
        ({"graph": "ring,degree=x"}, "degree=value"),
        ({"graph": "ring,degree=3"}, "even degree"),
        ({"agents": 0}, "1 to 100,000,000"),
        ({"parties": "a:11:1"}, "from 0 to 10"),
        ({"parties": "a:1:1,a:2:1"}, "named twice"),
        ({"parties": "a:1:2:3:4"}, "NAME:MEAN:SD"),
    ],
)
def test_what_is_mistyped_is_told(settings: dict, told: str) -> None:
    with pytest.raises(UserError, match=told):
        PopulationModel(**settings)
