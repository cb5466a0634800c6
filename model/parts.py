"""A part of a run: the rooms of one of several workers, their record in blocks, and how the blocks become one record.

The record of a run is a sequence of blocks: the events of one room in one phase (seating, interventions of a round, its turns, a
survey, ...). Every part goes through the same phases, so blocks in the order of phase and room are the record of one process.

Where workers divide the agents of one network, a block has the events of one of its agents at a step of a phase. What happens to
all, such as a change of links, is written by the first worker alone.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from parley.llm.errors import UserError
from parley.model.events import Event
from parley.model.files import file_errors
from parley.model.recorder import FileRecorder, Slot, to_line
from parley.model.scenario import Scenario

PARTS, BLOCKS = "parts", "blocks.jsonl"
"""The folder of the parts in a run folder, and the record of a part in the folder of the part."""


@dataclass(frozen=True)
class Part:
    """Every `of`-th unit of a run, beginning with number `number` (from 0), and all rooms of a unit.

    A unit is a room, or the episodes of the same people: a representative reads what they wrote in earlier episodes.
    """

    number: int
    of: int

    def holds(self, place: int, scenario: Scenario) -> bool:
        """Return whether the room with this place in the whole run belongs to the part."""
        return place // rooms_in_unit(scenario) % self.of == self.number


def rooms_in_unit(scenario: Scenario) -> int:
    """Return how many rooms must be run by the same worker."""
    return scenario.subject.episodes if scenario.subject.questions else 1


def units(scenario: Scenario) -> int:
    """Return among how many workers the rooms of a run can be divided."""
    topics = 1 if scenario.subject.questions else len(scenario.subject.topic)
    return topics * len(scenario.groups) * scenario.repetitions


class Block(NamedTuple):
    """Events as lines of a record. `place`: the phase, the place of the room in the whole run, and perhaps the slot."""

    place: tuple[int, ...]
    events: int
    lines: str


class PartRecorder(FileRecorder):
    """Writes blocks: a line of JSON with the place and the number of events, then the events.

    first: whether it also writes events without a slot.
    """

    phase = room = 0

    def __init__(self, path: Path, first: bool = True):
        super().__init__(path)
        self.first = first

    def place(self, phase: int, room: int) -> None:
        """Say where in the whole record the next events belong."""
        self.phase, self.room = phase, room

    def write(self, events: Iterable[Event]) -> None:
        blocks, slot = dict[tuple[int, ...], list[str]](), tuple[int, ...]()
        for event in events:
            if isinstance(event, Slot):
                slot = event.step, event.part, event.place
            elif slot or self.first:
                blocks.setdefault((self.phase, self.room, *slot), []).append(to_line(event))
        text = [f"{json.dumps([*place, len(lines)])}\n{''.join(lines)}" for place, lines in sorted(blocks.items())]
        if text:
            self.append("".join(text), sum(map(len, blocks.values())))


def merge_blocks(parts: Iterable[Path], record: FileRecorder) -> None:
    """Append the blocks of all parts to a record, in the order in which one process would have written them."""
    for block in heapq.merge(*[read_blocks(part / BLOCKS) for part in parts]):
        record.append(block.lines, block.events)


def read_blocks(path: Path) -> Iterator[Block]:
    """Yield the blocks of a part, from first to last; a torn one at the end, as of a killed worker, is left out.

    Errors: UserError for what is no file of blocks.
    """
    if not path.exists():  # its worker has not begun
        return
    with file_errors(f"cannot read {path}"), path.open(encoding="utf-8") as file:
        for head in file:
            lines: list[str] = []
            try:
                *place, count = map(int, json.loads(head))
            except (ValueError, TypeError) as error:
                if head.endswith("\n"):
                    raise UserError(
                        f"{path} is damaged ({error}): delete the folder {path.parent}, and start again"
                    ) from error
                return
            while len(lines) < count and (line := file.readline()).endswith("\n"):
                lines.append(line)
            if len(lines) < count:
                return
            yield Block(tuple(place), count, "".join(lines))
