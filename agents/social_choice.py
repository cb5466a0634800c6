"""Social choice: rankings or scores of k candidates in, one order of them out. Pure functions; ties are left until
`break_ties`.

Candidates are numbered 0 .. k-1. A ballot names them best first; candidates in a tuple are tied: (2, (0, 1)) is 2 > 0 =
1. Whom a ballot does not name stands below all it names, tied (as Schulze 2011 reads such ballots). An empty ballot
prefers nobody. Scores are rows of numbers, a row a voter, higher is better, NaN for missing. **Missing is never a
number**: a candidate is judged by the scores it has (`voices` says how many), one without any has the value NaN and
stands last. Comparing candidates that were scored by different voters favours those whom their critics passed over:
where that can happen, look at `voices`.

An order is a tuple of tied groups, best first, indices ascending within a group: ((4,), (0, 2), (1, 3)). All errors are
ValueError: a candidate named twice or out of range, ragged or infinite scores, no voters where scores tell k.

The one function that reads a ranking in arrow notation out of a reply.
"""

from __future__ import annotations

import math
import random
import re
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Ballot = Sequence[int | tuple[int, ...]]
Order = tuple[tuple[int, ...], ...]
Matrix = tuple[tuple[int, ...], ...]
Scores = Iterable[Iterable[float]]
"""(voters, k): a list of lists or an array."""


@dataclass(frozen=True)
class Contest:
    """The outcome of a rule that compares pairs, with what shows why.

    preferring[a][b]: voters who rank a above b. paths[a][b]: the strength of the strongest path from a to b, in voters.
    """

    order: Order
    preferring: Matrix
    paths: Matrix


@dataclass(frozen=True)
class Tally:
    """The outcome of a rule that gives each candidate a value (NaN: nobody scored it); voices: voters who ranked or
    scored it.
    """

    order: Order
    values: tuple[float, ...]
    voices: tuple[int, ...]


def schulze(ballots: Iterable[Ballot], candidates: int) -> Contest:
    """Schulze's method: a is better than b if the strongest path from a to b is stronger than the strongest back.

    Source: Schulze 2011, Social Choice and Welfare 36(2), 267-303; the strength of a link is its winning votes.
    "Better" is transitive, but two candidates that are level with a third need not be level. The order lists whom
    nobody betters, then whom nobody left betters, and so on: its first group is Schulze's set of potential winners, and
    whoever is better stands higher. The public Habermas Machine orders its examples likewise.

    >>> schulze([(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 1, 2)], 3).order
    ((0,), (1,), (2,))
    """
    votes = pairwise(ballots, candidates)
    paths = strongest_paths(votes)
    left, order = set(range(candidates)), []
    while left:
        top = {one for one in left if all(paths[other][one] <= paths[one][other] for other in left)}
        order.append(tuple(sorted(top)))
        left -= top
    return Contest(tuple(order), votes, paths)


def pairwise(ballots: Iterable[Ballot], candidates: int) -> Matrix:
    """How many voters rank the row's candidate above the column's; who ties two, or names neither, counts for neither.

    >>> pairwise([(0, 1), (1,), ((0, 1),)], 3)
    ((0, 1, 2), (1, 0, 3), (0, 0, 0))
    """
    votes = [[0] * candidates for _ in range(candidates)]
    for ballot in ballots:
        at = preference_levels(ballot, candidates)
        for row, above in zip(votes, at, strict=True):
            for other, below in enumerate(at):
                row[other] += above < below
    return tuple(map(tuple, votes))


def strongest_paths(votes: Matrix) -> Matrix:
    """A path is as strong as its weakest link, a link exists where a majority of those who tell the two apart is for
    it.

    Source: Schulze 2011 (the Floyd-Warshall algorithm with max and min). The example is Condorcet's cycle of 60 voters.

    >>> strongest_paths(((0, 33, 25), (27, 0, 42), (35, 18, 0)))
    ((0, 33, 33), (35, 0, 42), (35, 33, 0))
    """
    every = range(len(votes))
    paths = [[votes[a][b] if votes[a][b] > votes[b][a] else 0 for b in every] for a in every]
    for via in every:
        for a in every:
            for b in every:
                if a != b:
                    paths[a][b] = max(paths[a][b], min(paths[a][via], paths[via][b]))
    return tuple(map(tuple, paths))


def borda(ballots: Iterable[Ballot], candidates: int) -> Tally:
    """A point for every candidate ranked below, half a point for every other one tied: a ballot gives k(k-1)/2 points
    in all.

    Source: Borda 1784, with the usual mean of the places for ties. The points of a lifted candidate rise and no other's
    do (monotone); the winner of all pairwise majorities can lose.

    >>> borda([(0, 1, 2), (1,)], 3)
    Tally(order=((1,), (0,), (2,)), values=(2.5, 3.0, 0.5), voices=(1, 2, 1))
    """
    points, voices = [0.0] * candidates, [0] * candidates
    for ballot in ballots:
        at = preference_levels(ballot, candidates)
        for one, level in enumerate(at):
            points[one] += sum((other > level) + (other == level) / 2 for other in at) - 0.5
            voices[one] += level < len(ballot)
    return Tally(descending_order(points), tuple(points), tuple(voices))


def approval(scores: Scores, at_least: float) -> Tally:
    """The share, among those who scored a candidate, of those who gave it `at_least` this score.

    Source: Brams and Fishburn 1978, American Political Science Review 72(3), with a score for the line that each voter
    draws.

    >>> approval([(7, 4, math.nan), (5, 2, 6)], at_least=5).values
    (1.0, 0.0, 1.0)
    """
    return _tally(
        [[score if math.isnan(score) else float(score >= at_least) for score in row] for row in _rows(scores)], _mean
    )


