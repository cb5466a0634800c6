"""Turns chats into token ids, and tokens into text, with the `tokenizers` library alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from parley.llm.errors import UserError
from parley.llm.request import Message

ROLES = ("system", "user", "assistant")
TEXTS = 1 << 16
"""Messages whose token ids are kept."""


class ChatTokenizer:
    """The tokenizer of a folder: `<s>`, then for each message its role, its text and `<|end|>`, then the role of the reply."""

    def __init__(self, folder: Path):
        try:
            self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the library has no class of its own for this
            raise UserError(f"cannot load the model {folder}: its tokenizer.json cannot be read ({error})") from error
        self._begin, self._end = self._mark(folder, "<s>"), self._mark(folder, "<|end|>")
        self._roles = {role: self._mark(folder, f"<|{role}|>") for role in ROLES}
        self._text = lru_cache(TEXTS)(self._encode_bytes)

    def _mark(self, folder: Path, token: str) -> bytes:
        number = self.tokenizer.token_to_id(token)
        if number is None:
            raise UserError(f"{folder} is not a model of the pocket kind: its tokenizer has no token {token}")
        return np.array([number], np.int32).tobytes()

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without marks."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def _encode_bytes(self, text: str) -> bytes:
        return np.array(self.encode(text), np.int32).tobytes()

    def chat(self, messages: Sequence[Message]) -> bytes:
        """Return a chat's token ids up to where the reply begins, as bytes of int32."""
        parts = [self._begin]
        for message in messages:
            parts += [self._roles[message.role], self._text(message.content), self._end]
        return b"".join([*parts, self._roles["assistant"]])

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, without marks."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def decode_whole(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, marks included."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))
