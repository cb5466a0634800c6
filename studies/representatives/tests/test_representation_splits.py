"""Cases and splits: nobody and no question on two sides, and a split that was corrupted on purpose is found out."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import episodes, question

from parley.analysis.deliberation.episode import Episode, renamed
from parley.llm.errors import UserError
from parley.model.scenario import load_preset
from parley.studies.representatives.population import plan
from parley.studies.representatives.representation import (
    check_split,
    describe_split,
    linked_cases,
    representation_cases,
    split_cases,
    strangers,
)


@settings(max_examples=40, deadline=None)
@given(st.integers(10, 25), st.integers(0, 99), st.data())
def test_no_split_leaks(sessions: int, seed: int, data: st.DataObject) -> None:
    """Also where some questions and people are shared: then their sessions stay together, and nothing is lost."""
    found = episodes(sessions, size=2, each=2)
    for place in data.draw(st.lists(st.integers(0, len(found) - 1), max_size=4)):
        found[place] = replace(found[place], question=found[data.draw(st.integers(0, len(found) - 1))].question)
    sides = split_cases(found, seed)
    check_split(sides)
    assert sorted(one.id for side in sides.values() for one in side) == sorted(one.id for one in found)
    assert sides == split_cases(found, seed)


def test_the_sides_have_the_sizes_asked_for_and_depend_on_the_seed() -> None:
    found = episodes(40)
    sides = split_cases(found, 0)
    assert [len(side) for side in sides.values()] == [96, 12, 12]
    assert sides != split_cases(found, 1)


@pytest.mark.thorough
@check_each("laps", range(1, 9))
@check_each("seed", range(3))
def test_held_out_laps_are_never_trained_on(laps: int, seed: int) -> None:
    """Laps of known people: as many to train on as were asked for, the others for validation and test, whatever the shares."""
    found: list[Episode] = []
    for lap, side in enumerate(plan(laps)):
        pool = load_preset("consensus").with_settings({"split": side}).subject.question_pool
        rng = random.Random(f"{seed} {lap}")
        drawn = [one for _ in range(16) for one in rng.sample(pool, 3)]
        made = [renamed(one, f"lap{lap}", f"lap{lap}") for one in episodes(16)]
        found += [replace(one, question=question) for one, question in zip(made, drawn, strict=True)]
    sides = split_cases(found, seed)
    assert {one.question.split for one in sides["train"]} == {"train"}
    assert [len(side) for side in sides.values()] == [48 * laps, 48 * plan(8).count("iid_test"), 48]
    whole = 48 * (laps + 2)
    assert describe_split(sides).startswith(
        f"{whole} episodes: train {48 * laps} ({48 * laps / whole:.0%}), validation 48 "
    )


def test_shares_that_are_not_those_asked_for_say_why() -> None:
    """Held-out questions, and sessions that stay together; a split that keeps to its shares says nothing more.

    Four groups of sessions fill three sides: the last ones go where there is none yet.
    """
    even = episodes(40)
    assert describe_split(split_cases(even, 0)) == "120 episodes: train 96 (80%), validation 12 (10%), test 12 (10%)"
    held_out = [
        replace(one, question=replace(one.question, split="iid_test")) if place >= 60 else one
        for place, one in enumerate(even)
    ]
    assert describe_split(split_cases(held_out, 0)) == (
        "120 episodes: train 60 (50%), validation 30 (25%), test 30 (25%). The requested shares were train 80%, validation "
        "10%, test 10%: 60 of the 120 episodes are on questions reserved for validation and test. Add episodes on training "
        "questions, or leave out episodes on reserved questions"
    )
    few = describe_split(split_cases(episodes(4), 0))
    assert few.startswith(
        "12 episodes: train 6 (50%), validation 3 (25%), test 3 (25%). The requested shares were train 80%"
    )
    assert "and form 4 separate groups, the largest with 3 episodes" in few


def _session(victim: Episode, other: Episode) -> Episode:
    return replace(victim, session=other.session)


def _participant(victim: Episode, other: Episode) -> Episode:
    return replace(victim, voices=(replace(victim.voices[0], participant=other.participants[0]), *victim.voices[1:]))


def _question(victim: Episode, other: Episode) -> Episode:
    return replace(victim, question=replace(victim.question, id=other.question.id))


def _wording(victim: Episode, other: Episode) -> Episode:
    return replace(victim, question=replace(victim.question, question=f"  {other.question.question.upper()}"))


def _episode(victim: Episode, other: Episode) -> Episode:
    return replace(victim, id=other.id)


@check_each("corrupt", [_session, _participant, _question, _wording, _episode])
@check_each(("side", "other"), [("train", "test"), ("validation", "train"), ("test", "validation")])
def test_a_corrupted_split_is_refused_by_the_name_of_what_leaks(
    corrupt: Callable[[Episode, Episode], Episode], side: str, other: str
) -> None:
    sides = dict(split_cases(episodes(12), 0))
    victim, *rest = sides[side]
    sides[side] = (corrupt(victim, sides[other][-1]), *rest)
    with pytest.raises(UserError, match=f"the split is not clean: {corrupt.__name__[1:]} ") as told:
        check_split(sides)
    assert side in str(told.value)
    assert other in str(told.value)


def test_what_cannot_be_split_says_why() -> None:
    """Everybody on the same three questions: to split would be to leak."""
    found = [replace(one, question=question(place % 3)) for place, one in enumerate(episodes(9))]
    assert len(linked_cases(found)) == 1
    with pytest.raises(
        UserError, match="the 27 episodes share participants and questions and form only 1 separate groups"
    ):
        split_cases(found, 0)


def test_cases_have_the_other_questions_of_the_session() -> None:
    found = episodes(2)
    (case, *_), others = representation_cases(found).cases, representation_cases(found).cases[3:9:3]
    assert [other.question.id for other in case.brief.others] == ["q1", "q2"]
    assert [other.critique for other in case.brief.others] == [one.critique for one in others]
    assert case.brief.others[0].position == found[1].voices[0].position


def test_a_question_asked_again_is_no_other_question() -> None:
    found = episodes(1)
    found[2] = replace(found[2], question=replace(found[0].question, id="again"))
    (case, *_) = representation_cases(found).cases
    assert [other.question.id for other in case.brief.others] == ["q1"]


def test_missing_voices_are_counted_by_reason() -> None:
    first, second, third = episodes(1)[0].voices
    one = replace(
        episodes(1)[0],
        voices=(
            replace(first, opinion=None, reasons={"opinion": "refusal"}),
            replace(second, critique=None, reasons={"critique": "timeout"}),
            third,
        ),
    )
    assert representation_cases([one]).left_out == {"no opinion (refusal)": 1, "no critique (timeout)": 1}
    assert [case.participant for case in representation_cases([one], written=False).cases] == [
        second.participant,
        third.participant,
    ]
    silent = replace(one, draft=None, reasons={"draft": "empty"})
    assert representation_cases([silent]).left_out == {"no opinion (refusal)": 1, "no draft (empty)": 2}


def test_a_stranger_is_somebody_else_at_the_same_table() -> None:
    """Never the participant, never another episode's; every other one is drawn under some seed; nobody where one is alone."""
    every = representation_cases(episodes(3)).cases
    met: dict[str, set[str]] = {case.key: set() for case in every}
    for seed in range(12):
        drawn = strangers(every, seed)
        assert drawn == strangers(every, seed)
        for case in every:
            assert drawn[case.key].episode == case.episode
            met[case.key].add(drawn[case.key].participant)
    for case in every:
        assert len(met[case.key]) == 2
        assert case.participant not in met[case.key]
    assert strangers(every[:1], 0) == {}
