"""Enhanced personas: what is asked, what is accepted, and that the shipped ones can be written again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.persona import Persona, load_personas, persona_set
from parley.agents.persona_generator import ATTEMPTS, sentences_of
from parley.agents.persona_variants import (
    LONGEST,
    SHORTEST,
    VARIANTS,
    gender_twin,
    recipe,
    request_persona,
    request_variant,
    variant_problem,
    write_enhanced,
    write_twins,
)
from parley.agents.society import load_society
from parley.agents.topic import load_topic, topic_names
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request

US = load_society()
PARTIES = ["default", "republican", "democrat"]
ALEX = Persona("", "republican", "Alex", "")
STORY = "You are Alex, an American who supports the Republican Party." + " You like long walks." * 15


def asked(conversation_of: str, person: Persona = ALEX) -> str:
    """The question that a conversation puts first."""
    heard: list[Request] = []

    def answer(request: Request) -> str:
        heard.append(request)
        return conversation_of

    told = [request_variant(STORY, person, 0, US) if person.gender or person.age else request_persona(person, 0, US)]
    drive(told, Fake(answer))
    return heard[0].messages[0].content


@check_each("party", PARTIES)
def test_the_shipped_personas_are_those_of_the_oracle(tmp_path: Path, party: str) -> None:
    """`run.py study personas --set enhanced --out ...` with seed 0 writes the shipped files again, to the byte."""
    path = write_enhanced(party, tmp_path, open_spec("oracle"), "oracle", 0, US)
    assert path.read_text(encoding="utf-8") == (persona_set("enhanced") / path.name).read_text(encoding="utf-8")


@check_each("party", PARTIES)
def test_every_name_comes_in_every_variant(party: str) -> None:
    """A gap would compare other people than the names say."""
    people = load_personas(party, persona_set("enhanced"))
    for traits in ("male", "female", "21", "35", "67"):
        people += load_personas(f"{party}:{traits}", persona_set("enhanced"))
    assert Counter(one.name for one in people) == dict.fromkeys(recipe(party, US).names, 1 + len(VARIANTS))
    assert not [
        variant_problem(Reply(one.backstory), one, US)
        for one in people
        if variant_problem(Reply(one.backstory), one, US)
    ]


def everybody() -> list[Persona]:
    folder = persona_set("enhanced")
    seats = [f"{party}{variant}" for party in PARTIES for variant in ("", ":male", ":female", ":21", ":35", ":67")]
    return [one for seat in seats for one in load_personas(seat, folder)]


@check_each("person", everybody(), ids=lambda one: f"{one.name}-{one.gender or one.age}")
def test_a_persona_has_its_leaning_and_no_view_on_what_is_debated(person: Persona) -> None:
    """A stated view would hand the survey its answer; a neutral one that reads as partisan would be no Default."""
    assert banks().party(person.backstory) == ("none" if person.party == "default" else person.party)
    assert [banks().recognised(sentence) for sentence in sentences(person.backstory)] == [None] * len(
        sentences(person.backstory)
    )
    assert SHORTEST <= len(person.backstory.split()) <= LONGEST


def test_the_people_of_a_party_are_different_people() -> None:
    plain = [person.backstory for party in PARTIES for person in load_personas(party, persona_set("enhanced"))]
    drawn = [" ".join(sentences(story)[1:]) for story in plain]
    assert len(set(drawn)) == len(plain) == 9


@check_each("party", PARTIES)
def test_a_variant_keeps_the_person(party: str) -> None:
    """Gender is to be the only difference between a man and a woman of one name, but for what it meant to them."""
    folder = persona_set("enhanced")
    for plain, male in zip(load_personas(party, folder), load_personas(f"{party}:male", folder), strict=True):
        assert set(sentences(plain.backstory)[1:]) < set(sentences(male.backstory))
        assert len(sentences(male.backstory)) == len(sentences(plain.backstory)) + 1


@check_each("party", PARTIES)
def test_the_question_holds_every_slot_of_the_study(party: str) -> None:
    """002, A.3: name, leaning, place, news; and the debated topics as what to leave out."""
    kind = recipe(party, US)
    plain = load_personas(party, persona_set("enhanced"))[0]
    text = asked(plain.backstory, Persona("", party, plain.name, ""))
    for slot in (kind.names[0], kind.leaning, kind.location, kind.news, "100 words", "second person"):
        assert slot in text
    assert all(
        load_topic(slug).title.removeprefix("banning ") in text.split("Leave these out")[1] for slug in topic_names()
    )


def test_the_rewriting_serves_gender_and_age() -> None:
    """One prompt for both, so that they differ in nothing but what is asked for."""
    texts = {
        word: asked(STORY.replace("American", f"{word} American"), Persona("", "republican", "Alex", "", **traits))
        for word, traits in (("woman", {"gender": "female"}), ("67-year-old", {"age": 67}))
    }
    assert STORY in texts["woman"]
    assert 'the word "67-year-old"' in texts["67-year-old"]
    assert texts["woman"].replace("a woman", "X").replace("woman", "Y") == texts["67-year-old"].replace(
        "somebody aged 67", "X"
    ).replace("67-year-old", "Y")


@check_each(
    ("text", "person", "told"),
    [
        ("", ALEX, "failed (empty)"),
        (STORY.replace("Alex", "Bob"), ALEX, "does not name the person"),
        (STORY[:80], ALEX, "words, not 60 to 140"),
        (STORY * 3, ALEX, "words, not 60 to 140"),
        (STORY.replace("an American", "an American man"), ALEX, "neither gender nor age"),
        (STORY, Persona("", "republican", "Alex", "", "male"), "does not state man"),
        (STORY.replace("an American", "a woman"), Persona("", "republican", "Alex", "", "male"), "does not state man"),
        (f"{STORY} You are a man.", Persona("", "republican", "Alex", "", "male"), "does not state man"),
        (STORY, Persona("", "republican", "Alex", "", "", 35), "does not state 35-year-old"),
        (STORY.replace("Republican", "Grand"), ALEX, "does not name the party"),
        (f"{STORY} You fear climate change.", ALEX, "names climate change, which is debated"),
    ],
)
def test_what_cannot_be_used_is_told(text: str, person: Persona, told: str) -> None:
    """A persona that is too short, of nobody's gender or full of opinions would change the experiment silently."""
    assert told in str(variant_problem(Reply(text), person, US))


