"""Retrieval: hand-computed scores, and a memory that shows the last lines and what comes to mind."""

from __future__ import annotations

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.language import ENGLISH
from parley.agents.memory import Retrieval, Trace, make_memory, memory_scores, min_max, novelty, relevance, top_memories
from parley.agents.reasoning import read_insights
from parley.agents.topic import load_topic
from parley.llm.errors import UserError
from parley.llm.request import Reply

from .conftest import Make, say, sent

TRAINS = [Trace("Bob", "Trains!", 1, 10.0), Trace("Cid", "Buses!", 2, 1.0), Trace(None, "Trains and buses.", 3, 4.0)]


def test_scores_by_hand() -> None:
    """Recency .995^3, .995^2, .995 is 0, .49875, 1 scaled; importance 1, 0, 1/3; relevance to "trains" 1, 0, .51786.

    The weights: "trains" and "buses" are in 2 of 3 lines, ln(4/3) + 1 = 1.28768, "and" in one, ln(4/2) + 1 = 1.69315; the third
    line's cosine is 1.28768 / sqrt(2 * 1.28768^2 + 1.69315^2).
    """
    assert relevance("trains", [trace.text for trace in TRAINS]) == pytest.approx([1, 0, 0.51786], abs=1e-5)
    expected = [(0 + 1 + 1) / 3, (0.49875 + 0 + 0) / 3, (1 + 1 / 3 + 0.51786) / 3]
    assert memory_scores(TRAINS, "trains", 4) == pytest.approx(expected, abs=1e-5)
    assert [trace.time for trace in top_memories(TRAINS, "trains", 4, 2)] == [1, 3]
    assert [trace.time for trace in top_memories(TRAINS, "buses", 4, 1)] == [3]


def test_an_unknown_importance_is_no_importance() -> None:
    """It is neither low nor high: the memory is found by its recency and relevance alone."""
    unread = [TRAINS[0], TRAINS[1], Trace(None, "Trains and buses.", 3, None)]
    assert memory_scores(unread, "trains", 4)[2] == pytest.approx((1 + 0.51786) / 2, abs=1e-5)
    assert memory_scores(unread, "trains", 4)[:2] == pytest.approx(memory_scores(TRAINS, "trains", 4)[:2])


def test_equals_are_told_by_time() -> None:
    """Nothing in common with the query and nothing to choose: the later ones come to mind."""
    same = [Trace("Bob", "Hi.", time, 5.0) for time in (1, 1, 1)]
    assert top_memories(same, "trains", 1, 2) == same[1:]


def test_nothing_to_remember() -> None:
    assert top_memories([], "trains", 0, 3) == []


@given(st.lists(st.one_of(st.none(), st.floats(-1e3, 1e3)), max_size=8))
def test_scaling_keeps_order_and_gaps(values: list[float | None]) -> None:
    """0 to 1, the order kept, missing ones missing."""
    found = min_max(values)
    assert [one is None for one in found] == [one is None for one in values]
    known = [(one, other) for one, other in zip(values, found, strict=True) if one is not None and other is not None]
    assert all(0 <= other <= 1 for _, other in known)
    assert [other for _, other in sorted(known)] == sorted(other for _, other in known)


def test_novelty_by_hand() -> None:
    """What was said before matters less: 3 of 4 new words are 7.75, none is 1; case and punctuation aside."""
    assert novelty("No more buses, Trains!", {"trains"}) == 7.75
    assert novelty("TRAINS trains", {"trains"}) == 1
    assert novelty("...", set()) == 1


def shown(memory: Retrieval, asked: str = "Your turn.") -> list[str]:
    return [f"{role}: {content}" for role, content in memory.messages(asked)]


def filled(**how: object) -> Retrieval:
    memory = make_memory("retrieve:2", "Opening.", **how)
    assert isinstance(memory, Retrieval)
    for name, text in [("Bob", "Trains run late."), ("Cid", "My dog barks."), ("Bob", "Hi."), ("Cid", "Trains?")]:
        memory.hear(name, text)
    memory.spoke("Your turn.", "Late trains cost us.")
    return memory


