"""Names of people as the pocket model sees them: tokens <name0>, <name1>, ... in the order in which they are introduced.

A small model copies a name it was never trained on badly; a token of its own for the first person introduced, the second, and
so on, is read and said like any word. Names are replaced on the way in and put back on the way out (docs/pocket.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from llm.backends.oracle.reading import labels
from llm.request import Message

SLOTS = tuple(f"<name{number}>" for number in range(12))
"""As many people as the model can tell apart; further ones keep their names."""
_NAME = r"[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*){0,3}?"
_INTRODUCED = re.compile(
    rf"(?<![\w,])You are ({_NAME})(?:; the others? (?:is|are) ([^.;\n]+))?\. Speak only for yourself"
)
_NAMED = re.compile(rf"The person's name is ({_NAME})\.")
_SLOT = re.compile(r"<name\d+>")


def cast(messages: Sequence[Message]) -> dict[str, str]:
    """The token of each name: own name first, then those present as listed, then whoever else has a line.

    >>> cast([Message("user", "You are Ann; the other is Bob. Speak only for yourself, please.\\n\\nBob: Hello.")])
    {'Ann': '<name0>', 'Bob': '<name1>'}
    """
    names: dict[str, None] = {}
    for role, content in messages:
        if role != "user":
            continue
        if not names and (found := _INTRODUCED.search(content) or _NAMED.search(content)):
            listed = found[2] if found.re is _INTRODUCED and found[2] else ""
            names |= dict.fromkeys([found[1], *re.split(r", | and ", listed)] if listed else [found[1]])
        names |= dict.fromkeys(labels(content))
    return dict(zip(names, SLOTS, strict=False))


def masked(messages: Sequence[Message], names: Mapping[str, str]) -> list[Message]:
    """The messages with tokens in the place of names."""
    if not names:
        return list(messages)
    ordered = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)")
    return [Message(role, pattern.sub(lambda found: names[found[0]], content)) for role, content in messages]


def named(text: str, names: Mapping[str, str]) -> str:
    """A reply with names in the place of tokens. A token of nobody present stays (none is drawn: `copied`)."""
    people = {slot: name for name, slot in names.items()}
    return _SLOT.sub(lambda found: people.get(found[0], found[0]), text)
