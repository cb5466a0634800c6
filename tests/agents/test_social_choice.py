"""Social choice: published elections come out as published; ties and gaps stay what they are (laws: test_social_choice_laws)."""

from __future__ import annotations

import math
import re
from math import nan

import pytest
from data_checks import check_each

from parley.agents.social_choice import (
    Ballot,
    Order,
    approval,
    borda,
    break_ties,
    maximin,
    pairwise,
    preference_levels,
    schulze,
    strongest_paths,
)
from parley.llm.seeding import stream


def election(text: str) -> list[Ballot]:
    """Ballots from "5 ACB, 2 BA=C": five of A > C > B, two of B > A = C; A is candidate 0."""
    ballots: list[Ballot] = []
    for line in text.split(", "):
        count, names = line.split()
        places = re.findall(r"\w(?:=\w)*", names)
        ballots += [tuple(tuple(ord(one) - 65 for one in place.split("=")) for place in places)] * int(count)
    return ballots


def written(order: Order) -> str:
    """An order as text: ((1, 3), (0,)) is B=D>A."""
    return ">".join("=".join(chr(65 + one) for one in group) for group in order)


TENNESSEE = "42 ABCD, 26 BCDA, 15 CDBA, 17 DCBA"
"""Memphis, Nashville, Chattanooga, Knoxville, by distance: the classroom example of rules that differ."""
CONDORCET = "30 ABC, 1 ACB, 29 BAC, 10 BCA, 10 CAB, 1 CBA"
"""Condorcet's 81 voters (1785): A beats B by 41 to 40 and C by 60 to 21."""
SCHULZE = {
    "Schulze, 21 voters": ("8 ACDB, 2 BADC, 4 CDBA, 4 DBAC, 3 DCBA", "D>A>C>B"),
    "Schulze, 45 voters": ("5 ACBED, 5 ADECB, 8 BEDAC, 3 CABED, 7 CAEBD, 2 CBADE, 7 DCEBA, 8 EBADC", "E>A>C>B>D"),
    "Schulze, 30 voters": ("5 ACBD, 2 ACDB, 3 ADCB, 4 BACD, 3 CBDA, 3 CDBA, 1 DACB, 5 DBAC, 4 DCBA", "D>A>C>B"),
    "Schulze, 9 voters and a tie": ("3 ABCD, 2 DABC, 2 DBCA, 2 CBDA", "B=D>A=C"),
    "Condorcet, 60 voters in a cycle": ("23 ABC, 17 BCA, 2 BAC, 10 CAB, 8 CBA", "B>C>A"),
    "Condorcet, 81 voters": (CONDORCET, "A>B>C"),
    "Tennessee": (TENNESSEE, "B>C>D>A"),
    "Habermas Machine, Figure 1, opinions": ("1 ABCD, 1 BADC, 1 BCDA, 1 DABC, 1 DBAC", "B>D>A>C"),
    "Habermas Machine, Figure 1, critiques": ("1 BC=DA, 1 AC=DB, 1 DB=CA, 1 C=DAB, 1 CBDA", "C=D>B>A"),
    "Habermas Machine, level but not both best": ("2 ABDC, 1 DACB, 1 CDAB, 1 BDAC", "A=D>B>C"),
}
"""From Schulze 2011 and the examples on his page, Condorcet 1785, and Tessler et al. 2024 with its public code."""


@check_each(("ballots", "order"), SCHULZE.values(), ids=SCHULZE)
def test_schulze_finds_the_published_order(ballots: str, order: str) -> None:
    """Cycles, ties and Condorcet winners come out as the rule's author and its users print them."""
    assert written(schulze(election(ballots), len(re.findall(r"\w", order)))) == order


def test_schulze_shows_the_published_paths() -> None:
    """What is shown as the reason for an order is the matrix of the paper, number by number."""
    votes = pairwise(election(SCHULZE["Schulze, 45 voters"][0]), 5)
    assert votes == (
        (0, 20, 26, 30, 22), (25, 0, 16, 33, 18), (19, 29, 0, 17, 24), (15, 12, 28, 0, 14), (23, 27, 21, 31, 0),
    )  # fmt: skip
    assert strongest_paths(votes) == (
        (0, 28, 28, 30, 24), (25, 0, 28, 33, 24), (25, 29, 0, 29, 24), (25, 28, 28, 0, 24), (25, 28, 28, 31, 0),
    )  # fmt: skip


def test_a_pair_of_which_no_majority_tells_has_no_link() -> None:
    """Two voters who tie two candidates or differ on them: the published matrices, with no path where they differ."""
    ballots = election("1 A=BCD, 1 ABDC")
    assert pairwise(ballots, 4) == ((0, 1, 2, 2), (0, 0, 2, 2), (0, 0, 0, 1), (0, 0, 1, 0))
    assert strongest_paths(pairwise(ballots, 4)) == ((0, 1, 2, 2), (0, 0, 2, 2), (0, 0, 0, 0), (0, 0, 0, 0))
    assert written(schulze(ballots, 4)) == "A>B>C=D"


def test_whom_a_ballot_does_not_name_stands_below_all_it_names() -> None:
    """Incomplete ballots: the stated convention, under both rules; among the unnamed nobody is preferred."""
    ballots = election("2 A, 1 BA")
    assert pairwise(ballots, 4) == ((0, 2, 3, 3), (1, 0, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0))
    assert (borda(ballots, 4).values, borda(ballots, 4).voices) == ((8, 5, 2.5, 2.5), (3, 1, 0, 0))
    assert written(schulze(ballots, 4)) == written(borda(ballots, 4).order) == "A>B>C=D"


