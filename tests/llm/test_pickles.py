"""Weights and matrices are data: a pickle in one of them runs nothing, and is refused in one line."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parley.environments.graph_files import read_graph
from parley.llm.backends import open_spec
from parley.llm.backends.hf.checkpoint import adapter_folders, adapter_weights
from parley.llm.errors import UserError


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.fixture
def sprung(tmp_path: Path) -> Path:
    """A path that a trap makes; the trap works."""
    path = tmp_path / "sprung"
    pickle.loads(pickle.dumps(Trap(path)))
    path.rmdir()
    return path


def test_an_adapter_is_read_from_safetensors_alone(tmp_path: Path, sprung: Path) -> None:
    """An adapter_model.bin is what PEFT would unpickle where the other file is missing."""
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}), encoding="utf-8")
    (folder / "adapter_model.bin").write_bytes(pickle.dumps(Trap(sprung)))
    for read in (
        lambda: adapter_folders([str(folder)]),
        lambda: adapter_weights(folder),
        lambda: open_spec(f"pocket,adapters={folder}"),
    ):
        with pytest.raises(UserError, match=r"adapter") as raised:
            read()
        assert "safetensors" in str(raised.value)
    assert not sprung.exists()


def test_a_matrix_of_objects_is_no_graph(tmp_path: Path, sprung: Path) -> None:
    """A .npz can hold pickled objects in each of its arrays."""
    objects = np.empty(1, dtype=object)
    objects[0] = Trap(sprung)
    fields = {"format": b"coo", "shape": (2, 2), "row": [0], "col": [1], "data": [1.0]}
    for name in fields:
        np.savez(tmp_path / "net.npz", **(fields | {name: objects}))
        with pytest.raises(ValueError, match="is not a matrix that scipy"):
            read_graph(str(tmp_path / "net.npz"))
    assert not sprung.exists()
