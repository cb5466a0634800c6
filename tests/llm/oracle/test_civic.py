"""The known-truth speaker deliberates: what is planted is stated, shows in what it writes, and is found again in records."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.persona import load_personas, persona_set
from parley.agents.question import load_questions, questionnaire, read_public
from parley.agents.scales import NUMERIC, Scale
from parley.agents.society import load_society
from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.mediation import majority_stance
from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.backends.oracle.positions import Read, agreement, habit, now, position, read
from parley.llm.backends.oracle.surveys import said_of
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling
from parley.model.debate import DebateModel
from parley.model.events import Event, Posed, Rated, Seated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import load_preset

PEOPLE = [*load_personas("republican"), *load_personas("democrat")]
US = banks()
QUESTIONS = load_questions()
PUBLIC = Path(__file__).parents[4] / "shared" / "data" / "cc_by" / "habermas_questions_5645.json"


@pytest.fixture(scope="module")
def events() -> list[Event]:
    """240 seats in 48 episodes on the known-truth speaker, positions rated after every round."""
    recorder = MemoryRecorder()
    setup = load_preset("consensus").with_settings({"llm": "oracle", "survey": "rounds", "seed": 5})
    DebateModel(setup, recorder=recorder).run()
    return recorder.events


def ratings(events: list[Event], probe: str, round_: int) -> Mapping[int, float]:
    """On 1 to 7, from the answer distribution (0 to 10): without the rounding of an answer."""
    return {
        event.agent: 1 + 0.6 * (event.expected or 0.0)
        for event in events
        if isinstance(event, Rated) and (event.probe, event.round) == (probe, round_)
    }


def said(events: list[Event], form: str) -> dict[tuple[str, int], str]:
    return {
        (event.room, event.agent): event.text or ""
        for event in events
        if isinstance(event, Utterance) and event.form == form
    }


def test_everything_is_answered(events: list[Event]) -> None:
    assert not [event for event in events if getattr(event, "reason", None)]
    assert not [event for event in events if getattr(event, "failure", None)]


def test_a_habit_is_in_everything_that_a_person_writes(events: list[Event]) -> None:
    """Opener, demand and closer, in every opinion and every critique: a person can be learned from what it wrote elsewhere."""
    people = {person.id: person.backstory for person in PEOPLE}
    persona = {(event.room, event.agent): event.persona for event in events if isinstance(event, Seated)}
    texts = said(events, "opinion") | {(*key, "critique"): text for key, text in said(events, "critique").items()}
    assert len(texts) == 480
    for key, text in texts.items():
        own = habit(US, people[persona[key[:2]]])
        assert text.startswith(own.opener)
        assert own.demand in text
        assert text.endswith(own.closer)


def test_people_have_habits_of_their_own() -> None:
    """Two strangers seldom share more than one trait: a stranger's representative can be told from one's own."""
    habits = [habit(US, person.backstory) for person in PEOPLE]
    assert len(set(habits)) == len(habits)
    pairs = [(one, other) for place, one in enumerate(habits) for other in habits[:place]]
    alike = [(one.opener == other.opener) + (one.demand == other.demand) for one, other in pairs]
    assert statistics.fmean(count == 2 for count in alike) < 0.02
    assert {value for one in habits for value in one.values} == set(US.deliberation["values"])


def test_agreement_rises_from_draft_to_revision_as_planted(events: list[Event]) -> None:
    draft, revision = (ratings(events, name, 2) for name in ("draft", "revision"))
    gains = [revision[agent] - draft[agent] for agent in draft]
    assert statistics.fmean(gains) > 0.5
    assert statistics.fmean(gain > 0 for gain in gains) > 0.7


def test_the_planted_law_of_agreement_is_what_is_rated(events: list[Event]) -> None:
    """Distance to the statement, values left out, demand left out: worked out anew from the texts, it is the rating."""
    people = {person.id: person.backstory for person in PEOPLE}
    asked = {event.room: event.question for event in events if isinstance(event, Posed)}
    stands = ratings(events, "position", 2)
    for name in ("draft", "revision"):
        statement, rated = said(events, name), ratings(events, name, 2)
        for event in events:
            if isinstance(event, Seated) and event.persona:
                own = habit(US, people[event.persona])
                told = read(US, statement[event.room, 0], asked[event.room])
                expected = agreement(US, stands[event.agent], own.values, own.demand, told)
                assert rated[event.agent] == pytest.approx(expected, abs=1e-4)


def test_the_planted_pull_is_recovered_by_regression(events: list[Event]) -> None:
    """Movement on the gap to the statement just heard: slope 0.2 (both rounds, 480 moves)."""
    asked = {event.room: event.question for event in events if isinstance(event, Posed)}
    room = {event.agent: event.room for event in events if isinstance(event, Seated) and event.agent}
    gaps, moves = [], []
    for round_, form in ((1, "draft"), (2, "revision")):
        before, after = (ratings(events, "position", number) for number in (round_ - 1, round_))
        heard = said(events, form)
        for agent, value in before.items():
            stance = read(US, heard[room[agent], 0], asked[room[agent]]).stance
            assert stance is not None
            gaps.append(stance - value)
            moves.append(after[agent] - value)
    slope = sum(gap * move for gap, move in zip(gaps, moves, strict=True)) / sum(gap * gap for gap in gaps)
    assert slope == pytest.approx(US.law("pull"), abs=0.02)


def test_without_pull_nobody_moves() -> None:
    recorder = MemoryRecorder()
    DebateModel(
        load_preset("consensus").with_settings({"llm": "oracle,pull=0", "repetitions": 2}), recorder=recorder
    ).run()
    assert ratings(recorder.events, "position", 0) == ratings(recorder.events, "position", 2)


def test_positions_have_the_planted_spread() -> None:
    """Over all people and questions: centred, parties apart by the planted amount, persons of one party as well."""
    values = {
        (person.party, question.id): position(US, person.backstory, question.question)
        for question in QUESTIONS
        for person in PEOPLE
    }
    assert statistics.fmean(values.values()) == pytest.approx(4.0, abs=0.25)
    by_question: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for question in QUESTIONS[:60]:
        for person in PEOPLE:
            by_question[question.id][person.party].append(position(US, person.backstory, question.question))
    gaps = [statistics.fmean(one["republican"]) - statistics.fmean(one["democrat"]) for one in by_question.values()]
    assert statistics.stdev(gaps) == pytest.approx(2 * US.law("party"), rel=0.35)  # clipping at 1 and 7 takes some


def test_a_position_is_answered_on_any_scale_and_either_way_round() -> None:
    """The distribution's mean is the position; agreement with the negation is its mirror."""
    backend, persona, question = open_backend(""), PEOPLE[3].backstory, QUESTIONS[0]
    for low, high in ((1, 7), (0, 10), (0, 100)):
        means = []
        for statement in (question.statement, question.against):
            scale = Scale("agreement", NUMERIC, low, high, {low: "strongly disagree", high: "strongly agree"})
            facts: Facts = {"issue": question.question, "position": statement, "scale": scale}
            messages = (Message("system", persona), Message("user", "A group.\n\nWhat do you think?"))
            (reply,) = backend.complete([Request(messages, Sampling(0.0), 1, scale.answers, "survey", facts=facts)])
            assert reply.answers is not None
            means.append(sum(int(answer) * share for answer, share in reply.answers.items()))
        share = (position(US, persona, question.question) - 1) / 6
        assert means == pytest.approx([low + share * (high - low), high - share * (high - low)], abs=1e-6)


