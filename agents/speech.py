"""What somebody said, made out of what a model wrote: one line, in its own name, as long as it may be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_STOP = re.compile(r"[.!?]['\"”’)\]]*$")


def clean_speech(text: str, name: str, others: re.Pattern[str] | None) -> str:
    r"""A reply as one line: an own name label and wrapping quotes are dropped, and it ends where it starts to speak for others.

    One line, because a line break followed by a name would read as somebody else's line in the next prompt.

    >>> clean_speech('Ann: I agree.\n**Bob:** No!', "Ann", speaks_for(["Bob"]))
    'I agree.'
    """
    text = _unquoted(text.strip())
    if ":" in text:
        text = _own_label(name).sub("", text)
        if others and (found := others.search(text)):
            text = text[: found.start()]
    return _unquoted(" ".join(text.split()))


def speaks_for(names: Sequence[str]) -> re.Pattern[str]:
    """The label of one of the names at the start of a line, as models write it: `Bob:`, `**Bob:**`, `BOB (nods):`."""
    return re.compile(rf"(?:^|[\n\r\v\f\x85\u2028\u2029]){_label(names)}", re.I)


@lru_cache(maxsize=1024)
def _own_label(name: str) -> re.Pattern[str]:
    return re.compile(rf"^{_label((name, 'Me'))}[\s*_]*", re.I)


def _label(names: Sequence[str]) -> str:
    written = dict.fromkeys([*names, *map(str.upper, names)])  # GROSS is how Groß is written in capitals
    return rf"[\s*_>#-]*(?:{'|'.join(map(re.escape, written))})[*_]*(?:\s*\([^()\n]*\))?[*_]*\s*:"


def _unquoted(text: str) -> str:
    if text[:1] not in ('"', "“") or text[-1] not in ('"', "”") or sum(map(text.count, '"“”')) != 2:
        return text
    return text[1:-1].strip()


def shortened(text: str, words: int, cut: str) -> str:
    """A reply of more than `words` words as `cut` says (see `Manner`); where no sentence is that short, its first words and ….

    >>> shortened("One two. Three four. Five.", 4, "sentence"), shortened("One two. Three four.", 3, "last")
    ('One two. Three four.', 'two. Three four.')
    """
    if cut == "none":
        return text
    said = text.split()
    if len(said) <= words:
        return text
    if cut == "last":  # as the public code of the UCL study does
        return " ".join(said[-words:])
    ends = [place for place, word in enumerate(said[:words], 1) if _STOP.search(word)]
    return " ".join(said[: ends[-1]]) if ends else f"{' '.join(said[:words])}…"
