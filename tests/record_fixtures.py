"""Small records: made by hand (`record`, `held`) and by real sittings of the known-truth speaker (`ran`)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from parley.analysis.run_report import write_report
from parley.analysis.tables import Tables, load
from parley.model.events import SCHEMA, Ended, Event, Header, Rated, Seated
from parley.model.recorder import to_line
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

Ratings = Mapping[str, Sequence[float | None]]


def make_header(model: str = "scripted", given: Mapping[str, Any] | None = None, **fields: Any) -> Header:
    """A header of two_way; `given` are settings of the command line, `fields` overwrite fields of the scenario."""
    scenario = load_preset("two_way").with_settings(given or {}).to_dict()
    return Header(
        SCHEMA, scenario | fields, tuple(given or ()), {"backend": model}, {}, "data", "abc1234", {"mesa": "3"}
    )


def make_ratings(agent: int, room: str, turns: Sequence[int], ratings: Sequence[float | None]) -> list[Event]:
    """One rating a survey of one agent; None is a rating that could not be read."""
    return [
        Rated(room, number, number * 2, agent, "attitude", value, value, None, None,
              "no_number" if value is None else None, "raw", "strict", 1)
        for number, value in zip(turns, ratings, strict=True)
    ]  # fmt: skip


def make_room(room: str, topic: str, group: str, number: int, seats: Ratings, turns: Sequence[int]) -> list[Event]:
    """The events of one room. A seat is named as in a record: `republican 2`."""
    events: list[Event] = []
    for index, (seat, ratings) in enumerate(seats.items()):
        agent = hash_of(room) + index
        name = seat.replace("republican", "Rae").replace("democrat", "Dan").replace("default", "Ava")
        events.append(Seated(agent, room, topic, group, number, seat, seat.split()[0], f"{seat}-x", name))
        events += make_ratings(agent, room, turns[: len(ratings)], ratings)
    return events


def hash_of(room: str) -> int:
    """A number for the first agent of a room, apart from those of other rooms."""
    return int.from_bytes(room.encode(), "big") % 10**12 * 10


@pytest.fixture
def header() -> Callable[..., Header]:
    return make_header


@pytest.fixture
def record(tmp_path: Path) -> Callable[[Iterable[Event | str]], Path]:
    """Write events (or raw lines) as the record of a run folder; the folder."""

    def write(events: Iterable[Event | str]) -> Path:
        lines = [event if isinstance(event, str) else to_line(event) for event in events]
        (tmp_path / "record.jsonl").write_text("".join(lines), encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def held(record: Callable[[Iterable[Event | str]], Path]) -> Callable[..., Tables]:
    """Tables of rooms given as {seat: ratings by survey}; `reference` are the Defaults asked outside (one, or several)."""

    def make(
        *rooms: Ratings,
        topic: str = "racism",
        reference: float | Sequence[float | None] | None = None,
        turns: Sequence[int] = tuple(range(10)),
        more: Iterable[Event] = (),
    ) -> Tables:
        events: list[Event] = [make_header()]
        asked = reference if isinstance(reference, Sequence) else [] if reference is None else [reference]
        for number, level in enumerate(asked):
            seats = {"default": [level]}
            events += make_room(f"{topic}/reference {number}", topic, "reference", number, seats, [0])
        for number, seats in enumerate(rooms):
            group = "+".join(seat.split()[0] for seat in seats)
            events += make_room(f"{topic}/{group}/{number}", topic, group, number, seats, turns)
        return load(record([*events, *more, Ended(len(turns), len(events))]))

    return make


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The run folder of a small sitting, held once a session for the same preset and settings. Do not write into it."""
    folders: dict[tuple, Path] = {}

    def run(preset: str = "two_way", **settings: Any) -> Path:
        settings = {"repetitions": 3, "topic": "racism", "rounds": 2, "llm": "oracle"} | settings
        key = (preset, *sorted(settings.items()))
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp("run")
            run_scenario(RunSpec(load_preset(preset).with_settings(settings), folders[key], tuple(settings)))
        return folders[key]

    return run


@pytest.fixture(scope="session")
def reported(ran: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run folder with its report. Do not write into it: copy it."""
    folder = tmp_path_factory.mktemp("reported") / "a run"
    shutil.copytree(ran(repetitions=2, rounds=1), folder)
    write_report(folder)
    return folder
