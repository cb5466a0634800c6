"""Personas are data and part of the experiment: forty a party, distinct, and silent in the words of the survey."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.persona import (
    Persona,
    genders,
    load_personas,
    parties,
    persona_set,
)
from parley.agents.persona_generator import (
    LONGEST,
    SHARED,
    SHORTEST,
    find_clash,
    in_backstories,
    list_names,
    sentences_of,
)
from parley.agents.scales import LABELLED
from parley.agents.society import DEFAULT, load_society
from parley.agents.topic import load_topic, topic_names
from parley.llm.errors import UserError

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
    assert [person.name for person in people] == list_names(party)


def test_no_name_is_used_twice() -> None:
    """Lines are told apart by name alone, so nobody shares one, in any party; nor do two people share a story."""
    assert [name for name, count in Counter(person.name for person in EVERYBODY).items() if count > 1] == []
    assert len({person.backstory for person in PEOPLE}) == len(PEOPLE)


def test_few_sentences_are_shared_and_lengths_are_as_asked() -> None:
    """72% of the sentences occurred in several personas, and 206 to 250 words stood where 120 to 180 were asked for."""
    counts = Counter(sentence for person in PEOPLE for sentence in sentences_of(person.backstory))
    assert sum(count for count in counts.values() if count > 1) / counts.total() < SHARED
    assert [one.id for one in PEOPLE if not SHORTEST <= len(one.backstory.split()) <= LONGEST] == []


@pytest.mark.parametrize("party", PARTISAN)
def test_nobody_leaves_the_position_of_the_party(party: str) -> None:
    """The prompt states it, as the paper's does, so that the sides are polarized."""
    for topic in map(load_topic, in_backstories(load_society())):
        known = ["not a problem at all", "a small problem", "a moderately big problem", "a very big problem"]
        known += [f"{how} {side}" for how in ("strongly", "somewhat") for side in ("favor", "oppose")]
        refused = [level for level in known if level not in topic.positions[party]]
        subject = topic.title.removeprefix("banning ")
        for person in PEOPLE:
            if person.party == party:
                lines = [line for line in re.split(r"(?<=\.) ", person.backstory) if subject in line]
                assert not [line for line in lines for level in refused if level in line], person.id


@check_each(
    ("text", "wrong"),
    [
        ("Your name is Brenda, and at 73 you are a data analyst living in Atlanta.", "is 73 and past working age"),
        ("You are Ann, 73, a retired data analyst in Atlanta.", None),
        (
            "You are Ann, 60, a nurse. You share a house with a college friend.",
            "is 60 and shares a home as students do",
        ),
        ("You are Ann, 24, a nurse. You share a house with a college friend.", None),
        ("You are Ann, 31, a nurse, and see your grandchildren on Sundays.", "too young for grandchildren"),
        (
            "You are Ann, 61, a nurse, and you are engaged to a friend from high school.",
            "lives as somebody much younger",
        ),
        ("You are Ann, 40, a retired nurse.", "is 40 and retired before 50"),
        ("You are Ann. You live alone, and your husband cooks.", "is single and lives with somebody at once"),
        ("You are Ann. You share a house with a college friend.", None),
    ],
)
def test_age_work_and_family_fit_together(text: str, wrong: str | None) -> None:
    """A 73-year-old data analyst who shares a house with a college friend was among the shipped personas."""
    found = find_clash(text)
    assert (found is None) == (wrong is None)
    assert wrong is None or wrong in str(found)


def test_no_shipped_persona_clashes() -> None:
    assert [(one.id, find_clash(one.backstory)) for one in PEOPLE if find_clash(one.backstory)] == []


def test_the_default_is_told_one_sentence() -> None:
    """ "You are an American." is the Default's sole directive (001, 4.2), word for word."""
    assert {person.backstory for person in load_personas(DEFAULT)} == {"You are an American."}


@check_each("person", PEOPLE, ids=lambda person: person.id)
def test_a_backstory_speaks_to_its_person(person: Persona) -> None:
    """Second person, one paragraph, the own name, the own party and no other's."""
    other = {"republican": "Democrat", "democrat": "Republican"}[person.party]
    assert person.name in person.backstory
    assert person.backstory.startswith(("You are ", "Your name is "))
    assert "\n" not in person.backstory
    assert len(re.findall(r"\b(?:I|me|my)\b", person.backstory)) == 0
    assert re.search(rf"\b{person.party}", person.backstory, re.I)
    assert other not in person.backstory


@check_each("person", PEOPLE, ids=lambda person: person.id)
def test_a_backstory_uses_no_word_of_the_survey(person: Persona) -> None:
    """A label or phrase of a scale in the backstory would be copied into the answer, and measured as an attitude."""
    probes = [probe for slug in topic_names() for probe in load_topic(slug).probes.values()]
    asked = {probe.scale.name: probe.scale for probe in [*probes, load_topic("racism").probe("agreement@phrases")]}
    labels = [label for scale in asked.values() if scale.kind == LABELLED for label in scale.labels.values()]
    assert {"a severe problem", "a terrible idea", "fully agree", "severe"} <= {*labels}
    assert [label for label in labels if re.search(rf"\b{label}\b", person.backstory, re.I)] == []


