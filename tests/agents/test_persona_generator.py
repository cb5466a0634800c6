"""Writing personas: what is asked, what is accepted, and that the shipped ones can be written again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from data_checks import check_each

import run
from parley.agents.datafiles import read_toml
from parley.agents.persona import US_VOTERS, load_personas
from parley.agents.persona_generator import (
    ATTEMPTS,
    LONGEST,
    SHARED,
    SHORTEST,
    generate_persona,
    in_backstories,
    list_names,
    sentences_of,
    to_toml,
    write_personas,
)
from parley.agents.society import load_society
from parley.agents.topic import load_topic, topic_names
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request

US = load_society()


def story(name: str, party: str = "Republican", words: int = 130) -> str:
    """A backstory of so many words whose sentences are its own."""
    begun = f"You are {name}, and\n\nyou are a {party}."
    more = [f"{name}{number}" for number in range(words - len(begun.split()))]
    return f"{begun} {' '.join(more)}."


GOOD = story("Wyatt")


def asked_for(request: Request) -> str:
    return request.messages[0].content.split("name is ")[1].split(".")[0]


def obliging(request: Request) -> str:
    """A story for whoever is asked for."""
    return story(asked_for(request), "Democrat" if "Democrat" in request.messages[0].content else "Republican")


def listening(script: list[str | Reply], heard: list[Request]) -> Fake:
    """Answers from a script and keeps what it was asked."""
    replies = iter(script)

    def answer(request: Request) -> str | Reply:
        heard.append(request)
        return next(replies)

    return Fake(answer)


def test_the_question_names_person_party_and_every_topic() -> None:
    """A topic that is missing here would have no position in any backstory; those that want none are left out."""
    heard: list[Request] = []
    drive([generate_persona("republican", "Wyatt", 0)], listening([GOOD], heard))
    (message,) = heard[0].messages
    assert "name is Wyatt" in message.content
    assert "Republican voter" in message.content
    for topic in map(load_topic, topic_names()):
        assert (topic.title.removeprefix("banning partial-birth ") in message.content) == topic.in_backstories
    assert f"in {SHORTEST} to {LONGEST} words" in message.content
    assert (heard[0].purpose, heard[0].sampling.temperature) == ("backstory", 1.0)


def test_a_backstory_is_one_paragraph() -> None:
    """A line break in a system message is a formatting habit of one model, not part of a person."""
    assert drive([generate_persona("republican", "Wyatt", 0)], Fake([GOOD])) == [" ".join(GOOD.split())]


@check_each(
    "bad",
    [
        "",
        story("Bob"),
        story("Wyattson"),
        "Wyatt is a Republican.",
        story("Wyatt", "Democrat"),
        story("Wyatt", words=119),
        story("Wyatt", words=181),
        f"{GOOD} At 73 you share a house with a college friend.".replace("You are Wyatt", "You are Wyatt, 73"),
        Reply.failed("timeout"),
    ],
    ids=["empty", "another name", "a longer name", "third person", "party", "short", "long", "clash", "failed"],
)
def test_what_cannot_be_used_is_asked_for_again(bad: str | Reply) -> None:
    """A bad story is not kept; the next try has another seed, or a journal would give the same answer for ever."""
    heard: list[Request] = []
    (found,) = drive([generate_persona("republican", "Wyatt", 0)], listening([bad, bad, GOOD], heard))
    assert found == " ".join(GOOD.split())
    assert len({request.seed for request in heard}) == len(heard) == 3


@check_each(
    ("bad", "told"),
    [
        (Reply.failed("timeout"), r"failed \(timeout\)"),
        ("  ", r"failed \(empty\)"),
        ("You are Bob.", "does not name the person"),
        ("Wyatt is a Republican.", "is not in the second person"),
        ("You are Wyatt.", r"does not name the party \(Republican\)"),
        (story("Wyatt", words=206), "has 206 words, not 120 to 180"),
        (Reply.failed("unknown_ask", "no sentences on bats"), r"failed \(unknown_ask: no sentences on bats\)"),
    ],
)
def test_giving_up_says_why(bad: str | Reply, told: str) -> None:
    """After the last try there is an error and no persona; it names the person and what was wrong."""
    with pytest.raises(
        UserError,
        match=rf"no usable backstory for Wyatt \(republican\) in {ATTEMPTS} replies \(the last reply {told}\)",
    ):
        drive([generate_persona("republican", "Wyatt", 0)], Fake([bad] * ATTEMPTS))


def test_nothing_is_written_when_one_person_is_missing(tmp_path: Path) -> None:
    """Thirty-nine personas would be a silent change of the experiment."""
    with pytest.raises(UserError, match="no usable backstory for Darlene"):
        write_personas(
            "republican", tmp_path, Fake(lambda r: "no" if "Darlene" in str(r.messages) else obliging(r)), "fake", 0, US
        )
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_can_be_loaded(tmp_path: Path) -> None:
    """The new folder is a folder of personas, made on the way, with every name in its order."""
    path = write_personas("democrat", tmp_path / "new" / "folder", Fake(obliging), "fake", 0, US)
    people = load_personas("democrat", path.parent)
    assert [person.name for person in people] == list_names("democrat")
    assert people[0].backstory == " ".join(story("Elena", "Democrat").split())


def test_few_sentences_are_shared(tmp_path: Path) -> None:
    """Forty people who say the same sentences are one person with forty names: whoever repeats the others is written anew."""
    asked: dict[str, int] = {}

    def answer(request: Request) -> str:
        name = asked_for(request)
        asked[name] = asked.get(name, 0) + 1
        own = story(name, "Democrat")
        return f"{own} You vote. You read." if asked[name] == 1 else own

    write_personas("democrat", tmp_path, Fake(answer), "fake", 0, US)
    people = load_personas("democrat", tmp_path)
    counts = Counter(sentence for person in people for sentence in sentences_of(person.backstory))
    assert set(asked.values()) == {1, 2}
    assert asked["Elena"] == 1
    assert sum(count for count in counts.values() if count > 1) / counts.total() < SHARED


def test_personas_that_keep_repeating_each_other_are_one_line(tmp_path: Path) -> None:
    """The bound on rewriting ends in a named reason, and no file."""
    with pytest.raises(
        UserError,
        match=r"39 of 40 backstories \(Marcus, .*still repeat sentences of other backstories after 5 attempts",
    ):
        write_personas(
            "democrat", tmp_path, Fake(lambda one: f"{story(asked_for(one), 'Democrat')} You vote."), "fake", 0, US
        )
    assert list(tmp_path.iterdir()) == []


def topic_file(folder: Path, more: str = "") -> str:
    """A topic of one's own on an agreement axis, somewhere else."""
    probe = '[probes.{}]\nconstruct = "agreement"\nscale = "{}"\nquestion = "How much do you agree that {}?"\n'
    claim = "a four-day working week should become law"
    text = 'title = "a four-day working week"\naxis = "agreement"\nhigh_party = "democrat"\nquestion = "Should it?"\n'
    text += more + "".join(
        probe.format(name, scale, claim)
        for name, scale in (("attitude", "agreement_0_10"), ("agreement", "agreement_1_7"))
    )
    path = folder / "four_day_week.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_position_is_that_of_the_topics_own_proposition(tmp_path: Path) -> None:
    """A topic of agreement was turned into "a ban on" its title, the opposite of what the survey asks."""
    heard: list[Request] = []
    own = topic_file(tmp_path, '[positions]\nrepublican = "strongly oppose"\n')
    for party in ("republican", "democrat"):
        drive([generate_persona(party, "Wyatt", 0, [own])], listening([story("Wyatt", party.title())], heard))
    red, blue = [request.messages[0].content for request in heard]
    assert "- whether a four-day working week should become law: strongly oppose\n" in red
    assert "- whether a four-day working week should become law: no position is given, choose one of: strongly" in blue
    assert "ban" not in red + blue


