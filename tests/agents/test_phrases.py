"""Survey questions that are answered with a phrase which ends a sentence: "I think climate change is a large problem." """

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from data_checks import check_each

from parley.agents.language import ENGLISH, Language, load_language
from parley.agents.planted_people import planted_people
from parley.agents.probe import Probe, shared_probes
from parley.agents.society import load_society
from parley.agents.topic import load_topic, news_names, society_topics
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.events import Rated
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario

LANGUAGES = [ENGLISH, load_language("de")]
SHIPPED = [
    (society, slug) for society in ("us", "uk", "germany", "neutral") for slug in society_topics(load_society(society))
]
EVERYWHERE = [(society, f"{society}/two_options") for society in ("us", "germany")]
EVERYWHERE += [(society, f"{society}/game_of_points") for society in ("us", "germany")]
NEWS = [(society, f"{society}/{name}") for society in ("us", "germany") for name in news_names(society)]


def asked_in_phrases(slug: str) -> list[Probe]:
    topic = load_topic(slug)
    return [topic.probe(f"{name}@phrases") for name in ("attitude", "agreement", *numbered(topic.language))]


def numbered(language: Language) -> list[str]:
    """The questions on any topic that are asked in numbers."""
    return [name for name, probe in shared_probes(language).items() if probe.scale.kind == "numeric"]


@check_each(("society", "slug"), [*SHIPPED, *EVERYWHERE, *NEWS])
def test_every_question_has_phrases_that_end_its_sentence(society: str, slug: str) -> None:
    """Four to seven phrases, none the beginning of another. The prompt lists none: a small model repeats what it reads."""
    for probe in asked_in_phrases(slug):
        labels = probe.scale.answers
        assert 4 <= len(labels) <= 7, probe.name
        assert probe.prefix.endswith(" "), probe.name
        assert len(probe.prefix) > 1, probe.name
        asked = probe.ask("debate")
        assert not all(label in asked for label in labels), probe.name
        for place, label in enumerate(labels):
            assert not any(other.startswith(label) for other in labels if other != label)
            said = probe.sentence.replace("{label}", label)
            assert probe.read(said) == (probe.scale.points[place], None), said
            assert probe.read(label.capitalize() + ".").value == probe.scale.points[place], label


@check_each("slug", [slug for society, slug in SHIPPED if society in ("us", "germany")])
def test_phrases_are_not_the_words_of_planted_positions(slug: str) -> None:
    """Else a model would only repeat its persona: the words between "a" and "problem" are others."""
    topic = load_topic(slug)
    words = {
        word for label in topic.probe("attitude@phrases").scale.answers for word in re.findall(r"\w{4,}", label.lower())
    }
    words -= {"problem", "idea", "idee", "eine", "kein"}
    for person in planted_people(topic, 0):
        said = person.backstory.lower().replace(topic.title.lower(), "")
        assert not [word for word in words if re.search(rf"\b{word}\b", said)], person.backstory


def test_one_run_is_asked_in_one_way(small: Callable[..., Scenario]) -> None:
    """`asked` changes all questions of a run, is in its header, and is taken back."""
    phrased = small("two_way", asked="phrases", also="valence,agreement:public")
    assert phrased.surveys.probe == "attitude@phrases"
    assert phrased.surveys.also == ("valence@phrases", "agreement@phrases:public")
    assert phrased.to_dict()["asked"] == "phrases"
    assert phrased.with_settings({"asked": "numbers"}).surveys.probe == "attitude"
    assert phrased.with_settings({"probe": "agreement"}).surveys.probe == "agreement@phrases"


def test_a_debate_in_phrases_has_opinions(small: Callable[..., Scenario]) -> None:
    """The known-truth speaker means the same thing in both ways of asking: on ten points it differs by less than a step."""
    opinions = {}
    for way in ("numbers", "phrases"):
        recorder = MemoryRecorder()
        DebateModel(small("two_way", asked=way, llm="oracle"), recorder=recorder).run()
        rated = [event for event in recorder.events if isinstance(event, Rated)]
        assert {event.probe for event in rated} == {"attitude@phrases" if way == "phrases" else "attitude"}
        assert all(event.expected is not None and event.reason is None for event in rated)
        opinions[way] = [event.expected for event in rated]
    assert opinions["phrases"] == pytest.approx(opinions["numbers"], abs=1.5)


def test_a_question_without_phrases_is_one_line() -> None:
    with pytest.raises(UserError, match=r"attitude_reversed has no phrases: set asked=numbers, or add"):
        load_topic("racism").probe("attitude_reversed@phrases")
    assert load_topic("racism").probe("studied@phrases").scale.name == "studied", "words already"
