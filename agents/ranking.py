"""The one function that reads a ranking in arrow notation out of a reply."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import NamedTuple

LETTERS = string.ascii_uppercase
_ARROW = re.compile(r"\s*(?:[-=]{0,2}>|→|≻|⟩|›|&gt;)\s*")
_NAMED = re.compile(r"\b(?:statement|candidate|option)\s+(?=[A-Za-z]\b)", re.I)
_CHAIN = re.compile(r"(?<![\w'>=<~])[\[(\"'`*]*([A-Za-z])[\])\"'`*]*((?: > [\[(\"'`*]*[A-Za-z][\])\"'`*]*)+)(?![\w'])")
_TIE = re.compile(r"(?<!\w)([A-Za-z])\s*(=|~|≈|<|/|,|\band\b)\s*(?=([A-Za-z])(?!\w))")
_LOOSE = (",", "and")
"""What ties letters only where no chain orders them: a chain may be followed by words, `, I think` or `, a clear order`."""
_DENIED = re.compile(r"\b(?:not|never|rather than|instead of|cannot)\b|n't\b", re.I)


class Ranked(NamedTuple):
    """Indices from 0 (A), best first, or None and the reason."""

    order: tuple[int, ...] | None
    reason: str | None = None


def read_ranking(text: str | None, count: int) -> Ranked:
    """Read the ranking of `count` things called A, B, C, ...: all of them, each once, with an arrow between any two.

    Arrows are >, ->, =>, →, ≻; letters may be small, quoted, bracketed or called "Statement B". Told twice the same is once, and
    words around it do no harm, those behind a comma neither. Anything else is None: empty, no_ranking, several_rankings, tie (=,
    ~, / or < between two of the letters, a comma or "and" where the arrows leave one of them out), unknown_letter, repeated,
    incomplete, denied ("not A > B").

    >>> read_ranking("Ranking: B > C > A.", 3), read_ranking("B > A", 3)
    (Ranked(order=(1, 2, 0), reason=None), Ranked(order=None, reason='incomplete'))
    """
    if not text or not text.strip():
        return Ranked(None, "empty")
    lines = [_ARROW.sub(" > ", _NAMED.sub("", line.replace("**", ""))).strip() for line in text.splitlines()]
    told = [line for line in lines if " > " in line]
    chains = {tuple(_letters("".join(found.groups()))) for line in told for found in _CHAIN.finditer(line)}
    if not chains:
        return Ranked(None, "no_ranking")
    if any(_tied(line, chains, count) for line in told):
        return Ranked(None, "tie")
    if any(_DENIED.search(line) for line in told):
        return Ranked(None, "denied")
    if len(chains) > 1:
        return Ranked(None, "several_rankings")
    return _whole(chains.pop(), count)


def _tied(line: str, chains: Iterable[tuple[str, ...]], count: int) -> bool:
    """Are two of the letters put side by side? Loosely said, that counts for nothing where a chain has both of them."""
    for first, sign, second in _TIE.findall(line):
        pair = {first.upper(), second.upper()}
        ranked = sign in _LOOSE and any(pair <= set(chain) for chain in chains)
        if first.isupper() == second.isupper() and pair <= set(LETTERS[:count]) and not ranked:
            return True
    return False


def _letters(chain: str) -> list[str]:
    return [letter.upper() for letter in re.findall(r"[A-Za-z]", chain)]


def _whole(chain: tuple[str, ...], count: int) -> Ranked:
    order = tuple(LETTERS.index(letter) for letter in chain)
    if max(order) >= count:
        return Ranked(None, "unknown_letter")
    if len(set(order)) < len(order):
        return Ranked(None, "repeated")
    return Ranked(order) if len(order) == count else Ranked(None, "incomplete")
