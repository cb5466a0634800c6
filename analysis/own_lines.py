"""The own lines of one seat of a run, as data that its person may take along: answers of other members are left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError, unknown_name
from parley.model import events
from parley.model.recorder import read_lines, to_line
from parley.model.scenario_run import record_of

OWN = (
    events.Seated,
    events.Consented,
    events.Occupied,
    events.Utterance,
    events.Rated,
    events.Balloted,
    events.Voted,
    events.Answered,
)
"""What a person says, answers and agrees to. What a mediator predicts of the person is not the person's."""


def own_lines(folder: Path, seat: str) -> dict[str, Any]:
    """Return the own lines of a seat, in the order of the record, which may be unfinished.

    A critique that a representative wrote has `written_by`. Errors: UserError without a record, or for an unknown seat.
    """
    path = record_of(folder)
    if not path.exists():
        raise UserError(f"{folder} has no record: give the folder of a run")
    record = list(read_lines(path))
    seats = {one.seat: one for one in record if isinstance(one, events.Seated) and one.agent}
    if seat not in seats:
        raise unknown_name("seat", seat, seats)
    return {"seat": seat, "lines": list(_lines(record, seats[seat].agent))}


def own_file(folder: Path, seat: str) -> bytes:
    """Return the own lines of a seat as a JSON file in UTF-8. Errors: as own_lines."""
    return (json.dumps(own_lines(folder, seat), indent=1, ensure_ascii=False) + "\n").encode()


def _lines(record: list[events.Event], agent: int) -> Iterator[dict[str, Any]]:
    represented = {
        (one.room, one.iteration) for one in record if isinstance(one, events.Represented) and one.agent == agent
    }
    for one in record:
        if isinstance(one, OWN) and one.agent == agent:
            line = json.loads(to_line(one))
            if isinstance(one, events.Utterance) and (one.room, one.iteration) in represented:
                line["written_by"] = "representative"
            yield line
