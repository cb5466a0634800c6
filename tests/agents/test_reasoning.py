"""Abilities: what is asked before an utterance, what is read of the reply, and where the note goes."""

from __future__ import annotations

import pytest
from data_checks import check_each

from parley.agents.language import ENGLISH
from parley.agents.reasoning import ABILITIES, labelled_parts, open_ability
from parley.agents.topic import load_topic
from parley.llm.errors import UserError
from parley.llm.request import Reply

from .conftest import Make, say, sent

LABELS = ("Belief", "Desire", "Intention")
NAMES = ("belief", "desire", "intention")
BDI = "Belief: Guns kill.\nDesire: Fewer of them.\nIntention: I will say so."
NOTED = "Belief: Guns kill. Desire: Fewer of them. Intention: I will say so."


@check_each("name", ["bdi", "bounded", "latent"])
def test_the_folder_is_the_registry(name: str) -> None:
    """An ability that is dropped in is found, under its own name."""
    ability = open_ability(name)
    assert name in ABILITIES.names()
    assert ability is not None
    assert ability.name == name
    assert "debate" in ability.ask("debate", ENGLISH)
    assert ability.tokens > 0


def test_none_is_no_ability() -> None:
    assert open_ability("none") is None


@check_each(
    ("spec", "told"),
    [
        ("bid", "unknown ability 'bid': did you mean bdi"),
        ("bounded,word=3", "unknown option of bounded 'word': did you mean words"),
        ("bounded,words=0", "ability bounded: words must be at least 1"),
        ("bounded,words=few", "option words of bounded is 'few', but must be a whole number"),
    ],
)
def test_what_is_mistyped_is_told_in_one_line(spec: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        open_ability(spec)


@check_each(
    "reply",
    [
        BDI,
        "**Belief:** Guns kill.\n**Desire:** Fewer of them.\n**Intention:** I will say so.",
        "Intention: I will say so.\nBelief: Guns\nkill.\n\nDESIRE: Fewer of them.",
        "1. Belief: Guns kill.\n2. Desire: Fewer of them.\n3) Intention: I will say so.",
        "Belief: Guns kill. Desire: Fewer of them. Intention: I will say so.",
    ],
)
def test_parts_as_models_write_them(reply: str) -> None:
    """Layout is forgiven; what is said is not changed."""
    assert labelled_parts(reply, LABELS, NAMES).text == NOTED


@check_each(
    ("reply", "reason"),
    {
        "": "no_belief",
        "I hear you.": "no_belief",
        "Belief: a. Desire: b.": "no_intention",
        "Belief: a. Desire: b. Intention:": "no_intention",
        "Belief: a. Belief: b. Desire: c. Intention: d.": "several_belief",
        "Beliefs: a. Desire: b. Intention: c.": "no_belief",
        "As an AI language model, I cannot role-play. Belief: a. Desire: b. Intention: c.": "refusal",
    }.items(),
)
def test_a_note_that_lacks_a_part_is_none_with_its_reason(reply: str, reason: str) -> None:
    """A guessed belief would be a made-up state of mind."""
    assert labelled_parts(reply, LABELS, NAMES) == (None, reason)


def test_the_note_stands_before_what_is_asked_and_is_not_remembered(make: Make) -> None:
    """Private: it is in the request for the utterance it was made for; later requests have the newest note alone."""
    ann = make("Ann", "Bob", think="bdi")
    ann.hear("Bob", "Guns!")
    thought = ann.compose_thought(7)
    assert (thought.purpose, thought.seed, thought.sampling.max_tokens) == ("bdi", 7, 150)
    assert sent(thought)[-1].endswith(f"Bob: Guns!\n\n{ann.ability.ask('debate', ENGLISH)}")
    assert ann.absorb_thought(Reply(BDI)).text == NOTED
    first = say(ann, "Yes.")
    note = f"What you have noted for yourself, and nobody else reads: {NOTED}"
    assert sent(first)[-1].endswith(
        f"Bob: Guns!\n\n{note}\n\nNow it is your turn to speak, Ann. Answer what was said, in your own words."
    )
    ann.hear("Bob", "No.")
    again = sent(ann.compose_thought(8))
    assert again[-1] == f"user: Bob: No.\n\n{note}\n\n{ann.ability.ask('debate', ENGLISH)}"
    assert note not in "\n".join(again[:-1])


def test_a_note_that_cannot_be_read_is_not_replaced_by_the_last_one(make: Make) -> None:
    """Nothing is carried on: the utterance is then composed as without an ability."""
    ann, plain = make("Ann", "Bob", think="bdi"), make("Ann", "Bob")
    ann.absorb_thought(Reply(BDI))
    assert ann.absorb_thought(Reply("Well.")).reason == "no_belief"
    assert ann.compose_speech(1).messages == plain.compose_speech(1).messages
    assert ann.absorb_thought(Reply.failed("timeout")) == (None, "timeout")


def test_a_survey_never_shows_the_note(make: Make) -> None:
    """What is measured is asked in the same words with and without an ability."""
    ann, plain = make("Ann", "Bob", think="bdi"), make("Ann", "Bob")
    ann.absorb_thought(Reply(BDI))
    probe = load_topic("gun_violence").probe("attitude")
    assert ann.compose_survey(probe, 1).messages == plain.compose_survey(probe, 1).messages


def test_a_note_is_one_line(make: Make) -> None:
    """A line break followed by a name would read as somebody else's line."""
    ann = make("Ann", "Bob", think="bounded,words=9")
    assert ann.absorb_thought(Reply("I wonder.\nBob: I am wrong.")).text == "I wonder. Bob: I am wrong."
    assert "in at most 9 words" in sent(ann.compose_thought(1))[-1]
