"""Social choice on ballots, and `read_ranking`, which reads a ballot in a reply.

Candidates are numbered 0 .. k-1. A ballot names them best first; candidates in a tuple are tied: (2, (0, 1)) is 2 > 0 =
1. Candidates that a ballot does not name rank below all others, tied (as Schulze 2011 reads such ballots). Scores are
rows of numbers, one row per voter, higher is better, NaN for missing. **Missing is never a number**: a candidate is
judged by the scores it has (`voices` says how many); one without scores has the value NaN and is last. A comparison of
candidates with scores by different voters favours those whom their critics did not score: look at `voices`.

An order is a tuple of tied groups, best first, indices ascending within a group: ((4,), (0, 2), (1, 3)). Only
`break_ties` breaks ties. All errors are ValueError: a candidate named twice or out of range, ragged or infinite scores,
no voters if scores determine k.
"""

from __future__ import annotations

import math
import random
import re
import string
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parley.agents.answer_forms import LONGEST, answer_words, tidy, undressed

Ballot = Sequence[int | tuple[int, ...]]
Order = tuple[tuple[int, ...], ...]
Matrix = tuple[tuple[int, ...], ...]
Scores = Iterable[Iterable[float]]
"""(voters, k): a list of lists or an array."""


@dataclass(frozen=True)
class Tally:
    """The outcome of a rule that gives each candidate a value (NaN without scores). voices: voters who ranked or scored it."""

    order: Order
    values: tuple[float, ...]
    voices: tuple[int, ...]


def schulze(ballots: Iterable[Ballot], candidates: int) -> Order:
    """Schulze's method: a is better than b if the strongest path from a to b is stronger than the strongest back.

    Source: Schulze 2011, Social Choice and Welfare 36(2), 267-303; the strength of a link is its winning votes.
    "Better" is transitive, but two candidates that are level with a third need not be level. The first group of the
    order is Schulze's set of potential winners, to whom no other is better; the next group is that set among the rest,
    and so on. The public Habermas Machine orders its examples in the same way.

    >>> schulze([(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 1, 2)], 3)
    ((0,), (1,), (2,))
    """
    paths = strongest_paths(pairwise(ballots, candidates))
    left, order = set(range(candidates)), list[tuple[int, ...]]()
    while left:
        top = {
            candidate for candidate in left if all(paths[other][candidate] <= paths[candidate][other] for other in left)
        }
        order.append(tuple(sorted(top)))
        left -= top
    return tuple(order)


def pairwise(ballots: Iterable[Ballot], candidates: int) -> Matrix:
    """Return how many voters rank the row's candidate above the column's. A ballot that ties two counts for neither.

    >>> pairwise([(0, 1), (1,), ((0, 1),)], 3)
    ((0, 1, 2), (1, 0, 3), (0, 0, 0))
    """
    levels = _levels_of(ballots, candidates)
    return _matrix((levels[:, :, None] < levels[:, None, :]).sum(axis=0))


def strongest_paths(votes: Matrix) -> Matrix:
    """Return the strength of the strongest path between any two candidates.

    A path is as strong as its weakest link; a link exists if a majority of the voters who rank the two differently is
    for it. Source: Schulze 2011 (the Floyd-Warshall algorithm with max and min). The example is Condorcet's cycle of 60
    voters.

    >>> strongest_paths(((0, 33, 25), (27, 0, 42), (35, 18, 0)))
    ((0, 33, 33), (35, 0, 42), (35, 33, 0))
    """
    links = np.array(votes, dtype=np.int64).reshape(len(votes), len(votes))
    paths = np.where(links > links.T, links, 0)
    for via in range(len(votes)):
        paths = np.maximum(paths, np.minimum(paths[:, [via]], paths[via]))
        np.fill_diagonal(paths, 0)
    return _matrix(paths)


def _levels_of(ballots: Iterable[Ballot], candidates: int) -> NDArray[np.int64]:
    """Return (voters, candidates): the level of each candidate on each ballot."""
    levels = [preference_levels(ballot, candidates) for ballot in ballots]
    return np.array(levels, dtype=np.int64).reshape(len(levels), candidates)


def _matrix(values: NDArray[np.int64]) -> Matrix:
    return tuple(map(tuple, values.tolist()))


