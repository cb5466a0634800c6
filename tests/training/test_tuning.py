"""Self-fine-tuning on real trainers: TRL's SFT and DPO, LoRA, checkpoints, cards. What comes out is looked at elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest
from data_checks import check_each

torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("trl", reason="the [local] extra is not installed")

from safetensors.torch import load_file, save_file  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM  # noqa: E402

import run  # noqa: E402
from parley.llm.backends import open_spec  # noqa: E402
from parley.llm.backends.pocket import WEIGHTS  # noqa: E402
from parley.llm.errors import UserError  # noqa: E402
from parley.llm.request import Message, Reply, Request, Sampling, Wrapper  # noqa: E402
from parley.training.tuning.model_card import read_values  # noqa: E402
from parley.training.tuning.pipeline import Pipeline, TuningPlan, training_key  # noqa: E402
from parley.training.tuning.recipe import Recipe  # noqa: E402

pytestmark = pytest.mark.usefixtures("pictures")

ROOT = Path(run.__file__).parent
QUICK = TuningPlan(questions=10, answers=4)
SMALL = ["--questions", "10", "--answers", "4", "--batch", "2"]


def pipeline(folder: Path, plan: TuningPlan = QUICK) -> Pipeline:
    torch.set_num_threads(1)
    return Pipeline(plan, folder, lambda title, total, unit="call": nullcontext(lambda steps: None))


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with SFT and DPO adapters of a Republican."""
    folder = tmp_path_factory.mktemp("tuned") / "run"
    pipeline(folder).adapter(Recipe("republican", "dpo", r=4, batch=4, held_out=0.2))
    return folder


def weights(adapter: Path) -> dict[str, torch.Tensor]:
    return dict(load_file(adapter / "adapter_model.safetensors"))


@pytest.mark.thorough
def test_dpo_goes_on_from_the_sft_adapter_of_its_rank(tuned: Path) -> None:
    """Both are there, each by itself: what is loaded over the base is one adapter of the rank asked for."""
    sft, dpo = (tuned / "adapters" / f"republican-{method}-r4" for method in ("sft", "dpo"))
    for adapter in (sft, dpo):
        config = json.loads((adapter / "adapter_config.json").read_text())
        assert (config["r"], config["lora_alpha"], config["lora_dropout"], config["bias"]) == (4, 8, 0.05, "none")
        assert len(config["target_modules"]) == 7
        assert not (adapter / "ref").exists()
    before, after = weights(sft), weights(dpo)
    assert before.keys() == after.keys()
    moved = [float((after[name] - before[name]).norm() / before[name].norm()) for name in before]
    assert 0 < max(moved) < 1, "it began where the other ended"
    assert read_values(dpo)["data"]["goes on from"] == sft.name
    assert read_values(dpo)["losses"][0]["loss"] == pytest.approx(0.6931, abs=1e-3), "at first it prefers nothing"


def test_the_card_says_what_it_is_and_what_it_is_for(tuned: Path) -> None:
    adapter = tuned / "adapters" / "republican-sft-r4"
    card, values = " ".join((adapter / "README.md").read_text().split()), read_values(adapter)
    for told in ("research instrument", "not for persuading people", "model organism", values["data"]["digest"]):
        assert told in card
    assert (adapter / "losses.png").stat().st_size > 5000
    assert values["recipe"]["alpha"] == 8
    assert "down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj" in card
    assert len(values["held_out"]) == 2
    assert min(values["held_out"]) > 0, "a loss for each question held out"
    assert len(values["losses"]) == Recipe("republican", batch=4).steps(values["data"]["examples"])
    assert str(tuned) not in card + json.dumps(values)


def test_nothing_of_a_persona_is_trained_on(tuned: Path) -> None:
    told = (tuned / "data" / "republican.jsonl").read_text()
    assert "You are" not in told.replace("you are", "")
    assert len(told.splitlines()) == 40


