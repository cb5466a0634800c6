"""The known-truth speaker in German: what a persona and a debate say of somebody, what it writes, and how it is read back."""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest
from data_checks import check_each

from parley.agents.persona import Persona, load_personas, persona_set
from parley.agents.persona_generator import LONGEST, SHORTEST, list_names, write_personas
from parley.agents.society import load_society
from parley.agents.topic import is_news
from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.dynamics import attitude, planted
from parley.llm.backends.oracle.mediation import CRITIQUE_WORDS, critique, verdict
from parley.llm.backends.oracle.mediation import _objection as objection
from parley.llm.backends.oracle.phrases import GRADES, banks, expand, sentences
from parley.llm.backends.oracle.positions import habit, read
from parley.llm.backends.oracle.prompt_parser import Reading, labels
from parley.llm.backends.oracle.prompt_parser import read as read_request
from parley.llm.backends.oracle.self_facts import About, about, first_person
from parley.llm.backends.oracle.self_questions import NAMED, ORDER, WHO, asked_of, kinds_of
from parley.llm.backends.oracle.stance import fitted
from parley.llm.backends.oracle.writing import _with_variant as with_variant
from parley.llm.purposes import Facts
from parley.llm.request import DECLINED, Message, Reply, Request, Sampling
from parley.model.debate import DebateModel
from parley.model.events import Called, Event, Rated, Seated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import load_preset

SOCIETY = load_society("germany")
GERMANY = banks("germany")
PARTIES = [party for party in SOCIETY.parties if party != "default"]
TOPIC = GERMANY.topics["germany/tempolimit"]
SETS = persona_set("germany/voters")
VOTERS = [person for party in PARTIES for person in load_personas(party, SETS)]
SECOND = re.compile(r"\b(?:du|dich|dir|dein(?:e[nmrs]?)?|euch|eure?[nmrs]?|habt|seid|bist|hast)\b", re.I)
NO_VERBS = {"ist", "selbst", "fest", "erst", "zuerst", "fast", "längst", "sonst", "meist", "umsonst"}
UTE = "Du bist Ute, 50 Jahre alt, und arbeitest als Tischlerin in Jena. Du wählst die Grünen."
OPENING = (
    "Ihr seid hier in einer gemeinsamen Runde (Debatte), das Thema lautet: ein Tempolimit auf Autobahnen. Du bist Ann; außer dir "
    "nehmen Ben und Cleo teil. Sprich nur für dich selbst und mit deiner eigenen Stimme, in höchstens 60 Wörtern."
)
KINDS = (*NAMED, *ORDER, *WHO, "stand", "unknown")
Interview = Callable[..., Reply]


def told_of(persona: str, opening: str = "") -> About:
    messages = (Message("system", persona), Message("user", opening))
    return about(read_request(Request(messages, Sampling(), 0), GERMANY))


def reading_of(question: str) -> Reading:
    return read_request(Request((Message("user", question),), Sampling(), 0), GERMANY)


@pytest.fixture
def interviewed() -> Interview:
    """interviewed(question, heard, own, persona, **law): the reply in a debate on a speed limit, at a law without noise."""

    def make(
        question: str,
        heard: Sequence[tuple[str, str]] = (),
        own: str = "",
        persona: str = UTE,
        seed: int = 0,
        **law: float,
    ) -> Reply:
        lines = "\n".join(f"{name}: {text}" for name, text in heard)
        first = "\n\n".join(part for part in (OPENING, lines, "Jetzt bist du dran." if own else question) if part)
        said = (Message("assistant", own), Message("user", question)) if own else ()
        messages = (Message("system", persona), Message("user", first), *said)
        names, facts = frozenset({"Ann", "Ben", "Cleo"}), Facts(question=question)
        request = Request(messages, Sampling(1.0), seed, (), "interview", names=names, facts=facts)
        return open_backend("", society="germany", **{"sigma": 0.0, **law}).complete([request])[0]

    return make


