"""Replies in a debate: whole sentences, the length asked for, people in the room, and on average the attitude."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable

import pytest
from data_checks import check_each

from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.request import Request

CLIMATE = "climate_change"
PERSONAS = ("You are an American.", "You are a Republican.", "You are a Democrat.")
NAMES = {"Bob", "Cleo"}


@pytest.fixture
def say(oracle: Oracle, turn: Callable[..., Request]) -> Callable[..., str]:
    """say(...): the text of a reply; arguments as of `turn`."""

    def make(*arguments: object, **options: object) -> str:
        text = oracle.complete([turn(*arguments, **options)])[0].text
        assert text is not None
        return text

    return make


@check_each("words", [9, 10, 12, 15, 20, 40, 60])
@check_each("slug", sorted(banks().topics))
def test_length_and_whole_sentences(say: Callable[..., str], line: Callable[..., str], words: int, slug: str) -> None:
    """Never longer than asked for, never part of a sentence, and always something that can be graded."""
    for seed in range(12):
        said = say([("Bob", line(slug, 8)), ("Cleo", line(slug, 2))], slug=slug, words=words, seed=seed)
        assert len(said.split()) <= words
        assert all(re.fullmatch(r"[A-Z].*[.?]", sentence) for sentence in sentences(said))
        assert "{" not in said
        assert banks().topics[slug].grade(said) is not None


@pytest.mark.parametrize("words", [1, 3])
def test_too_few_words_are_a_named_failure(oracle: Oracle, turn: Callable[..., Request], words: int) -> None:
    """No sentence is that short: silence with its reason, neither a longer reply nor a torn one."""
    reply = oracle.complete([turn(words=words)])[0]
    assert reply.text is None
    assert reply.failure is not None
    assert reply.failure.name == "too_few_words"


def test_only_people_in_the_room_are_addressed(say: Callable[..., str], line: Callable[..., str]) -> None:
    """A capitalised word beyond the banks' own is somebody heard; over many replies both are addressed."""
    met = set()
    for seed in range(150):
        said = say([("Bob", line(CLIMATE, 8)), ("Cleo", line(CLIMATE, 2))], seed=seed)
        met |= set(re.findall(r"\b(?:Ann|Bob|Cleo|Dev)\b", said))
        assert "{other}" not in said
    assert met == NAMES
    assert not [seed for seed in range(50) if re.search(r"\b(?:Ann|Bob|Cleo)\b", say(seed=seed))]


@pytest.mark.thorough
@check_each("persona", PERSONAS)
@check_each("slug", sorted(banks().topics))
def test_spoken_grade_is_the_attitude_on_average(
    oracle: Oracle, turn: Callable[..., Request], persona: str, slug: str
) -> None:
    """Over 800 seeds the mean grade of what is said is the attitude within 0.15 (the dither's spread alone gives 0.035)."""
    requests = [turn(slug=slug, persona=persona, seed=seed) for seed in range(800)]
    truth = oracle.attitude(read(requests[0], banks()))[0]
    grades = [banks().topics[slug].grade(reply.text or "") for reply in oracle.complete(requests)]
    assert statistics.fmean([grade for grade in grades if grade is not None]) == pytest.approx(truth, abs=0.15)


def test_the_stance_sentence_stands_in_its_share_of_replies(say: Callable[..., str]) -> None:
    """About 40 percent: what a model trained on this text learns to join survey and speech from."""
    stances = [banks().topics[CLIMATE].stance_sentence(point) for point in range(11)]
    share = statistics.fmean([any(stance in say(seed=seed) for stance in stances) for seed in range(600)])
    assert share == pytest.approx(0.4, abs=0.08)


def test_temperature_zero_is_deterministic_and_seed_free(say: Callable[..., str], line: Callable[..., str]) -> None:
    """Greedy replies depend on what was said alone; warm ones on the seed as well."""
    heard = [("Bob", line(CLIMATE, 4))]
    assert len({say(heard, temperature=0.0, seed=seed) for seed in range(10)}) == 1
    assert len({say(heard, temperature=1.0, seed=seed) for seed in range(10)}) > 5
    assert say(heard, seed=3) == say(heard, seed=3)


def test_agreement_follows_what_is_said(say: Callable[..., str], line: Callable[..., str]) -> None:
    """Nobody agrees with a line and then says the opposite, nor contradicts a line and then repeats its view."""
    common, bank = banks().data("common"), banks().topics[CLIMATE]
    for grade in (0, 2, 4, 6, 8, 10):
        for seed in range(40):
            said = say([("Bob", line(CLIMATE, grade))], persona=f"You are Republican number {seed}.", seed=seed)
            own = bank.grade(said)
            assert own is not None
            first = sentences(said)[0].replace("Bob", "{other}")
            if first in common["agree"]:
                assert abs(own - grade) <= 2
                assert (own - 5) * (grade - 5) >= 0
            if first in common["rebut"]:
                assert abs(own - grade) > 3


def test_no_line_is_used_again_in_a_debate(say: Callable[..., str], line: Callable[..., str]) -> None:
    """An agreement once heard is not said again to somebody else, and a form once used not filled anew."""
    common, bank = banks().data("common"), banks().topics[CLIMATE]
    told = " ".join([form.replace("{other}", "Bob") for form in common["agree"] if "on this" in form or "we" in form])
    for seed in range(40):
        heard = [("Cleo", told), ("Bob", line(CLIMATE, 8, seed % 16))]
        said = sentences(say(heard, seed=seed))
        assert not [sentence for sentence in said if sentence.replace("Bob", "Cleo") in told.replace("Bob", "Cleo")]
        assert bank.forms[line(CLIMATE, 8, seed % 16)] not in [bank.forms.get(sentence) for sentence in said]


def test_opening_and_closing_prompts(say: Callable[..., str], line: Callable[..., str]) -> None:
    """The first speaker opens; a closing prompt ends with a closing line, in the words of the frame."""
    common = banks().data("common")
    for seed in range(20):
        first = sentences(say(seed=seed, form="opening"))[0]
        assert first.replace("climate change", "{title}").replace("debate", "{frame}") in common["opening"]
        heard = [("Bob", line(CLIMATE, 8))]
        last = sentences(say(heard, seed=seed, form="closing"))[-1]
        assert last.replace("climate change", "{title}").replace("debate", "{frame}") in common["closing"]["lines"]


def test_unread_lines_are_noted(oracle: Oracle, turn: Callable[..., Request], line: Callable[..., str]) -> None:
    """The record shows how many of the lines heard had no influence."""
    reply = oracle.complete([turn([("Bob", "What a lovely day."), ("Cleo", line(CLIMATE, 2))])])[0]
    assert reply.notes == {"unread": 1}
    assert oracle.complete([turn([("Cleo", line(CLIMATE, 2))])])[0].notes == {}


def test_usage_counts_words(oracle: Oracle, turn: Callable[..., Request]) -> None:
    """Budgets of words can be kept on this speaker too."""
    request = turn()
    reply = oracle.complete([request])[0]
    assert reply.usage.completion_tokens == len((reply.text or "").split())
    assert reply.usage.prompt_tokens >= sum(len(message.content.split()) for message in request.messages) - 3
