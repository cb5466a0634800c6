"""Roles, temperaments and confirmation bias: data told in sentences, in the right place, and nothing where none is given."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from data_checks import check_each

from parley.agents.traits import PLAIN, Traits, bias_of, role_of, trait_names, traits_of
from parley.llm.errors import UserError
from parley.llm.request import Reply

from .conftest import Make, sent

RNG = random.Random(0)


def test_a_plain_character_says_nothing() -> None:
    assert (PLAIN.backstory, PLAIN.part, PLAIN.ask) == ("", "", "")


def test_temperament_by_hand() -> None:
    """Traits in their own order, whatever the order in which they are given; those not given are not mentioned."""
    given = traits_of("neuroticism=low+openness=very_high+extraversion=average", RNG)
    told = "By temperament you are extremely open to new ideas, fairly outgoing and hardly easily upset."
    assert Traits(traits=given).backstory == told
    assert Traits(traits={"openness": "low"}).backstory == "By temperament you are hardly open to new ideas."


def test_all_levels_are_drawn_alike() -> None:
    """5,000 draws of five levels: each within four standard errors of a fifth, for every trait."""
    rng = random.Random(5)
    drawn = [traits_of("drawn", rng) for _ in range(5000)]
    for trait in trait_names():
        counts = Counter(one[trait] for one in drawn)
        assert len(counts) == 5
        assert all(abs(count - 1000) < 4 * (5000 * 0.2 * 0.8) ** 0.5 for count in counts.values())


def test_where_it_is_told(make: Make) -> None:
    """Temperament and bias belong to the person (system message), the role to the occasion (opening, each request)."""
    ann = make("Ann", "Bob")
    ann.assign_traits(Traits("convincer+knowledge", {"openness": "high"}, "strong"))
    system, user = sent(ann.compose_speech(1))
    assert system.startswith(
        "system: You are Ann. By temperament you are very open to new ideas. You take in only what fits"
    )
    opening, part, ask = user.split("\n\n")
    assert opening.endswith("in at most 50 words.")
    assert part == "Your part is to convince the others of what you hold to be true, and you do not hide it."
    assert ask.startswith("Nobody has spoken in this debate yet. Ann, say what")
    assert "Address what still keeps" in ask
    assert ask.endswith("a reason that they can check.")


def test_a_role_is_part_of_what_is_remembered(make: Make) -> None:
    """Prompts stay append-only: what was asked of a role is remembered as it was asked."""
    ann = make("Ann", "Bob")
    ann.assign_traits(Traits("verifier"))
    first = ann.compose_speech(1)
    ann.absorb_speech(Reply("That is wrong."))
    assert ann.compose_speech(2).messages[: len(first.messages)] == first.messages


@check_each(
    ("read", "text", "told"),
    [
        (role_of, "sceptic", "unknown role 'sceptic': did you mean skeptic"),
        (role_of, "convincer+trusts", "unknown argument of a role 'trusts': did you mean trust"),
        (role_of, "convincer+", "unknown argument of a role ''"),
        (bias_of, "week", "unknown confirmation bias 'week': did you mean weak"),
        (lambda text: traits_of(text, RNG), "opennes=low", "unknown trait 'opennes': did you mean openness"),
        (lambda text: traits_of(text, RNG), "openness=lowest", "unknown level of openness 'lowest'"),
        (lambda text: traits_of(text, RNG), "openness", "unknown level of openness ''"),
        (lambda text: traits_of(text, RNG), "openness=low+openness=high", "names a trait twice"),
    ],
)
def test_what_is_mistyped_is_told_in_one_line(read, text: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        read(text)


@check_each("role", ["convincer", "skeptic", "spreader", "commentator", "verifier", "bystander"])
@check_each("argument", ["", "+knowledge", "+trust", "+status", "+support", "+logos", "+pathos", "+ethos"])
def test_every_role_and_argument_says_something(role: str, argument: str) -> None:
    """No role, and no argument, is an empty word; an argument adds to what is asked, and changes nothing else."""
    bare, made = Traits(role), Traits(role_of(role + argument))
    assert made.part == bare.part
    assert made.ask.startswith(bare.ask)
    assert (made.ask != bare.ask) == bool(argument)