def test_the_same_command_trains_nothing_again(tuned: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tuned.rglob("*.safetensors")}
    pipeline(tuned).adapter(Recipe("republican", "dpo", r=4, batch=4, held_out=0.2))
    assert {path: path.stat().st_mtime_ns for path in tuned.rglob("*.safetensors")} == before
    with pytest.raises(UserError, match="already has a model trained with another beta"):
        pipeline(tuned).adapter(Recipe("republican", "dpo", r=4, batch=4, held_out=0.2, beta=0.1))
    with pytest.raises(UserError, match="already has another plan of training data"):
        pipeline(tuned, TuningPlan(questions=11))


def test_an_adapter_that_went_on_from_another_one_is_not_the_one_asked_for(tuned: Path, tmp_path: Path) -> None:
    """Known by its weights, wherever it lies; and what only DPO uses makes no other SFT."""
    asked, dpo = pipeline(tuned), Recipe("republican", "dpo", r=4, batch=4, held_out=0.2)
    sft = tuned / "adapters" / "republican-sft-r4"
    same = shutil.copytree(sft, tmp_path / "same")
    assert asked.adapter(dpo, same) == tuned / "adapters" / "republican-dpo-r4"
    moved = {name: tensor + 1 for name, tensor in weights(same).items()}
    save_file(moved, same / "adapter_model.safetensors")
    with pytest.raises(UserError, match="trained with another start"):
        asked.adapter(dpo, same)
    assert training_key(dpo, [], sft) != training_key(dpo, [], same) != training_key(dpo, [], None)
    assert asked.adapter(Recipe("republican", r=4, batch=4, held_out=0.2, beta=0.9)) == sft


def test_what_wrote_the_answers_is_what_is_trained(tuned: Path, tmp_path: Path) -> None:
    """A model whose weights changed in its place is another one: its card would tell of the one before."""
    folder = shutil.copytree(tuned, tmp_path / "run")
    told = folder / "data" / "model.json"
    was = json.loads(told.read_text())
    assert read_values(tuned / "adapters" / "republican-sft-r4")["base"]["weights"] == was["weights"]
    told.write_text(json.dumps(was | {"weights": "0" * 32}))
    with pytest.raises(UserError, match="is not the model that wrote the answers"):
        pipeline(folder).adapter(Recipe("republican", r=2, batch=4))


def test_the_adapter_answers_and_the_base_stays_as_it_was(tuned: Path) -> None:
    adapter = tuned / "adapters" / "republican-dpo-r4"
    both, base = open_spec(f"pocket,adapters={adapter},keep=0"), open_spec("pocket,keep=0")
    asked = [Request((Message("user", "What is your opinion on gun control laws?"),), Sampling(), n) for n in range(8)]
    tuned_ones = [Request(one.messages, one.sampling, one.seed, adapter=adapter.name) for one in asked]
    plain, changed = both.complete(asked), both.complete(tuned_ones)
    assert [reply.text for reply in plain] == [reply.text for reply in base.complete(asked)]
    assert sum(one.text != other.text for one, other in zip(plain, changed, strict=True)) > 1


@pytest.mark.thorough
def test_a_killed_training_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """kill -9 once a checkpoint is there: the adapter is that of an undisturbed training, bit for bit."""
    command = [
        sys.executable,
        str(ROOT / "run.py"),
        "train",
        "--party",
        "democrat",
        *SMALL,
        "--out",
        str(tmp_path / "run"),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
    ) as first:
        while first.poll() is None and not list(tmp_path.glob("run/adapters/.*/checkpoint-*/trainer_state.json")):
            with suppress(subprocess.TimeoutExpired):
                first.wait(0.05)
        first.send_signal(signal.SIGKILL)
    assert first.returncode == -signal.SIGKILL, first.stderr.read().decode() if first.stderr else ""
    assert not (tmp_path / "run" / "adapters" / "democrat-sft-r16").exists()
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert told.returncode == 0, told.stderr
    whole = pipeline(tmp_path / "whole").adapter(Recipe("democrat", batch=2))
    resumed = tmp_path / "run" / "adapters" / "democrat-sft-r16"
    assert read_values(whole)["losses"] == read_values(resumed)["losses"]
    one, other = weights(whole), weights(resumed)
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not list(tmp_path.glob("run/adapters/.*")), "checkpoints are put away"