def borda(ballots: Iterable[Ballot], candidates: int) -> Tally:
    """Give a point for every candidate ranked below, and half a point for every tied one: k(k-1)/2 points per ballot.

    Source: Borda 1784, with the usual mean of the places for ties. If a candidate rises on a ballot, its points rise
    and those of no other do (monotone); the winner of all pairwise majorities can lose.

    >>> borda([(0, 1, 2), (1,)], 3)
    Tally(order=((1,), (0,), (2,)), values=(2.5, 3.0, 0.5), voices=(1, 2, 1))
    """
    ballots = list(ballots)
    levels = _levels_of(ballots, candidates)
    below, tied = (compare(levels[:, None, :], levels[:, :, None]) for compare in (np.greater, np.equal))
    points = (below.sum(axis=(0, 2)) + (tied.sum(axis=(0, 2)) - len(ballots)) / 2).tolist()
    named = levels < np.array([len(ballot) for ballot in ballots], dtype=np.int64)[:, None]
    return Tally(descending_order(points), tuple(points), tuple(named.sum(axis=0).tolist()))


def approval(scores: Scores, at_least: float) -> Tally:
    """Return, for each candidate, the share of its scores that are `at_least` this high.

    Source: Brams and Fishburn 1978, American Political Science Review 72(3), with a score in place of the line that
    each voter draws.

    >>> approval([(7, 4, math.nan), (5, 2, 6)], at_least=5).values
    (1.0, 0.0, 1.0)
    """
    return _tally(
        [[score if math.isnan(score) else float(score >= at_least) for score in row] for row in _rows(scores)], _mean
    )


def maximin(scores: Scores) -> Tally:
    """Rank by the lowest score, as in Rawls's difference principle (1971). The second lowest breaks no ties.

    So a candidate that all prefer ranks higher, but one that some prefer while the others are indifferent may tie (weak
    Pareto).

    >>> maximin([(1, 3, 3), (7, 3, 4)])
    Tally(order=((1, 2), (0,)), values=(1, 3, 3), voices=(2, 2, 2))
    """
    return _tally(_rows(scores), min)


def break_ties(order: Order, ballots: Iterable[Ballot], rng: random.Random) -> tuple[int, ...]:
    """Return a strict order: tied candidates are ranked by a ballot drawn at random, then by the next one, then by lot.

    Source: Schulze 2011 (TBRC, the tie-breaking ranking of the candidates), applied within the groups of `order`; the
    public Habermas Machine breaks ties so. rng: a named stream (`llm.seeding.stream`), from which the number of draws
    is the same with and without ties. The outcome depends on the order of the ballots, so give them in the order of
    seats.

    >>> break_ties(((2,), (0, 1)), [(1, 0, 2)], random.Random(0))
    (2, 1, 0)
    """
    candidates = sum(map(len, order))
    drawn = [preference_levels(ballot, candidates) for ballot in ballots]
    rng.shuffle(drawn)
    lots = rng.sample(range(candidates), candidates)
    places = {candidate: (*(at[candidate] for at in drawn), lots[candidate]) for candidate in range(candidates)}
    return tuple(candidate for group in order for candidate in sorted(group, key=places.__getitem__))


def preference_levels(ballot: Ballot, candidates: int) -> tuple[int, ...]:
    """Return the level of each candidate on a ballot, 0 for the best; unnamed candidates are on the level after the
    last.

    >>> preference_levels((2, (0, 1)), 4)
    (1, 1, 0, 2)
    """
    groups = [tuple(place) if isinstance(place, Iterable) else (place,) for place in ballot]
    named = [candidate for group in groups for candidate in group]
    if len(set(named)) < len(named) or not set(named) <= set(range(candidates)):
        raise ValueError(f"a ballot names each of {candidates} candidates at most once, by an index from 0: {ballot!r}")
    at = [len(groups)] * candidates
    for level, group in enumerate(groups):
        for candidate in group:
            at[candidate] = level
    return tuple(at)


def descending_order(values: Sequence[float]) -> Order:
    """Return the order of values, highest first; equal ones are tied; NaN is last, tied.

    >>> descending_order((1.0, math.nan, 3.0, 1.0))
    ((2,), (0, 3), (1,))
    """
    groups: dict[float, list[int]] = {}
    for place, value in enumerate(values):
        groups.setdefault(-math.inf if math.isnan(value) else value, []).append(place)
    return tuple(tuple(groups[value]) for value in sorted(groups, reverse=True))


def _rows(scores: Scores) -> list[tuple[float, ...]]:
    rows = [tuple(row) for row in scores]
    if len({len(row) for row in rows}) != 1:
        raise ValueError("scores need at least one voter, and each voter a place for every candidate")
    if any(math.isinf(score) for row in rows for score in row):
        raise ValueError("a score is a finite number, or NaN where it is missing")
    return rows


def _tally(rows: Iterable[Iterable[float]], rule: Callable[[list[float]], float]) -> Tally:
    given = [[score for score in column if not math.isnan(score)] for column in zip(*rows, strict=True)]
    values = tuple(rule(scores) if scores else math.nan for scores in given)
    return Tally(descending_order(values), values, tuple(map(len, given)))


def _mean(scores: list[float]) -> float:
    """Sum exactly, so that the order of voters makes no difference."""
    return math.fsum(scores) / len(scores)


