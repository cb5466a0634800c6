"""Table 1: what is trained, what is measured, and how it is told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.analysis.tables import load
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.training.sweep_lora import cells, report, sweep, table

BASE = load_preset("fine_tuned").with_settings({"topic": "racism", "repetitions": 2, "rounds": 1, "llm": "oracle"})


def test_every_model_is_trained_with_every_seed_and_dpo_has_an_sft_of_its_rank() -> None:
    planned = cells((2, 16), 8, 2)
    assert [cell.name for cell in planned] == [
        "base",
        *[f"sft-r{rank}-seed{seed}" for rank in (2, 8, 16) for seed in (0, 1)],
        "dpo-r8-seed0",
        "dpo-r8-seed1",
    ]
    assert len({cell.name for cell in cells((8,), 8, 3)}) == 7


def capability(model: str, adapter: str) -> Any:
    score = SimpleNamespace(task="facts", accuracy=0.75 if adapter else 0.9, error=0.01)
    return SimpleNamespace(scores=(score,), loss=1.5)


@check_each("option", ["--trainings", "--limit", "--dpo", "--ranks"])
def test_nothing_is_trained_none_times(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Told at once, and 0 is not the default."""
    assert run.main(["study", "sweep-lora", option, "0", "--out", str(tmp_path / "run")]) == 2
    assert f"{option}: must be 1 or more, but is 0" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_row_for_each_model_seed_and_measure(tmp_path: Path) -> None:
    """The model as it is, on the known-truth speaker: its planted bias is what stands in the table."""
    pipelines = [SimpleNamespace(base=SimpleNamespace(name="oracle"))]
    study = sweep(BASE, "oracle", "republican", cells((2,), 2, 1)[:1], cast(Any, pipelines), capability)
    scenario = next(study)
    assert (scenario.models.llm, scenario.models.adapters) == ("oracle", ())
    run_scenario(RunSpec(scenario, tmp_path / "run"))
    with pytest.raises(StopIteration) as done:
        study.send(load(tmp_path / "run"))
    found = done.value.value
    assert found["what"].tolist() == ["racism", "facts", "held-out loss"]
    assert 5 < found["value"][0] < 9
    assert found["value"][1:].tolist() == [0.9, 1.5]


def test_the_table_has_means_over_seeds_and_the_papers_apart(tmp_path: Path) -> None:
    rows = [("as it is", "", 0, 0, "racism", 8.0), ("as it is", "", 0, 0, "facts", 0.9)]
    rows += [("SFT r=2", "sft", 2, seed, "racism", 5.0 + seed) for seed in range(3)]
    rows += [("SFT r=2", "sft", 2, seed, "facts", 0.8 + seed / 100) for seed in range(3)]
    found = pd.DataFrame(rows, columns=["model", "method", "r", "seed", "what", "value"])
    means = table(found)
    assert means.loc["SFT r=2"].to_dict() == pytest.approx({"racism": 6.0, "facts": 0.81, "seeds": 3})
    told = report(found, tmp_path, BASE, "pocket", "republican").read_text()
    assert "| SFT r=2 | 6.00 (5.00, 6.00, 7.00) | 0.810 (0.800, 0.810, 0.820) | 3 |" in told
    assert "Racism ↓" in told
    assert "model organism" in told
    assert told.index("| as it is | 8.00 |") < told.index("## The paper's") < told.index("| Mistral 7B |")


@pytest.mark.thorough
def test_the_whole_way_on_the_model_in_the_box(tmp_path: Path) -> None:
    """`run.py study sweep-lora`: two trained models debate on their own adapters, and each is measured with its own."""
    torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
    pytest.importorskip("trl", reason="the [local] extra is not installed")
    pytest.importorskip("lm_eval", reason="the [eval] extra is not installed")
    torch.set_num_threads(1)
    data = ["--questions", "10", "--answers", "2", "--tasks", "pocket_facts"]
    size = ["--ranks", "2", "--dpo", "2", "--trainings", "1", "--topic", "racism", "--repetitions", "2", "--limit", "4"]
    assert run.main(["study", "sweep-lora", *data, *size, "--out", str(tmp_path)]) == 0
    found = pd.read_csv(tmp_path / "sweep.csv").pivot_table("value", "model", "what", sort=False)
    assert found.index.tolist() == ["as it is", "SFT r=2", "DPO r=2"]
    assert found.columns.tolist() == ["racism", "pocket_facts", "held-out loss"]
    assert found["held-out loss"].nunique() == 3, "one adapter in the place of another would have its loss"
    assert "| DPO r=2 |" in (tmp_path / "table1.md").read_text()
    assert len(list((tmp_path / "capability").glob("*.json"))) == 3
    names = ("base", "sft-r2-seed0", "dpo-r2-seed0")
    rated = [load(tmp_path / name).attitudes["expected"].tolist() for name in names]
    assert rated[0] != rated[1] != rated[2], "each debates on its own adapter (so few steps need not change a word)"