def test_the_file_says_where_positions_come_from(tmp_path: Path) -> None:
    """Whether the party's position was planted or left to the model is part of the experiment."""
    own = topic_file(tmp_path)
    path = write_personas("democrat", tmp_path / "out", Fake(obliging), "fake", 0, US, ["racism", own])
    told = path.read_text(encoding="utf-8")
    assert "#   racism: a very big problem, or a moderately big problem\n" in told
    assert "#   a four-day working week: chosen by the model\n" in told


def test_every_party_has_a_position_on_every_topic_of_the_shipped_set() -> None:
    """As in the paper (Fig 1a): both parties' prompts state theirs, and they differ."""
    for topic in map(load_topic, in_backstories(US)):
        assert set(topic.positions) == {"republican", "democrat"}
        assert topic.positions["republican"] != topic.positions["democrat"]


def test_the_oracle_says_which_topic_it_cannot_write_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It dropped a new topic without a word."""
    command = ["study", "personas", "--party", "democrat", "--topic", f"racism,{topic_file(tmp_path)}"]
    assert run.main([*command, "--out", str(tmp_path / "out")]) == 2
    assert "no sentences on 'whether a four-day working week should become law'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_personas_are_never_overwritten(tmp_path: Path) -> None:
    """Forty paid replies, or somebody's own words, are not lost to a second run; and nothing is asked before that is clear."""
    (tmp_path / "democrat.toml").write_text("mine", encoding="utf-8")
    heard: list[Request] = []
    with pytest.raises(UserError, match="exists already; give another --out"):
        write_personas("democrat", tmp_path, listening([], heard), "fake", 0, US)
    assert (tmp_path / "democrat.toml").read_text(encoding="utf-8") == "mine"
    assert heard == []


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    """A file in the place of the folder is the user's to mend: one line, no traceback."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="cannot write"):
        write_personas("democrat", tmp_path / "file", Fake(obliging), "fake", 0, US)


def test_an_unknown_party_brings_the_nearest(tmp_path: Path) -> None:
    """A slip of the finger costs one look."""
    with pytest.raises(UserError, match="unknown party 'democrats': did you mean democrat"):
        write_personas("democrats", tmp_path, Fake(obliging), "fake", 0, US)


@check_each("story", ['You say "no" \\ and\tgo', "You smile 🙂 in Zoë's café", "You \x7f\x00 \x1b", "You = [[x]] # y"])
def test_any_story_survives_the_file(tmp_path: Path, story: str) -> None:
    """Quotes, emoji and control characters of a model's answer are not to make a file that nobody can load."""
    (tmp_path / "green.toml").write_text(to_toml("green", {"Zoë": story}, "fake", US), encoding="utf-8")
    (person,) = load_personas("green", tmp_path)
    assert (person.name, person.backstory) == ("Zoë", story)