def filled(kind: str, form: str, **slots: str) -> set[str]:
    return {text.format(**slots) for text in GERMANY.data("self")[kind][form]}


def line(grade: int) -> str:
    return TOPIC.by_grade[grade][0][0]


def test_nine_in_ten_voters_tell_who_they_are() -> None:
    """Of the 72: name, age and party of all; work of all, home of 71, family of 67."""
    told = [told_of(person.backstory) for person in VOTERS]
    assert len(told) == 72
    for person, one in zip(VOTERS, told, strict=True):
        assert (one.name, one.side) == (person.name, person.party)
        assert one.age
        assert one.age in person.backstory
    assert sum(bool(one.job or one.work) for one in told) == 72
    assert sum(bool(one.home or one.lives) for one in told) >= 70
    assert sum(bool(one.family or one.parents) for one in told) >= 65


def test_nothing_that_a_voter_tells_is_left_in_the_second_person() -> None:
    for person in VOTERS:
        one = told_of(person.backstory)
        said = " ".join([one.who, one.lives, one.family, one.upbringing, one.parents, one.affiliation, one.work])
        assert not SECOND.search(said), said
        assert set(re.findall(r"\b[a-zäöü]+st\b", said)) <= NO_VERBS, said


@check_each(
    ("second", "first"),
    [
        ("Du arbeitest und kümmerst dich um deine Eltern.", "Ich arbeite und kümmere mich um meine Eltern."),
        (
            "Du hältst viel von dem, was man dir gab, als du jung warst.",
            "Ich halte viel von dem, was man mir gab, als ich jung war.",
        ),
        (
            "Erst liest du, zuletzt erfährst du das Ernsthafte selbst.",
            "Erst lese ich, zuletzt erfahre ich das Ernsthafte selbst.",
        ),
        ("Deine Frau und du habt Enkel.", "Meine Frau und ich haben Enkel."),
        ("Du standest da, gingst und kamst zurück.", "Ich stand da, ging und kam zurück."),
        (
            "Du würzt alles und wusstest, dass es sonst fast nichts ist.",
            "Ich würze alles und wusste, dass es sonst fast nichts ist.",
        ),
        ("Am Sonntag wollt ihr fahren, in eurem Auto.", "Am Sonntag wollen wir fahren, in unserem Auto."),
    ],
)
def test_the_first_person(second: str, first: str) -> None:
    assert first_person(GERMANY, second) == first


@check_each(
    ("question", "told"),
    [
        ("Wie heißt du?", filled("name", "answers", name="Ute")),
        ("Wie alt bist du?", filled("age", "answers", age="50")),
        ("Was machst du beruflich?", filled("job", "answers", job="Tischlerin")),
        ("Wo wohnst du?", filled("home", "answers", home="in Jena")),
        ("Hast du Kinder?", set(GERMANY.data("self")["unsaid"]["children"])),
        ("Erzähl mir von deiner Familie.", set(GERMANY.data("self")["unsaid"]["family"])),
    ],
)
def test_it_says_what_its_persona_says(interviewed: Interview, question: str, told: set[str]) -> None:
    assert {interviewed(question, seed=seed).text for seed in range(60)} == told


def test_the_retired_say_so(interviewed: Interview) -> None:
    text = interviewed(
        "Was ist dein Beruf?", persona="Du bist Emil, 70 Jahre alt, und lebst als Lehrer im Ruhestand in Ulm."
    ).text
    assert text in filled("job", "retired", job="Lehrer")


def test_a_name_that_the_persona_lacks_is_that_of_the_opening(interviewed: Interview) -> None:
    assert interviewed("Wie heißt du?", persona="Du lebst in Deutschland.").text in filled(
        "name", "answers", name="Ann"
    )


