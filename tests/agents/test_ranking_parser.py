"""Rankings in arrow notation: what is read, and the wall of replies that are refused."""

from __future__ import annotations

import random

from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.social_choice import LETTERS, preference_levels, read_ranking


@check_each(
    "text",
    [
        "B > C > A",
        "b > c > a",
        "B>C>A.",
        "B -> C -> A",
        "B → C → A",
        "B ≻ C ≻ A",
        "B => C => A",
        "B &gt; C &gt; A",
        "Ranking: B > C > A",
        "**B > C > A**",
        "**B** > **C** > **A**",
        "`B > C > A`",
        '"B" > "C" > "A"',
        "(B) > (C) > (A)",
        "[B] > [C] > [A]",
        "Statement B > Statement C > Statement A",
        "statement b > statement c > statement a",
        "I would predict this order:\nB > C > A",
        "B > C > A\n\nThis member cares most about what B says.",
        "B > C > A\nSo the answer is B > C > A.",
        "<answer>B > C > A</answer>",
    ],
)
def test_every_way_of_writing_one_ranking_is_read(text: str) -> None:
    """A false alarm here costs a call, a missed one a ballot."""
    assert read_ranking(text, 3) == ((1, 2, 0), None)


@check_each(
    "tail",
    [", I think.", ", a clear order", " and I am sure", " and a close call", ", A first of the others", ", I/we agree"],
)
@check_each("count", [3, 10, 26])
def test_words_behind_a_ranking_tie_nothing(tail: str, count: int) -> None:
    """`I` and `a` are words: taken for letters they would cost a ballot (I is one of ten, but the arrows rank it)."""
    order = random.Random(count).sample(range(count), count)
    chain = " > ".join(LETTERS[one] for one in order)
    for text in (chain, chain.lower()):
        assert read_ranking(f"{text}{tail}", count) == (tuple(order), None)


@given(st.permutations(range(6)), st.integers(0, 4), st.sampled_from(["=", " = ", " ~ ", " ≈ ", "/", " == "]))
def test_a_tie_is_read_wherever_it_stands(order: list[int], place: int, sign: str) -> None:
    """A ballot may hold ties: the two have one place, and nobody's ballot is void because of it."""
    signs = [" > "] * 5
    signs[place] = sign
    text = "".join(f"{LETTERS[one]}{after}" for one, after in zip(order, [*signs, ""], strict=True))
    wanted = (*order[:place], tuple(sorted(order[place : place + 2])), *order[place + 2 :])
    for written in (text, text.lower(), f"Ranking: **{text}**.", f"{text}, I think"):
        assert read_ranking(written, 6) == (wanted, None)


@check_each(
    ("text", "order"),
    [
        ("A > B = C", (0, (1, 2))),
        ("B = C > A", ((1, 2), 0)),
        ("A = B = C", ((0, 1, 2),)),
        ("(B) = (C) > (A)", ((1, 2), 0)),
        ("B = C > A\nso: C = B > A", ((1, 2), 0)),
    ],
)
def test_ties_as_ballots_take_them(text: str, order: tuple[object, ...]) -> None:
    assert read_ranking(text, 3) == (order, None)
    preference_levels(order, 3)  # type: ignore[arg-type]


@given(st.permutations(range(6)), st.integers(0, 4), st.sampled_from([", ", " and ", " < "]))
def test_what_is_neither_an_arrow_nor_a_tie_is_refused_wherever_it_stands(
    order: list[int], place: int, sign: str
) -> None:
    """One of the arrows is none: whether the two have the same place cannot be told."""
    signs = [" > "] * 5
    signs[place] = sign
    text = "".join(f"{LETTERS[one]}{after}" for one, after in zip(order, [*signs, ""], strict=True))
    assert read_ranking(text, 6) == (None, "unordered")
    assert read_ranking(text.lower(), 6) == (None, "unordered")


@check_each(
    ("text", "reason"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \n ", "empty"),
        ("I cannot say.", "no_ranking"),
        ("B", "no_ranking"),
        ("B, C, A", "no_ranking"),
        ("1. B\n2. C\n3. A", "no_ranking"),
        ("A < C < B", "no_ranking"),
        ("B >", "no_ranking"),
        ("Beta > Gamma > Alpha", "no_ranking"),
        ("B > C", "incomplete"),
        ("B = C", "no_ranking"),
        ("B > C = B", "repeated"),
        ("B = C > D", "unknown_letter"),
        ("A > B = C\nA = B > C", "several_rankings"),
        ("I would say that A = 7 and B = 3", "no_ranking"),
        ("B > C > B", "repeated"),
        ("B > C > A > B", "repeated"),
        ("B > C > A > D", "unknown_letter"),
        ("B > D > A", "unknown_letter"),
        ("B > C, A", "unordered"),
        ("B > C and A", "unordered"),
        ("B > A < C", "unordered"),
        ("B > C > A or C > B > A", "several_rankings"),
        ("B > C > A\nC > B > A", "several_rankings"),
        ("First I thought C > B > A.\nNow I think B > C > A.", "several_rankings"),
        ("The member would not say B > C > A", "denied"),
        ("It isn't B > C > A", "denied"),
        ("C > A rather than B > C > A", "denied"),
    ],
)
def test_whatever_is_not_one_whole_ranking_is_refused(text: str | None, reason: str) -> None:
    """Ambiguity is refused, not guessed: a wrong ballot would choose a statement."""
    assert read_ranking(text, 3) == (None, reason)


@given(st.permutations(range(26)), st.integers(1, 26))
def test_every_ranking_of_every_length_comes_back(order: list[int], count: int) -> None:
    wanted = [one for one in order if one < count]
    text = " > ".join(LETTERS[one] for one in wanted)
    assert read_ranking(text, count).order == (tuple(wanted) if count > 1 else None)


@given(st.text(alphabet="ABCabc >=<~-,.\n'\"()not", max_size=40))
def test_whatever_is_read_is_a_whole_ranking(text: str) -> None:
    """No reply makes it raise, and what it returns is a permutation or a reason."""
    order, reason = read_ranking(text, 3)
    assert (order is None) == (reason is not None)
    places = [one if isinstance(one, tuple) else (one,) for one in order or ()]
    assert order is None or sorted(one for place in places for one in place) == [0, 1, 2]


def test_the_letters_are_those_of_the_alphabet() -> None:
    assert "".join(map(chr, range(ord("A"), ord("Z") + 1))) == LETTERS
    assert read_ranking(" > ".join(random.Random(0).sample(LETTERS, 26)), 26).reason is None
