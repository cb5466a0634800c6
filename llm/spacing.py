"""White space of prompts: the same words with other spaces and lines between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from parley.llm.request import Message

Spacing = Literal["given", "newline", "blank_lines", "double_spaces"]
GIVEN, END = "given", "newline"
PAIRS: Mapping[str, tuple[str, str]] = {"blank_lines": ("\n\n", "\n\n\n"), "double_spaces": (". ", ".  ")}
"""What is replaced by what: blank_lines has two empty lines between parts, double_spaces two spaces after a full stop."""


def respace(text: str, spacing: str) -> str:
    """Return a text with the spacing of a name; `given` is the text as it is, and `newline` ends with a line break.

    >>> respace("Hello. Go on.", "double_spaces")
    'Hello.  Go on.'
    """
    if spacing == END:
        return f"{text}\n"
    old, new = PAIRS.get(spacing, ("", ""))
    return text.replace(old, new) if old else text


def restore(text: str, spacing: str) -> str:
    """Return the text that `respace` changed.

    >>> restore(respace("Hello. Go on.", "newline"), "newline")
    'Hello. Go on.'
    """
    if spacing == END:
        return text.removesuffix("\n")
    new, old = PAIRS.get(spacing, ("", ""))
    return text.replace(old, new) if old else text


def respace_messages(messages: tuple[Message, ...], spacing: str) -> tuple[Message, ...]:
    """Return messages with a spacing."""
    if spacing == GIVEN:
        return messages
    return tuple([Message(role, respace(content, spacing)) for role, content in messages])


def restore_messages(messages: tuple[Message, ...], spacing: str) -> tuple[Message, ...]:
    """Return the messages that `respace_messages` changed."""
    if spacing == GIVEN:
        return messages
    return tuple([Message(role, restore(content, spacing)) for role, content in messages])