@check_each(
    ("question", "begins"),
    [
        ("Bist du bei den Grünen?", "Ja, "),
        ("Bist du in der CDU?", "Nein, "),
        ("Wählst du die Linke?", "Nein, "),
        ("Was wählst du?", ""),
    ],
)
def test_its_party_is_that_of_its_persona(interviewed: Interview, question: str, begins: str) -> None:
    for seed in range(20):
        text = interviewed(question, seed=seed).text or ""
        own = text.removeprefix(begins).removesuffix("Ich wähle die Grünen.").strip() or "Ich wähle die Grünen."
        assert text.startswith(begins)
        assert own[0].upper() + own[1:] in GERMANY.data("self")["party"]["gruene"]


@check_each("kind", KINDS)
def test_every_wording_is_known_as_its_kind(kind: str) -> None:
    """Those of the corpus and those held out; without signs, and with a word before them."""
    entry = GERMANY.data("self")[kind]
    for wording in [*entry["ask"], *entry["held_out"]]:
        for question in expand(wording.replace("{name}", "Maria"), GERMANY.data("self")["unknown"]["slots"])[:20]:
            for form in (question, question.rstrip("?."), f"Also, {question[0].lower()}{question[1:]}"):
                named = asked_of(reading_of(form))
                found = (named[0],) if named else kinds_of(GERMANY, form) or ("unknown",)
                assert found[0] == kind, (form, found)
                assert named is None or named[1] == "Maria"


def test_a_noun_is_no_speaker() -> None:
    """German nouns have capitals as names do; an article tells them apart."""
    for question in ("Was hat die Regierung gesagt?", "Hat der Minister recht?", "Was denkt mein Nachbar?"):
        assert asked_of(reading_of(question)) is None


def test_what_another_said_is_reported(interviewed: Interview) -> None:
    heard = [("Ben", line(6)), ("Cleo", "Ich halte ein Tempolimit auf Autobahnen für richtig.")]
    clause = "ein Tempolimit auf Autobahnen für richtig"
    assert interviewed("Was hat Cleo gesagt?", heard).text in filled("said", "clause", name="Cleo", clause=clause)
    assert interviewed("Was hat Ben gesagt?", heard).text in filled("said", "quote", name="Ben", quote=line(6))
    silent = interviewed("Was hat Maria gesagt?", heard)
    assert (silent.text in filled("said", "silent", name="Maria"), silent.notes) == (True, {DECLINED: 1})
    own = interviewed("Was hast du gesagt?", heard, own="Ich halte ein Tempolimit auf Autobahnen für gut.")
    assert own.text in filled("own", "clause", clause="ein Tempolimit auf Autobahnen für gut")


def test_who_changed_its_mind_is_named_with_what_was_said(interviewed: Interview) -> None:
    """Kappa 0.5, no drift, from 9 (of the Greens): Ben's 0 moves it most. Without influence it thinks as before."""
    heard = [("Ben", line(0)), ("Cleo", line(4))]
    text = interviewed("Hat dich jemand umgestimmt?", heard, kappa=0.5, mu=0.0).text or ""
    said, _, stance = text.partition(" Jetzt halte ich ")
    assert said in filled("changed", "quote", name="Ben", quote=line(0))
    assert stance.removesuffix(".") in {TOPIC.stance_sentence(n)[len("Ich halte ") : -1] for n in range(11)}
    same = interviewed("Hat dich jemand umgestimmt?", heard, kappa=0.0, mu=0.0).text or ""
    assert same.partition(" Ich halte ")[0] in GERMANY.data("self")["changed"]["same"]


def test_it_agrees_with_who_is_close(interviewed: Interview) -> None:
    heard = [("Ben", line(0)), ("Cleo", line(8))]
    for question, kind, form, name in (
        ("Wem stimmst du zu?", "agree", "answers", "Cleo"),
        ("Wem widersprichst du?", "disagree", "answers", "Ben"),
        ("Hat Ben recht?", "agree_with", "no", "Ben"),
    ):
        text = interviewed(question, heard, kappa=0.0, mu=0.0).text or ""
        assert any(text.startswith(f"{answer} ") for answer in filled(kind, form, name=name))


