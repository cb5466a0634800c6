"""How far a text is from another, by its words."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_WORD = re.compile(r"\w+(?:['’]\w+)?")


def text_distance(one: str, other: str) -> float:
    """1 minus the ratio of matching words (Ratcliff and Obershelp): 0 the same words in the same order, 1 none in common.

    Case and punctuation do not count. Two texts without words are the same.

    >>> text_distance("Say who pays.", "say WHO pays!"), text_distance("Say who pays", "say nothing")
    (0.0, 0.6)
    """
    first, second = words(one), words(other)
    return 1.0 - SequenceMatcher(None, first, second, autojunk=False).ratio()


def words(text: str) -> list[str]:
    """In lower case, without punctuation."""
    return _WORD.findall(text.lower().replace("’", "'"))