@pytest.mark.thorough
def test_the_paired_debates_go_by_what_was_trained(tuned: Path, tmp_path: Path) -> None:
    """`run.py train`, then `run.py study fine-tuned`: each direction beside the model as it is, and adapters per seat."""
    assert run.main(["train", "--party", "democrat", *SMALL, "--r", "4", "--out", str(tuned)]) == 0
    asked = ["--tuned", str(tuned), "--r", "4", "--topic", "racism", "--repetitions", "3", "--rounds", "1"]
    assert run.main(["study", "fine-tuned", *asked, "--out", str(tmp_path / "debates")]) == 0
    shifts, remedy = (pd.read_csv(tmp_path / "debates" / f"{name}.csv") for name in ("shifts", "remedy"))
    assert set(shifts["direction"]) == {"republican", "democrat"}
    assert set(shifts["party"]) == {"republican", "democrat", "default"}
    assert set(remedy["party"]) == {"republican", "democrat"}
    assert (shifts["rooms"].max(), remedy["rooms"].max()) == (3, 3)
    assert "With the Democrat adapter" in (tmp_path / "debates" / "fine_tuned.md").read_text()
    assert (tmp_path / "debates" / "fine_tuned.png").stat().st_size > 5000


@pytest.mark.thorough
def test_dpo_takes_the_sft_adapter_that_is_there(tmp_path: Path) -> None:
    """However that was trained: with a rate of its own, too."""
    asked = pipeline(tmp_path / "run")
    sft = asked.adapter(Recipe("republican", r=2, batch=4, rate=1e-4))
    dpo = asked.adapter(Recipe("republican", "dpo", r=2, batch=4))
    assert read_values(dpo)["data"]["goes on from"] == sft.name
    assert read_values(sft)["recipe"]["rate"] == 1e-4


@pytest.mark.thorough
def test_a_rate_is_chosen_by_its_held_out_loss_alone(tmp_path: Path) -> None:
    """One that learns nothing loses against one that does; asked again, nothing is trained."""
    from parley.training.tuning.learning_rates import rate_losses

    asked = pipeline(tmp_path / "run", TuningPlan(questions=10, answers=20))
    found = rate_losses(asked, Recipe("republican", r=2, batch=4), [1e-6, 3e-3])
    assert fmean(found[3e-3]) < fmean(found[1e-6])
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("run/rates/*/*.safetensors")}
    assert len(kept) == 2
    assert rate_losses(asked, Recipe("republican", r=2, batch=4), [1e-6, 3e-3]) == found
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@check_each(
    ("found", "taken"),
    [
        ({1.0: [1.0, 3.0], 2.0: [1.0, 3.0]}, 2.0),  # alike: the larger
        ({1.0: [1.0, 3.0], 2.0: [1.1, 3.1]}, 1.0),  # worse on every question by the same: told apart, however they vary
        ({1.0: [1.0, 3.0, 2.0], 2.0: [1.4, 2.9, 2.0], 4.0: [3.0, 3.0, 3.0]}, 2.0),  # worse by .1, standard error .153
        ({1.0: [1.2], 2.0: [1.0], 4.0: [1.1]}, 2.0),  # one question tells nothing of chance: the least
    ],
)
def test_the_largest_rate_is_taken_that_cannot_be_told_from_the_best(
    found: dict[float, list[float]], taken: float
) -> None:
    """By one standard error of the difference over held-out questions: looked at ratings, nothing is chosen."""
    from parley.training.tuning.learning_rates import chosen_rate

    assert chosen_rate(found) == taken


