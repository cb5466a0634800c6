"""What is checked and prepared before a training: models, templates, checkpoints, adapters to go on from. Nothing is trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from data_checks import check_each

torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("trl", reason="the [local] extra is not installed")

from hf_models import CHAT, save  # noqa: E402

from parley.llm.backends.hf.answer_tokens import encode  # noqa: E402
from parley.llm.backends.hf.loading import load_model  # noqa: E402
from parley.llm.errors import UserError  # noqa: E402
from parley.llm.request import Message, Request, Sampling  # noqa: E402
from parley.training.base_model import BaseModel, base_model  # noqa: E402
from parley.training.tuning import trainers  # noqa: E402
from parley.training.tuning.pipeline import check_start  # noqa: E402
from parley.training.tuning.recipe import EarlyStopping, Recipe  # noqa: E402
from parley.training.tuning.trainers import (  # noqa: E402  # noqa: E402
    check_lengths,
    check_trainable,
    fit_template,
    last_checkpoint,
)

DATED = "Today is {{ date_string or strftime_now('%d %b %Y') }}." + CHAT
ASKED = {"prompt": [{"role": "user", "content": "Why?"}]}
SAID = {name: [{"role": "assistant", "content": f"{name}."}] for name in ("completion", "chosen", "rejected")}
EXAMPLES = {
    "sft": ASKED | {"completion": SAID["completion"]},
    "dpo": ASKED | {"chosen": SAID["chosen"], "rejected": SAID["rejected"]},
}


@pytest.mark.parametrize("method", EXAMPLES)
def test_a_template_with_a_date_says_the_same_in_training_as_in_use(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And two visible GPUs are no hindrance: one is used."""
    name = f"{method.upper()}Config"
    monkeypatch.setattr(trainers.trl, name, _two_gpus(getattr(trainers.trl, name)))
    loaded = load_model(str(save(tmp_path / "llama", "llama", DATED)), "float32", "full", "cpu")
    recipe = Recipe("democrat", method, r=2).filled("hf")
    trainer = trainers._make_trainer(recipe, loaded, [EXAMPLES[method]] * 2, [], tmp_path / "work", None, None)
    (row, _) = trainer.train_dataset
    (asked,) = encode([Request((Message("user", "Why?"),), Sampling(), 0)], loaded.tokenizer, "auto")
    assert row["input_ids" if method == "sft" else "prompt_ids"][: len(asked)] == asked
    assert "26 Jul 2024" in loaded.tokenizer.decode(asked)
    assert trainer.args.train_batch_size == recipe.batch


def _two_gpus(config: Any) -> Callable[..., Any]:
    def made(**options: Any) -> Any:
        args = config(**options)
        args._n_gpu = 2
        return args

    return made


def test_a_model_that_cannot_be_trained_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    """Without a chat template TRL stops after all answers; without some projections LoRA would be on the others only."""
    check_trainable(base_model("pocket"))
    with pytest.raises(UserError, match="its tokenizer has no chat template"):
        check_trainable(BaseModel(str(save(tmp_path / "bare", "llama", None)), "hf"))
    with pytest.raises(UserError, match="its layers lack o_proj, gate_proj, up_proj, down_proj"):
        check_trainable(BaseModel(str(save(tmp_path / "phi", "phi")), "hf"))
    with pytest.raises(UserError, match="cannot load the model"):
        check_trainable(BaseModel(str(tmp_path), "hf"))


def test_a_checkpoint_that_was_half_written_is_left_out(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path / "nowhere") is None
    for name in ("checkpoint-6", "checkpoint-12", "checkpoint-18"):
        (tmp_path / name).mkdir()
    for name in ("checkpoint-6", "checkpoint-12"):
        (tmp_path / name / "trainer_state.json").write_text("{}")
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-12")
    assert not (tmp_path / "checkpoint-18").exists(), "a training would write into it"