@check_each("person", PEOPLE, ids=lambda person: person.id)
@check_each("slug", [slug for slug in topic_names() if load_topic(slug).in_backstories])
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


@pytest.mark.parametrize("slug", [slug for slug in topic_names() if not load_topic(slug).in_backstories])
def test_a_backstory_says_nothing_of_a_topic_that_wants_none(slug: str) -> None:
    """What a persona thinks of it is its party's way: a stray word would be read as a position."""
    assert not [person.id for person in PEOPLE if load_topic(slug).title in person.backstory.lower()]


def test_positions_differ_within_a_party() -> None:
    """Forty individuals: on most topics not everybody of a party says the same."""
    for party in PARTISAN:
        spoken = Counter(level for person in load_personas(party) for level in re.findall(SEVERITY, person.backstory))
        assert len(spoken) >= 3


@check_each(
    ("text", "told"),
    [
        ("", "at least one persona"),
        ('[persona]\nname = "Ann"\nbackstory = "You"', r"write \[\[persona\]\] before each"),
        ("persona = [1]", r"write \[\[persona\]\] before each"),
        ('[[persona]]\nname = "Ann"', "persona 1 of green.toml lacks backstory"),
        ('[[persona]]\nname = "Ann"\nbackstory = 3', "backstory in persona 1 of green.toml is 3, but must be a text"),
        ('[[persona]]\nname = "Ann"\nbackstorey = "You"', "did you mean backstory"),
        ('[[persona]]\nname = "Ann"\nbackstory = "You"\n' * 2, "each persona needs a different name"),
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
    """`run.py study personas --out mine`, then `--set personas=./mine`."""
    (tmp_path / "green.toml").write_text('[[persona]]\nname = "Ann"\nbackstory = "You"\n', encoding="utf-8")
    assert load_personas("green", persona_set(str(tmp_path)))[0].name == "Ann"
    with pytest.raises(UserError, match="is not a set of personas"):
        persona_set(f"{tmp_path}/none")
    with pytest.raises(UserError, match="unknown set of personas of us 'simpel': did you mean simple"):
        persona_set("simpel")


def test_a_seat_without_variant_is_anyone_of_the_party(tmp_path: Path) -> None:
    """In a set that mixes personas with and without gender or age, those with one were never seated, without a word."""
    ann, bob = '[[persona]]\nname = "Ann"\nbackstory = "You"\n', '[[persona]]\nname = "Bob"\nbackstory = "You"\n'
    for text, open_ in (
        (ann + bob + 'gender = "male"\n', ["Ann", "Bob"]),
        (ann + bob + bob + 'gender = "male"\n', ["Ann", "Bob"]),  # Bob without gender has the plain seat
        (ann + "age = 30\n" + bob + 'gender = "male"\n', ["Ann", "Bob"]),
    ):
        (tmp_path / "green.toml").write_text(text, encoding="utf-8")
        assert [one.name for one in load_personas("green", tmp_path)] == open_
    torn = ann + bob + 'gender = "male"\n' + bob + 'gender = "female"\n'
    (tmp_path / "green.toml").write_text(torn, encoding="utf-8")
    with pytest.raises(UserError, match=r"Bob of green\.toml has entries for green:male, green:female, but no entry"):
        load_personas("green", tmp_path)
    assert [one.gender for one in load_personas("green:male", tmp_path)] == ["male"]


def test_only_files_with_personas_are_parties(tmp_path: Path) -> None:
    """A topic file that lies in the folder of a set is no party of it."""
    (tmp_path / "green.toml").write_text('[[persona]]\nname = "Ann"\nbackstory = "You"\n', encoding="utf-8")
    (tmp_path / "coal.toml").write_text('title = "coal"\n', encoding="utf-8")
    assert parties(tmp_path) == ["green"]
    (tmp_path / "green.toml").unlink()
    with pytest.raises(UserError, match="is not a set of personas"):
        persona_set(f"{tmp_path}/")


@pytest.mark.parametrize("traits", ['gender = "male"\nage = 21', 'gender = "other"'])
def test_a_persona_is_one_variant(tmp_path: Path, traits: str) -> None:
    (tmp_path / "green.toml").write_text(f'[[persona]]\nname = "Ann"\nbackstory = "You"\n{traits}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"Ann of green\.toml: give gender = 'male', gender = 'female' or an age"):
        load_personas("green", tmp_path)


def test_the_others_are_told_of_in_one_sentence() -> None:
    alex, riley, sam = (Persona("", "", *one) for one in (("Alex", "", "male"), ("Riley", "", "female"), ("Sam", "")))
    assert genders([alex, sam, riley]) == "Alex is a man and Riley is a woman."
    assert genders([sam]) == ""