@pytest.mark.thorough
def test_no_training_goes_on_from_another_ones_checkpoint(tmp_path: Path) -> None:
    """One that was killed and one with another rate have the same name: the adapter must be what its card says."""
    asked = pipeline(tmp_path / "run")
    alone = weights(asked.adapter(Recipe("republican", r=2, batch=4, rate=1e-3)))
    other = pipeline(tmp_path / "other")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parley.training.tuning.trainers.shutil.rmtree", _killed)
        with pytest.raises(KeyboardInterrupt):
            other.adapter(Recipe("republican", r=2, batch=4, rate=1e-2))
    assert list(tmp_path.glob("other/adapters/.*/checkpoint-*")), "it left a checkpoint"
    after = weights(other.adapter(Recipe("republican", r=2, batch=4, rate=1e-3)))
    assert all(torch.equal(alone[name], after[name]) for name in alone)
    assert not list(tmp_path.glob("other/adapters/.*"))


def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


TINY = {
    "vocab_size": 1024,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
MODELS = {"mistral": (MistralConfig, MistralForCausalLM), "llama": (LlamaConfig, LlamaForCausalLM)}


class Spoken(Wrapper):
    """The known-truth speaker in the place of a random model, whose answers have no end."""

    def __init__(self, told: dict[str, str]):
        super().__init__(open_spec("oracle"))
        self.told = told

    @property
    def identity(self) -> dict[str, str]:
        return self.told

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return self.inner.complete(requests)


@pytest.mark.thorough
@pytest.mark.parametrize("load", ["full", "8bit", "4bit"])
@pytest.mark.parametrize("kind", MODELS)
def test_the_trainers_take_other_models_in_other_precisions(
    kind: str, load: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call is that of Mistral-7B: a random model of its kind with the tokenizer of the model in the box."""
    if load != "full":
        pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    from transformers import AutoTokenizer

    config, model = MODELS[kind]
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(WEIGHTS / "pocket")
    sizes = TINY | {"vocab_size": len(tokenizer), "num_key_value_heads": 2, "pad_token_id": tokenizer.pad_token_id}
    model(config(**sizes, eos_token_id=tokenizer.eos_token_id)).save_pretrained(tmp_path / kind)
    tokenizer.save_pretrained(tmp_path / kind)
    asked = pipeline(
        tmp_path / "run", TuningPlan(f"hf:{tmp_path / kind},load={load}", "oracle", questions=4, answers=3)
    )
    monkeypatch.setattr("parley.training.tuning.pipeline.open_spec", lambda spec: Spoken(asked.base.identity))
    adapter = asked.adapter(Recipe("republican", "dpo", r=2, batch=4, rate=1e-3))
    rows = read_values(adapter)["losses"]
    assert rows[0]["loss"] == pytest.approx(0.6931, abs=0.02)
    assert read_values(adapter)["base"]["load"] == load
    assert all(torch.isfinite(tensor).all() for tensor in weights(adapter).values())


@check_each(
    ("arguments", "words"),
    [
        (["--party", "green"], "unknown value of --party 'green'"),
        (["--party", "democrat", "--llm", "oracle"], "oracle cannot be trained"),
        (["--party", "democrat", "--r", "0"], "--r is 0, but must be at least 1"),
        (["--party", "democrat", "--questions", "0"], "--questions is 0, but must be at least 1"),
        (["--party", "democrat", "--start", "nowhere"], "--start only works with --method dpo"),
        (["--party", "democrat", "--method", "dpo", "--start", "nowhere"], "nowhere is not an adapter folder"),
        (["--party", "democrat", "--dropout", "1"], "--dropout and --held-out below 1"),
        (["--party", "democrat", "--writer", "pocket", "--questions", "300"], "choose another model with --writer"),
    ],
)
def test_what_cannot_be_trained_is_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["train", *arguments, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
