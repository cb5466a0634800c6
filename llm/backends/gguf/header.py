"""Reads the header of a GGUF file, and nothing of its weights: what kind of model it is, and how much memory it takes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from parley.llm.errors import UserError

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""The types of GGUF (by their number in the file) as formats of `struct`."""
TEXT, LIST = 8, 9
LONGEST, MOST_ENTRIES = 1 << 24, 10_000
"""Bytes of a text and entries of a header beyond which a file is taken to be damaged."""
SAMPLE = 1 << 20
"""Bytes at each of SAMPLES places that the digest of the weights reads: a file of 40 GB has its digest in a moment."""
SAMPLES = 64
KEY_BYTES = 2
"""Bytes of each number of keys and values (16-bit floats)."""


@dataclass(frozen=True)
class Header:
    """The header of a GGUF file.

    Parameters
    ----------
    path : Path
        The file.
    fields : mapping
        The fields by name; of a list, only the number of its entries.
    """

    path: Path
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the file without ending, which says model, size and quantisation."""
        return self.path.stem

    @property
    def is_chat(self) -> bool:
        """Does the model know turns of a chat?"""
        return bool(self.fields.get("tokenizer.chat_template"))

    @property
    def context(self) -> int:
        """The most tokens of a prompt and its reply that the model was trained on; 0 if the file does not say."""
        return self.number("context_length")

    @property
    def size(self) -> int:
        """The bytes of the file, which is about the memory that the weights take."""
        return self.path.stat().st_size

    @property
    def bytes_per_token(self) -> int:
        """The bytes of keys and values of one token."""
        heads, width = self.number("attention.head_count"), self.number("embedding_length")
        key_heads = self.number("attention.head_count_kv") or heads
        head_size = self.number("attention.key_length") or width // max(heads, 1)
        return 2 * KEY_BYTES * self.number("block_count") * key_heads * head_size

    @cached_property
    def digest(self) -> str:
        """A digest of the length and of samples of the file, evenly spaced, the first and the last bytes among them."""
        hasher = blake2b(str(self.size).encode(), digest_size=16)
        with self.path.open("rb") as file:
            for number in range(SAMPLES):
                file.seek(max(0, self.size - SAMPLE) * number // (SAMPLES - 1))
                hasher.update(file.read(SAMPLE))
        return hasher.hexdigest()

    def number(self, name: str) -> int:
        """Return a number of the kind of model, such as `block_count`; 0 if the file does not say."""
        number = self.fields.get(f"{self.fields.get('general.architecture')}.{name}", 0)
        return number if isinstance(number, int) else 0


def read_header(path: Path) -> Header:
    """Return the header of a file. Errors: UserError where it is missing, no GGUF, or damaged."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise UserError(
                    f"{path} is not a GGUF file, because its first four bytes are not GGUF: name a file that ends in .gguf"
                )
            _version, _tensors, entries = struct.unpack("<IQQ", file.read(20))
            if entries > MOST_ENTRIES:
                raise ValueError
            return Header(path, dict(_entry(file) for _ in range(entries)))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (struct.error, ValueError, KeyError) as error:
        raise UserError(f"{path} is damaged, because its header cannot be read: download the file again") from error


def _entry(file: BinaryIO) -> tuple[str, Any]:
    name = _text(file)
    return name, _value(file, _unpack(file, "I"))


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == TEXT:
        return _text(file)
    if kind != LIST:
        return _unpack(file, NUMBERS[kind])
    inner, count = _unpack(file, "I"), _unpack(file, "Q")
    if inner in NUMBERS:
        file.seek(struct.calcsize(f"<{NUMBERS[inner]}") * count, 1)
    else:
        for _ in range(count):
            _value(file, inner)
    return count


def _text(file: BinaryIO) -> str:
    length = _unpack(file, "Q")
    if length > LONGEST:
        raise ValueError
    return file.read(length).decode(errors="replace")


def _unpack(file: BinaryIO, form: str) -> Any:
    return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0]