def test_no_half_precision_where_the_device_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emulated it is slower than full precision, and transformers refuses."""
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation)
    assert not trainers.training_settings(Recipe("democrat"), tmp_path, 10, True)["bf16"]


def adapter(folder: Path, **values: Any) -> Path:
    """What `check_start` reads of one of rank 4."""
    folder.mkdir()
    told: dict[str, Any] = {"recipe": {"held_out": 0.2, "seed": 0}, "base": base_model("pocket").identity} | values
    (folder / "training.json").write_text(json.dumps(told))
    config = {"r": 4, "lora_alpha": 8, "lora_dropout": 0.05}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    return folder


@check_each(
    ("recipe", "words"),
    [
        (Recipe("democrat", r=4), "--start only works with --method dpo"),
        (Recipe("democrat", "dpo", r=8), "was made with --r 4 --alpha 8 --dropout 0.05"),
        (Recipe("democrat", "dpo", r=4, alpha=16), "was made with --r 4 --alpha 8"),
        (Recipe("democrat", "dpo", r=4, dropout=0.1), "was made with --r 4 --alpha 8"),
        (Recipe("democrat", "dpo", r=4, held_out=0.1), "was trained with another held_out"),
        (Recipe("democrat", "dpo", r=4, held_out=0.2, seed=1), "was trained with another seed"),
    ],
)
def test_an_adapter_that_cannot_be_gone_on_from_is_one_line(recipe: Recipe, words: str, tmp_path: Path) -> None:
    """PEFT keeps the settings of the adapter that it loads: a card with those of the recipe would be wrong."""
    start, base = adapter(tmp_path / "start"), base_model("pocket")
    check_start(start, Recipe("democrat", "dpo", r=4, held_out=0.2).filled("pocket"), base)
    check_start(start, Recipe("democrat", "dpo", r=4, seed=1).filled("pocket"), base)
    with pytest.raises(UserError, match=words):
        check_start(start, recipe.filled("pocket"), base)


def test_an_adapter_of_another_model_or_without_weights_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    dpo = Recipe("democrat", "dpo", r=4).filled("pocket")
    with pytest.raises(UserError, match="was trained on another model"):
        check_start(adapter(tmp_path / "one"), dpo, base_model("pocket:control"))
    (tmp_path / "one" / "adapter_model.safetensors").unlink()
    with pytest.raises(UserError, match="is not an adapter folder"):
        check_start(tmp_path / "one", dpo, base_model("pocket"))
    with pytest.raises(UserError, match="is not an adapter folder"):
        check_start(tmp_path / "nowhere", dpo, base_model("pocket"))


def test_a_batch_is_kept_whatever_its_parts() -> None:
    """24 examples are four parts of six, not two of sixteen; a batch of 7 is seven parts of one where three fit."""
    for batch, micro, part in ((24, 16, 12), (20, 16, 10), (16, 16, 16), (7, 3, 1), (8, 32, 8)):
        settings = trainers.stopping_settings(EarlyStopping(20, 3, micro), batch)
        assert settings["per_device_train_batch_size"] == part
        assert settings["per_device_train_batch_size"] * settings["gradient_accumulation_steps"] == batch


EXAMPLE = {"prompt": [{"role": "system", "content": "You are Ann."}, {"role": "user", "content": "Why?"}],
           "completion": [{"role": "assistant", "content": "Because."}]}  # fmt: skip


def test_examples_fit_the_template_and_the_length(tmp_path: Path) -> None:
    """A template without a system role gets the persona in the first message; an example that would be cut is refused."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(save(tmp_path / "m", "llama"))
    assert fit_template([EXAMPLE], tokenizer) == [EXAMPLE]
    tokenizer.chat_template = (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHAT
    )
    (folded,) = fit_template([EXAMPLE], tokenizer)
    assert folded["prompt"] == [{"role": "user", "content": "You are Ann.\n\nWhy?"}]
    assert folded["completion"] == EXAMPLE["completion"]
    check_lengths([folded], tokenizer, 1000)
    with pytest.raises(UserError, match="would be cut at 5: set --length"):
        check_lengths([folded], tokenizer, 5)