def test_a_good_persona_has_no_problem() -> None:
    assert variant_problem(Reply(STORY), ALEX, US) is None
    assert (
        variant_problem(
            Reply(STORY.replace("an American", "a 67-year-old")), Persona("", "republican", "Alex", "", "", 67), US
        )
        is None
    )


def test_giving_up_names_person_and_variant_and_writes_nothing(tmp_path: Path) -> None:
    """Seventeen personas of eighteen would be a silent change; the bound keeps a stubborn model from costing for ever."""
    calls: list[Request] = []

    def answer(request: Request) -> Reply:
        calls.append(request)
        right = open_spec("oracle").complete([request])[0]
        return Reply("no") if '"woman"' in request.messages[0].content else right

    with pytest.raises(UserError, match=rf"no usable backstory for Alex \(republican woman\) in {ATTEMPTS} replies"):
        write_enhanced("republican", tmp_path, Fake(answer), "fake", 0, US)
    assert list(tmp_path.iterdir()) == []
    assert len({request.seed for request in calls}) == len(calls)


def test_the_command_writes_all_parties_and_never_over_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is there already is found before anything is asked (and paid)."""
    out = tmp_path / "mine"
    command = ["study", "personas", "--set", "enhanced", "--llm", "oracle", "--out", str(out)]
    assert run.main([*command, "--party", "democrat"]) == 0
    assert run.main(command) == 2
    assert "exists already" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["democrat.toml"]
    assert run.main(["study", "personas", "--party", "default", "--out", str(tmp_path / "none")]) == 2
    assert "the persona of the Default is one fixed sentence" in capsys.readouterr().err


def test_they_debate(tmp_path: Path) -> None:
    """The set is one of structured_debate's, variants and all."""
    command = ["--scenario", "structured_debate", "--llm", "oracle", "--set", "personas=enhanced", "--repetitions", "2"]
    seats = ["--set", "seats=default,republican:male,democrat:67", "--topic", "abortion", "--rounds", "3"]
    assert run.main([*command, *seats, "--out", str(tmp_path / "run")]) == 0
    agents = pd.read_parquet(tmp_path / "run" / "tables" / "agents.parquet")
    assert set(agents["name"]) == {name for party in PARTIES for name in recipe(party, US).names[:2]}


