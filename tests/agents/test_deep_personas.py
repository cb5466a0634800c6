"""Deep personas: the taxonomy as data, the stratified draw, sentences one after another, the files of a set."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import pytest

import run
from parley.agents.deep_personas import LONGEST, begin_person, fill_person, read_people, sentence_problem
from parley.agents.language import ENGLISH, load_language
from parley.agents.persona import load_personas
from parley.agents.society import load_society
from parley.agents.taxonomy import load_taxonomy
from parley.llm.backends import open_spec
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import Reply

OWN = """
[[core]]
name = "age"
form = "You are {value}."
low = 20
high = 70

[[core]]
name = "work"
form = "You work as {value}."
values = ["a student", "a cook"]
ages = { "a student" = [20, 30] }

[[branch]]
name = "fun"
closeness = "far"
[branch.attributes]
dance = "dancing"
[branch.attributes.music]
piano = "the piano"
"""


def test_shipped_taxonomies_have_the_same_leaves() -> None:
    """English and German have the same paths and core, so results of the two can be compared; each text is there once."""
    english, german = (load_taxonomy(load_language(code)) for code in ("en", "de"))
    assert [leaf[::2] for leaf in english.leaves] == [leaf[::2] for leaf in german.leaves]
    for one, other in zip(english.core, german.core, strict=True):
        assert (one.name, list(one.ages.values())) == (other.name, list(other.ages.values()))
    for taxonomy in (english, german):
        assert len({leaf.about.lower() for leaf in taxonomy.leaves}) == len(taxonomy.leaves) == 135


def test_every_beginning_has_the_shares_of_near_middle_and_far() -> None:
    """Of the first 10 attributes 5 are near, 3 middle, 2 far, and of the first 20 twice as many: depth changes no shares."""
    drawn = load_taxonomy(ENGLISH).draw_attributes(135, random.Random(1))
    assert len({leaf.path for leaf in drawn}) == 135
    for depth in (10, 20, 50):
        shares = Counter(leaf.closeness for leaf in drawn[:depth])
        assert shares == {"near": depth // 2, "middle": 3 * depth // 10, "far": depth // 5}


def test_a_taxonomy_of_ones_own(tmp_path: Path) -> None:
    """A user's file with a nested branch is read; values that are limited to ages are never drawn for other ages."""
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    taxonomy = load_taxonomy(ENGLISH, path)
    assert [leaf.path for leaf in taxonomy.leaves] == ["fun/dance", "fun/music/piano"]
    drawn = [taxonomy.draw_core(random.Random(seed)) for seed in range(200)]
    assert all(int(one["age"]) <= 30 for one in drawn if one["work"] == "a student")
    assert {one["work"] for one in drawn} == {"a student", "a cook"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('closeness = "far"', 'closeness = "fra"', "did you mean far"),
        ("{value}.", "it.", "needs the keys name and form"),
        ("[20, 30]", "[90, 99]", "a student"),
        ('name = "work"', 'name = "age"', "twice"),
        ('"a cook"', '"a student"', "no value for people of age 31"),
    ],
)
def test_a_broken_taxonomy_is_refused_in_a_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Each fault of a file is named; an age limit that is never met is allowed, because another value fits."""
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(old, new), encoding="utf-8")
    if message == "a student":
        assert "a student" not in load_taxonomy(ENGLISH, path).draw_core(random.Random(0)).values()
        return
    with pytest.raises(UserError, match=message):
        load_taxonomy(ENGLISH, path)


def test_each_sentence_is_asked_given_all_before() -> None:
    """The prompt of the n-th attribute holds the core and the n - 1 sentences before it, and the first n are the person at n."""
    society, taxonomy = load_society("us"), load_taxonomy(ENGLISH)
    begun = begin_person("democrat", "Ann", society, taxonomy, 0)
    asked = taxonomy.draw_attributes(3, random.Random(0))
    conversation, prompts, reply = fill_person(begun, asked, ENGLISH, 0), [], None
    oracle = open_spec("oracle")
    try:
        while True:
            (request,) = conversation.send(reply)  # type: ignore[arg-type]
            prompts.append(request.messages[-1].content)
            reply = oracle.complete([request])
    except StopIteration as done:
        person = done.value
    assert [person.text(depth) in prompt for depth, prompt in enumerate(prompts)] == [True] * 3
    assert person.text().startswith(person.text(2))
    assert len(person.values) == 3
    assert begun.text() == person.text(0)


def test_unusable_sentences_are_missing_with_a_reason() -> None:
    """Empty, failed, too long and contradicting replies are no sentences, and never a made-up one."""
    known = "You are 24 years old. You live in a village."
    for reply, reason in (
        (Reply(" "), "empty"),
        (Reply.failed("timeout"), "timeout"),
        (Reply("word " * (LONGEST + 1)), "too_long"),
        (Reply("You miss work since you retired."), "contradiction"),
    ):
        assert sentence_problem(reply, known, ENGLISH).startswith(reason), reply
    assert sentence_problem(Reply("You play the trumpet."), known, ENGLISH) == ""


def test_oracle_variety_and_contradictions_are_the_planted_ones() -> None:
    """variety=1 gives everyone the same words, and contradicts=1 another age in every sentence."""
    society, taxonomy = load_society("us"), load_taxonomy(ENGLISH)
    begun = [begin_person("democrat", name, society, taxonomy, 0) for name in ("Ann", "Bob", "Cem")]
    leaves = taxonomy.leaves[:4]
    for spec, kinds in (("oracle,variety=1", 1), ("oracle,contradicts=1", 0)):
        people = drive([fill_person(one, leaves, ENGLISH, 0) for one in begun], open_spec(spec))
        sentences = [value.sentence for one in people for value in one.values]
        assert len({line.partition(": ")[2] for line in sentences if ": " in line}) == kinds, spec
        assert all("years old" in line for line in sentences if not kinds)


def test_the_command_writes_a_set_that_debates_can_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`personas --set deep` writes a set of personas, its attributes and its taxonomy, in English and in German."""
    for society, party in (("us", "democrat"), ("germany", "spd")):
        out = tmp_path / society
        given = f"study personas --set deep --society {society} --party {party} --count 2 --depth 3 --out {out}"
        assert run.main(given.split()) == 0
        people = read_people(out)
        assert [one.text() for one in people] == [one.backstory for one in load_personas(party, out)]
        with (out / f"{party}.attributes.csv").open(encoding="utf-8") as file:
            assert sum(row["closeness"] != "core" for row in csv.DictReader(file)) == 6
        assert (out / "taxonomy.toml").is_file()
        assert not (out / "personas.sqlite").exists()
    for wrong, message in (
        ("--set twins --depth 3", "only works with --set deep"),
        ("--set deep --depth 999", "at most"),
    ):
        assert run.main(f"study personas {wrong} --out {tmp_path / 'x'}".split()) == 2
        assert message in capsys.readouterr().err
