"""What each agent was sent, and what it replied: the requests of a run, derived again from its record and its journal.

A journal holds replies under the digests of their requests, and no prompts. So the run is replayed, its replies taken from the
journal, and no model is called. A request counts only if the record has a call with its digest. Then it is the request that was
sent, byte for byte: the digest is over model, messages, sampling, answers and seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.agent_factory import AgentClass
from parley.model.branching import recorded_scenario
from parley.model.custom import AGENT_CLASS, class_names
from parley.model.debate import DebateModel
from parley.model.events import Called, Ended, Event, Header
from parley.model.files import JOURNAL, RECORD
from parley.model.recorder import MemoryRecorder, read_lines
from parley.model.run_plan import KnownReplies
from parley.model.scenario_run import record_of

Person = tuple[str, int]
"""A room and the number of an agent in it."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call of an agent: its event in the record, the request, and the reply.

    `request` is None where the replay does not come to it, `reply` where the journal has none: the answer was drawn from those
    of an archetype (llm/answer_sharing.py).
    """

    call: Called
    request: Request | None
    reply: Reply | None

    @property
    def represented(self) -> bool:
        """Whether it is a call of the agent's representative."""
        return self.call.agent < 0


class SentRequests:
    """The requests of a run, by agent. `heard` has by agent the turns (iterations) that it heard in a room without a network."""

    def __init__(
        self,
        calls: Iterable[Called],
        requests: Mapping[str, Request],
        replies: KnownReplies,
        heard: Mapping[Person, Sequence[int]],
    ):
        self.heard, self._requests, self._replies = heard, requests, replies
        self._calls: dict[Person, list[Called]] = defaultdict(list)
        for call in calls:
            self._calls[call.room, abs(call.agent)].append(call)

    def of(self, room: str, agent: int) -> list[Exchange]:
        """Return the calls of an agent and of its representative, in the order of the record."""
        return [self._exchange(call) for call in self._calls.get((room, agent), [])]

    @property
    def exchanges(self) -> list[Exchange]:
        """All calls of the run: by room and agent, each in the order of the record."""
        return [self._exchange(call) for calls in self._calls.values() for call in calls]

    @property
    def lacking(self) -> int:
        """The number of calls whose request the replay does not come to."""
        return sum(call.key not in self._requests for calls in self._calls.values() for call in calls)

    def _exchange(self, call: Called) -> Exchange:
        return Exchange(call, self._requests.get(call.key), self._replies.reply_to(call.key))


def sent_requests(folder: Path | str, agent_class: AgentClass = None) -> SentRequests:
    """Return what the agents of a run were sent, up to where its record goes. The run may be finished, unfinished or going on.

    agent_class: of a run that was made with one. Errors: UserError without a record or a journal, and where this version of
    Parley cannot repeat the run.
    """
    path = Path(folder)
    header, calls = _read_calls(path)
    scenario = recorded_scenario(header, path)
    if (mine := class_names(agent_class, scenario)) != (theirs := header.scenario.get(AGENT_CLASS, [])):
        needed = f"agent_class={', '.join(theirs)}" if theirs else f"no agent_class ({', '.join(mine)})"
        raise UserError(f"the prompts of {path} can be derived only in Python, by sent_requests with {needed}")
    replies, tape = KnownReplies(path / JOURNAL, Fake([])), _Tape()
    model = _Replayed(scenario, backend=replies, recorder=tape, agent_class=agent_class, keep_going=True)
    while not replies.unknown and not model.over:
        model.step()
    wanted = {call.key for call in calls}
    requests = {key: request for key, request in model.sent.items() if key in wanted}
    heard = {(room.id, agent): tuple(turns) for room in model.rooms for agent, turns in room.heard.items()}
    return SentRequests(calls, requests, replies, heard)


class _Replayed(DebateModel):
    """A run that is replayed. `sent` has every request that it records, by its digest."""

    def __init__(self, *arguments: Any, **settings: Any):
        self.sent: dict[str, Request] = {}
        super().__init__(*arguments, **settings)

    def _journal_key(self, request: Request) -> bytes:
        key = super()._journal_key(request)
        self.sent[key.hex()] = request
        return key


class _Tape:
    """A recorder that keeps nothing: the record of the run is there already."""

    def write(self, events: Iterable[Event]) -> None:
        pass


def _read_calls(folder: Path) -> tuple[Header, list[Called]]:
    """Return the header and the calls of a record. Errors: UserError."""
    record = record_of(folder)
    if not record.exists():
        raise UserError(f"{folder} is not the folder of a run: it has no {RECORD}")
    header, calls = None, []
    for event in read_lines(record):
        if isinstance(event, Header):
            header = event
        elif isinstance(event, Called):
            calls.append(event)
    if header is None:
        raise UserError(f"{folder} has no results yet: its record is empty")
    return header, calls


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