def test_the_last_lines_and_what_comes_to_mind() -> None:
    """Of three older lines the two that score highest, in their order; the last two lines in full; opening and question stay."""
    memory = filled()
    memory.hear("Bob", "Who pays for trains?")
    assert shown(memory) == [
        f"user: Opening.\n\n{ENGLISH.prompt('retrieval_header').text}\nBob: Trains run late.\nCid: Trains?",
        "assistant: Late trains cost us.",
        "user: Bob: Who pays for trains?\n\nYour turn.",
    ]
    assert "My dog barks." in shown(memory, "What does your dog do, the dog that barks?")[0]


def test_own_lines_and_insights_are_nobodys_lines() -> None:
    """In memory an own line and a conclusion are told as such, not as something that somebody says now."""
    memory = filled()
    memory.hear("Bob", "One.")
    memory.hear("Bob", "Two.")
    memory.conclude([("Cid: no, Bob pays for late trains, and trains cost us.", ())])
    first = shown(memory, "Late trains cost us, so who pays?")[0]
    assert 'You concluded, "Cid: no, Bob pays for late trains, and trains cost us."' in first
    assert 'You said, "Late trains cost us."' in first


def test_reflection_is_due_after_so_many_lines() -> None:
    """Own lines count; even a reply without insights ends the wish, or it would be asked at every turn."""
    memory = filled(reflect=5)
    assert memory.reflects
    assert memory.recent("Well?")[-1].content == "Well?"
    assert len(memory.recent("Well?")) == 3
    memory.conclude([])
    assert not memory.reflects
    for _ in range(5):
        memory.hear("Bob", "Again.")
    assert memory.reflects
    assert memory.recent("Well?")[0].content == "Opening.\n\n" + "\n".join(["Bob: Again."] * 5) + "\n\nWell?"
    assert not filled(reflect=0).reflects


@check_each(
    ("reply", "told"),
    {
        "Here they are:\n1. Bob yields.\n\n2) Cid does not.\n- So it is.\n* More.": "Bob yields.\nCid does not.\nSo it is.",
        "One   only": "One only",
        "  \n": None,
        "Insights:": None,
        "As an AI language model, I cannot role-play.": None,
    }.items(),
)  # fmt: skip
def test_insights_are_lines(reply: str, told: str | None) -> None:
    """No list numbers, no introduction, three at most; none of an empty reply or a refusal, with the reason."""
    note = read_insights(reply)
    assert note.text == told
    assert (note.reason is None) == (told is not None)


def test_importance_is_asked_of_each_line_once(make: Make) -> None:
    """Persona, opening and the line alone: nothing that was said since colours it. What cannot be read is None."""
    ann = make("Ann", "Bob", memory="retrieve:1", importance="asked")
    ann.hear("Bob", "Guns!")
    say(ann, "Why?")
    first, second = ann.unweighed()
    assert ann.unweighed() == []
    request = ann.compose_importance(first, 3)
    assert (request.purpose, request.answers[0], request.answers[-1]) == ("importance", "1", "10")
    assert sent(request)[-1].endswith(
        'Bob said: "Guns!" How much will this matter to you later? Answer with one number from 1 to 10, where 1 means a passing '
        "remark and 10 means something that you will not forget. Answer with the number only."
    )
    assert 'You said: "Why?"' in sent(ann.compose_importance(second, 3))[-1]
    assert ann.absorb_importance(Reply("8"), first) == (8, None)
    assert ann.absorb_importance(Reply("a lot"), second) == (None, "no_number")
    assert (first.importance, second.importance) == (8, None)


def test_a_survey_changes_no_memory(make: Make) -> None:
    """Asking leaves no trace here either: nothing becomes more recent by having been recalled."""
    ann, spared = (make("Ann", "Bob", memory="retrieve:1") for _ in range(2))
    for agent in (ann, spared):
        for number in range(5):
            agent.hear("Bob", f"Guns, point {number}.")
    ann.compose_survey(load_topic("gun_violence").probe("attitude"), 1)
    assert ann.compose_speech(1).messages == spared.compose_speech(1).messages


def test_what_is_no_memory_is_told() -> None:
    with pytest.raises(UserError, match="retrieve:K"):
        make_memory("retrieve:0", "")
