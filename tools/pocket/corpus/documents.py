"""What the pocket model is trained on: chats, and what the speaker held at each point."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from parley.llm.request import Message


class Line(NamedTuple):
    """A line heard: the opinion that it expresses (0-10; None: none), and the hearer's attitude after it (None: not known)."""

    grade: float | None
    attitude: float | None


@dataclass(frozen=True)
class Fork:
    """A question asked after the first `kept` messages of a chat and never remembered.

    `question` is the user message with which it is asked (what was heard since the last own reply, and the question);
    `answers` maps the possible answers to their probabilities; `reply` is one of them as it was given. Without answers the
    question is the debate's own, and the reply what was said. `attitude` is the speaker's on the topic of the question, `heard`
    the lines of the question.
    """

    kept: int
    question: str
    reply: str
    answers: Mapping[str, float]
    attitude: float | None = None
    topic: str = ""
    heard: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Document:
    """A chat that ends in an own reply, or in what was last heard. `learn_from` is the first own reply to learn (0: all).

    `lean` is a party to whose side the model's own bias leans here ("" is the planted bias); the token that a chat begins with
    tells it (tools/pocket/tokenizer.py). The other fields are what the speaker is and holds, which helps a training to read
    it (tools/pocket/probes.py): `party` (a party, or none), the attitude on each topic before the chat (`starts`),
    the topic of each own reply and the attitude there, and the lines heard, all in their order. `hidden` is the number of own
    replies before which none of this can be known from the text.
    """

    kind: str
    messages: tuple[Message, ...]
    forks: tuple[Fork, ...] = ()
    learn_from: int = 0
    lean: str = ""
    party: str = ""
    starts: Mapping[str, float] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    attitudes: tuple[float | None, ...] = ()
    heard: tuple[Line, ...] = ()
    hidden: int = 0


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
        for text in file:
            raw = json.loads(text)
            forks = tuple(Fork(**fork | {"heard": _lines(fork["heard"])}) for fork in raw.pop("forks"))
            messages = tuple(Message(*message) for message in raw.pop("messages"))
            yield Document(
                **raw
                | {"messages": messages, "forks": forks, "heard": _lines(raw["heard"])}
                | {name: tuple(raw[name]) for name in ("topics", "attitudes")}
            )


def _lines(raw: list) -> tuple[Line, ...]:
    return tuple(Line(*line) for line in raw)
