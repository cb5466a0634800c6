"""Which debates are held for which adapters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from data_checks import check_each

from parley.llm.errors import UserError
from parley.training.base_model import base_model
from parley.training.commands.tuning import arms

SEATED = ("republican", "democrat", "default")


def tuned(folder: Path, seed: int, *parties: str, llm: str = "pocket") -> Path:
    """What `run.py train` leaves, as far as it is looked at."""
    for party in parties:
        adapter = folder / "adapters" / f"{party}-sft-r16"
        adapter.mkdir(parents=True)
        (adapter / "adapter_config.json").write_text("{}")
    folder.mkdir(exist_ok=True)
    (folder / "plan.json").write_text(json.dumps({"llm": llm, "seed": seed}))
    return folder


def test_before_after_and_per_seat_for_every_training_seed(tmp_path: Path) -> None:
    """Before once; after for each party and seed; per seat only where both parties have an adapter."""
    folders = [tuned(tmp_path / "a", 0, "republican", "democrat"), tuned(tmp_path / "b", 1, "republican")]
    found = {arm.name: arm for arm in arms(folders, "sft", 16, None, SEATED)}
    assert list(found) == ["before", "after-republican-0", "after-democrat-0", "after-republican-1", "per_seat-0"]
    assert (found["before"].spec, found["before"].adapters) == ("pocket", ())
    one = found["after-republican-1"]
    assert one.spec == f"pocket,adapters={folders[1]}/adapters/republican-sft-r16"
    assert one.adapters == tuple(f"{seat}:republican-sft-r16" for seat in ("republican", "democrat", "default"))
    seats = found["per_seat-0"]
    assert seats.adapters == ("republican:republican-sft-r16", "democrat:democrat-sft-r16"), "the Default has none"
    assert seats.spec.count("+") == 1


def test_every_adapter_of_shuffled_parties_debates_once(tmp_path: Path) -> None:
    """It serves both parties: what training moves by itself has no party."""
    folder = tuned(tmp_path / "a", 0, "republican", "democrat")
    for number in (1, 2):
        null = folder / "adapters" / f"republican-sft-r16-shuffle{number}"
        null.mkdir()
    found = [arm for arm in arms([folder], "sft", 16, None, SEATED) if arm.kind == "shuffled"]
    assert [arm.name for arm in found] == [f"shuffled-0-republican-sft-r16-shuffle{number}" for number in (1, 2)]
    assert [arm.direction for arm in found] == ["", ""]
    assert found[0].adapters[0] == "republican:republican-sft-r16-shuffle1"


def test_folders_that_cannot_be_compared_are_one_line(tmp_path: Path) -> None:
    first, same = tuned(tmp_path / "a", 0, "democrat"), tuned(tmp_path / "b", 0, "democrat")
    other, bare = tuned(tmp_path / "c", 1, "democrat", llm="hf:m"), tuned(tmp_path / "d", 2)
    for folders in ([first, same], [first, other]):
        with pytest.raises(UserError, match="must have the same model and different seeds"):
            arms(folders, "sft", 16, None, SEATED)
    with pytest.raises(
        UserError, match=r"has no adapter sft-r16: train it with python run\.py train --method sft --r 16"
    ):
        arms([bare], "sft", 16, None, SEATED)


def test_a_model_that_the_adapters_were_not_trained_on_is_one_line(tmp_path: Path) -> None:
    """The debates before would be of another model than those after. Of an adapter that tells nothing, nothing is known."""
    folder = tuned(tmp_path / "a", 0, "republican")
    card = folder / "adapters" / "republican-sft-r16" / "training.json"
    card.write_text(json.dumps({"base": base_model("pocket").identity}))
    assert len(arms([folder], "sft", 16, "pocket,keep=0", SEATED)) == 2
    with pytest.raises(UserError, match="was trained on another model, pocket with weights"):
        arms([folder], "sft", 16, "pocket:control", SEATED)
    card.unlink()
    assert len(arms([folder], "sft", 16, "pocket:control", SEATED)) == 2


@check_each("held", ["{}", "[]", '{"llm": "pocket"}'])
def test_a_plan_that_is_none_is_one_line(held: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(held)
    with pytest.raises(UserError, match=r"was not written by run\.py train"):
        arms([tmp_path], "sft", 16, None, SEATED)