@check_each("party", PARTIES)
def test_the_shipped_twins_are_those_of_the_oracle_and_differ_in_one_word(tmp_path: Path, party: str) -> None:
    """Else a difference between men and women would be one of texts; and nobody shares a name with somebody of another party."""
    path = write_twins(party, tmp_path, open_spec("oracle"), "oracle", 0, US)
    assert path.read_text(encoding="utf-8") == (persona_set("twins") / path.name).read_text(encoding="utf-8")
    plain, men, women = (
        load_personas(f"{party}{variant}", persona_set("twins")) for variant in ("", ":male", ":female")
    )
    assert [one.name for one in plain] == [one.name for one in men] == [one.name for one in women]
    assert len({one.backstory for one in plain}) == len(plain) == 20
    for one, man, woman in zip(plain, men, women, strict=True):
        words = [text.backstory.split() for text in (man, woman)]
        assert [pair for pair in zip(*words, strict=True) if len(set(pair)) > 1] in (
            [("man", "woman")],
            [("man.", "woman.")],
        )
        assert variant_problem(Reply(man.backstory), man, US) is None
        assert man.backstory.replace("American man", "American", 1) == one.backstory
    others = {name for other in PARTIES if other != party for name in recipe(other, US).twins}
    assert not others & set(recipe(party, US).twins)


COUNTRIES = [(name, party) for name in ("uk", "germany") for party in load_society(name).parties]
PAIRS = {
    "uk": [("man", "woman")],
    "germany": [("ein", "eine"), ("Mann", "Frau"), ("der", "die")],
}
"""The only words in which a man and a woman may differ."""


@check_each(("name", "party"), COUNTRIES, ids=lambda row: "-".join(row))
def test_twins_of_a_country_differ_in_gendered_words_alone(tmp_path: Path, name: str, party: str) -> None:
    """In German the article, the noun and the pronoun agree; where nothing follows the noun, there is no pronoun."""
    society = load_society(name)
    folder = tmp_path / name
    write_twins(party, folder, open_spec(f"oracle,society={name}"), "oracle", 0, society)
    plain, men, women = (load_personas(f"{party}{variant}", folder) for variant in ("", ":male", ":female"))
    assert [one.name for one in plain] == [one.name for one in men] == [one.name for one in women]
    assert len({one.backstory for one in plain}) == len(plain) == len(recipe(party, society).twins)
    for one, man, woman in zip(plain, men, women, strict=True):
        words = [text.backstory.replace(",", " ").replace(".", " ").split() for text in (man, woman)]
        differ = [pair for pair in zip(*words, strict=True) if len(set(pair)) > 1]
        assert differ == PAIRS[name][: len(differ)]
        assert len(differ) >= min(2, len(PAIRS[name]))
        assert [variant_problem(Reply(who.backstory), who, society) for who in (one, man, woman)] == [None] * 3
        assert sentences_of(man.backstory)[1:] == sentences_of(woman.backstory)[1:] == sentences_of(one.backstory)[1:]


@check_each(("name", "party"), COUNTRIES, ids=lambda row: "-".join(row))
def test_enhanced_people_of_a_country_come_in_every_variant(tmp_path: Path, name: str, party: str) -> None:
    society = load_society(name)
    folder = tmp_path / name
    write_enhanced(party, folder, open_spec(f"oracle,society={name}"), "oracle", 0, society)
    people = [
        one for kind in ("", ":male", ":female", ":21", ":35", ":67") for one in load_personas(f"{party}{kind}", folder)
    ]
    assert Counter(one.name for one in people) == dict.fromkeys(recipe(party, society).names, 1 + len(VARIANTS))
    assert [variant_problem(Reply(one.backstory), one, society) for one in people] == [None] * len(people)
    assert {banks(name).party(one.backstory) for one in people} == {"none" if party == "default" else party}


def test_no_name_of_a_country_is_in_two_parties() -> None:
    for name in ("uk", "germany"):
        society = load_society(name)
        known = Counter(one for party in society.parties for one in recipe(party, society).twins)
        assert max(known.values()) == 1, name


def test_a_topic_is_found_in_a_german_text() -> None:
    """Nouns have capitals and articles change: „vor dem Klimawandel“ names „der Klimawandel“."""
    germany = load_society("germany")
    kim = Persona("", "spd", "Kim", "")
    start = "Du bist Kim, eine Person aus Deutschland, die links der Mitte steht und die SPD unterstützt."
    story = start + " Du gehst gern mit anderen spazieren." * 10
    assert variant_problem(Reply(story), kim, germany) is None
    assert "debated" in str(variant_problem(Reply(f"{story} Angst hast du vor dem Klimawandel."), kim, germany))
    assert "ein Mann" in str(variant_problem(Reply(story), Persona("", "spd", "Kim", "", "male"), germany))


def test_a_text_without_the_words_of_a_pair_is_one_line() -> None:
    with pytest.raises(UserError, match="which the gender replaces"):
        gender_twin(Persona("", "spd", "Kim", "Du bist Kim. Du liest."), "male", load_society("germany"))
