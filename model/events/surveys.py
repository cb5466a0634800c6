"""Ratings, calls, thoughts, interventions, and the end of a run."""

from __future__ import annotations

from parley.model.events.base import AgentAtTurn, Event, InRound, OfAgent, event


@event
class Rated(AgentAtTurn):
    """One survey answer after `iteration` turns (0: before the debate). See parley.agents.agent.Rating for the fields.

    `asked` counts the calls. `earlier` are the unreadable replies before the last one. `probabilities` are scaled to sum to 1;
    `covered` is their sum before scaling (None if the model does not give it).
    """

    probe: str
    rating: float | None
    attitude: float | None
    expected: float | None
    probabilities: tuple[float, ...] | None
    reason: str | None
    raw: str | None
    how: str
    asked: int
    earlier: tuple[str | None, ...] = ()
    covered: float | None = None


@event
class Called(OfAgent):
    """One call to the model: its purpose, journal key and tokens, and what the backend noted (such as unread lines).

    For a call of a representative, `agent` is the number of its member with a minus sign. `prompt_chars` is the length of the
    prompt, `sent_before` the length of its beginning that repeats what the agent sent before (model/room.py).
    """

    purpose: str
    key: str
    failure: str | None
    prompt_tokens: int
    completion_tokens: int
    notes: dict[str, int]
    prompt_chars: int = 0
    sent_before: int = 0


@event
class Thought(OfAgent):
    """The reasoning of a model before its reply to the call `key`. No agent hears it."""

    purpose: str
    key: str
    text: str


@event
class Intervened(InRound):
    """An intervention before a round: its kind, the agents on which it acted, and the name of its speaker ("" without one).

    `text` is the line that the agents heard, or the model through which they speak from now on. It is no utterance, because no
    agent said it. `reason` says why a planner or a fact checker said nothing.
    """

    what: str
    agents: tuple[int, ...]
    text: str | None
    by: str
    reason: str | None = None


@event
class Ended(Event):
    """The last line of a finished record."""

    rounds: int
    events: int
