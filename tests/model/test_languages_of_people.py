"""People of one society who speak different languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parley.agents.persona import all_personas
from parley.agents.skeleton import write_skeleton
from parley.agents.society import load_society
from parley.agents.society_check import check_society
from parley.agents.topic import load_topic
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.phrases import banks
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Rated, Seated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import load_preset

TOPIC = """title = "eine neue Bibliothek"
[probes.attitude]
question = "Wie sehr stimmst du zu, dass die Stadt eine neue Bibliothek bauen soll?"
[probes.attitude_labelled]
question = "Wie gut ist die Idee einer neuen Bibliothek?"
sentence = "Ich halte eine neue Bibliothek für {label} ({number})."
[probes.attitude_phrases]
question = "Wie gut ist die Idee einer neuen Bibliothek?"
sentence = "Ich halte eine neue Bibliothek für {label}."
[probes.agreement]
question = "Wie sehr stimmst du zu, dass die Stadt eine neue Bibliothek bauen soll?"
"""
SENTENCES = """title = "eine neue Bibliothek"
recognise = ["bibliothek"]
stance = "Ich halte eine neue Bibliothek für {label}."
labels = ["grundfalsch", "falsch", "schlecht", "unklug", "fragwürdig", "vertretbar", "brauchbar", "vernünftig", "gut", "richtig",
          "hervorragend"]
[[propositions]]
phrase = "die stadt eine neue bibliothek bauen soll"
direction = 1
[grades]
g0 = ["Eine Bibliothek ist weggeworfenes Geld.", "Keine Bibliothek, jetzt nicht und später nicht."]
g2 = ["Ich bezweifle, dass eine Bibliothek ihr Geld wert ist.", "Eine Bibliothek steht ganz unten auf meiner Liste."]
g4 = ["Ich neige ein wenig gegen eine Bibliothek.", "Ich sehe mehr Fragen als Antworten in einer Bibliothek."]
g6 = ["Eine kleine Bibliothek scheint mir sinnvoll.", "Ich neige ein wenig zu einer Bibliothek."]
g8 = ["Eine Bibliothek ist gut angelegtes Geld.", "Ich will bald eine Bibliothek."]
g10 = ["Wir brauchen jetzt eine Bibliothek.", "Eine Bibliothek muss gebaut werden, was immer sie kostet."]
"""
ULI = """
[[persona]]
name = "Uli"
language = "de"
backstory = "Du bist Uli, 34, Krankenpfleger in einer kleinen Stadt. Du wählst die Left Party. \
Für eine neue Bibliothek bist du entschieden dafür."
"""


@pytest.fixture
def society(tmp_path: Path) -> Path:
    """A society in English, in which one person of the left, Uli, speaks German."""
    folder = write_skeleton("society", tmp_path / "land")
    people = folder / "personas" / "mixed"
    people.mkdir(parents=True)
    (people / "left.toml").write_text(ULI, encoding="utf-8")
    german = {
        "topics/library": TOPIC,
        "oracle/topics/library": SENTENCES,
        "parties/left": 'person = "ein Wähler der Left Party"',
    }
    for name, text in german.items():
        path = folder / "languages" / "de" / f"{name}.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return folder


def debated(folder: Path, requests: list[Request] | None = None) -> MemoryRecorder:
    """The record of three rounds between the left and the right. requests: gets all that is asked."""
    given = {"society": str(folder), "personas": f"{folder}/mixed", "repetitions": 2, "rounds": 3, "reference": ()}
    recorder, oracle = MemoryRecorder(), open_backend("", society=str(folder))

    def answer(request: Request) -> Reply:
        if requests is not None:
            requests.append(request)
        return oracle.complete([request])[0]

    DebateModel(load_preset("two_way", given), backend=Fake(answer), recorder=recorder).run()
    return recorder


def test_a_person_is_asked_and_answers_in_their_own_language(society: Path) -> None:
    """A society had one language: a person of another one was asked in that of the society, stated no level, and what they said
    was not understood. "Entschieden dafür" is 9 in German; both languages have the grade of Uli's lines."""
    requests: list[Request] = []
    recorder = debated(society, requests)
    seated = {event.agent: event.name for event in recorder.events if isinstance(event, Seated)}
    rated = [event for event in recorder.events if isinstance(event, Rated)]
    assert [event.reason for event in rated if event.rating is None] == []
    uli = [event for event in rated if seated[event.agent] == "Uli"]
    assert all(event.rating == pytest.approx(9, abs=1.5) for event in uli if event.round == 0)
    spoken = [event for event in recorder.events if isinstance(event, Utterance)]
    assert all(("ibliothek" in str(event.text)) == (seated[event.agent] == "Uli") for event in spoken)
    assert not any("voter of the Left Party" in str(event.text) for event in spoken)
    for request in requests:
        german = request.messages[0].content.startswith("Du bist")
        assert german == (request.facts.get("spoken") == "de")
        instruction = request.messages[-1].content.rpartition("\n\n")[2]
        assert bool(re.search(r"\b(you|your|answer)\b", instruction)) != german, instruction
    both = banks(str(society)), banks(str(society), "de")
    slug = f"{society}/library"
    assert [one.topics[slug].grade("Wir brauchen jetzt eine Bibliothek.") for one in both] == [10, 10]
    assert both[0].topics[slug].by_grade != both[1].topics[slug].by_grade


def test_a_survey_names_the_ends_of_the_scale_in_the_language_of_the_person(society: Path) -> None:
    own, german = (load_topic(f"{society}/library", language).probe("attitude_labelled") for language in ("en", "de"))
    assert own.scale.labels[8] == "good"
    assert (german.scale.labels[8], german.language.code, german.polarity) == ("gut", "de", own.polarity)
    assert load_topic(f"{society}/library", "en").spoken == ""


def test_a_party_can_have_a_language_too(society: Path) -> None:
    """All people of its file speak it, but for those who name another one; without people, they are made up in it."""
    party = society / "parties" / "left.toml"
    party.write_text(f'language = "de"\n{party.read_text()}')
    assert {one.language for one in all_personas("left", society / "parties")} == {"de"}
    (made,) = {one.backstory[:8] for one in all_personas("left", society / "personas" / "simple")}
    assert made == "Du bist "


def test_a_language_without_prompts_is_refused(society: Path) -> None:
    """Before anything is asked: neither Parley nor the folder has prompts in Romansh."""
    people = society / "personas" / "mixed" / "left.toml"
    people.write_text(ULI.replace('"de"', '"rm"'))
    with pytest.raises(UserError, match="unknown language 'rm'"):
        debated(society)


def test_a_topic_without_words_in_the_language_of_a_person_is_refused(society: Path) -> None:
    words = society / "languages" / "de" / "topics" / "library.toml"
    words.unlink()
    with pytest.raises(
        UserError, match=r"is not translated into the language de.*write its title and its questions into"
    ):
        debated(society)
    assert any(
        "is not translated into the language de" in problem for problem in check_society(load_society(str(society)))
    )
