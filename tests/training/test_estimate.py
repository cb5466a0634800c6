"""What is said before hours are spent, and what is not spent twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import run
from parley.agents.persona import load_personas
from parley.model.scenario import load_preset
from parley.training.capability.measure import Capability, Score, saved_capability
from parley.training.estimate import UNKNOWN, of_sweep, of_training
from parley.training.sweep_lora import PAPER, PREFERRED, cells
from parley.training.tuning.interviews import draw_personas
from parley.training.tuning.pipeline import TuningPlan
from parley.training.tuning.recipe import DPO, Recipe


def test_a_hub_id_has_no_made_up_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is loaded for a dry run; without a measured step there is no number of hours."""
    assert (
        run.main(
            ["study", "sweep-lora", "--dry-run", "--llm", "hf:org/model", "--set", "probe=attitude", "--trainings", "1"]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "4,000 answers" in told
    assert "63 dpo r=8" in told
    assert told.count(UNKNOWN) == 2


def test_calls_and_steps_are_counted() -> None:
    """100 questions, 20 answers, two parties; 2,000 examples in batches of 32; DPO needs the SFT before it."""
    work = of_training(TuningPlan("hf:org/model"), Recipe("republican", DPO))
    assert work.calls == {"answers": 4000}
    assert work.steps == {"sft r=16": 63, "dpo r=16": 63}
    swept = of_sweep(TuningPlan("hf:org/model"), load_preset("fine_tuned"), cells((16,), 8, 3), "republican")
    assert swept.calls["answers"] == 12_000
    assert swept.scores == 10


@pytest.mark.thorough
def test_a_step_of_the_model_in_the_box_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="the [local] extra is not installed")
    pytest.importorskip("trl", reason="the [local] extra is not installed")
    assert run.main(["train", "--party", "republican", "--batch", "2", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "1,000 sft r=16" in told
    assert "s a reply, sft" in told
    assert UNKNOWN not in told


def test_training_takes_any_set_of_personas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers were always those of the shipped personas, whoever debated."""
    for party in ("republican", "democrat"):
        text = f'[[persona]]\nname = "Zoe"\nbackstory = "You are Zoe, a {party}."\n'
        (tmp_path / f"{party}.toml").write_text(text, encoding="utf-8")
    assert [one.name for one in draw_personas("democrat", 1, 0, tmp_path)] == ["Zoe"]
    assert draw_personas("democrat", 40, 0) != load_personas("democrat")
    plan = TuningPlan(people=str(tmp_path))
    assert plan.to_dict()["people"] == str(tmp_path)
    assert "people" not in TuningPlan().to_dict(), "folders of earlier versions go on"
    assert run.main(["train", "--party", "democrat", "--set", "personas=voterz", "--dry-run"]) == 2
    assert "did you mean voters" in capsys.readouterr().err
    assert run.main(["train", "--party", "democrat", "--set", "probe=attitude", "--dry-run"]) == 2
    assert "train takes only --set personas, words," in capsys.readouterr().err


def test_capability_is_measured_once(tmp_path: Path) -> None:
    """A finished sweep asked MMLU and HellaSwag again on every resume."""
    asked: list[tuple[str, str]] = []

    def measure(model: str, adapter: str) -> Capability:
        asked.append((model, adapter))
        return Capability(model, adapter, (Score("mmlu", "acc", 0.5, 0.01, 100, 0.25),), 1.5, 10)

    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_bytes(b"one")
    first = [saved_capability(measure, tmp_path / "kept", "mmlu")("org/model", one) for one in ("", str(adapter))]
    again = [saved_capability(measure, tmp_path / "kept", "mmlu")("org/model", one) for one in ("", str(adapter))]
    assert (first, len(asked)) == (again, 2)
    (adapter / "adapter_model.safetensors").write_bytes(b"two")
    saved_capability(measure, tmp_path / "kept", "mmlu")("org/model", str(adapter))
    saved_capability(measure, tmp_path / "kept", "hellaswag")("org/model", "")
    assert len(asked) == 4, "another adapter, or other tasks, are another measurement"


def test_the_papers_rows_can_be_held() -> None:
    """Its DPO row is r=8, on an SFT of the same rank; Llama 2 stands beside."""
    assert PREFERRED["hf"] == 8
    assert [cell.title for cell in cells((16,), PREFERRED["hf"], 1)] == ["as it is", "SFT r=8", "SFT r=16", "DPO r=8"]
    assert any(str(row[0]).startswith("Llama 2 7B") for row in PAPER)
