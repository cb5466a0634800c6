"""Interviews, question writing, backstories and summaries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.agent import Debater
from parley.agents.language import ENGLISH
from parley.agents.persona_generator import find_clash, in_backstories, request_facts
from parley.agents.society import load_society
from parley.agents.topic import load_topic
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.purposes import Facts
from parley.llm.request import Reply

SEED_ITEMS = Path(__file__).parents[4] / "shared" / "data" / "reference" / "seed_items.json"
PERSONAS = ("You are a Republican.", "You are a Democrat.", "You are an American.")
TABLE_2 = (
    "Generate 10 questions to elicit one's opinion regarding US politics. Example question: {question}. "
    "Phrase your question in a neutral way without biasing the answer"
)  # Taubenfeld et al. 2024, Table 2, verbatim
EXAMPLE = "What are your views on racial inequality and systemic racism in American society?"


def test_interview_on_the_ten_seed_questions(asked: Callable[..., Reply]) -> None:
    """The fine-tuning study asks these; each party has an answer of its own to each."""
    if not SEED_ITEMS.exists():
        pytest.skip("the seed questions are no part of this checkout (shared/data/reference)")
    questions = json.loads(SEED_ITEMS.read_text(encoding="utf-8"))["finetune_seed_questions_001_table2"]
    assert len(questions) == 10
    for question in questions:
        texts = [asked(question, persona=persona, seed=1).text for persona in PERSONAS]
        assert all(texts), question
        assert len(set(texts)) == 3
        assert all(len(sentences(text or "")) >= 2 for text in texts)
        assert not [text for text in texts if "{" in (text or "")]


@check_each("slug", sorted(banks().topics))
def test_an_interview_on_a_topic_speaks_at_the_attitude(asked: Callable[..., Reply], slug: str) -> None:
    """Mean grade over 300 answers is the planted bias within 0.2, and no slot is left unfilled."""
    texts = [asked(f"What is your view of {banks().topics[slug].title}?", seed=seed).text or "" for seed in range(300)]
    grades = [banks().topics[slug].grade(text) for text in texts]
    assert sum(grade or 0.0 for grade in grades) / 300 == pytest.approx(planted()[slug].bias, abs=0.2)
    assert None not in grades
    assert not [text for text in texts if "{" in text]


def write(asked: Callable[..., Reply], example: str, seed: int = 0, count: int = 10) -> Reply:
    """Questions on US politics, with an example."""
    facts: Facts = {"count": count, "question": example}
    return asked(TABLE_2.format(question=example), persona="", seed=seed, purpose="questions", facts=facts)


@pytest.mark.parametrize("question", [EXAMPLE, "What do you think about taxes?"])
def test_questions_are_written_to_the_prompt_of_table_2(asked: Callable[..., Reply], question: str) -> None:
    """Ten distinct numbered questions, none of them the example, other ones at another seed."""
    asks = [write(asked, question, seed).text or "" for seed in (0, 0, 1)]
    found = [re.fullmatch(r"(\d+)\. (\S.*\?)", line) for line in asks[0].splitlines()]
    assert [match and int(match[1]) for match in found] == list(range(1, 11))
    written = {match[2] for match in found if match}
    assert len(written) == 10
    assert question not in written
    assert asks[0] == asks[1] != asks[2]


def test_most_questions_are_about_the_topic_of_the_example(asked: Callable[..., Reply]) -> None:
    """As a model's would be; without one on a topic they are about anything."""

    def share(example: str) -> float:
        texts = [write(asked, example, seed).text or "" for seed in range(20)]
        found = [banks().recognised(line) for text in texts for line in text.splitlines()]
        return found.count("racism") / len(found)

    assert 0.7 <= share(EXAMPLE) < 0.85
    assert share("What do you think about taxes?") < 0.2


def test_more_questions_than_there_are_is_a_failure(asked: Callable[..., Reply]) -> None:
    """Repeating questions to fill the number would be made-up variety."""
    reply = write(asked, EXAMPLE, count=5000)
    assert reply.failure is not None
    assert reply.failure.name == "unknown_ask"