def utilitarian(scores: Scores) -> Tally:
    """The mean score, the order of the summed scores where none is missing. Whom all prefer stands higher (Pareto).

    >>> utilitarian([(1, 4), (6, math.nan)])
    Tally(order=((1,), (0,)), values=(3.5, 4.0), voices=(2, 1))
    """
    return _tally(_rows(scores), _mean)


def maximin(scores: Scores) -> Tally:
    """The lowest score, as in Rawls's difference principle (1971). Ties are left as they are, not broken by the second
    lowest.

    So whom everybody prefers stands higher, but who is preferred by some, with the others level, may tie (weak Pareto
    only).

    >>> maximin([(1, 3, 3), (7, 3, 4)])
    Tally(order=((1, 2), (0,)), values=(1, 3, 3), voices=(2, 2, 2))
    """
    return _tally(_rows(scores), min)


def ballots_of(scores: Scores) -> tuple[Ballot, ...]:
    """The ballot behind every row of scores: equal scores are tied, missing ones unnamed. For `break_ties`, or a
    rule on rankings.

    >>> ballots_of([(2, 7, 7), (math.nan, 1, 3)])
    (((1, 2), (0,)), ((2,), (1,)))
    """
    return tuple(
        tuple(group for group in descending_order(row) if not math.isnan(row[group[0]])) for row in _rows(scores)
    )


def break_ties(order: Order, ballots: Iterable[Ballot], rng: random.Random) -> tuple[int, ...]:
    """One strict order: a tied group as a ballot drawn at random ranks it, what is still tied as the next does, then by
    lot.

    Source: Schulze 2011 (TBRC, the tie-breaking ranking of the candidates), applied within the groups of `order`; the
    public Habermas Machine breaks ties so. rng: a named stream (`llm.seeding.stream`); it takes the same draws tie or
    no tie, and for one state of it the outcome depends on the order of the ballots: let that be the order of the seats.

    >>> break_ties(((2,), (0, 1)), [(1, 0, 2)], random.Random(0))
    (2, 1, 0)
    """
    candidates = sum(map(len, order))
    drawn = [preference_levels(ballot, candidates) for ballot in ballots]
    rng.shuffle(drawn)
    lots = rng.sample(range(candidates), candidates)
    places = {one: (*(at[one] for at in drawn), lots[one]) for one in range(candidates)}
    return tuple(one for group in order for one in sorted(group, key=places.__getitem__))


def preference_levels(ballot: Ballot, candidates: int) -> tuple[int, ...]:
    """The level of each candidate on a ballot, 0 the best; whom it does not name is on the level after the last.

    >>> preference_levels((2, (0, 1)), 4)
    (1, 1, 0, 2)
    """
    groups = [tuple(place) if isinstance(place, Iterable) else (place,) for place in ballot]
    named = [one for group in groups for one in group]
    if len(set(named)) < len(named) or not set(named) <= set(range(candidates)):
        raise ValueError(f"a ballot names each of {candidates} candidates at most once, by an index from 0: {ballot!r}")
    at = [len(groups)] * candidates
    for level, group in enumerate(groups):
        for one in group:
            at[one] = level
    return tuple(at)


def descending_order(values: Sequence[float]) -> Order:
    """The order of the values, highest first; exactly equal ones are tied; NaN last, tied.

    >>> descending_order((1.0, math.nan, 3.0, 1.0))
    ((2,), (0, 3), (1,))
    """
    groups: dict[float, list[int]] = {}
    for one, value in enumerate(values):
        groups.setdefault(-math.inf if math.isnan(value) else value, []).append(one)
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
    """Summed exactly, so that the order of the voters cannot tell."""
    return math.fsum(scores) / len(scores)


LETTERS = string.ascii_uppercase
_ARROW = re.compile(r"\s*(?:[-=]{0,2}>|→|≻|⟩|›|&gt;)\s*")
_LEVEL = re.compile(r"(?<!\w)([A-Za-z][\])\"'`*]*)\s*(?:==?|~|≈|/)\s*(?=[\[(\"'`*]*[A-Za-z](?![\w']))")
_NAMED = re.compile(r"\b(?:statement|candidate|option)\s+(?=[A-Za-z]\b)", re.I)
_ONE = r"[\[(\"'`*]*[A-Za-z][\])\"'`*]*"
_CHAIN = re.compile(rf"(?<![\w'>=<~])({_ONE}(?: [>=] {_ONE})+)(?![\w'])")
_ASIDE = re.compile(r"(?<!\w)([A-Za-z])\s*(<|,|\band\b)\s*(?=([A-Za-z])(?!\w))")
_LOOSE = (",", "and")
"""These count only where no chain orders the letters: a chain may be followed by words, `, I think` or `, a clear
order`.
"""
_DENIED = re.compile(r"\b(?:not|never|rather than|instead of|cannot)\b|n't\b", re.I)


Places = tuple[int | tuple[int, ...], ...]
"""A ballot as `parley.agents.social_choice` takes it: indices best first, those that are tied in a tuple."""


class ParsedRanking(NamedTuple):
    """Indices from 0 (A), best first, tied ones in a tuple; or None and the reason."""

    order: Places | None
    reason: str | None = None


def read_ranking(text: str | None, count: int) -> ParsedRanking:
    """Read the ranking of `count` things called A, B, C, ...: all of them, each once, with an arrow or a tie between
    any two.

    Arrows are >, ->, =>, →, ≻; a tie is =, ~, ≈ or /. Letters may be small, quoted, bracketed or called "Statement B".
    Told twice the same is once, and words around it do no harm, those behind a comma neither. Anything else is None:
    empty, no_ranking, several_rankings, unordered (< between two of the letters, a comma or "and" where the arrows
    leave one of them out), unknown_letter, repeated, incomplete, denied ("not A > B").

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