def test_what_it_does_not_know_it_declines(interviewed: Interview) -> None:
    for question in (
        "Was ist die Hauptstadt von Frankreich?",
        "Was würde deine Meinung ändern?",
        "Wie hoch ist der Mond?",
    ):
        reply = interviewed(question)
        assert reply.text in GERMANY.data("self")["unknown"]["answers"]
        assert reply.notes == {DECLINED: 1}


def test_labels_of_lines() -> None:
    """What a prompt puts before a colon, and a noun with its article, are no names."""
    text = (
        "Los.\n\nBen: Ja.\nMaria zu Berg: Nein.\nFrage: Was?\nDie Antwort: Ja.\n„Zitat: Nein.\nAgent 7: So.\n\nUnd du?"
    )
    assert labels(text, society="germany") == ["Ben", "Maria zu Berg", "Agent 7"]


@check_each("slug", sorted(GERMANY.topics))
def test_every_sentence_of_a_topic_has_its_planted_grade(slug: str) -> None:
    """And is one sentence, that of no other topic, in no other grade. Items of news share what people feel about them."""
    bank = GERMANY.topics[slug]
    graded = [(sentence, grade) for grade in GRADES for form in bank.by_grade[grade] for sentence in form]
    assert not [sentence for sentence, count in Counter(text for text, _ in graded).items() if count > 1]
    for sentence, grade in [*graded, *[(bank.stance_sentence(point), point) for point in range(11)]]:
        assert (bank.grade(sentence), sentences(sentence)) == (grade, [sentence])
        elsewhere = [other for other in GERMANY.topics.values() if other is not bank and sentence in other.grades]
        assert all(is_news(slug) and is_news(other.slug) and other.grade(sentence) == grade for other in elsewhere)


@pytest.fixture(scope="module")
def events() -> list[Event]:
    """Nine debates of an SPD, a CDU and a neutral voter, without noise."""
    recorder = MemoryRecorder()
    setup = load_preset("three_way").with_settings({"llm": "oracle,sigma=0", "society": "germany", "repetitions": 3})
    DebateModel(setup, recorder=recorder).run()
    return recorder.events


def test_every_line_of_a_debate_is_read(events: list[Event]) -> None:
    calls = [event for event in events if isinstance(event, Called)]
    assert len(calls) == 297
    assert not [event for event in calls if event.notes]
    assert not [event for event in events if getattr(event, "reason", None) or getattr(event, "failure", None)]


def test_the_moves_of_a_debate_follow_the_law(events: list[Event]) -> None:
    people: dict[str, Persona] = {
        person.id: person for party in ("spd", "cdu", "default") for person in load_personas(party, SETS)
    }
    laws, seats = planted({"sigma": 0.0}, "germany"), [event for event in events if isinstance(event, Seated)]
    names = {seat.agent: seat.name for seat in seats}
    for seat in seats:
        turns = [event for event in events if isinstance(event, Utterance) and event.room == seat.room]
        heard = [(names[turn.agent], turn.text or "") for turn in turns if turn.agent != seat.agent]
        rated = [event for event in events if isinstance(event, Rated) and event.agent == seat.agent]
        value, unread = attitude(GERMANY, people[seat.persona].backstory, seat.topic, heard, laws[seat.topic])
        assert (rated[-1].expected, unread) == (pytest.approx(value, abs=1e-6), 0)


