"""Names as the pocket model sees them: a token each on the way in, the name again on the way out. No weights needed."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from parley.agents.agent import Debater
from parley.agents.persona import Persona
from parley.agents.speech import DebateStyle
from parley.agents.topic import load_topic
from parley.llm.backends.pocket.prompt_ids import SLOTS, mask_names, name_tokens, unmask_names
from parley.llm.request import Message, Sampling

NAMES = ("Ann", "Bob", "Élodie Saint-Clair", "María del Mar", "O'Neil", "Jo")


def prompt(*others: str, heard: tuple[str, ...] = ()) -> tuple[Message, ...]:
    """A debate's prompt as the real agents write it."""
    import mesa

    style = DebateStyle("debate", 60, Sampling(), 0.0, "whole", "strict")
    persona = Persona("x", "republican", "Ann", "You are Ann, 40. Ann likes Annapolis.")
    debater = Debater(mesa.Model(), persona, load_topic("racism"), others, style)
    for name in heard:
        debater.hear(name, f"I agree with Ann, and {name} is my name.")
    return debater.compose_speech(1).messages


def test_own_name_comes_first_then_those_present_then_whoever_speaks() -> None:
    found = name_tokens(prompt("Bob", "María del Mar", "Jo", heard=("Jo", "Quinn")))
    assert found == dict(zip(["Ann", "Bob", "María del Mar", "Jo", "Quinn"], SLOTS, strict=False))
    assert name_tokens(prompt()) == {"Ann": "<name0>"}
    assert name_tokens([Message("user", "The person's name is Ann. Write.")]) == {"Ann": "<name0>"}
    assert name_tokens([Message("user", "What do you think of racism? You are right.")]) == {}


def test_names_are_replaced_as_whole_words_everywhere() -> None:
    system, user = mask_names(prompt("Bob", heard=("Bob",)), {"Ann": "<name0>", "Bob": "<name1>"})
    assert system.content == "You are <name0>, 40. <name0> likes Annapolis."
    assert "<name1>: I agree with <name0>, and <name1> is my name." in user.content
    assert not re.search("Ann(?!apolis)|Bob", user.content)


@given(st.lists(st.sampled_from(NAMES[1:]), unique=True), st.text(st.sampled_from("ab <>:.Annme0"), max_size=40))
def test_what_goes_in_comes_out(others: list[str], text: str) -> None:
    """Masking and naming undo each other, whoever is there and whatever is said (but for a token written by hand)."""
    names = name_tokens(prompt(*others))
    if "<name" not in text:
        (message,) = mask_names([Message("user", text)], names)
        assert unmask_names(message.content, names) == text


def test_a_token_for_nobody_stays_to_be_seen() -> None:
    """No name is made up: what the model says of somebody who is not there is in the record as it was said."""
    assert unmask_names("I agree, <name1> and <name7>.", {"Bob": "<name1>"}) == "I agree, Bob and <name7>."


def test_more_people_than_tokens_keep_their_names() -> None:
    many = [chr(65 + number) * 3 for number in range(15)]
    found = name_tokens(prompt(*many))
    assert len(found) == len(SLOTS)
    assert unmask_names(mask_names([Message("user", many[-1])], found)[0].content, found) == many[-1]


def test_the_prompt_of_a_turn_stays_the_beginning_of_the_next() -> None:
    """Append-only prompts stay so behind the mask: what was read before is found again."""
    first = prompt("Bob", "Jo", heard=("Bob",))
    later = (*first, Message("assistant", "Well, Bob."), Message("user", "Jo: Hm, Sam.\nSam: Yes."))
    assert mask_names(later, name_tokens(later))[: len(first)] == mask_names(first, name_tokens(first))


def test_a_persona_names_its_owner_in_an_interview_and_an_adjective_is_no_name() -> None:
    asked = Message("user", "Who are you?")
    for text, names in (
        ("You are Miriam, 78 years old.", {"Miriam": "<name0>"}),
        ("Your name is Hector, you are 58.", {"Hector": "<name0>"}),
        ("You are Mary Jane, an American.", {"Mary Jane": "<name0>"}),
        ("You are French. You live in Ohio.", {}),
        ("You are Catholic and you vote.", {}),
        ("You are an American.", {}),
    ):
        assert name_tokens([Message("system", text), asked]) == names
