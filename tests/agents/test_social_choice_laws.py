"""Social choice: the laws that each rule is known to keep, over random elections."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from functools import partial
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.social_choice import (
    Ballot,
    Order,
    approval,
    borda,
    break_ties,
    descending_order,
    maximin,
    pairwise,
    preference_levels,
    schulze,
    strongest_paths,
)
from parley.llm.seeding import stream


def ballot_of(scores: Sequence[float]) -> Ballot:
    """The ballot of a row of scores: equal ones are tied, missing ones unnamed."""
    return tuple(group for group in descending_order(scores) if not math.isnan(scores[group[0]]))


def borda_order(ballots: Iterable[Ballot], candidates: int) -> Order:
    return borda(ballots, candidates).order


@st.composite
def elections(draw: st.DrawFn, strict: bool = False) -> tuple[list[Ballot], int]:
    """Up to 9 ballots on 2 to 5 candidates; unless strict with ties, unnamed candidates and empty ballots."""
    candidates = draw(st.integers(2, 5))
    if strict:
        return draw(st.lists(st.permutations(range(candidates)).map(tuple), min_size=1, max_size=9)), candidates
    rows = st.lists(st.sampled_from([nan, 1, 2, 3]), min_size=candidates, max_size=candidates)
    return [ballot_of(row) for row in draw(st.lists(rows, min_size=1, max_size=9))], candidates


@st.composite
def tables(draw: st.DrawFn) -> list[list[float]]:
    """Complete scores from 1 to 7 of up to 6 voters on 2 to 5 candidates."""
    candidates = draw(st.integers(2, 5))
    row = st.lists(st.integers(1, 7).map(float), min_size=candidates, max_size=candidates)
    return draw(st.lists(row, min_size=1, max_size=6))


def place(order: Order, one: int) -> int:
    return next(at for at, group in enumerate(order) if one in group)


def renamed(ballots: list[Order], names: list[int]) -> list[Order]:
    return [tuple(tuple(names[one] for one in group) for group in ballot) for ballot in ballots]


def lifted(ballot: Ballot, one: int, candidates: int) -> Ballot:
    """The ballot with one candidate alone on the place above its former one, all else as before; every candidate named."""
    at = preference_levels(ballot, candidates)
    heights = [2 * level for level in at]
    heights[one] -= 3
    return tuple(tuple(c for c in range(candidates) if heights[c] == height) for height in sorted(set(heights)))


@pytest.mark.parametrize("rule", [schulze, borda_order])
@given(elections(), st.randoms(use_true_random=False))
def test_neither_the_names_of_the_voters_nor_of_the_candidates_count(rule, drawn, rng: random.Random) -> None:
    """Anonymity and neutrality: an order of seats or of statements that favoured somebody would be a planted bias."""
    ballots, candidates = drawn
    order = rule(ballots, candidates)
    names = rng.sample(range(candidates), candidates)
    assert rule(rng.sample(ballots, len(ballots)), candidates) == order
    assert rule(renamed(ballots, names), candidates) == tuple(tuple(sorted(names[c] for c in g)) for g in order)


@pytest.mark.parametrize("rule", [maximin, partial(approval, at_least=4)], ids=["minimum", "approval"])
@given(tables(), st.randoms(use_true_random=False))
def test_rules_on_scores_are_as_blind(rule, scores: list[list[float]], rng: random.Random) -> None:
    """The same for scores; sums are exact, so not even rounding depends on who comes first."""
    names = rng.sample(range(len(scores[0])), len(scores[0]))
    order = rule(scores).order
    assert rule(rng.sample(scores, len(scores))).order == order
    moved = rule([[row[c] for c in names] for row in scores]).order
    assert tuple(tuple(sorted(names[c] for c in group)) for group in moved) == order


@given(elections(), st.data())
def test_to_be_lifted_on_a_ballot_never_harms_under_schulze(drawn, data: st.DataObject) -> None:
    """Monotonicity: a winner that one voter comes to like better still wins, and alone if it did so alone."""
    ballots, candidates = drawn
    winners = schulze(ballots, candidates)[0]
    one, voter = data.draw(st.sampled_from(winners)), data.draw(st.integers(0, len(ballots) - 1))
    after = schulze([*ballots[:voter], lifted(ballots[voter], one, candidates), *ballots[voter + 1 :]], candidates)
    assert one in after[0]
    assert len(winners) > 1 or after[0] == (one,)


@given(elections(), st.data())
def test_to_be_lifted_on_a_ballot_never_harms_under_borda(drawn, data: st.DataObject) -> None:
    """Monotonicity of points: the lifted candidate loses none and no other gains any."""
    ballots, candidates = drawn
    one, voter = data.draw(st.integers(0, candidates - 1)), data.draw(st.integers(0, len(ballots) - 1))
    before = borda(ballots, candidates).values
    after = borda([*ballots[:voter], lifted(ballots[voter], one, candidates), *ballots[voter + 1 :]], candidates).values
    assert after[one] >= before[one]
    assert all(after[other] <= before[other] for other in range(candidates) if other != one)


@given(elections())
def test_schulze_elects_whoever_wins_every_pair_and_orders_by_its_paths(drawn) -> None:
    """Condorcet consistency, and the groups agree with the paths shown: whoever is better stands higher."""
    ballots, candidates = drawn
    order, votes = schulze(ballots, candidates), pairwise(ballots, candidates)
    paths = strongest_paths(votes)
    for one in range(candidates):
        if all(votes[one][c] > votes[c][one] for c in range(candidates) if c != one):
            assert order[0] == (one,)
    for one, other in itertools.permutations(range(candidates), 2):
        if paths[one][other] > paths[other][one]:
            assert place(order, one) < place(order, other)


@given(elections())
def test_schulze_upside_down_does_not_elect_the_same_alone(drawn) -> None:
    """Reversal symmetry: with every ballot turned around, a sole winner no longer wins."""
    ballots, candidates = drawn
    turned = [ballot_of([float(level) for level in preference_levels(ballot, candidates)]) for ballot in ballots]
    winners = schulze(ballots, candidates)[0]
    if len(winners) == 1:
        assert winners[0] not in schulze(turned, candidates)[0]


@given(elections(strict=True), st.data())
def test_a_copy_of_a_statement_changes_nothing_for_the_others_under_schulze(drawn, data: st.DataObject) -> None:
    """Independence of clones: a mediator cannot help a statement by offering a near-copy that all rank next to it."""
    ballots, candidates = drawn
    one = data.draw(st.integers(0, candidates - 1))
    cloned = []
    for ballot in ballots:
        at, pair = ballot.index(one), data.draw(st.permutations([one, candidates]))
        cloned.append((*ballot[:at], *pair, *ballot[at + 1 :]))
    before, after = set(schulze(ballots, candidates)[0]), set(schulze(cloned, candidates + 1)[0])
    assert before - {one} == after - {one, candidates}
    assert (one in before) == bool(after & {one, candidates})


@given(tables())
def test_whom_all_prefer_stands_higher(scores: list[list[float]]) -> None:
    """Pareto: strictly for all voters by the minimum; for some with the rest level, no rule on scores turns them around."""
    for one, other in itertools.permutations(range(len(scores[0])), 2):
        gains = [row[one] - row[other] for row in scores]
        if min(gains) > 0:
            assert place(maximin(scores).order, one) < place(maximin(scores).order, other)
        if min(gains) >= 0 and max(gains) > 0:
            assert place(maximin(scores).order, one) <= place(maximin(scores).order, other)
            assert place(approval(scores, 4).order, one) <= place(approval(scores, 4).order, other)


@given(elections(), st.integers(0, 99))
def test_untied_is_strict_keeps_the_order_and_repeats(drawn, seed: int) -> None:
    """Ties end, nothing that was decided is undone, and the same named stream chooses the same statement."""
    ballots, candidates = drawn
    order = schulze(ballots, candidates)
    strict = break_ties(order, ballots, stream(seed, "ties"))
    assert sorted(strict) == list(range(candidates))
    assert [place(order, one) for one in strict] == sorted(place(order, one) for one in strict)
    assert strict == break_ties(order, ballots, stream(seed, "ties"))
