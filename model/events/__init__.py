"""The record: a header with everything needed to repeat the run, then one small event per line.

Analysis reads the record and nothing else. Studies have events of their own (`Study.events`). A record holds no clock time and
no path except one that the user names as a model, so the same command writes the same bytes. (Times are in the journal's table
`sittings`.)

Events share the first fields of their base class: the room, the round, the turn (`iteration`), the agent. In every event, `text`,
`order`, `rating` or `answer` is None if it is missing, and `reason` says why.

    base.py      the base classes, and the list of kinds        run.py       the header, seats, and what agents are given
    network.py   links, what is heard, seen and done
    texts.py     what agents write                              surveys.py   ratings, calls, interventions, the end
"""

from __future__ import annotations

from parley.model.events.base import (
    KINDS,
    LOG,
    SCHEMA,
    AgentAtTurn,
    AtTurn,
    Event,
    InRound,
    OfAgent,
    event,
    kind_of_event,
)
from parley.model.events.network import Acted, Gathered, Heard, Linked, Shown, Signed, Unlinked
from parley.model.events.run import Consented, Endowed, Header, Node, Occupied, OwnModel, Posed, Seated
from parley.model.events.surveys import Called, Ended, Intervened, Rated, Thought
from parley.model.events.texts import (
    Answered,
    Balloted,
    Chosen,
    Concluded,
    Interviewed,
    Private,
    Proposed,
    Ranked,
    Represented,
    Summarised,
    Utterance,
    Voted,
)

__all__ = [
    "KINDS",
    "LOG",
    "SCHEMA",
    "Acted",
    "AgentAtTurn",
    "Answered",
    "AtTurn",
    "Balloted",
    "Called",
    "Chosen",
    "Concluded",
    "Consented",
    "Ended",
    "Endowed",
    "Event",
    "Gathered",
    "Header",
    "Heard",
    "InRound",
    "Intervened",
    "Interviewed",
    "Linked",
    "Node",
    "Occupied",
    "OfAgent",
    "OwnModel",
    "Posed",
    "Private",
    "Proposed",
    "Ranked",
    "Rated",
    "Represented",
    "Seated",
    "Shown",
    "Signed",
    "Summarised",
    "Thought",
    "Unlinked",
    "Utterance",
    "Voted",
    "event",
    "kind_of_event",
]
