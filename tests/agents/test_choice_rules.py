"""Rules of choice: worked examples from the literature, and what every rule must do with any ballots."""

from __future__ import annotations

import random

import pytest

from parley.agents.choice_rules import RULES, points_of
from parley.agents.social_choice import Places, pairwise

TENNESSEE: list[Places] = [(0, 1, 2, 3)] * 42 + [(1, 2, 3, 0)] * 26 + [(2, 3, 1, 0)] * 15 + [(3, 2, 1, 0)] * 17
"""Memphis 0, Nashville 1, Chattanooga 2, Knoxville 3: the usual example, in percent of voters."""
CAPITALS = {
    "schulze": ((1,), (2,), (3,), (0,)),
    "ranked_pairs": ((1,), (2,), (3,), (0,)),
    "borda": ((1,), (2,), (0,), (3,)),  # 194, 173, 126, 107 points
    "instant_runoff": ((3,), (0,), (1,), (2,)),  # Chattanooga leaves, then Nashville; Knoxville has 58 against 42
}


def drawn(seed: int, candidates: int, voters: int) -> list[Places]:
    """Random strict ballots."""
    rng = random.Random(seed)
    return [tuple(rng.sample(range(candidates), candidates)) for _ in range(voters)]


@pytest.mark.parametrize("rule", CAPITALS)
def test_the_capital_of_tennessee(rule: str) -> None:
    assert RULES[rule](TENNESSEE, 4) == CAPITALS[rule]


def test_ranked_pairs_leave_out_the_weakest_majority_of_a_cycle() -> None:
    """A cycle: 0 beats 1 by 11 to 5, 1 beats 2 by 12 to 4, 2 beats 0 by 9 to 7, which is the weakest and is not locked."""
    ballots: list[Places] = [(0, 1, 2)] * 7 + [(1, 2, 0)] * 5 + [(2, 0, 1)] * 4
    assert RULES["ranked_pairs"](ballots, 3) == (
        (0,),
        (1,),
        (2,),
    )


def test_every_rule_orders_all_candidates_and_favours_none() -> None:
    """Neutral: with other numbers for the candidates the order is the same but for the numbers. A lone ballot is followed."""
    for seed in range(60):
        size = 2 + seed % 5
        ballots = drawn(seed, size, 1 + seed % 7)
        names = random.Random(seed + 1000).sample(range(size), size)
        renamed: list[Places] = [
            tuple(names[place] for place in ballot if isinstance(place, int)) for ballot in ballots
        ]
        for name, rule in RULES.items():
            order = rule(ballots, size)
            assert sorted(one for group in order for one in group) == list(range(size)), name
            same = tuple(tuple(sorted(names[one] for one in group)) for group in order)
            assert rule(renamed, size) == same, (name, ballots)
            if len(ballots) == 1:
                assert order[0][0] == ballots[0][0] or name == "approval", name


def test_the_winner_of_all_pairs_wins_by_schulze_and_ranked_pairs() -> None:
    found = 0
    for seed in range(80):
        ballots = drawn(seed, 4, 5)
        votes = pairwise(ballots, 4)
        beats_all = [
            one for one in range(4) if all(votes[one][other] > votes[other][one] for other in range(4) if other != one)
        ]
        if beats_all:
            found += 1
            assert RULES["schulze"](ballots, 4)[0] == RULES["ranked_pairs"](ballots, 4)[0] == tuple(beats_all)
    assert found > 40


def test_maximin_and_nash_are_largest_by_their_own_measure() -> None:
    for seed in range(40):
        ballots = drawn(seed, 5, 4)
        points = points_of(ballots, 5)
        worst = points.min(axis=0)
        assert all(worst[one] == worst.max() for one in RULES["maximin"](ballots, 5)[0])
        product = (points + 1).prod(axis=0)
        assert all(product[one] == product.max() for one in RULES["nash"](ballots, 5)[0])


def test_all_tied_ballots_choose_nothing() -> None:
    for name, rule in RULES.items():
        assert rule([((0, 1, 2),), ((0, 1, 2),)], 3) == ((0, 1, 2),), name
