"""A line counts whoever says it: names of any script and form give the influence and the pull that plain names give."""

from __future__ import annotations

import re
from pathlib import Path

import mesa
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.agent import Debater
from parley.agents.network_agent import NetworkDebater
from parley.agents.persona import Persona
from parley.agents.reply_cleaning import clean_speech, speaks_for
from parley.agents.speech import DebateStyle
from parley.agents.topic import load_topic
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.backends.pocket.prompt_ids import introduced, mask_names, name_tokens, unmask_names
from parley.llm.request import Message, Reply, Request, Sampling
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder

WALL = (
    *(
        "राहुल",
        "प्रिया",
        "রহিম",
        "محمّد",
        "李雷",
        "김민준",
        "Жанна д'Арк",
        "Žofia Nováková",
        "Nguyễn Thị Hạnh",
        "Þóra",
        "ก้อง",
    ),
    *("Agent 7", "agent_1", "7", "#3", "T2", "bell hooks", "danah boyd", "in short", "note", "Question", "Summary"),
    *(
        "Jose\u0301",
        "A\u030angstro\u0308m",
        "Dr. No",
        "J. R. R. Tolkien",
        "O'Connor",
        "D’Arcy",
        "Jean-Luc",
        "van der Berg",
    ),
    *("Pablo Diego José Francisco de Paula Juan", "Anna and the King", "Sammy Davis, Jr.", "Unit: 5", "(anon)", "😀"),
)
PLAIN = tuple(f"Plain{chr(65 + number)}" for number in range(26))
MEMORIES = ("whole", "last:4", "summary:2", "retrieve:3")
MANNER = DebateStyle("debate", 60, Sampling(), 0.0, "whole", "strict")


def heard_by(names: tuple[str, ...], lines: list[tuple[int, str]], memory: str, network: bool = False) -> Request:
    """What somebody called as the first of the names is asked after the lines, each of (number of who said it, text)."""
    me, *others = names
    persona = Persona("x", "republican", me, "You are a Republican voter.")
    model, topic, style = mesa.Model(rng=1), load_topic("racism"), MANNER._replace(memory=memory)
    who: Debater = (
        NetworkDebater(model, persona, topic, others, 60, True, style)
        if network
        else Debater(model, persona, topic, others, style)
    )
    for number, text in lines:
        if number:
            who.hear(others[(number - 1) % len(others)], text)
        else:
            who.compose_speech(1)
            who.absorb_speech(Reply(text))
    return who.compose_survey(topic.probe("attitude"), 1)


SAID = [sentence for grade in (0, 4, 8) for forms in banks().topics["racism"].by_grade[grade] for sentence in forms][
    :20
]
LINES = st.lists(st.tuples(st.integers(0, 7), st.sampled_from(SAID)), max_size=8)


@given(
    st.lists(st.sampled_from(WALL), min_size=2, max_size=8, unique=True),
    LINES,
    st.sampled_from(MEMORIES),
    st.booleans(),
)
def test_names_change_nothing_of_what_is_heard(
    names: list[str], lines: list[tuple[int, str]], memory: str, net: bool
) -> None:
    """Influence and pull of each line are those that the same line has under a plain name (the noise aside)."""
    oracle = Oracle({"sigma": 0.0})
    strange, plain = (read(heard_by(who, lines, memory, net), banks()) for who in (tuple(names), PLAIN[: len(names)]))
    assert [text for _, text in strange.heard] == [text for _, text in plain.heard]
    assert oracle.attitude(strange) == oracle.attitude(plain)
    assert set(dict(strange.heard)) <= set(names)


@check_each("name", WALL)
def test_a_line_of_every_name_is_heard(name: str) -> None:
    """One by one, so that a failure says which."""
    for network in (False, True):
        assert read(heard_by(("Ann", name), [(1, SAID[0])], "whole", network), banks()).heard == ((name, SAID[0]),)


