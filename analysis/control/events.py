"""Is everything fixed before the first reply? A control that follows from what was said later looks ahead, and biases the run.

Source: Controllable User Simulation 2026, which shows this for simulators that are trained on labels of finished conversations.
"""

from __future__ import annotations

from collections.abc import Iterable

from parley.analysis.control.items import Item, exact
from parley.model.events import (
    Called,
    Endowed,
    Event,
    Linked,
    Moved,
    Node,
    OwnModel,
    Posed,
    Rated,
    Seated,
    Utterance,
)

FIXED = (Seated, Endowed, OwnModel, Node, Posed)
REPLIES = (Called, Utterance, Rated, Moved)
AFTER, BEFORE = "after a reply", "before replies"


def fixed_before_replies(record: Iterable[Event]) -> Item:
    """Return the item: in each room, people, attributes, models and links of the start are recorded before any reply."""
    replied: set[str] = set()
    late: dict[str, str] = {}
    for event in record:
        room = getattr(event, "room", "")
        late.setdefault(room, BEFORE)
        if isinstance(event, FIXED) or (isinstance(event, Linked) and event.round == 0):
            late[room] = AFTER if room in replied else late[room]
        elif isinstance(event, REPLIES):
            replied.add(room)
    rooms = ((BEFORE, when) for room, when in late.items() if room in replied)
    return exact("fixed before the first reply", "people, attributes, models, links", rooms, "room")
