"""Personas are data and part of the experiment: forty a party, distinct, and silent in the words of the survey."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from agents.attitude import LABELLED
from agents.persona import DEFAULT, Persona, genders, load_personas, parties, persona_set
from agents.recruit import names
from agents.topic import load_topic, scales, slugs
from llm.errors import UserError

PARTISAN = ("republican", "democrat")
PEOPLE = [person for party in PARTISAN for person in load_personas(party)]
EVERYBODY = [person for party in parties() for person in load_personas(party)]
SEVERITY = r"(?:not a problem at all|a small problem|a moderately big problem|a very big problem)"
FAVOR = r"(?:strongly|somewhat) (?:favor|oppose)s? a ban on "


@pytest.mark.parametrize("party", PARTISAN)
def test_forty_of_each_party(party: str) -> None:
    """Forty repetitions need forty people (001, 4.2); their ids say party and place in the file."""
    people = load_personas(party)
    assert [person.id for person in people] == [f"{party}_{number:02}" for number in range(1, 41)]
    assert {person.party for person in people} == {party}
    assert [person.name for person in people] == names(party)


def test_no_name_is_used_twice() -> None:
    """Lines are told apart by name alone, so nobody shares one, in any party; nor do two people share a story."""
    assert [name for name, count in Counter(person.name for person in EVERYBODY).items() if count > 1] == []
    assert len({person.backstory for person in PEOPLE}) == len(PEOPLE)


def test_the_default_is_told_one_sentence() -> None:
    """ "You are an American." is the Default's sole directive (001, 4.2), word for word."""
    assert {person.backstory for person in load_personas(DEFAULT)} == {"You are an American."}


@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: person.id)
def test_a_backstory_speaks_to_its_person(person: Persona) -> None:
    """Second person, one paragraph, the own name, the own party and no other's."""
    other = {"republican": "Democrat", "democrat": "Republican"}[person.party]
    assert person.name in person.backstory
    assert person.backstory.startswith(("You are ", "Your name is "))
    assert "\n" not in person.backstory
    assert len(re.findall(r"\b(?:I|me|my)\b", person.backstory)) == 0
    assert re.search(rf"\b{person.party}", person.backstory, re.I)
    assert other not in person.backstory


@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: person.id)
def test_a_backstory_uses_no_word_of_the_survey(person: Persona) -> None:
    """An adjective of a labelled scale in the backstory would be copied into the answer, and measured as an attitude."""
    labels = [label for scale in scales().values() if scale.kind == LABELLED for label in scale.labels.values()]
    assert [label for label in labels if re.search(rf"\b{label}\b", person.backstory, re.I)] == []


@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: person.id)
@pytest.mark.parametrize("slug", [slug for slug in slugs() if load_topic(slug).in_backstories])
def test_a_backstory_takes_a_side_on_every_topic(person: Persona, slug: str) -> None:
    """One persona serves every topic, so each topic that wants one has one sentence with one Pew-style position."""
    topic = load_topic(slug)
    wanted, subject = SEVERITY, topic.title
    if topic.axis == "agreement":
        subject = topic.title.removeprefix("banning ")
        wanted = FAVOR + re.escape(subject)
    said = [line for line in re.split(r"(?<=\.) ", person.backstory) if subject in line and re.search(wanted, line)]
    assert len(said) == 1
    assert len(re.findall(wanted, said[0])) == 1


@pytest.mark.parametrize("slug", [slug for slug in slugs() if not load_topic(slug).in_backstories])
def test_a_backstory_says_nothing_of_a_topic_that_wants_none(slug: str) -> None:
    """What a persona thinks of it is its party's way: a stray word would be read as a position."""
    assert not [person.id for person in PEOPLE if load_topic(slug).title in person.backstory.lower()]


def test_positions_differ_within_a_party() -> None:
    """Forty individuals: on most topics not everybody of a party says the same."""
    for party in PARTISAN:
        spoken = Counter(level for person in load_personas(party) for level in re.findall(SEVERITY, person.backstory))
        assert len(spoken) >= 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "at least one persona"),
        ('[persona]\nname = "Ann"\nbackstory = "You"', r"needs a \[\[persona\]\] table"),
        ("persona = [1]", r"needs a \[\[persona\]\] table"),
        ('[[persona]]\nname = "Ann"', "persona 1 of green.toml lacks backstory"),
        ('[[persona]]\nname = "Ann"\nbackstory = 3', "backstory in persona 1 of green.toml must be a text, not 3"),
        ('[[persona]]\nname = "Ann"\nbackstorey = "You"', "did you mean backstory"),
        ('[[persona]]\nname = "Ann"\nbackstory = "You"\n' * 2, "each with its own name"),
        ("[[persona]", "not valid TOML"),
    ],
)
def test_a_broken_file_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    """Somebody else's personas are a likely first change, so a slip in them is named with its place."""
    (tmp_path / "green.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=told) as caught:
        load_personas("green", tmp_path)
    assert "\n" not in str(caught.value)


def test_an_unknown_party_brings_the_nearest() -> None:
    """A slip of the finger in `seats` costs one look."""
    with pytest.raises(UserError, match="unknown party 'republicans': did you mean republican"):
        load_personas("republicans")


def test_a_variant_of_a_persona_is_a_seat_of_its_own() -> None:
    """002, section 3.1: leaning, or leaning and gender; ages as in its public code. The names are the same in all of them."""
    folder = persona_set("simple")
    for variant, told in ((":male", " man"), (":female", " woman"), (":67", "67-year-old"), ("", "an American")):
        people = load_personas(f"republican{variant}", folder)
        assert [one.name for one in people] == ["Alex", "Riley", "Morgan"]
        assert all(told in one.backstory for one in people)
    assert not any(" man" in one.backstory or "woman" in one.backstory for one in load_personas("democrat", folder))


def test_a_variant_that_nobody_is_brings_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean republican:female"):
        load_personas("republican:femal", persona_set("simple"))
    with pytest.raises(UserError, match="unknown seat with the personas of voters 'republican:male'"):
        load_personas("republican:male")


def test_personas_of_ones_own_are_a_folder(tmp_path: Path) -> None:
    """`run.py personas --out mine`, then `--set personas=./mine`."""
    (tmp_path / "green.toml").write_text('[[persona]]\nname = "Ann"\nbackstory = "You"\n', encoding="utf-8")
    assert load_personas("green", persona_set(str(tmp_path)))[0].name == "Ann"
    with pytest.raises(UserError, match="holds no personas"):
        persona_set(f"{tmp_path}/none")
    with pytest.raises(UserError, match="unknown set of personas 'simpel': did you mean simple"):
        persona_set("simpel")


@pytest.mark.parametrize("traits", ['gender = "male"\nage = 21', 'gender = "other"'])
def test_a_persona_is_one_variant(tmp_path: Path, traits: str) -> None:
    (tmp_path / "green.toml").write_text(f'[[persona]]\nname = "Ann"\nbackstory = "You"\n{traits}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"Ann of green\.toml: gender is male or female"):
        load_personas("green", tmp_path)


def test_the_others_are_told_of_in_one_sentence() -> None:
    alex, riley, sam = (Persona("", "", *one) for one in (("Alex", "", "male"), ("Riley", "", "female"), ("Sam", "")))
    assert genders([alex, sam, riley]) == "Alex is a man and Riley is a woman."
    assert genders([sam]) == ""
