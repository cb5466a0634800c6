"""The sentence banks: every sentence can be graded, and only as what it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from data_checks import check_each

from parley.agents.persona import load_personas
from parley.agents.society import load_society
from parley.agents.topic import load_topic, news_names
from parley.llm.backends.oracle.phrases import GRADES, TopicBank, banks, sentences

SLUGS = ("abortion", "budget_deficit", "climate_change", "gun_violence", "illegal_immigration", "inflation", "racism")
NEWS = ("blackout",)
EVERY = (*SLUGS, *NEWS)
COMMON_SLOTS = {"title", "other", "frame"}


def strings(value: Any) -> Iterator[str]:
    """Every string of a nested table."""
    if isinstance(value, str):
        yield value
    elif not isinstance(value, int):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def expansions(bank: TopicBank) -> list[tuple[int, str]]:
    return [(grade, line) for grade, forms in bank.by_grade.items() for form in forms for line in form]


def test_every_topic_of_the_agents_has_a_bank() -> None:
    """A topic that the speaker does not know would only ever fail."""
    assert set(banks().topics) == {*SLUGS, *news_names()}


def test_a_party_is_high_as_often_as_low() -> None:
    """Three topics down and one up, with the same labels, would teach "down" and not "Republican" (tools/log)."""
    severe = [load_topic(slug).high_party for slug in SLUGS if load_topic(slug).axis == "severity"]
    assert severe.count("republican") == severe.count("democrat")


@check_each("slug", EVERY)
def test_six_grades_of_at_least_twelve_forms(slug: str) -> None:
    """Debates would repeat themselves with fewer."""
    bank = banks().topics[slug]
    assert tuple(bank.by_grade) == GRADES
    assert min(len(forms) for forms in bank.by_grade.values()) >= 12


@check_each("slug", EVERY)
def test_slots_of_a_topic_are_its_own_and_all_used(slug: str) -> None:
    """An unknown slot would raise in the middle of a debate; an unused one is dead text."""
    raw = banks().data(f"{'news' if slug in NEWS else 'topics'}/{slug}")
    named = set(re.findall(r"\{(\w+)\}", " ".join(strings(raw["grades"]))))
    assert named == set(raw["slots"])


def test_common_slots_are_known() -> None:
    """Only title, other and frame are filled in the lines that all topics share."""
    assert set(re.findall(r"\{(\w*)\}", " ".join(strings(banks().data("common"))))) == COMMON_SLOTS


@check_each("slug", EVERY)
def test_an_expansion_is_one_plain_sentence(slug: str) -> None:
    """A line is cut into sentences before it is graded: two in one, or a digit, would not be found again."""
    for _, line in expansions(banks().topics[slug]):
        assert sentences(line) == [line]
        assert line.isascii()
        assert line[0].isupper()
        assert line[-1] in ".?"
        assert not re.search(r"[\d{}\n]|  ", line), line


def test_expansions_are_unique_over_grades_topics_and_common() -> None:
    """A sentence with two grades, or in two topics, has none."""
    counted = Counter(
        [line for slug in EVERY for _, line in expansions(banks().topics[slug])] + list(strings(banks().data("common")))
    )
    assert [line for line, times in counted.items() if times > 1] == []


@check_each("slug", EVERY)
def test_the_grade_of_every_expansion_is_its_grade(slug: str) -> None:
    """What is said at a grade is heard at that grade."""
    bank = banks().topics[slug]
    assert all(bank.grade(line) == grade for grade, line in expansions(bank))


@check_each("slug", EVERY)
def test_stance_sentences_are_graded_by_their_point(slug: str) -> None:
    """The survey's own sentence is read at its point when heard; labels start alike, so that no `an` gives one away."""
    bank = banks().topics[slug]
    assert len(set(bank.labels)) == len(bank.labels) == 11
    for point in range(11):
        assert bank.grade(bank.stance_sentence(point)) == point
    assert not any(label[0] in "aeiou" for label in bank.labels)