def test_a_request_that_names_nobody_is_read_by_what_its_labels_look_like() -> None:
    """A prompt made by hand: labels that look like names are names; other labels are counted as unread, unless it names them."""

    def heard(text: str, names: frozenset[str] | None = None) -> tuple[tuple[str, ...], int]:
        found = read(Request((Message("user", text),), Sampling(), 0, names=names), banks())
        return tuple([name for name, _ in found.heard]), found.unheard

    shown = "This is a debate about racism.\n\n{}: A line.\n\nComplete your next reply."
    for name in (
        "राहुल",
        "রহিম",
        "محمّد",
        "Agent 7",
        "agent_1",
        "Jose\u0301",
        "Pablo Diego José Francisco de Paula Juan",
    ):
        assert heard(shown.format(name)) == ((name,), 0), name
    for label, lost in (("Note", 0), ("Question", 0), ("in short", 1), ("bell hooks", 1)):
        assert heard(shown.format(label)) == ((), lost), label
    assert heard(shown.format("bell hooks"), frozenset({"bell hooks"})) == (("bell hooks",), 0)


def test_lines_that_got_lost_are_counted_as_unread() -> None:
    """A label that is no name costs a line its influence: the reply says how many, as of a line that cannot be read."""
    text = "This is a debate about racism.\n\nbell hooks: A line.\n\nComplete your next reply."
    (reply,) = Oracle().complete([Request((Message("user", text),), Sampling(), 0)])
    assert reply.notes == {"unread": 1}


def test_a_whole_debate_between_such_people(tmp_path: Path) -> None:
    """Persona files, seating, prompts and replies: nothing is unread, and everybody is moved by everybody."""
    names = iter(WALL)
    for party in ("republican", "democrat", "default"):
        people = [next(names) for _ in range(4)]
        told = "You are an American." if party == "default" else f"You are a {party.title()} voter."
        tables = [f'[[persona]]\nname = "{name}"\nbackstory = "{told}"\n' for name in people]
        (tmp_path / f"{party}.toml").write_text("\n".join(tables), encoding="utf-8")
    record = MemoryRecorder()
    people_of = f"{tmp_path}/"
    DebateModel("three_way", "racism", llm="oracle", personas=people_of, repetitions=4, rounds=2, recorder=record).run()
    calls = [event for event in record.events if type(event).__name__ == "Called"]
    assert calls
    assert not [one for one in calls if one.notes]


def test_pocket_gives_such_names_their_tokens() -> None:
    """The model in the box sees a token for each of them, and what it says is told under the name again."""
    names = (*WALL[:5], "Anna and the King", "Sammy Davis, Jr.", "bell hooks")
    request = heard_by(names, [(1, "Hello."), (7, "Well.")], "whole")
    found = name_tokens(request.messages, request.names)
    assert list(found) == list(names)
    assert not [name for name in names for one in mask_names(request.messages, found) if name in one.content]
    assert unmask_names(mask_names(request.messages, found)[-1].content, found) == request.messages[-1].content


def test_a_combining_mark_belongs_to_the_name_before_it() -> None:
    """Jose is not the beginning of José, in whichever way the accent is written."""
    (message,) = mask_names([Message("user", "Jose\u0301 and Jose met José.")], {"Jose": "<name0>"})
    assert message.content == "Jose\u0301 and <name0> met José."


def test_an_opening_says_who_is_there() -> None:
    told = "The question is: You are right? You are {}; the others are {}. Speak only for yourself, in 60 words."
    assert introduced(told.format("St. John", "राहुल, bell hooks and 7")) == ("St. John", "राहुल", "bell hooks", "7")
    assert introduced("You are Ann. Speak only for yourself.") == ("Ann",)
    assert introduced("You are right about racism.") == ()


def test_a_label_in_capitals_is_cut_whatever_the_letters() -> None:
    """JÜRGEN GROSS is how Jürgen Groß is written in capitals."""
    said = clean_speech("JÜRGEN GROSS: I agree.\nJÜRGEN GROSS (nods): No.", "Jürgen Groß", None)
    assert said.startswith("I agree.")
    pattern = speaks_for(("Jürgen Groß",))
    assert isinstance(pattern, re.Pattern)
    assert clean_speech("I agree.\nJÜRGEN GROSS: No.", "Ann", pattern) == "I agree."
