"""Loads model and tokenizer, and says which model it is without saying where it lies."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

from llm.errors import UserError

FINGERPRINT_BYTES = 1 << 20
"""Read from the front of each weight file for the fingerprint: enough to tell checkpoints apart, quick for large ones."""


@dataclass(frozen=True)
class Loaded:
    """A model ready to be asked. `context` is the most tokens it can take, `ends` the tokens that end a reply."""

    model: Any
    tokenizer: Any
    identity: dict[str, Any]
    context: int
    ends: frozenset[int]


def load_model(name: str, dtype: str, load: str, device: str) -> Loaded:
    """Load from a folder or a hub id. Errors: UserError, in one line."""
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # one line for every 8-bit product otherwise
    transformers.utils.logging.disable_progress_bar()
    place = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
    options: dict[str, Any] = {"dtype": dtype if dtype == "auto" else getattr(torch, dtype), "trust_remote_code": False}
    if load != "full":
        options |= {"quantization_config": _quantisation(load, dtype), "device_map": {"": place}}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, padding_side="left", trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(name, **options)
        model = (model if load != "full" else model.to(place)).eval()
    except (OSError, ValueError, ImportError, RuntimeError, AssertionError) as error:
        raise UserError(f"cannot load the model {name}: {_first_line(error)}") from error
    if load == "4bit" and place.type == "cpu":
        _keep_trainable(model)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    return Loaded(model, tokenizer, _identity(name, model, dtype, load), _context(model), _ends(model, tokenizer))


def _quantisation(load: str, dtype: str) -> BitsAndBytesConfig:
    if load == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    compute = torch.bfloat16 if dtype == "auto" else getattr(torch, dtype)
    return BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=compute
    )


def _keep_trainable(model: Any) -> None:
    """Keep 4-bit layers from repacking their weights at the first generation on processors with AVX512-BF16.

    A repacked layer has no backward pass: training after generating would go on with silently wrong gradients.
    """
    from bitsandbytes.nn import Linear4bit

    for module in model.modules():
        if isinstance(module, Linear4bit):
            module.support_avx512bf16_for_cpu = False


def _context(model: Any) -> int:
    return int(getattr(model.config.get_text_config(), "max_position_embeddings", 0) or 1 << 30)


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    named = model.generation_config.eos_token_id
    listed = named if isinstance(named, list) else [named]
    return frozenset(int(token) for token in (*listed, tokenizer.eos_token_id) if token is not None)


def _identity(name: str, model: Any, dtype: str, load: str) -> dict[str, Any]:
    """What makes this model this model. A folder is named by its last part and known by its weights."""
    folder = Path(name)
    local = folder.is_dir()
    return {
        "backend": "hf",
        "model": folder.resolve().name if local else name,
        "weights": _fingerprint(folder) if local else str(getattr(model.config, "_commit_hash", None)),
        "dtype": str(model.dtype).removeprefix("torch.") if dtype == "auto" else dtype,
        "load": load,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }


def _fingerprint(folder: Path) -> str:
    """Digest of the configuration files, and of size and front of each weight file."""
    found = blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        if path.suffix in (".json", ".jinja", ".model", ".safetensors", ".bin") and path.is_file():
            found.update(f"{path.name}:{path.stat().st_size}:".encode())
            with path.open("rb") as file:
                found.update(file.read(FINGERPRINT_BYTES))
    return found.hexdigest()


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
