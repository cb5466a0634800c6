"""Names of people as the pocket model sees them: tokens <name0>, <name1>, ... in the order in which they are introduced.

A small model copies a name it was never trained on badly; a token of its own for the first person introduced, the second, and
so on, is read and said like any word. Names are replaced on the way in and put back on the way out (docs/pocket.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from parley.llm.backends.oracle.prompt_parser import labels
from parley.llm.request import Message

SLOTS = tuple(f"<name{number}>" for number in range(12))
"""As many people as the model can tell apart; further ones keep their names."""
_NAMED = re.compile(r"The person's name is ([^\n]+?)\.(?:\s|$)")
_INTRODUCED = re.compile(
    r"(?<![\w,])You are ((?:(?!You are )[^;\n])+?)(?:; the others? (?:is|are) ([^;\n]+?))?\. Speak only for yourself"
)
_SLOT = re.compile(r"<name\d+>")


def name_tokens(messages: Sequence[Message], known: frozenset[str] | None = None) -> dict[str, str]:
    """The token of each name: own name first, then those present as listed, then whoever else has a line.

    known: everybody who may be named, where the one who asks says so (`Request.names`).

    >>> name_tokens([Message("user", "You are Ann; the other is Bob. Speak only for yourself, please.\\n\\nBob: Hello.")])
    {'Ann': '<name0>', 'Bob': '<name1>'}
    """
    names: dict[str, None] = {}
    for role, content in messages:
        if role != "user":
            continue
        if not names:
            found = _NAMED.search(content)
            names |= dict.fromkeys(introduced(content, known) or ([found[1]] if found else []))
        names |= dict.fromkeys(labels(content, known))
    return dict(zip(names, SLOTS, strict=False))


@lru_cache(maxsize=1 << 16)
def introduced(content: str, names: frozenset[str] | None = None) -> tuple[str, ...]:
    """Whom an opening introduces, the reader first: `You are Ann; the others are bell hooks and राहुल.`; none in another text.

    names: those who may be listed, where they are known (so that a name may hold a comma or an "and").
    """
    found = _INTRODUCED.search(content)
    if not found:
        return ()
    if names:
        listed = re.findall("|".join(map(re.escape, sorted(names, key=len, reverse=True))), found[2] or "")
    else:
        listed = re.split(r", | and ", found[2]) if found[2] else []
    return (found[1], *listed)


def mask_names(messages: Sequence[Message], names: Mapping[str, str]) -> list[Message]:
    """The messages with tokens in the place of names."""
    if not names:
        return list(messages)
    ordered = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)")

    def token(found: re.Match[str]) -> str:
        goes_on = unicodedata.category(found.string[found.end() : found.end() + 1] or " ").startswith("M")
        return found[0] if goes_on else names[found[0]]  # a combining mark is a part of the word before it

    return [Message(role, pattern.sub(token, content)) for role, content in messages]


def unmask_names(text: str, names: Mapping[str, str]) -> str:
    """A reply with names in the place of tokens. A token of nobody present stays (none is drawn: `copied`)."""
    people = {slot: name for name, slot in names.items()}
    return _SLOT.sub(lambda found: people.get(found[0], found[0]), text)