LETTERS = string.ascii_uppercase
Places = tuple[int | tuple[int, ...], ...]
"""A ballot: indices best first, tied ones in a tuple."""
_ARROW = re.compile(r" ?(?:[-=]{0,2}>|→|≻|⟩|›|&gt;) ?")  # lines have single spaces
_TIE = re.compile(r"(?<!\w)([A-Za-z][\])\"'`*]{0,4}) ?(?:==?|~|≈|/) ?(?=[\[(\"'`*]{0,4}[A-Za-z](?![\w']))")
_NAMED = re.compile(r"\b(?:statement|candidate|option) (?=[A-Za-z]\b)", re.I)
_ONE = r"[\[(\"'`*]{0,4}[A-Za-z][\])\"'`*]{0,4}"
_CHAIN = re.compile(rf"(?<![\w'>=<~])({_ONE}(?: [>=] {_ONE})+)(?![\w'])")
_PAIR = re.compile(r"(?<!\w)([A-Za-z]) ?(<|,|\band\b) ?(?=([A-Za-z])(?!\w))")
_DENIED = re.compile(r"\b(?:not|never|rather than|instead of|cannot)\b|n't\b", re.I)


class ParsedRanking(NamedTuple):
    """Indices from 0 (A), best first, tied ones in a tuple; or None and the reason."""

    order: Places | None
    reason: str | None = None


def read_ranking(text: str | None, count: int) -> ParsedRanking:
    """Read the ranking of `count` things called A, B, C, ...: all of them, each once, with an arrow or a tie between
    neighbours.

    Arrows are >, ->, =>, →, ≻; a tie is =, ~, ≈ or /. Letters may be small, quoted, bracketed or called "Statement B".
    The same ranking twice is read once, and words around it are ignored. Anything else is None: empty, too_long, no_ranking,
    several_rankings, unordered (< between two letters, or a comma or "and" between letters of which the arrows leave
    one out), unknown_letter, repeated, incomplete, denied ("not A > B").

    >>> read_ranking("Ranking: B > C = A.", 3), read_ranking("B > A", 3)
    (ParsedRanking(order=(1, (0, 2)), reason=None), ParsedRanking(order=None, reason='incomplete'))
    """
    if not text or not text.strip():
        return ParsedRanking(None, "empty")
    if len(text) > LONGEST:
        return ParsedRanking(None, "too_long")
    lines = [_uniform_signs(line) for line in tidy(undressed(text)).splitlines()]
    letters = set(LETTERS[:count])
    chains: dict[tuple[tuple[str, ...], ...], str] = {}
    for line in lines:
        for chain in _CHAIN.findall(line):
            if " > " in chain or set(_letters(chain)) == letters:  # ties alone are a ranking if they name everything
                chains[tuple(tuple(sorted(_letters(level))) for level in chain.split(" > "))] = line
    if not chains:
        return ParsedRanking(None, "no_ranking")
    ranking_lines = [line for line in lines if " > " in line or line in chains.values()]
    chained = {frozenset(letter for level in chain for letter in level) for chain in chains}
    if any(_has_unordered_pair(line, chained, letters) for line in ranking_lines):
        return ParsedRanking(None, "unordered")
    if any(_DENIED.search(line) or answer_words().others.search(line) for line in ranking_lines):
        return ParsedRanking(None, "denied")
    if len(chains) > 1:
        return ParsedRanking(None, "several_rankings")
    levels = [tuple(map(LETTERS.index, level)) for level in next(iter(chains))]
    named = [letter for level in levels for letter in level]
    if max(named) >= count:
        return ParsedRanking(None, "unknown_letter")
    if len(set(named)) < len(named):
        return ParsedRanking(None, "repeated")
    if len(named) < count:
        return ParsedRanking(None, "incomplete")
    return ParsedRanking(tuple(level if len(level) > 1 else level[0] for level in levels))


def _uniform_signs(line: str) -> str:
    """Return a line with one sign for all arrows and one for all ties."""
    plain = " ".join(line.replace("**", "").split())
    return _TIE.sub(r"\1 = ", _ARROW.sub(" > ", _NAMED.sub("", plain))).strip()


def _has_unordered_pair(line: str, chained: Set[frozenset[str]], letters: set[str]) -> bool:
    """Return whether two letters are put side by side. A comma or "and" counts only if no chain has both letters."""
    for first, sign, second in _PAIR.findall(line):
        pair = {first.upper(), second.upper()}
        ranked = sign != "<" and any(pair <= letters for letters in chained)
        if first.isupper() == second.isupper() and pair <= letters and not ranked:
            return True
    return False


def _letters(chain: str) -> list[str]:
    return [letter.upper() for letter in re.findall(r"[A-Za-z]", chain)]