@check_each("slug", EVERY)
def test_graded_sentences_avoid_the_phrases_of_the_stance(slug: str) -> None:
    """A label in its phrase (`a minor problem`) must come from the stance sentence alone: the survey reads it."""
    bank = banks().topics[slug]
    noun = bank.stance.rsplit("{label} ", 1)[1].rstrip(".")
    for label in bank.labels:
        phrase = f"a {label} {noun}"
        assert not [line for _, line in expansions(bank) if phrase in line.lower()], phrase


def test_a_line_grades_by_the_mean_of_what_is_known() -> None:
    """Mean over known sentences; strange ones do not count; nothing known is None and not 5."""
    bank = banks().topics["racism"]
    low, high = bank.by_grade[2][0][0], bank.by_grade[8][0][0]
    assert bank.grade(f"{low} Something strange. {high}") == 5.0
    assert bank.grade(f"{low} {bank.stance_sentence(3)}") == 2.5
    assert bank.grade("Something strange.") is None
    assert bank.grade("") is None


@check_each("society", ["us", "germany"])
def test_every_line_on_a_topic_of_the_users_is_read_as_it_was_meant(society: str) -> None:
    """Also a question that the speaker answers itself, which is two sentences."""
    bank = banks(society).topics["Should schools start at nine?"]
    assert [line for grade, line in expansions(bank) if bank.grade(line) != grade] == []
    assert {sentences(line)[0] for _, line in expansions(bank)} == set(bank.forms) <= set(bank.grades)


def test_common_lines_carry_no_grade_and_name_no_topic() -> None:
    """An address or a greeting must not move anybody, nor change the subject."""
    for line in strings(banks().data("common")):
        assert all(bank.grade(line) is None for bank in banks().topics.values())
        assert banks().recognised(line) is None, line
        assert sentences(line) == [line]


@check_each("slug", EVERY)
def test_a_topic_is_recognised_by_its_own_phrases_only(slug: str) -> None:
    """Each phrase leads to its topic, and no phrase of one topic is part of another's title."""
    bank = banks().topics[slug]
    assert all(banks().recognised(f"About {phrase} today") == slug for phrase in (bank.title, *bank.recognise))
    others = [other.title for other in banks().topics.values() if other.slug != slug]
    assert not [(phrase, title) for phrase in bank.recognise for title in others if phrase in title]


def test_persona_texts_avoid_the_labels() -> None:
    """A persona that holds the survey's adjective would hand the survey its answer."""
    texts = [person.backstory for party in ("republican", "democrat", "default") for person in load_personas(party)]
    texts += list(strings(banks().data("backstory")))
    for bank in banks().topics.values():
        noun = bank.stance.rsplit("{label} ", 1)[1].rstrip(".")
        for label in bank.labels:
            assert not [text for text in texts if f"{label} {noun}" in text.lower()], label


@check_each(("society", "slug"), [(home, name) for home in ("us", "germany") for name in news_names(home)])
def test_the_speaker_knows_every_item_of_news(society: str, slug: str) -> None:
    """Its sentences are single ones that are read back at their grade, and the true report argues against the rumour."""
    topic = load_topic(load_society(society).qualified(slug))
    bank = banks(society).topics[topic.slug]
    assert topic.news is not None
    for grade, line in expansions(bank):
        assert sentences(line) == [line]
        assert bank.grade(line) == grade
        assert not re.search(r"[{}\n]|  ", line), line
    assert bank.title == topic.title
    assert bank.direction(topic.claim.lower()) == 1
    assert bank.grade(topic.news.report) == 0
    assert banks(society).recognised(topic.probe("attitude").question) == topic.slug


def test_subjects_have_the_planted_numbers() -> None:
    """Politics is passed on with the most influence, science with the least: what results by topic have to find."""
    numbers = {name: banks().parameters[name]["kappa"] for name in ("council", "bridge", "bank", "comet", "blackout")}
    assert numbers == {"council": 0.14, "bridge": 0.12, "bank": 0.1, "comet": 0.07, "blackout": 0.1}
