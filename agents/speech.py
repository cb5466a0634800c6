"""What somebody said, made out of what a model wrote: one line, in its own name, as long as it may be.

What it repeats of what it was sent is cut in agents/echo.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_STOP = re.compile(r"[.!?]['\"”’)\]]*$")
_LINE = r"(?:^|[\n\r\v\f\x85\u2028\u2029])"
_PREAMBLE = re.compile(
    r"""^\W*(?:(?:sure|certainly|of\ course|absolutely|okay|ok|yes|great)\W+)?  # Sure!
    (?:here(?:['’]s|\ is|\ are)|this\ is|below\ is)\ [^:.\n]{0,60}?  # Here is my next
    \b(?:reply|response|answer|statement|message|line|turn|post|opinion|critique|argument|draft|revision)\b[^:.\n]{0,60}:\s*""",
    re.I | re.X,
)


def clean_speech(text: str, name: str, others: re.Pattern[str] | None) -> str:
    r"""A reply as one line: an announcement (`Here is my reply:`), an own name label and wrapping quotes are dropped, and it ends
    where it starts to speak for others, or to take its own next turn.

    One line, because a line break followed by a name would read as somebody else's line in the next prompt.

    >>> clean_speech('Ann: I agree.\n**Bob:** No!', "Ann", speaks_for(["Bob"]))
    'I agree.'
    """
    text = _unquoted(text.strip())
    if ":" in text:
        text = _unquoted(_PREAMBLE.sub("", text))
        own = _own_label(name)
        text = text[found.end() :] if (found := own.match(text)) else text
        cuts = [found.start() for label in (own, others) if label and (found := label.search(text))]
        text = text[: min(cuts)] if cuts else text
    return _unquoted(" ".join(text.split()))


def speaks_for(names: Sequence[str]) -> re.Pattern[str]:
    """The label of one of the names at the start of a line, as models write it: `Bob:`, `**Bob:**`, `[Bob]:`, `BOB (nods):`."""
    return re.compile(rf"{_LINE}{_label(names)}", re.I)


@lru_cache(maxsize=1024)
def _own_label(name: str) -> re.Pattern[str]:
    return re.compile(rf"{_LINE}{_label((name, 'Me'))}[\s*_]*", re.I)


def _label(names: Sequence[str]) -> str:
    written = dict.fromkeys([*names, *map(str.upper, names)])  # GROSS is how Groß is written in capitals
    return rf"[\s*_>#\[-]*(?:{'|'.join(map(re.escape, written))})[*_\]]*(?:\s*\([^()\n]*\))?[*_\]]*\s*:"


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
