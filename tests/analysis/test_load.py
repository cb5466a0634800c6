"""A record becomes exact tables, and a broken one a single clear line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from data_checks import check_each

from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.model.events import Called, Ended, Rated, Seated, Utterance
from parley.model.recorder import to_line

ROOM = "racism/republican+default/000"


def events(header: Callable) -> list:
    """Two agents, one turn spoken and one silent, one rating read and one not, one call that failed."""
    return [
        header(),
        Seated(1, ROOM, "racism", "republican+default", 0, "republican", "republican", "r-7", "Ann"),
        Seated(2, ROOM, "racism", "republican+default", 0, "default", "default", "d-0", "Avery"),
        Rated(ROOM, 0, 0, 1, "attitude", 3.0, 3.0, 3.4, (0.6, 0.4), None, "3", "strict", 1),
        Rated(ROOM, 0, 0, 2, "attitude", None, None, None, None, "no_number", "Well.", "strict", 2),
        Utterance(ROOM, 1, 1, 2, "Good evening.", None),
        Utterance(ROOM, 1, 2, 1, None, "timeout"),
        Called(ROOM, 1, 2, "speech", "ab", None, 12, 2, {"unread": 3}),
        Called(ROOM, 1, 1, "speech", "cd", "timeout", 0, 0, {}),
    ]


def test_a_record_becomes_these_very_tables(record: Callable, header: Callable) -> None:
    """Every value lands in its column, with the keys of its agent."""
    tables = load(record([*events(header), Ended(1, 9)]))
    assert tables.agents.to_dict("records")[0] == {
        "agent": 1, "room": ROOM, "topic": "racism", "group": "republican+default", "repetition": 0,
        "seat": "republican", "party": "republican", "persona": "r-7", "name": "Ann", "llm": "pocket",
        "node": None, "attributes": None,
    }  # fmt: skip
    assert tables.utterances[["iteration", "seat", "name", "text", "reason"]].to_numpy().tolist() == [
        [1, "default", "Avery", "Good evening.", None],
        [2, "republican", "Ann", None, "timeout"],
    ]
    read = tables.attitudes[
        ["seat", "round", "rating", "attitude", "answer", "expected", "probabilities", "how", "asked"]
    ]
    assert read.iloc[0].to_list() == ["republican", 0, 3.0, 3.4, 3.0, 3.4, "[0.6, 0.4]", "strict", 1]
    assert tables.calls[["agent", "failure", "prompt_tokens", "unread"]].to_numpy().tolist() == [
        [2, None, 12, 3],
        [1, "timeout", 0, 0],
    ]
    assert (tables.groups, tables.topics, tables.finished) == (["republican+default"], ["racism"], True)


def test_a_missing_rating_is_nan_with_its_reason_never_zero(record: Callable, header: Callable) -> None:
    """A made-up number in place of a missing one would be falsified data."""
    missing = load(record(events(header))).attitudes.iloc[1]
    assert missing[["rating", "attitude", "expected"]].isna().all()
    assert missing["probabilities"] is None
    assert (missing["reason"], missing["raw"]) == ("no_number", "Well.")


def test_empty_tables_have_their_columns_and_types(record: Callable, header: Callable) -> None:
    """A run without surveys still joins, sums and saves like any other."""
    full, empty = load(record(events(header))), load(record([header()]))
    for name in ("agents", "utterances", "summaries", "attitudes", "calls"):
        assert getattr(empty, name).dtypes.to_dict() == getattr(full, name).dtypes.to_dict()
        assert len(getattr(empty, name)) == 0


def test_a_torn_last_line_is_left_out(record: Callable, header: Callable) -> None:
    """A killed run can be read up to where it was killed, and does not pass for finished."""
    tables = load(record([*events(header), to_line(Ended(1, 9))[:15]]))
    assert len(tables.calls) == 2
    assert not tables.finished


def test_the_partial_record_is_read_only_when_there_is_no_finished_one(record: Callable, header: Callable) -> None:
    """A run on its way can be looked at; a finished record goes before a stale partial one."""
    folder = record([*events(header), Ended(1, 9)])
    (folder / "record.partial.jsonl").write_text(to_line(header()), encoding="utf-8")
    assert load(folder).finished
    (folder / "record.jsonl").unlink()
    assert not load(folder).finished
    assert load(folder / "record.partial.jsonl").header == load(folder).header


BROKEN = {
    "torn middle line": (lambda lines: [lines[0], lines[1][:20] + "\n", *lines[2:]], "line 2 cannot be read"),
    "unknown kind": (lambda lines: [lines[0], '{"kind":"dream"}\n', *lines[1:]], "line 2 cannot be read"),
    "wrong schema": (lambda lines: [lines[0].replace('"schema":2', '"schema":999'), *lines[1:]], "schema 999"),
    "no header": (lambda lines: lines[1:], "has no results yet: its record is empty"),
    "empty": (lambda lines: [], "has no results yet: its record is empty"),
}


@check_each("damage", BROKEN)
def test_a_broken_record_is_one_line_for_the_user(damage: str, record: Callable, header: Callable) -> None:
    """Damage is named, never read past and never a traceback."""
    harm, told = BROKEN[damage]
    folder = record(harm([to_line(event) for event in events(header)]))
    with pytest.raises(UserError, match=told) as error:
        load(folder)
    assert len(str(error.value).splitlines()) == 1


def test_no_record_is_one_line_for_the_user(tmp_path: Path) -> None:
    """A folder that is no run, and a path that is nothing."""
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UserError, match="cannot read the record") as error:
            load(path)
        assert len(str(error.value).splitlines()) == 1


def test_half_a_surrogate_pair_becomes_a_replacement_character(record: Callable, header: Callable) -> None:
    """JSON may hold what no file can be written with: one such reply must not cost the whole report."""
    spoken = Utterance(ROOM, 1, 1, 2, "half \ud83d, whole \U0001f600", None)
    text = load(record([*events(header)[:3], spoken])).utterances["text"].iloc[0]
    assert text == "half �, whole \U0001f600"


def test_an_unknown_topic_keeps_its_slug(record: Callable, header: Callable) -> None:
    """A record of somebody else's topic file can still be reported on."""
    tables = load(record(events(header)))
    assert (tables.title("racism"), tables.title("cats_or_dogs")) == ("Racism", "cats_or_dogs")