@check_each(
    ("text", "stance"),
    [
        ("Frankly, my answer is a cautious no.", 3.0),
        ("We would answer with a firm yes. It needs a way to appeal.", 7.0),
        ("Our answer is a plain yes. Our answer is a plain no.", 4.0),
        ("Voting in general elections should be required by law.", 7.0),
        ("Voting in general elections should not be required by law.", 1.0),
        ("I have nothing to say.", None),
        ("Yes.", None),
        ("", None),
    ],
)
def test_stances_are_read_or_refused(text: str, stance: float | None) -> None:
    """It never makes up a stance: another's words are unread, and rating them is a named failure."""
    assert read(US, text, "Should voting in general elections be required by law?").stance == stance


def test_the_declarative_forms_of_all_shipped_questions_are_read() -> None:
    for one in QUESTIONS:
        assert (read(US, one.statement, one.question).stance, read(US, one.against, one.question).stance) == (
            7.0,
            1.0,
        ), one.id


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public questions do not lie beside the checkout")
def test_most_of_the_public_ones_are_read_and_none_the_wrong_way() -> None:
    """What has another word or another order is refused: a wrong side would be a wrong majority."""
    found = [
        (read(US, one.statement, one.question).stance, read(US, one.against, one.question).stance)
        for one in read_public(PUBLIC)
    ]
    assert not [pair for pair in found if pair[0] == 1.0 or pair[1] == 7.0]
    assert statistics.fmean(pair == (7.0, 1.0) for pair in found) > 0.85


