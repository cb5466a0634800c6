"""Loads a model and its tokenizer, and identifies the model without naming the place of its files."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, DynamicCache

from parley.llm.backends.hf import grouped_attention
from parley.llm.backends.hf.checkpoint import adapter_folders, check_base, fingerprint
from parley.llm.errors import UserError
from parley.llm.model_catalogue import cached_files


@dataclass(frozen=True)
class Loaded:
    """A model with its tokenizer.

    `context` is the number of tokens that fit, `ends` are the tokens that end a reply, `adapters` the names of the loaded
    adapters. `copied` are forms of names, of which a reply may hold one only if the prompt does; the configuration lists them.
    Models of the pocket kind draw their tokens in a race (token_race.py): `suppressed` tokens never, nor those whose probability
    is below `min_p` times the largest one.
    """

    model: Any
    tokenizer: Any
    identity: dict[str, Any]
    context: int
    ends: frozenset[int]
    copied: tuple[tuple[int, ...], ...] = ()
    adapters: tuple[str, ...] = ()
    races: bool = False
    suppressed: tuple[int, ...] = ()
    min_p: float = 0.0


def load_model(name: str, dtype: str, load: str, device: str, adapters: Sequence[str] = ()) -> Loaded:
    """Load a model from a folder or a hub id. Errors: UserError, in one line."""
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # one line for every 8-bit product otherwise
    transformers.utils.logging.disable_progress_bar()
    place = find_device(device)
    options = load_options(dtype, load, place)
    files = cached_files(name)
    with load_errors(name):
        tokenizer = AutoTokenizer.from_pretrained(name, padding_side="left", trust_remote_code=False, **files)
        model: Any = AutoModelForCausalLM.from_pretrained(name, **options, **files)
        model = (model if load != "full" else model.to(place)).eval()
    if not all(hasattr(layer, "batch_repeat_interleave") for layer in DynamicCache(config=model.config).layers):
        raise UserError(
            f"cannot use the model {name}: only models with attention in every layer "
            "are supported; choose another model"
        )
    if load == "4bit" and place.type == "cpu":
        _keep_trainable(model)
    if place.type == "cpu" and model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(grouped_attention.name_of(1))
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    identity = _identity(name, model, dtype, load)
    context = int(getattr(model.config.get_text_config(), "max_position_embeddings", 0) or 1 << 30)
    ends, copied = _end_tokens(model, tokenizer), tuple(map(tuple, getattr(model.config, "copied", ())))
    if folders := adapter_folders(adapters):
        for folder in folders.values():
            check_base(folder, identity)
        identity["adapters"] = {adapter: fingerprint(folder) for adapter, folder in folders.items() if folder.is_dir()}
        model = _with_adapters(model, folders)
    return Loaded(model, tokenizer, identity, context, ends, copied, tuple(folders), *_limits(model))


def find_device(device: str) -> torch.device:
    """Return the device of the option `device`. Errors: UserError on an unknown one."""
    try:
        return torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
    except RuntimeError as error:
        raise UserError(
            f"device {device!r} is unknown: write auto, cpu, cuda, or cuda with a number, such as cuda:1"
        ) from error


def load_options(dtype: str, load: str, place: torch.device) -> dict[str, Any]:
    """Return how weights are loaded: their number format, and whether in 8 or 4 bits."""
    options: dict[str, Any] = {"dtype": dtype if dtype == "auto" else getattr(torch, dtype), "trust_remote_code": False}
    if load != "full":
        options |= {"quantization_config": _quantisation(load, dtype), "device_map": {"": place}}
    return options


@contextmanager
def load_errors(name: str) -> Iterator[None]:
    """Turn any error of loading a model or its tokenizer into one line for the user."""
    try:
        yield
    except (OSError, ValueError, ImportError, RuntimeError, AssertionError, SafetensorError) as error:
        raise UserError(f"cannot load the model {name}: {_first_line(error)}") from error


def _with_adapters(model: Any, folders: Mapping[str, Path]) -> Any:
    """Return the model with adapters by name. Errors: UserError."""
    from peft import PeftModel

    adapted: Any = None
    warnings.filterwarnings("ignore", ".*_checkpointing` is deprecated.*", FutureWarning)  # PEFT uses the old name
    for name, folder in folders.items():
        try:
            if adapted is None:
                adapted = PeftModel.from_pretrained(model, str(folder), adapter_name=name)
            else:
                adapted.load_adapter(str(folder), adapter_name=name)
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
            raise UserError(f"cannot load the adapter {folder}: {_first_line(error)}") from error
    return adapted.eval()


def _quantisation(load: str, dtype: str) -> BitsAndBytesConfig:
    if load == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    compute = torch.bfloat16 if dtype == "auto" else getattr(torch, dtype)
    return BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=compute
    )


def _keep_trainable(model: Any) -> None:
    """Keep 4-bit layers from repacking their weights at the first generation on processors with AVX512-BF16.

    A repacked layer has no backward pass. Training after generation would then use wrong gradients without a message.
    """
    from bitsandbytes.nn import Linear4bit

    for module in model.modules():
        if isinstance(module, Linear4bit):
            module.support_avx512bf16_for_cpu = False


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    return frozenset(int(token) for token in (*ends, tokenizer.eos_token_id) if token is not None)


def _limits(model: Any) -> tuple[bool, tuple[int, ...], float]:
    """Return whether a model is of the pocket kind (its configuration lists topics), its suppressed tokens, and its min_p."""
    if not hasattr(model.config, "topics"):
        return False, (), 0.0
    settings = model.generation_config
    suppressed = tuple(getattr(settings, "suppress_tokens", None) or ())
    return True, suppressed, float(getattr(settings, "min_p", None) or 0.0)


def _identity(name: str, model: Any, dtype: str, load: str) -> dict[str, Any]:
    """Return what identifies this model. A folder has the name of its last part, and the digest of its weights."""
    folder = Path(name)
    local = folder.is_dir()
    return {
        "backend": "hf",
        "model": folder.resolve().name if local else name,
        "weights": fingerprint(folder) if local else str(getattr(model.config, "_commit_hash", None)),
        "dtype": str(model.dtype).removeprefix("torch.") if dtype == "auto" else dtype,
        "load": load,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
