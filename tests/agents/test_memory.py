"""What is sent is what was said: nothing is lost, nothing slips in, and asking leaves no trace."""

from __future__ import annotations

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.language import ENGLISH
from parley.agents.memory import LastLines, Memory, Summary, make_memory
from parley.llm.errors import UserError
from parley.llm.request import Message

OPENING, TURN = "Opening.", "Your turn."
HEADER = ENGLISH.prompt("summary_header").text
LINES = st.tuples(st.sampled_from(["Bob", "Cid", None]), st.text("ab \n:", min_size=1, max_size=6))
HISTORIES = st.lists(LINES, max_size=25)
KINDS = st.sampled_from(["whole", "last:1", "last:3", "summary:2", "retrieve:2"])


def tell(memory: Memory, lines: list[tuple[str | None, str]]) -> Memory:
    """Let a memory live through lines; those of nobody (None) are its own."""
    for name, text in lines:
        if name is None:
            memory.spoke(TURN, text)
        else:
            memory.hear(name, text)
    return memory


def shown(memory: Memory, instruction: str = TURN) -> list[str]:
    return [f"{role}: {content}" for role, content in memory.messages(instruction)]


def test_whole_memory_by_hand() -> None:
    """The layout of a conversation: opening once, lines by name, the instruction last and kept where it was answered."""
    memory = tell(make_memory("whole", OPENING), [("Bob", "Hi."), ("Cid", "Ho."), (None, "Hello."), ("Bob", "So?")])
    assert shown(memory) == [
        "user: Opening.\n\nBob: Hi.\nCid: Ho.\n\nYour turn.",
        "assistant: Hello.",
        "user: Bob: So?\n\nYour turn.",
    ]


def test_nothing_said_yet() -> None:
    """The first speaker is told so: an empty memory is empty, and has the opening."""
    memory = make_memory("whole", OPENING)
    assert memory.empty
    assert shown(memory) == ["user: Opening.\n\nYour turn."]
    assert not tell(memory, [("Bob", "Hi.")]).empty


@given(HISTORIES)
def test_what_is_sent_is_a_prefix_of_what_is_sent_next(lines: list[tuple[str | None, str]]) -> None:
    """Whole memory is append-only (servers cache by prefix): after an own reply all that was sent is sent again, word for word.

    While only others speak the last message alone grows, before the instruction.
    """
    memory = Memory(OPENING)
    for line in lines:
        before = memory.messages(TURN)
        after = tell(memory, [line]).messages(TURN)
        if line[0] is None:
            assert after[: len(before)] == before
            assert after[len(before)] == Message("assistant", line[1])
        else:
            assert after[:-1] == before[:-1]
            assert after[-1].content.startswith(before[-1].content.removesuffix(TURN).rstrip("\n"))


@given(HISTORIES)
def test_whole_memory_forgets_nothing(lines: list[tuple[str | None, str]]) -> None:
    """Every line is there, own ones as own messages, in the order in which they were said."""
    told = tell(Memory(OPENING), lines).messages(TURN)
    assert [content for role, content in told if role == "assistant"] == [text for name, text in lines if name is None]
    everything, place = "\n".join(content for _, content in told), 0
    for name, text in lines:
        line = text if name is None else f"{name}: {text}"
        place = everything.index(line, place) + len(line)


@given(HISTORIES, KINDS)
def test_asking_leaves_no_trace(lines: list[tuple[str | None, str]], kind: str) -> None:
    """A survey is put on a copy: neither its question nor the act of asking is remembered (D5 row 12)."""
    memory = tell(make_memory(kind, OPENING), lines)
    before = memory.messages(TURN)
    memory.messages("Privately: how big?")
    memory.overflow()
    assert memory.messages(TURN) == before


