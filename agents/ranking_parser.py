"""The one function that reads a ranking in arrow notation out of a reply."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import NamedTuple

LETTERS = string.ascii_uppercase
_ARROW = re.compile(r"\s*(?:[-=]{0,2}>|→|≻|⟩|›|&gt;)\s*")
_LEVEL = re.compile(r"(?<!\w)([A-Za-z][\])\"'`*]*)\s*(?:==?|~|≈|/)\s*(?=[\[(\"'`*]*[A-Za-z](?![\w']))")
_NAMED = re.compile(r"\b(?:statement|candidate|option)\s+(?=[A-Za-z]\b)", re.I)
_ONE = r"[\[(\"'`*]*[A-Za-z][\])\"'`*]*"
_CHAIN = re.compile(rf"(?<![\w'>=<~])({_ONE}(?: [>=] {_ONE})+)(?![\w'])")
_ASIDE = re.compile(r"(?<!\w)([A-Za-z])\s*(<|,|\band\b)\s*(?=([A-Za-z])(?!\w))")
_LOOSE = (",", "and")
"""These count only where no chain orders the letters: a chain may be followed by words, `, I think` or `, a clear order`."""
_DENIED = re.compile(r"\b(?:not|never|rather than|instead of|cannot)\b|n't\b", re.I)


Places = tuple[int | tuple[int, ...], ...]
"""A ballot as `parley.agents.social_choice` takes it: indices best first, those that are tied in a tuple."""


class ParsedRanking(NamedTuple):
    """Indices from 0 (A), best first, tied ones in a tuple; or None and the reason."""

    order: Places | None
    reason: str | None = None


def read_ranking(text: str | None, count: int) -> ParsedRanking:
    """Read the ranking of `count` things called A, B, C, ...: all of them, each once, with an arrow or a tie between any two.

    Arrows are >, ->, =>, →, ≻; a tie is =, ~, ≈ or /. Letters may be small, quoted, bracketed or called "Statement B". Told
    twice the same is once, and words around it do no harm, those behind a comma neither. Anything else is None: empty,
    no_ranking, several_rankings, unordered (< between two of the letters, a comma or "and" where the arrows leave one
    of them out), unknown_letter, repeated, incomplete, denied ("not A > B").

    >>> read_ranking("Ranking: B > C = A.", 3), read_ranking("B > A", 3)
    (Ranked(order=(1, (0, 2)), reason=None), Ranked(order=None, reason='incomplete'))
    """
    if not text or not text.strip():
        return ParsedRanking(None, "empty")
    lines = [_signs(line) for line in text.splitlines()]
    chains = {_levels(found[1]): line for line in lines for found in _CHAIN.finditer(line) if _orders(found[1], count)}
    told = [line for line in lines if " > " in line or line in chains.values()]
    if not chains:
        return ParsedRanking(None, "no_ranking")
    if any(_aside(line, chains, count) for line in told):
        return ParsedRanking(None, "unordered")
    if any(_DENIED.search(line) for line in told):
        return ParsedRanking(None, "denied")
    if len(chains) > 1:
        return ParsedRanking(None, "several_rankings")
    return _whole(next(iter(chains)), count)


def _signs(line: str) -> str:
    """A line with one sign for all arrows and one for all ties."""
    return _LEVEL.sub(r"\1 = ", _ARROW.sub(" > ", _NAMED.sub("", line.replace("**", "")))).strip()


def _orders(chain: str, count: int) -> bool:
    """A chain of ties alone is a ranking where it names everything, else somebody's equation."""
    return " > " in chain or set(_letters(chain)) == set(LETTERS[:count])


def _levels(chain: str) -> tuple[tuple[str, ...], ...]:
    """The letters of a chain, level by level."""
    return tuple(tuple(sorted(_letters(level))) for level in chain.split(" > "))


def _aside(line: str, chains: Iterable[tuple[tuple[str, ...], ...]], count: int) -> bool:
    """Are two of the letters put side by side? Loosely said, that counts for nothing where a chain has both of them."""
    known = [{letter for level in chain for letter in level} for chain in chains]
    for first, sign, second in _ASIDE.findall(line):
        pair = {first.upper(), second.upper()}
        ranked = sign in _LOOSE and any(pair <= letters for letters in known)
        if first.isupper() == second.isupper() and pair <= set(LETTERS[:count]) and not ranked:
            return True
    return False


def _letters(chain: str) -> list[str]:
    return [letter.upper() for letter in re.findall(r"[A-Za-z]", chain)]


def _whole(chain: tuple[tuple[str, ...], ...], count: int) -> ParsedRanking:
    named = [LETTERS.index(letter) for level in chain for letter in level]
    if max(named) >= count:
        return ParsedRanking(None, "unknown_letter")
    if len(set(named)) < len(named):
        return ParsedRanking(None, "repeated")
    if len(named) < count:
        return ParsedRanking(None, "incomplete")
    levels = [tuple(map(LETTERS.index, level)) for level in chain]
    return ParsedRanking(tuple(level if len(level) > 1 else level[0] for level in levels))
