"""The event of a day: a version of the story reaches a person."""

from __future__ import annotations

from parley.model.events.base import OfAgent, event


@event
class Received(OfAgent):
    """The version of a story that an agent gets on a day, by the turn in which it was written (0: the true report).

    `source`: the agent from whom it comes (0: the report itself, before the first day; its own id: it takes up its own version).
    The agent's Utterance of the form `retelling` in the same round is made of this version.
    """

    version: int
    source: int
