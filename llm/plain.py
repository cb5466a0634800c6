"""A conversation as one plain text, for models that go on from a text and know no turns."""

from __future__ import annotations

from collections.abc import Sequence

from llm.request import Message


def plain(messages: Sequence[Message], closed: bool) -> str:
    """One text for a completion model: persona, what was said (own lines as `Me:`), instruction, and a cue to go on."""
    parts = [f"Me: {message.content}" if message.role == "assistant" else message.content for message in messages]
    return "\n\n".join([*parts, "Answer:" if closed else "Me:"])