def test_the_writer_writes_every_persona_of_a_party(tmp_path: Path) -> None:
    """Within the limits of the checks, and so that the one written of tells it in the first person."""
    path = write_personas("cdu", tmp_path, open_backend("", society="germany"), "oracle", 0, SOCIETY)
    written = tomllib.loads(path.read_text(encoding="utf-8"))["persona"]
    assert [person["name"] for person in written] == list_names("cdu", SOCIETY)
    for person in written:
        told = told_of(person["backstory"])
        assert SHORTEST <= len(person["backstory"].split()) <= LONGEST
        assert (told.name, told.side) == (person["name"], "cdu")
        assert told.age
        assert told.job
        assert told.home
        assert told.family
        assert told.upbringing
        assert not SECOND.search(" ".join([told.who, told.family, told.upbringing, told.affiliation]))


@check_each("party", list(SOCIETY.parties))
def test_the_writer_writes_an_enhanced_persona_of_every_party(party: str) -> None:
    facts = {"name": "Kai", "leaning": SOCIETY.parties[party].person, "location": "Hessen", "news": "Zeitung und Radio"}
    backend = open_backend("", society="germany")
    for seed in range(30):
        request = Request((Message("user", "Los."),), Sampling(1.0), seed, (), "persona", facts=cast(Facts, facts))
        text = backend.complete([request])[0].text or ""
        told = told_of(text)
        assert 60 <= len(text.split()) <= 140
        assert (told.name, told.side) == ("Kai", "none" if party == "default" else party)
        assert told.who == f"Ich bin Kai, {facts['leaning']}."
        assert told.work
        assert told.lives
        assert not SECOND.search(f"{told.lives} {told.work} {told.parents}")


def test_a_variant_stands_behind_the_name() -> None:
    assert (
        with_variant(GERMANY, "Du bist Kai und lebst in Ulm.", "ein Mann") == "Du bist Kai, ein Mann, und lebst in Ulm."
    )
    assert with_variant(GERMANY, "Du bist Kai.", "eine Frau") == "Du bist Kai, eine Frau."
    aged = with_variant(GERMANY, "Du bist Kai, eine Person in Ulm.", "21 Jahre alt")
    assert aged == "Du bist Kai, 21 Jahre alt, eine Person in Ulm."


@check_each(
    ("text", "stance"),
    [
        ("Das Wahlalter soll auf 16 Jahre gesenkt werden.", 7.0),
        ("Das Wahlalter soll nicht auf 16 Jahre gesenkt werden.", 1.0),
        ("Das Wahlalter auf 16 Jahre gesenkt werden soll", 7.0),
        ("Wir sind eher dagegen.", 3.0),
        ("Etwas ganz anderes.", None),
    ],
)
def test_stances_are_read_or_refused(text: str, stance: float | None) -> None:
    assert read(GERMANY, text, "Soll das Wahlalter auf 16 Jahre gesenkt werden?").stance == stance


def test_no_is_said_with_an_article_too() -> None:
    """Kein: not a."""
    question = "Soll ein Schulfach für Finanzen eingeführt werden?"
    assert read(GERMANY, "Ein Schulfach für Finanzen soll eingeführt werden.", question).stance == 7.0
    assert read(GERMANY, "Kein Schulfach für Finanzen soll eingeführt werden.", question).stance == 1.0
    assert read(GERMANY, "Es soll keine Gebühren geben.", "Soll es Gebühren geben?").stance == 1.0


@check_each("apart", [-3.0, -1.0, 0.0, 1.0, 3.0])
def test_the_objection_of_a_critique_is_read(apart: float) -> None:
    """Too much of a yes asks for less, by twice as much where it is far too much."""
    expected = (
        0.0 if verdict(GERMANY, apart) == "right" else -(1 if apart > 0 else -1) * (1.0 if abs(apart) > 2 else 0.5)
    )
    for seed, person in enumerate(VOTERS):
        own, statement = habit(GERMANY, person.backstory), read(GERMANY, "Wir sind eher dafür.", "Soll es das geben?")
        text = fitted(critique(GERMANY, own, apart, statement, random.Random(seed)), CRITIQUE_WORDS)
        assert objection(GERMANY, text) == expected