def test_a_draft_stands_between_all_and_the_majority() -> None:
    assert majority_stance([7.0, 6.0, 2.0]) == 5.75
    assert majority_stance([1.0, 2.0, 7.0]) == pytest.approx((10 / 3 + 1.5) / 2)
    assert majority_stance([6.0, 2.0]) == 4.0
    assert majority_stance([4.0]) == 4.0


@check_each(
    ("stands", "values", "demand", "told", "expected"),
    [
        (5.0, ("cost", "safety"), None, Read(6.0, frozenset({"cost"}), frozenset()), 5.7),
        (5.0, ("cost", "safety"), "a way to appeal", Read(5.0, frozenset({"cost", "safety"}), frozenset()), 6.4),
        (1.0, ("cost", "safety"), "a way to appeal", Read(7.0, frozenset(), frozenset()), 1.0),
        (5.0, (), None, Read(None, frozenset(), frozenset()), None),
    ],
)
def test_agreement_by_hand(
    stands: float, values: tuple[str, ...], demand: str | None, told: Read, expected: float | None
) -> None:
    assert agreement(US, stands, values, demand, told) == expected


def test_what_cannot_be_read_moves_nobody() -> None:
    persona, question = PEOPLE[0].backstory, QUESTIONS[0].question
    assert now(US, persona, question, ["Something else entirely."], 0.2) == position(US, persona, question)


def test_the_banks_phrases_do_not_hold_each_other() -> None:
    """A value, demand or stance that were part of another would be read where it was not said."""
    values = [entry["name"] for entry in US.deliberation["values"].values()]
    things = US.deliberation["demands"]["things"]
    for phrases in (values, things, [*values, *things]):
        assert not [(one, other) for one in phrases for other in phrases if one != other and one in other]
    for name, entry in US.deliberation["values"].items():
        for line in (*entry["yes"], *entry["no"]):
            assert read(US, line, "?").values == {name}, line
            assert len(sentences(line)) == 1
    for kind in ("openers", "closers"):
        for lines in US.deliberation[kind].values():
            assert all(not read(US, line, "?").values and not read(US, line, "?").demands for line in lines)


@check_each(
    ("persona", "expected"),
    [
        (
            "You are Ann, 38 years old, a Democrat in Houston.",
            {"age": "30 to 39", "politics": "left of centre", "region": "South"},
        ),
        ("You are Bob, an American man. You are a conservative.", {"gender": "man", "politics": "right"}),
        ("At 70 you sing in the choir.", {"age": "70 or older", "religion": "Christian"}),
        ("You are an American.", {}),
        ("Your mother is a nurse, and a friend of hers goes to the opera.", {}),
        ("You studied nursing and work nights in a clinic.", {"education": "college degree"}),
    ],
)
def test_the_questionnaire_is_answered_from_the_persona_or_declined(persona: str, expected: dict[str, str]) -> None:
    """What a persona does not say of itself is not answered."""
    found = {
        item.name: answer
        for item in questionnaire(load_society())
        for answer in item.answers[:-1]
        if said_of(US, persona, answer)
    }
    assert found == expected


@check_each("name", ["uk", "germany"])
def test_people_say_which_party_of_their_country_they_voted_for(name: str) -> None:
    """Each person of a party names that party and no other; people without a party decline."""
    society, known = load_society(name), banks(name)
    (item,) = [item for item in questionnaire(society) if item.name == "vote"]
    named = {}
    for party in society.parties:
        answers = {
            next((answer for answer in item.answers[:-1] if said_of(known, person.backstory, answer)), item.answers[-1])
            for person in load_personas(party, persona_set(f"{name}/voters"))
        }
        (named[party],) = answers
    assert named.pop("default") == item.answers[-1]
    assert len(set(named.values())) == len(named) == len(item.answers) - 3
