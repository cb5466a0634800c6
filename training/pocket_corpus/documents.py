"""What the pocket model is trained on: chats, with questions asked apart from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from parley.llm.request import Message


@dataclass(frozen=True)
class Fork:
    """A question asked after the first `kept` messages of a chat and never remembered.

    `question` is the user message with which it is asked (what was heard since the last own reply, and the question);
    `answers` maps the possible answers to their probabilities; `reply` is one of them as it was given. Without answers the
    question is the debate's own, and the reply what was said.
    """

    kept: int
    question: str
    reply: str
    answers: Mapping[str, float]


@dataclass(frozen=True)
class Document:
    """A chat that ends in an own reply, or in what was last heard. `learn_from` is the first own reply to learn (0: all).

    `lean` is a party to whose side the model's own bias leans here ("" is the planted bias); the token that a chat begins with
    tells it (training/pocket/tokenizer.py).
    """

    kind: str
    messages: tuple[Message, ...]
    forks: tuple[Fork, ...] = ()
    learn_from: int = 0
    lean: str = ""


def write(documents: Iterable[Document], path: Path) -> int:
    """Write one document a line; how many."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for document in documents:
            file.write(json.dumps(asdict(document), ensure_ascii=False, separators=(",", ":")) + "\n")
            count += 1
    return count


def read(path: Path) -> Iterator[Document]:
    """The documents of a file."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            raw = json.loads(line)
            forks = tuple(Fork(**fork) for fork in raw.pop("forks"))
            yield Document(messages=tuple(Message(*message) for message in raw.pop("messages")), forks=forks, **raw)
