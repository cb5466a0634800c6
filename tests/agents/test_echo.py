"""The wall of echoes: what a completion model writes after its turn is heard by nobody, a survey and its answer least of all."""

from __future__ import annotations

import re

from data_checks import check_each
from hypothesis import example, given
from hypothesis import strategies as st

from parley.agents.language import ENGLISH
from parley.agents.reply_cleaning import _instructions, cut_echo
from parley.agents.speech import Speech
from parley.agents.topic import load_topic, topic_names
from parley.llm.request import Reply

from .conftest import Make, say, sent

GUNS = load_topic("gun_violence")
ASKED = GUNS.probe("attitude").ask("debate")
LABELLED = GUNS.probe("attitude_labelled").ask("debate")
FORM = GUNS.probe("attitude_labelled").sentence.format(label="big", number=7)

WALL = {
    "I agree.\n\nComplete your next reply.\n\nMe: And also guns.": "I agree.",
    "I agree. Complete your next reply. And also guns.": "I agree.",
    "I agree. Now it is your turn to speak, Bob. And also guns.": "I agree.",
    "I agree.\n\nMe: And more.\n\nMe: And more.": "I agree.",
    "I agree.\nAnn: again": "I agree.",
    "[Ann]: I agree": "I agree",
    "**[Ann]:** I agree": "I agree",
    "[Bob]: I agree": "I agree",
    "I agree.\n[Bob]: No!": "I agree.",
    "Sure! Here is my next reply: I agree.": "I agree.",
    'Here\'s my reply:\n\n"I agree."': "I agree.",
    "Certainly, here is Ann's response to Bob: I agree.": "I agree.",
    "Here is the thing: I agree.": "Here is the thing: I agree.",
    "Here is my answer, Bob: no.": "no.",
    "My view is this: we must act.": "My view is this: we must act.",
    f"I agree.\n\n{ASKED}\n\nAnswer: 7": "I agree.",
    f"I agree. {ASKED} 7": "I agree.",
    f"{ASKED}\n\nAnswer: 7\n\nComplete your next reply.\n\nMe: I agree.": None,
    f"That answer could not be read. {ASKED} 7": None,
    f"{GUNS.probe('attitude').question}\n\nAnswer: 7": None,
    ASKED.partition(": ")[2] + " 7": None,
    LABELLED: None,
    f"{LABELLED} {FORM}": None,
    f"I agree. {FORM}": "I agree.",
    FORM: None,
    "Answer: 7": None,
    "answer: 7.": None,
    "7": None,
    " **7** ": None,
    "7/10": None,
    "I agree.\n\nAnswer: 7": "I agree.",
    "You are Ann; the other is Bob. Speak only for yourself, in your own voice, in at most 50 words.": None,
    "You are Bob; I am Ann, and I agree.": "You are Bob; I am Ann, and I agree.",
    "7 of 10 people agree.": "7 of 10 people agree.",
    "The answer: more police.": "The answer: more police.",
    "Answer me, Bob: why?": "Answer me, Bob: why?",
    "How big a problem is gun violence in the United States today? Ask the mothers.": (
        "How big a problem is gun violence in the United States today? Ask the mothers."
    ),
    "Privately, I doubt it.": "Privately, I doubt it.",
}


@check_each(("written", "heard"), WALL.items())
def test_the_wall_of_echoes(make: Make, written: str, heard: str | None) -> None:
    """Ann speaks to Bob: what is hers is heard, what she was sent is not, and her own words stay as they are."""
    assert make("Ann", "Bob").absorb_speech(Reply(written)).text == heard


@check_each(
    ("written", "reason"),
    {ASKED: "echo", "7": "echo", "Complete your next reply.": "echo", "Ann:\nBob: No!": "spoke_for_others", " ": "empty"}.items(),
)  # fmt: skip
def test_an_echo_has_a_reason_of_its_own(make: Make, written: str, reason: str) -> None:
    """A table of reasons tells a model that repeats from one that is silent; neither leaves a trace."""
    ann = make("Ann", "Bob")
    before = sent(ann.compose_speech(1))
    assert ann.absorb_speech(Reply(written)) == Speech(None, reason)
    assert sent(ann.compose_speech(1)) == before


PROBES = [
    (topic, probe.ask(frame), probe.sentence)
    for topic in map(load_topic, topic_names())
    for probe in topic.probes.values()
    for frame in ("debate", "conversation")
]
OWN = ["I agree. ", "We must act.\n", "\n\n", "“No.” ", "Bob, you are right ", "Me: ", "Ann: ", ""]
BETWEEN = [" ", "\n", "\n\n", "\n\nAnswer: ", " Answer: ", ". "]


@given(
    st.sampled_from(PROBES),
    st.lists(st.sampled_from(OWN)),
    st.sampled_from(BETWEEN),
    st.integers(0, 100),
    st.booleans(),
)
@example(PROBES[0], [], " ", 7, True)
def test_no_survey_is_ever_heard(asked: tuple, own: list[str], between: str, number: int, whole: bool) -> None:
    """Any survey of any topic, whole or from its question on, behind anything, with any answer: no number comes through."""
    topic, survey, sentence = asked
    told = survey if whole else survey.partition(": ")[2]
    answer = sentence.format(label="big", number=number) if sentence else str(number)
    left = cut_echo("".join(own) + told + between + answer, topic, "Ann")
    assert not re.search(r"\d", left)
    assert "Answer" not in left
    assert "scale goes from" not in left


def test_every_prompt_is_known_by_its_words() -> None:
    """A reworded prompt is found by its new words; none is known by fewer words than anybody might say."""
    words = [" ".join(mark) for mark in _instructions(ENGLISH)]
    for told in (
        "now it is your turn to speak",
        "nobody has spoken in this",
        "privately and apart from the",
        "answer with one number from",
    ):
        assert told in words
    assert all(len(mark.split()) >= 4 for mark in words)
    assert not any(cut_echo(ENGLISH.prompt(name).text, GUNS, "Ann") for name in ("turn", "start", "reask"))


def test_an_echo_is_heard_by_nobody_later(make: Make) -> None:
    """What was cut is in no later request: neither to her who wrote it, nor to anybody who heard her."""
    ann, bob = make("Ann", "Bob"), make("Bob", "Ann")
    said = ann.absorb_speech(Reply(f"I agree.\n\n{ASKED}\n\nAnswer: 7")).text
    assert said == "I agree."
    bob.hear("Ann", said)
    for agent in (ann, bob):
        assert "Privately" not in str(sent(say(agent, "Yes.")))
