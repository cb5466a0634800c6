"""Says which weights a folder holds, and on which weights an adapter was trained. Needs no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError

PIECES, PIECE = 64, 1 << 16
"""The fingerprint reads so many evenly spaced pieces of a weight file, each of so many bytes."""
DIGEST, COMMIT = 32, 40
"""Digits of a folder's fingerprint and of a hub commit. The two cannot be compared with each other."""


def fingerprint(folder: Path) -> str:
    """Return a digest of the configuration files, and of size and pieces of each weight file (all of one up to 4 MiB)."""
    digest = blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        if path.suffix in (".json", ".jinja", ".model", ".safetensors", ".bin") and path.is_file():
            size = path.stat().st_size
            digest.update(f"{path.name}:{size}:".encode())
            with path.open("rb") as file:
                for number in range(PIECES):
                    file.seek(max(number * PIECE, number * (size - PIECE) // (PIECES - 1)))
                    digest.update(file.read(PIECE))
    return digest.hexdigest()


def adapter_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of an adapter. Errors: UserError when the folder holds none."""
    try:
        return dict(json.loads((folder / "adapter_config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{folder} is not an adapter folder, because its adapter_config.json is missing or cannot be read"
        ) from error


def adapter_folders(adapters: Sequence[str]) -> dict[str, Path]:
    """Return adapter folders by name. Errors: UserError on two of one name, no adapter, one that cannot share a batch."""
    folders: dict[str, Path] = {}
    for folder in map(Path, adapters):
        name = folder.resolve().name.replace(".", "_")
        if name in folders:
            raise UserError(f"two adapters are called {name}: give their folders different names")
        config = adapter_config(folder)
        if config.get("peft_type") != "LORA" or config.get("use_dora") or config.get("bias", "none") != "none":
            raise UserError(
                f"{folder}: this adapter uses DoRA or biases, which Parley does not support: train a plain LoRA adapter"
            )
        if config.get("megatron_config"):  # PEFT imports the module that the file names
            raise UserError(
                f"{folder}: adapter_config.json names a Python module (megatron_core), which Parley never imports from data"
            )
        _weights(folder)
        folders[name] = folder
    return folders


def adapter_weights(folder: Path) -> str:
    """Return a digest of all weights of an adapter. Errors: UserError when there are none."""
    with _weights(folder).open("rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()


def _weights(folder: Path) -> Path:
    """Return the weights of an adapter. A .bin file is a pickle, and never read. Errors: UserError where they are missing."""
    path = folder / "adapter_model.safetensors"
    if not path.is_file():
        raise UserError(f"{folder} is not an adapter folder, because its adapter_model.safetensors is missing")
    return path


def check_base(folder: Path, identity: Mapping[str, Any]) -> None:
    """Errors: UserError when the adapter was trained on another model than that of `identity`.

    The file training.json of the adapter names its model. An adapter without that file is not checked.
    """
    base = _trained_on(folder)
    weights, expected = str(base.get("weights")), str(identity.get("weights"))
    if len(weights) == len(expected) == COMMIT:
        comparable = base.get("model") != identity.get("model")
    else:
        comparable = len(weights) == len(expected) == DIGEST
    if comparable and weights != expected:
        raise UserError(
            f"{folder} was trained on another model, {base.get('model')} with weights {weights[:8]}, not {identity.get('model')} "
            f"with weights {expected[:8]}: load it with its own model, or train an adapter for this model"
        )


def _trained_on(folder: Path) -> Mapping[str, Any]:
    try:
        training = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    base = training.get("base") if isinstance(training, dict) else None
    return base if isinstance(base, dict) else {}
