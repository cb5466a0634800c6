"""The record's lines: round trip, torn ends, versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.llm.errors import UserError
from parley.model.events import SCHEMA, Ended, Header, Rated, Utterance
from parley.model.recorder import FileRecorder, from_line, read_lines, to_line

HEADER = Header(SCHEMA, {"name": "x"}, (), {"backend": "fake"}, {}, "d", "r", {})


@given(st.text(), st.one_of(st.none(), st.text()), st.integers(0, 10**6))
def test_any_text_survives_the_record(room: str, text: str | None, number: int) -> None:
    """What a model says, line breaks, quotes and lone surrogates too, comes back as it was, on one line."""
    event = Utterance(room, 1, number, 3, text, None)
    line = to_line(event)
    assert line.count("\n") == 1
    assert from_line(line) == event


def test_a_missing_rating_stays_missing() -> None:
    """None is written as null, never as 0 or NaN."""
    event = Rated("r", 0, 0, 1, "attitude", None, None, None, None, "no_number", "well", "strict", 2)
    assert '"rating":null' in to_line(event)
    assert from_line(to_line(event)) == event


@pytest.fixture
def record(tmp_path: Path) -> Path:
    file = FileRecorder(tmp_path / "record.jsonl")
    file.write([HEADER, Utterance("r", 1, 1, 1, "Hello.", None), Ended(1, 2)])
    file.close()
    return tmp_path / "record.jsonl"


def test_a_torn_last_line_is_left_out(record: Path) -> None:
    """A killed run leaves a part of a line; the rest of the record is read."""
    whole = record.read_text()
    for cut in range(1, 12):
        record.write_text(whole[:-cut])
        kept = [event.kind for event in read_lines(record)]
        assert kept[:2] == ["header", "utterance"]


def test_damage_in_the_middle_is_an_error(record: Path) -> None:
    lines = record.read_text().splitlines(keepends=True)
    record.write_text(lines[0] + lines[1][:-20] + "\n" + lines[2])
    with pytest.raises(UserError, match="line 2 cannot be read"):
        list(read_lines(record))


@check_each("line", [b"3\n", b"[]\n", b'{"kind":"other"}\n', b'{"kind":"ended"}\n', b"\xff\xfe\n", b"{}\n",
                    b'{"kind":"ended","rounds":1,"events":2,"more":3}\n', b'{"kind":"ended","rounds":1,"events":true}\n',
                    b'{"kind":"ended","rounds":1,"events":NaN}\n'])  # fmt: skip
def test_a_whole_line_that_is_no_event_is_an_error_even_at_the_end(record: Path, line: bytes) -> None:
    """Only a line without its line break is torn; anything else is damage that must be told."""
    record.write_bytes(record.read_bytes() + line)
    with pytest.raises(UserError, match="line 4 cannot be read"):
        list(read_lines(record))


def test_another_schema_is_refused(record: Path) -> None:
    record.write_text(record.read_text().replace('"schema":2', '"schema":99'))
    with pytest.raises(UserError, match="schema 99"):
        list(read_lines(record))


def test_a_full_disk_is_one_error_at_the_write_and_at_the_close() -> None:
    """What is left in a buffer must not turn into a traceback when the file is closed."""
    full = FileRecorder(Path("/dev/full"))
    for action in (lambda: full.write([HEADER]), full.close):
        with pytest.raises(UserError, match="cannot write /dev/full: No space left"):
            action()


def test_a_line_is_read_and_checked_as_fast_as_json_alone(tmp_path: Path) -> None:
    """The page reads 50,000 lines before it shows a network of 300 people: a check of each value in Python takes a second."""
    rating = Rated("r", 3, 3, 1, "attitude", 5.0, 5.0, 5.1, (0.1, 0.2, 0.7), None, "5", "strict", 1)
    file = FileRecorder(tmp_path / "record.jsonl")
    file.write([rating] * 5000)
    file.close()
    lines = (tmp_path / "record.jsonl").read_text().splitlines()

    def seconds(read: Callable[[], object]) -> float:
        times = []
        for _ in range(5):
            start = process_time()
            read()
            times.append(process_time() - start)
        return min(times)

    plain = seconds(lambda: [json.loads(line) for line in lines])
    assert seconds(lambda: list(read_lines(tmp_path / "record.jsonl"))) < 1.5 * plain


def test_no_record_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the record"):
        list(read_lines(tmp_path / "none.jsonl"))
