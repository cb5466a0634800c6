"""Turns chats into token ids, and tokens into text, with the `tokenizers` library alone.

Replaces people's names by tokens <name0>, <name1>, ... for the pocket model, in the order in which they are introduced.

A small model copies names badly that it was never trained on. It reads and writes a token like any word. Names are replaced in
the prompt and put back in the reply (docs/models.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from parley.llm.backends.oracle.phrases import US, banks
from parley.llm.backends.oracle.prompt_parser import asked_as_in_papers, labels
from parley.llm.errors import UserError
from parley.llm.request import Message

SLOTS = tuple(f"<name{number}>" for number in range(12))
"""Tokens for as many people as the model can tell apart; further people keep their names."""
_NAMED = re.compile(r"The person's name is ([^\n]+?)\.(?:\s|$)")
_INTRODUCED = re.compile(
    r"(?<![\w,])You are ((?:(?!You are )[^;\n])+?)(?:; the others? (?:is|are) ([^;\n]+?))?\. Speak only for yourself"
)
_NAME = r"[A-ZÀ-Þ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*){0,3}"
_PERSONA = re.compile(rf"Your name is ({_NAME})(?=[,.;])|You are ({_NAME})(?=, (?:\d|an? |the ))")
"""How a persona says its name. "You are French." says none."""
_SLOT = re.compile(r"<name\d+>")


def name_tokens(messages: Sequence[Message], listed: frozenset[str] | None = None) -> dict[str, str]:
    """Return the token of each name: the agent's own first, then those listed in the opening, then the speakers of lines.

    Its own name is that of the opening; in an interview without one, that of the persona ("You are Ann, ...").

    listed: all names that may occur, if the request lists them (`Request.names`).

    >>> name_tokens([Message("user", "You are Ann; the other is Bob. Speak only for yourself, please.\\n\\nBob: Hello.")])
    {'Ann': '<name0>', 'Bob': '<name1>'}
    """
    names: dict[str, None] = {}
    own_name = next(
        (match[1] or match[2] for role, text in messages if role == "system" and (match := _PERSONA.match(text))), ""
    )
    for role, content in messages:
        if role != "user":
            continue
        if not names:
            persona = _NAMED.search(content)
            named = [persona[1]] if persona else [own_name] if own_name else []
            names |= dict.fromkeys(introduced(content, listed) or named)
        names |= dict.fromkeys(labels(content, listed))
    return dict(zip(names, SLOTS, strict=False))


@lru_cache(maxsize=1 << 16)
def introduced(content: str, names: frozenset[str] | None = None) -> tuple[str, ...]:
    """Return the people that an opening introduces, the reader first; none for another text.

    An opening is `You are Ann; the others are bell hooks and राहुल.` names: the possible names, if known, so that a name may hold
    a comma or an "and".
    """
    opening = _INTRODUCED.search(content)
    if not opening:
        return ()
    reader, others = opening[1], opening[2] or ""
    if names:
        return (reader, *re.findall("|".join(map(re.escape, sorted(names, key=len, reverse=True))), others))
    return (reader, *re.split(r", | and ", others)) if others else (reader,)


def mask_names(messages: Sequence[Message], names: Mapping[str, str]) -> list[Message]:
    """Return the messages with tokens in place of names, and with the instructions to speak as in the corpus.

    Pocket understands only the words in which it was trained; those of the instructions are the wording `papers`.
    """
    messages = asked_as_in_papers(messages, banks(US))
    if not names:
        return list(messages)
    ordered = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)")

    def token(name: re.Match[str]) -> str:
        continued = unicodedata.category(name.string[name.end() : name.end() + 1] or " ").startswith("M")
        return name[0] if continued else names[name[0]]  # a combining mark is a part of the word before it

    return [Message(role, pattern.sub(token, content)) for role, content in messages]


def unmask_names(text: str, names: Mapping[str, str]) -> str:
    """Return a reply with names in place of tokens. A token without a name stays (the model draws none: `copied`)."""
    people = {slot: name for name, slot in names.items()}
    return _SLOT.sub(lambda token: people.get(token[0], token[0]), text)


def blank_names(text: str) -> str:
    """Return a text with {name} in place of each token of a name."""
    return _SLOT.sub("{name}", text)


ROLES = ("system", "user", "assistant")
TEXTS = 1 << 16
"""Messages whose token ids are kept."""


class ChatTokenizer:
    """The tokenizer of a folder: `<s>`, then for each message its role, its text and `<|end|>`, then the role of the reply."""

    def __init__(self, folder: Path):
        from tokenizers import Tokenizer  # only where a model is opened: it loads a compiled library

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
            raise UserError(f"{folder} is not a pocket model, because its tokenizer has no token {token}")
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