@pytest.mark.parametrize("side", ["republican", "democrat"])
def test_a_backstory_is_of_its_party_and_states_every_topic(asked: Callable[..., Reply], side: str) -> None:
    """What is written must be read as it is meant: party, name, second person, and a level for every topic that wants one."""
    facts = request_facts(side, "Zoe", in_backstories(load_society()))
    for seed in range(60):
        story = asked("", persona="", seed=seed, purpose="backstory", facts=facts).text or ""
        assert banks().party(story) == side, story
        assert "Zoe" in story
        assert re.search(r"\b(?:You are|Your name is)\b", story)
        stated = [slug for slug in banks().topics if re.search(_level(slug), story)]
        assert stated == sorted(slug for slug in banks().topics if load_topic(slug).in_backstories)
        assert "{" not in story
        assert 120 <= len(story.split()) <= 180, story
        assert find_clash(story) is None, story


def test_the_writer_states_the_positions_it_is_given(asked: Callable[..., Reply]) -> None:
    """A user edits the party's position in a topic file; the level named there is the one in every backstory."""
    facts = request_facts("republican", "Zoe", ("racism",))
    facts["positions"] = [(subject, "a very big problem") for subject, _ in facts["positions"]]
    stories = [asked("", seed=seed, purpose="backstory", facts=facts).text or "" for seed in range(20)]
    assert all("a very big problem" in story for story in stories)
    assert not any("a small problem" in story for story in stories)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (("how big a problem bats is", "a small problem"), "no sentences on 'how big a problem bats is'"),
        (("how big a problem racism is", "hardly any"), "knows no position 'hardly any'"),
    ],
)
def test_the_writer_refuses_what_it_has_no_sentences_for(
    asked: Callable[..., Reply], told: tuple[str, str], why: str
) -> None:
    """A topic that is dropped in silence would leave the personas without a position on it."""
    facts = request_facts("democrat", "Zoe", ("racism",)) | {"positions": [told]}
    reply = asked("", purpose="backstory", facts=facts)
    assert reply.failure is not None
    assert (reply.failure.name, reply.text) == ("unknown_ask", None)
    assert why in reply.failure.detail


def _level(slug: str) -> str:
    if slug == "abortion":
        return r"(?:strongly|somewhat) (?:oppose|favor)"
    levels = "not a problem at all|a (?:small|moderately big|very big) problem"
    title = banks().topics[slug].title
    return rf"(?:{title}[^.]*(?:{levels})|(?:{levels})[^.]*{title})"


def test_a_summary_can_be_read_back(oracle: Oracle, debater: Callable[..., Debater], line: Callable[..., str]) -> None:
    """One line a speaker, which the law of motion then reads at the grade of what was said."""
    agent = debater(memory="summary:1", others=("Bob", "Cleo"))
    for name, grade in (("Bob", 8), ("Bob", 10), ("Bob", 6), ("Cleo", 2)):
        agent.hear(name, line("climate_change", grade))
    agent.hear("Cleo", line("climate_change", 2, 1))
    request = agent.compose_summary(1)
    assert request is not None
    reply = oracle.complete([request])[0]
    agent.absorb_summary(reply)
    heard = read(agent.compose_speech(1), banks()).heard
    bank = banks().topics["climate_change"]
    assert [(name, bank.grade(text)) for name, text in heard] == [("Bob", 8.0), ("Cleo", 2.0), ("Cleo", 2.0)]


def test_nothing_readable_is_not_summarised(asked: Callable[..., Reply]) -> None:
    """A summary of what could not be read would be invented."""
    ask = ENGLISH.prompt("summary").fill(frame="debate", words=100)
    reply = asked(f"A debate.\n\nBob: A lovely day.\n\n{ask}", purpose="summary", facts={"topic": "racism"})
    assert reply.text is None
    assert reply.failure is not None
    assert reply.failure.name == "nothing_to_summarise"
