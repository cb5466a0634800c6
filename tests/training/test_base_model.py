"""Which model a spec names for training, and which it cannot."""

from __future__ import annotations

import pytest
from data_checks import check_each

from parley.llm.backends.pocket import WEIGHTS
from parley.llm.errors import UserError
from parley.training.base_model import BaseModel, base_model

POCKET, CONTROL = str(WEIGHTS / "pocket"), str(WEIGHTS / "control")


@check_each(
    ("spec", "base"),
    [
        ("pocket", BaseModel(POCKET, "pocket", "float32")),
        ("pocket:control,engine=torch,workers=1", BaseModel(CONTROL, "pocket", "float32")),
        (f"pocket:{CONTROL}", BaseModel(CONTROL, "pocket", "float32")),
        ("hf:org/model", BaseModel("org/model", "hf")),
        (
            "hf:a/folder,load=4bit,dtype=bfloat16,device=cuda:1",
            BaseModel("a/folder", "hf", "bfloat16", "4bit", "cuda:1"),
        ),
        ("hf:org/model,style=chat,closed=text,batch=99", BaseModel("org/model", "hf")),
    ],
)
def test_a_spec_names_a_model_to_load(spec: str, base: BaseModel) -> None:
    assert base_model(spec) == base


@check_each(
    ("spec", "words"),
    [
        ("oracle", "oracle cannot be trained"),
        ("openai:gpt-4o-mini", "openai cannot be trained"),
        ("fake", "fake cannot be trained"),
        ("replay:runs/a", "replay cannot be trained"),
        ("pockt", "did you mean pocket"),
        ("pocket:contrl", "did you mean control"),
        ("pocket:no/such/folder", "no/such/folder is not a model folder"),
        ("pocket,load=4bit", "unknown option of pocket 'load'"),
        ("pocket,dtype=float64", "unknown option of pocket 'dtype'"),
        ("hf", "hf needs a model"),
        ("hf:org/model,load=2bit", "option load of hf is '2bit', but must be one of full, 8bit, 4bit"),
        ("hf:org/model,style=plain", "leave out style=plain"),
        ("hf:org/model,adapters=a+b", "training starts from the model alone, so leave out adapters"),
    ],
)
def test_what_cannot_be_trained_is_one_line(spec: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        base_model(spec)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
