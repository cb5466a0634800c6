"""A day on which people pass a story on: all people whom it reaches get a version, and most write one of their own.

What each person gets was carried by others at the end of the day before, so the order of writing does not matter. A person
who cannot write (absent, muted, an unreadable reply) keeps the version that it carried before.
"""

from __future__ import annotations

from typing import cast

from parley.environments.base import Room
from parley.llm.driver import Conversation
from parley.model.events import Event, Utterance
from parley.model.events.texts import RETELLING
from parley.model.network_round import change_links
from parley.model.room import RoomState
from parley.model.round import run_round

from .environment import Story
from .events import Received
from .tellers import Storyteller, Version, own_words

REPORT = 0
"""The number of the true report among the versions, and of its source."""


def run_story_round(room: RoomState, environment: Story, view: Room) -> Conversation[list[Event]]:
    """Run a day: links change, versions are received, new versions are written and carried from now on."""
    events = list(change_links(room, environment, view))
    if REPORT not in room.posts:
        events += _first_people(room, environment)
    received = _receive(room, environment, view)
    events += received
    writers = [event.agent for event in received if _teller(room, event.agent).passes_on]
    written = yield from run_round(room, environment.retellings(writers), RETELLING)
    for event in written:
        if isinstance(event, Utterance):
            _carry(room, event)
    room.heard.clear()
    return [*events, *written]


def _first_people(room: RoomState, environment: Story) -> list[Event]:
    """Give the true report to those who read it before the first day."""
    topic = next(iter(room.members.values())).topic
    assert room.society is not None
    assert topic.news is not None
    room.posts[REPORT] = own_words(topic.language).words("news_report"), topic.news.report, RETELLING
    tellers = [number for number in room.members if _teller(room, number).passes_on]
    first = environment.first_people(room.society, tellers)
    _carried(room).update(dict.fromkeys(first, REPORT))
    return [Received(room.id, 0, number, REPORT, REPORT) for number in first]


def _receive(room: RoomState, environment: Story, view: Room) -> list[Received]:
    """Let all people whom the story reaches on this day get a version, in the order of the numbers of their turns."""
    assert room.society is not None
    received = []
    for reader in environment.active_members(view, room.round):
        member = _teller(room, reader)
        present = {other for other in _carried(room) if not room.members[other].absent}
        source = None if member.absent else environment.source(room.society, reader, present, room.round)
        if source is not None:
            version = _carried(room)[source]
            name = room.posts[REPORT][0] if version == REPORT else room.members[source].name
            member.receive(Version(name, room.posts[version][1]))
            received.append(Received(room.id, room.round, reader, version, source))
    return received


def _carry(room: RoomState, written: Utterance) -> None:
    """Let an agent carry its new version. Without one it remembers what it got."""
    member = _teller(room, written.agent)
    if written.text is not None:
        _carried(room)[written.agent] = written.iteration
        room.posts[written.iteration] = member.name, written.text, RETELLING
    elif member.got is not None:
        member.hear(*member.got)


def _carried(room: RoomState) -> dict[int, int]:
    """The version that each agent carries, by the turn in which it was written (0: the true report)."""
    carried: dict[int, int] = room.kept.setdefault("carried", {})
    return carried


def _teller(room: RoomState, agent: int) -> Storyteller:
    return cast(Storyteller, room.members[agent])