BORDA = {
    "Borda, 21 voters: the plurality winner A is last": ("1 ABC, 7 ACB, 7 BCA, 6 CBA", (16, 21, 26), "C>B>A"),
    "Condorcet's objection": (CONDORCET, (101, 109, 33), "B>A>C"),
    "Tennessee": (TENNESSEE, (126, 194, 173, 107), "B>C>A>D"),
    "half a point for a tie": ("1 A=BC", (1.5, 1.5, 0), "A=B>C"),
}


@check_each(("ballots", "points", "order"), BORDA.values(), ids=BORDA)
def test_borda_gives_the_published_points(ballots: str, points: tuple, order: str) -> None:
    """The points are those of Borda's memoir (1784; there with one more for each voter) and of Condorcet's reply."""
    tally = borda(election(ballots), len(points))
    assert (tally.values, written(tally.order)) == (points, order)


def test_borda_can_pass_over_the_winner_of_every_pair_and_schulze_cannot() -> None:
    """Why a mediator's rule has to be named in a record: on the same 81 ballots the two choose different statements."""
    ballots = election(CONDORCET)
    assert pairwise(ballots, 3)[0] == (0, 41, 60)
    assert (written(schulze(ballots, 3)), written(borda(ballots, 3).order)) == ("A>B>C", "B>A>C")


def test_approval_of_the_two_nearest_cities() -> None:
    """Tennessee once more, with the published shares of approval: 42, 68, 58 and 32 of 100 voters."""
    scores = [[4 - level for level in preference_levels(ballot, 4)] for ballot in election(TENNESSEE)]
    assert approval(scores, at_least=3).values == (0.42, 0.68, 0.58, 0.32)


def test_points_and_the_minimum_of_scores_choose_differently() -> None:
    """Two like a statement that a third cannot bear: Borda's points take it, the minimum takes what everyone can live with."""
    assert borda([(0, 1), (0, 1), (1, 0)], 2).order == ((0,), (1,))
    assert maximin([(7, 4), (7, 4), (1, 4)]).order == ((1,), (0,))


def test_missing_scores_are_never_a_number() -> None:
    """A missing score read as 0 (or 4) would decide elections; here it lowers no one, and shows in `voices`."""
    scores = [(2, 3, nan), (nan, 3, nan)]
    assert (maximin(scores).order, maximin(scores).voices) == (((1,), (0,), (2,)), (1, 2, 0))
    assert math.isnan(maximin(scores).values[2])
    assert maximin([(-2, nan)]).order == ((0,), (1,))
    assert approval(scores, 2).order == ((0, 1), (2,))


def test_all_that_nobody_scored_is_tied_last() -> None:
    """A round in which no score could be read chooses nobody over anybody."""
    assert maximin([(nan, nan)]).order == ((0, 1),)
    assert schulze([(), ()], 2) == borda([], 2).order == ((0, 1),)


@check_each("ballot", [(0, 0), ((0, 1), 1), (3,), (-1,)])
def test_a_ballot_that_cannot_be_is_refused(ballot: Ballot) -> None:
    """A candidate named twice, or one that is not there, is a fault of the parser before: never counted somehow."""
    with pytest.raises(ValueError, match="at most once"):
        schulze([ballot], 3)


@check_each("scores", [[], [(1, 2), (1,)], [(1, math.inf)]])
def test_scores_that_cannot_be_are_refused(scores: list) -> None:
    """No voters, ragged rows and infinite scores are slips of the caller."""
    with pytest.raises(ValueError, match="score"):
        maximin(scores)


def test_a_copy_of_a_statement_can_win_an_election_under_borda() -> None:
    """The counter-example: B loses 3 to 2 to A, and wins once a slightly worse copy C of it is on the ballot."""
    assert written(borda(election("3 AB, 2 BA"), 2).order) == "A>B"
    assert written(borda(election("3 ABC, 2 BCA"), 3).order) == "B>A>C"


def test_missing_scores_can_break_pareto() -> None:
    """Why `voices` is there: B is liked better by the one who scored both, and A leads as its critic scored nobody else."""
    tally = maximin([(5, 6), (nan, 1)])
    assert (tally.order, tally.voices) == (((0,), (1,)), (1, 2))


def test_ties_are_broken_by_a_random_ballot_and_only_then_by_lot() -> None:
    """Three of four voters prefer C to D, so C should win the tie three times in four: a lot would give it half.

    4,000 seeded draws: the standard error is 0.007.
    """
    ballots = election("3 A=BCD, 1 B=ADC")
    strict = [break_ties(((0, 1), (2, 3)), ballots, stream(seed, "ties")) for seed in range(4000)]
    assert sum(one.index(2) < one.index(3) for one in strict) / 4000 == pytest.approx(0.75, abs=0.03)
    assert sum(one[0] == 0 for one in strict) / 4000 == pytest.approx(0.5, abs=0.03)


def test_the_next_ballot_decides_what_the_first_leaves_tied() -> None:
    """One voter tells A from B, the others none: every draw comes to that ballot in the end, so A always wins."""
    ballots = election("5 A=B, 1 AB")
    assert {break_ties(((0, 1),), ballots, stream(seed, "ties")) for seed in range(50)} == {(0, 1)}


def test_breaking_ties_draws_the_same_from_its_stream_tie_or_no_tie() -> None:
    """Adding a tie shifts no later draw of the stream."""
    left = []
    for order in (((0, 1), (2,)), ((0,), (1,), (2,))):
        rng = stream(1, "ties")
        break_ties(order, [(0, 1, 2)], rng)
        left.append(rng.random())
    assert left[0] == left[1]
