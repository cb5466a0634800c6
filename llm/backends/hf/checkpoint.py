"""Which weights a folder holds, and on which an adapter was trained. No torch needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError

PIECES, PIECE = 64, 1 << 16
"""Pieces of a weight file, evenly spaced, and their bytes: what the fingerprint reads of a large one."""
DIGEST, COMMIT = 32, 40
"""Digits of a folder's fingerprint and of a hub commit: one cannot be compared with the other."""


def fingerprint(folder: Path) -> str:
    """Digest of the configuration files, and of size and pieces of each weight file (all of one up to 4 MiB)."""
    found = blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        if path.suffix in (".json", ".jinja", ".model", ".safetensors", ".bin") and path.is_file():
            size = path.stat().st_size
            found.update(f"{path.name}:{size}:".encode())
            with path.open("rb") as file:
                for number in range(PIECES):
                    file.seek(max(number * PIECE, number * (size - PIECE) // (PIECES - 1)))
                    found.update(file.read(PIECE))
    return found.hexdigest()


def adapter_config(folder: Path) -> dict[str, Any]:
    """How an adapter is made. Errors: UserError when the folder holds none."""
    try:
        return dict(json.loads((folder / "adapter_config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(f"{folder} holds no adapter (no adapter_config.json that can be read)") from error


def adapter_weights(folder: Path) -> str:
    """Digest of an adapter's weights, all of them. Errors: UserError when there are none."""
    for path in (folder / "adapter_model.safetensors", folder / "adapter_model.bin"):
        if path.is_file():
            with path.open("rb") as file:
                return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    raise UserError(f"{folder} holds no adapter (no adapter_model.safetensors)")


def check_base(folder: Path, identity: Mapping[str, Any]) -> None:
    """Errors: UserError when the adapter is known to have been trained on another model than that of `identity`.

    training.json beside it tells the model; of an adapter from elsewhere, which has none, nothing is known.
    """
    told = _trained_on(folder)
    one, other = str(told.get("weights")), str(identity.get("weights"))
    known = len(one) == len(other) == DIGEST or (
        len(one) == len(other) == COMMIT and told.get("model") != identity.get("model")
    )
    if known and one != other:
        raise UserError(
            f"{folder} was trained on another model: {told.get('model')} with weights {one[:8]}, "
            f"not {identity.get('model')} with {other[:8]}"
        )


def _trained_on(folder: Path) -> Mapping[str, Any]:
    try:
        told = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    base = told.get("base") if isinstance(told, dict) else None
    return base if isinstance(base, dict) else {}
