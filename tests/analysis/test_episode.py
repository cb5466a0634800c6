"""Episodes on disk: what is written is read again, and what is no episode is refused by file and line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.question import SPLITS, Question
from parley.analysis.deliberation.episode import (
    DEMOGRAPHICS,
    STATEMENTS,
    Episode,
    Voice,
    from_line,
    read_episodes,
    to_line,
    write_episodes,
)
from parley.llm.errors import UserError

QUESTION = Question("a_1", "Should we?", "We should.", "We should not.", "a")
VOICE = Voice("ann", "Yes.", "More.", 6, {"draft": 5.0, "revision": 6}, 7, {"age": "30-39"}, {})
EPISODE = Episode(
    "e1", "s1", QUESTION, (VOICE, replace(VOICE, participant="bob")), "We all.", "We all do.", "human", {}
)

WORD = st.text(min_size=1, max_size=12).filter(str.strip)
RATING = st.none() | st.integers(1, 7) | st.floats(1, 7)


@st.composite
def voices(draw: st.DrawFn, participant: str) -> Voice:
    texts = {name: draw(st.none() | st.text(max_size=30)) for name in ("opinion", "critique")}
    ratings = {name: draw(RATING) for name in ("position", "after")}
    agreement = draw(st.dictionaries(st.sampled_from(STATEMENTS), RATING))
    missing = {**texts, **ratings, **{f"agreement.{name}": value for name, value in agreement.items()}}
    return Voice(
        participant,
        texts["opinion"],
        texts["critique"],
        ratings["position"],
        agreement,
        ratings["after"],
        draw(st.dictionaries(st.sampled_from(DEMOGRAPHICS), WORD)),
        {name: draw(WORD) for name, value in missing.items() if value is None},
    )


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    names = draw(st.lists(WORD, min_size=1, max_size=3, unique=True))
    question = Question(*(draw(WORD) for _ in range(5)), split=draw(st.sampled_from(SPLITS)))
    statements = {name: draw(st.none() | st.text(max_size=30)) for name in STATEMENTS}
    return Episode(
        draw(WORD),
        draw(WORD),
        question,
        tuple(draw(voices(name)) for name in names),
        statements["draft"],
        statements["revision"],
        draw(WORD),
        {name: draw(WORD) for name, value in statements.items() if value is None},
    )


@settings(max_examples=60, deadline=None)
@given(episodes())
def test_what_is_written_is_read_again(episode: Episode) -> None:
    """Line breaks, quotes, signs of all languages, a missing value with its reason: all come back as they were, on one line."""
    line = to_line(episode)
    assert line.count("\n") == 1
    assert from_line(line) == episode


def test_a_file_keeps_its_order(tmp_path: Path) -> None:
    other = replace(EPISODE, id="e0", draft=None, reasons={"draft": "refused"})
    assert read_episodes(write_episodes([EPISODE, other], tmp_path / "e.jsonl")) == (EPISODE, other)


def _voice(**changes: object) -> dict[str, object]:
    whole = json.loads(to_line(EPISODE))
    return {"voices": [whole["voices"][0] | changes]}


@check_each(
    ("changes", "says"),
    [
        ({"draft": None}, "draft of the episode missing without a reason"),
        ({"reasons": {"draft": "refused"}}, "a reason for draft, which is not missing"),
        ({"more": 1}, "unknown key 'more'"),
        ({"id": ""}, "id is '', but must be a text"),
        ({"voices": []}, "an episode needs voices"),
        ({"voices": {}}, "voices is {}, but must be a list"),
        ({"question": {"id": "a"}}, "question lacks"),
        (_voice(position=8), "position is 8, but must be a number between 1 and 7"),
        (_voice(position=True), "position is True, but must be a number"),
        (_voice(position="6"), "position is '6', but must be a number"),
        (_voice(agreement={"draft": 0}), "agreement.draft is 0, but must be a number"),
        (_voice(agreement={"draft": None}), "agreement.draft of ann missing without a reason"),
        (_voice(agreement={"opinion": 3}), "unknown agreement 'opinion'"),
        (_voice(demographics={"agee": "30"}), "did you mean age"),
        (_voice(demographics={"age": 30}), "demographics.age is 30, but must be a text"),
        (_voice(opinion=None), "opinion of ann missing without a reason"),
        (_voice(critique=["More."]), "critique is .*, but must be a text"),
    ],
)
def test_what_is_no_episode_is_refused_by_line(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(to_line(EPISODE) + "\n" + json.dumps(json.loads(to_line(EPISODE)) | {"id": "e2"} | changes))
    with pytest.raises(UserError, match=says) as told:
        read_episodes(path)
    assert f"{path}, line 3" in str(told.value)
    assert "\n" not in str(told.value)


@check_each("line", ["[]", "{", "NaN", '{"id": NaN}', "{}", '"e"'])
def test_what_is_no_table_is_refused_by_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(line)
    with pytest.raises(UserError, match=r"line 1 is not an episode"):
        read_episodes(path)


def test_one_id_once_and_one_session_one_group(tmp_path: Path) -> None:
    """A participant who joined in the second episode would have no past where the data say that there is one."""
    alone = replace(EPISODE, id="e2", voices=EPISODE.voices[:1])
    for pair, says in (
        ([EPISODE, EPISODE], "e1 twice"),
        ([EPISODE, alone], "the episodes e2 and e1 of session s1 must have the same participants"),
    ):
        with pytest.raises(UserError, match=says):
            write_episodes(pair, tmp_path / "e.jsonl")


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name, says in (("no", "cannot read"), ("empty", "has no episodes"), ("bytes", "UTF-8")):
        with pytest.raises(UserError, match=says):
            read_episodes(tmp_path / name)
