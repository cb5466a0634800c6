"""Whether the replies in a journal give the record of a run: the run is replayed from its journal, and events are compared."""

from __future__ import annotations

from pathlib import Path

from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.model.branching import recorded_scenario
from parley.model.cost_estimate import KnownReplies
from parley.model.custom import AGENT_CLASS
from parley.model.debate import DebateModel
from parley.model.events import Ended, Event, Header
from parley.model.files import JOURNAL
from parley.model.recorder import MemoryRecorder, read_lines


def replay_record(record: Path) -> list[Event]:
    """Return the events that the journal of a record gives, without header and end. No model is called.

    A finished run is replayed to its last round, a killed one as far as its journal knows the replies. Errors: UserError where
    there is no journal, and where this version of Parley cannot repeat the run.
    """
    header = next(read_lines(record), None)
    if not isinstance(header, Header):
        raise UserError(f"{record} has no results yet: its record is empty")
    if classes := header.scenario.get(AGENT_CLASS):
        raise UserError(f"its agents are of a class of the user ({', '.join(classes)})")
    replies, tape = KnownReplies(record.parent / JOURNAL, Fake([])), MemoryRecorder()
    scenario = recorded_scenario(header, record.parent)
    model = DebateModel(scenario, backend=replies, recorder=tape, collect_errors=True, keep_going=True)
    while not replies.unknown and not model.over:
        model.step()
    return tape.events


def first_difference(record: Path) -> int | None:
    """Return the first line of a record that its journal does not give; None where every line comes out of the journal.

    The header (line 1) is not compared: it names the version of Parley. Errors: as for `replay_record`.
    """
    replayed = replay_record(record)
    written = [event for event in read_lines(record) if not isinstance(event, Header | Ended)]
    for number, event in enumerate(written):
        if number >= len(replayed) or replayed[number] != event:
            return number + 2
    return None
