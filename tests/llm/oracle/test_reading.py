"""What the speaker understands of the prompts that the project's own agents send."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from data_checks import check_each

from parley.agents.agent import Debater
from parley.agents.persona import load_personas
from parley.agents.topic import load_topic, topic_names
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.backends.oracle.prompt_parser import Reading, read
from parley.llm.request import Message, Reply, Request, Sampling


def reading(*contents: tuple[str, str]) -> Reading:
    return read(Request(tuple([Message(role, text) for role, text in contents]), Sampling(), 0), banks())


def test_the_first_turn_of_a_debater(debater: Callable[..., Debater]) -> None:
    """Persona, topic and length are found, and nobody is heard before anybody spoke."""
    found = read(debater("You are Ann, a Republican.", words=45).compose_speech(1), banks())
    assert (found.party, found.topic, found.words, found.greedy) == ("republican", "climate_change", 45, False)
    assert (found.heard, found.own) == ((), ())
    assert found.ask == "You are the one who starts the debate. Complete your next reply."


@pytest.mark.parametrize("memory", ["whole", "last:12"])
def test_lines_heard_and_own_lines_of_a_debater(debater: Callable[..., Debater], memory: str) -> None:
    """All lines of others in order with their names, own ones apart: what the law of motion runs over."""
    agent = debater(memory=memory)
    agent.hear("Bob", "First point.")
    agent.absorb_speech(Reply("My own words: here."))
    agent.hear("Cleo", "Note: a colon inside.")
    agent.hear("Bob", "Third.")
    found = read(agent.compose_speech(1), banks())
    assert found.heard == (("Bob", "First point."), ("Cleo", "Note: a colon inside."), ("Bob", "Third."))
    assert found.own == ("My own words: here.",)
    assert found.ask == "Complete your next reply."


def test_a_survey_leaves_the_lines_as_they_are(debater: Callable[..., Debater]) -> None:
    """A rating and a reply at the same point must follow from the same lines."""
    agent = debater()
    agent.hear("Bob", "First point.")
    probe = load_topic("climate_change").probe("attitude")
    plain, again = (read(agent.compose_survey(probe, 1, again), banks()) for again in (False, True))
    assert plain.heard == again.heard == read(agent.compose_speech(1), banks()).heard == (("Bob", "First point."),)
    assert "How big a problem is climate change" in plain.ask
    assert again.ask.startswith("That answer could not be read.")
    assert plain.greedy


def test_a_summary_is_read_as_lines(debater: Callable[..., Debater]) -> None:
    """With summarising memory, what came before is heard through the summary's lines."""
    agent = debater(memory="summary:1")
    agent.hear("Bob", "First point.")
    agent.hear("Cleo", "Second.")
    agent.absorb_summary(Reply("Bob: held the first point."))
    assert read(agent.compose_speech(1), banks()).heard == (("Bob", "held the first point."), ("Cleo", "Second."))


@check_each("slug", topic_names())
@check_each("frame", ["debate", "conversation"])
def test_the_topic_of_every_shipped_topic_is_found(debater: Callable[..., Debater], slug: str, frame: str) -> None:
    """A topic that is not recognised would answer nothing."""
    assert read(debater(slug=slug, frame=frame).compose_speech(0), banks()).topic == slug


def test_the_question_names_the_topic_before_the_opening() -> None:
    """A probe on another topic in the middle of a debate is a question about that other topic."""
    found = reading(("user", "This is a debate about racism.\n\nHow big a problem is gun violence?"))
    assert found.topic == "gun_violence"


@pytest.mark.parametrize("of", ["republican", "democrat"])
def test_the_party_of_every_shipped_persona(of: str) -> None:
    """A persona of the wrong party starts at the wrong end."""
    assert {banks().party(person.backstory) for person in load_personas(of)} == {of}
    assert {banks().party(person.backstory) for person in load_personas("default")} == {"none"}


def test_shipped_personas_state_every_topic_where_it_is_named() -> None:
    """Sentences are split at full stops: an abbreviation in a backstory would cut a statement in two."""
    for person in load_personas("republican") + load_personas("democrat"):
        assert all(sentence.rstrip()[-1] in ".!?" for sentence in sentences(person.backstory))


@check_each(
    "name",
    [
        "Bob",
        "José",
        "Élodie",
        "Łukasz",
        "Mary-Jane",
        "O'Brien",
        "D’Arcy",
        "St. John",
        "Ana María Núñez",
        "María del Mar",
        "Øyvind",
        "李明",
        "T2",
    ],
)
def test_names_of_all_kinds_are_heard(name: str) -> None:
    """A name that is not read as one would silently take its lines out of the debate."""
    found = reading(("user", f"This is a debate about racism.\n\n{name}: A line.\n\nComplete your next reply."))
    assert found.heard == ((name, "A line."),)


@check_each(
    "text",
    [
        "Question: what now?",
        "Note: be brief.",
        "in short: no",
        "Answer in this form: yes",
        "Scale: 0 to 10",
        "Bob:",
        "Bob:no space",
    ],
)
def test_labels_and_prose_are_no_lines(text: str) -> None:
    """An instruction with a colon is not somebody speaking."""
    assert reading(("user", f"This is a debate about racism.\n\n{text}\n\nGo on.")).heard == ()


def test_odd_prompts_are_read_without_an_error() -> None:
    """Whatever is sent, there is a reading (and then a named failure), never an exception."""
    empty = reading()
    assert (empty.persona, empty.opening, empty.ask, empty.topic, empty.party, empty.words) == (
        "",
        "",
        "",
        None,
        "none",
        60,
    )
    assert reading(("user", "")).ask == ""
    assert reading(("user", "\n\n\n\n")).ask == ""
    assert reading(("assistant", "Hello."), ("user", "Well?")).own == ("Hello.",)
    assert reading(("system", "One."), ("system", "Two.")).persona == "One.\nTwo."
    assert Oracle().complete([Request((), Sampling(), 0)])[0].failure is not None


def test_the_length_is_that_of_the_question_before_the_opening() -> None:
    """A length in the question overrides the one the debate started with."""
    messages = (Message("user", "A debate.\n\nYour closing statement, in 20 words."),)
    assert read(Request(messages, Sampling(), 0, facts={"words": 60}), banks()).words == 20