def test_half_a_character_is_shown_as_lost(tmp_path: Path) -> None:
    """An endpoint can cut an emoji in two; half of one cannot be written, and must not cost the other stories."""
    (tmp_path / "green.toml").write_text(to_toml("green", {"Ann": "You \ud83d"}, "fake", US), encoding="utf-8")
    assert load_personas("green", tmp_path)[0].backstory == "You ?"


@pytest.mark.parametrize("party", ["republican", "democrat"])
def test_the_shipped_personas_are_those_of_the_oracle(tmp_path: Path, party: str) -> None:
    """`python run.py study personas --party ... --out ...` with seed 0 writes the people of the party's file again."""
    path = write_personas(party, tmp_path, open_spec("oracle"), "oracle", 0, US)
    assert read_toml(path)["persona"] == read_toml(US_VOTERS / path.name)["persona"]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_seed_decides(tmp_path: Path, seed: int) -> None:
    """The same seed writes the same people; another seed, others."""
    once, twice = (
        write_personas("democrat", tmp_path / folder, open_spec("oracle"), "oracle", seed, US) for folder in "ab"
    )
    assert once.read_bytes() == twice.read_bytes()
    shipped = read_toml(US_VOTERS / once.name)["persona"]
    assert (read_toml(once)["persona"] == shipped) == (seed == 0)
