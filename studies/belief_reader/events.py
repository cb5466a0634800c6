"""The events of a network with readers: what a judge said of a known line, and of a line that readers heard."""

from __future__ import annotations

from parley.model.events.base import AtTurn, InRound, event


@event
class Examined(InRound):
    """What the judge said of a known line of a topic: the text, its true tags, and those said ("": missing)."""

    text: str
    core: str
    true: tuple[str, str, str]
    tags: tuple[str, str, str]
    reasons: tuple[str, str, str]


@event
class Tagged(AtTurn):
    """What the judge said of a line: its tags ("": missing) and the reasons of missing ones.

    `iteration`: the turn of the line; 0 for a line from outside the debate, of which `text` is the text.
    """

    tags: tuple[str, str, str]
    reasons: tuple[str, str, str]
    hearers: int
    text: str = ""