@given(HISTORIES, KINDS)
def test_every_request_is_a_well_formed_chat(lines: list[tuple[str | None, str]], kind: str) -> None:
    """User and assistant take turns, beginning and ending with the user, and no message is empty: endpoints refuse others."""
    told = tell(make_memory(kind, OPENING), lines).messages(TURN)
    assert [role for role, _ in told] == ["user", "assistant"] * (len(told) // 2) + ["user"]
    assert all(content for _, content in told)
    assert told[0].content.startswith(OPENING)
    assert told[-1].content.endswith(TURN)


@given(HISTORIES, st.integers(1, 30))
def test_last_k_keeps_the_last_k_lines(lines: list[tuple[str | None, str]], size: int) -> None:
    """What is sent is what somebody knows who came in K lines ago."""
    kept = tell(make_memory(f"last:{size}", OPENING), lines)
    assert kept.messages(TURN) == tell(LastLines(OPENING, len(lines) + 1), lines[-size:]).messages(TURN)


@pytest.mark.parametrize("kind", ["last", "last:", "last:0", "last:-1", f"last:{10**20}", "retrieve:" + "9" * 5000])
def test_a_number_of_lines_that_cannot_be_is_one_line(kind: str) -> None:
    """More lines than a computer can count stopped the run with a traceback."""
    with pytest.raises(UserError, match="where K is a number of lines with at most 6 digits, such as last:12"):
        make_memory(kind, OPENING)


def test_last_k_by_hand() -> None:
    """Two lines of four are kept, and the opening stays; own lines count."""
    memory = make_memory("last:2", OPENING)
    tell(memory, [("Bob", "One."), ("Bob", "Two."), (None, "Three."), ("Bob", "Four.")])
    assert shown(memory) == ["user: Opening.", "assistant: Three.", "user: Bob: Four.\n\nYour turn."]


def test_own_lines_in_a_row_are_one_message() -> None:
    """When all others fell silent there is nothing to put between two own lines; an empty user message is refused by servers."""
    memory = tell(make_memory("last:5", OPENING), [(None, "One."), (None, "Two.")])
    assert shown(memory) == ["user: Opening.", "assistant: One.\nTwo.", "user: Your turn."]


def test_summary_by_hand() -> None:
    """At twice K lines the older half is put up for a summary, which then stands where those lines were."""
    memory = make_memory("summary:1", OPENING)
    assert isinstance(memory, Summary)
    tell(memory, [("Bob", "One.")])
    assert not memory.overflows
    tell(memory, [(None, "Two.")])
    assert memory.overflows
    assert [content for _, content in memory.overflow()] == ["Opening.\n\nBob: One."]
    memory.absorb("Bob: counts.")
    assert not memory.overflows
    assert shown(memory) == [f"user: Opening.\n\n{HEADER}\nBob: counts.", "assistant: Two.", "user: Your turn."]
    tell(memory, [("Bob", "Three.")])
    assert memory.overflow()[0].content == f"Opening.\n\n{HEADER}\nBob: counts."


@given(HISTORIES, st.integers(1, 5))
def test_summary_never_drops_what_was_not_summed_up(lines: list[tuple[str | None, str]], size: int) -> None:
    """Until a summary comes everything is kept (a failed call for one loses nothing); afterwards the last K lines are."""
    memory = Summary(OPENING, size, ENGLISH)
    tell(memory, lines)
    assert memory.messages(TURN) == tell(LastLines(OPENING, 99), lines).messages(TURN)
    memory.absorb("All.")
    start = f"{OPENING}\n\n{HEADER}\nAll."
    assert memory.messages(TURN) == tell(LastLines(start, size), lines).messages(TURN)


@pytest.mark.parametrize("kind", ["whole", "last:1"])
def test_only_summaries_overflow(kind: str) -> None:
    """No other memory ever asks for a summary."""
    memory = tell(make_memory(kind, OPENING), [("Bob", "One.")] * 50)
    assert not memory.overflows
    assert memory.overflow() == ()


@check_each(
    "kind",
    ["", "whol", "whole:", "whole:3", "last", "last:", "last:0", "last:-1", "last:2.5", "last:²", "summary", "Last:3"],
)
def test_bad_kinds_are_told(kind: str) -> None:
    """A memory that is not known is refused at the start, in one line that lists the three."""
    with pytest.raises(UserError, match="write whole, last:K, summary:K"):
        make_memory(kind, OPENING)
