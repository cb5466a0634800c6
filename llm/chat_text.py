"""A conversation as one plain text, for models that go on from a text and know no turns."""

from __future__ import annotations

from collections.abc import Sequence

from parley.llm.request import Message, Request

OWN, ANSWER = "Me:", "Answer:"
MOST = 4
"""As many stop strings as servers take."""


def plain_text(messages: Sequence[Message], closed: bool) -> str:
    """One text for a completion model: persona, what was said (own lines as `Me:`), instruction, and a cue to go on."""
    parts = [f"{OWN} {message.content}" if message.role == "assistant" else message.content for message in messages]
    return "\n\n".join([*parts, ANSWER if closed else OWN])


def stop_strings(request: Request) -> tuple[str, ...]:
    """Where the text that a completion model writes is no longer its turn: the request's own stop strings, then labels at the
    beginning of a line, its own and as many others' as there is room for.
    """
    labels = [OWN, *([ANSWER] if request.answers else []), *(f"{name}:" for name in sorted(request.names or ()))]
    return tuple(dict.fromkeys([*request.sampling.stop, *(f"\n{label}" for label in labels)]))[:MOST]
