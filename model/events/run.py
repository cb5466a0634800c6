"""Who takes part in a run, and on what: the header of the record, seats, and what is given to agents."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from parley.agents.society import PartyNames
from parley.model.events.base import LOG, AgentAtTurn, Event, event


@event
class Header(Event):
    """Everything needed to repeat the run. `given` names the fields that were set; all others of `scenario` have their defaults.

    `stand_ins`: the seats that surrogates play, and the fidelity of each (model/surrogate_seats.py).
    `parties`: name, plural and look ("" for none) of the parties of its society (Society.header_entries).
    `branch`: of a branch, the fields of model.branching.Branch; {} for other runs.
    """

    schema: int
    scenario: dict[str, Any]
    given: tuple[str, ...]
    model: dict[str, Any]
    prompts: dict[str, str]
    data: str
    revision: str
    versions: dict[str, str]
    stand_ins: tuple[dict[str, Any], ...] = ()
    parties: dict[str, dict[str, str]] = field(default_factory=dict)
    branch: dict[str, Any] = field(default_factory=dict)

    @property
    def is_log(self) -> bool:
        """Whether the record was read from the log of another framework: no command of Parley repeats it."""
        return self.model.get("backend") == LOG

    @property
    def names(self) -> PartyNames:
        """What one of a party's people is called, by party, where the society says it."""
        return PartyNames.from_header(self.parties)


@event
class Seated(Event):
    """An agent takes its seat. `party` is the party of its persona, `seat` its label in the group (labour 2).

    A mediator is agent 0 of its room. Its party and seat are "mediator", and it has no persona ("").
    """

    agent: int
    room: str
    topic: str
    group: str
    repetition: int
    seat: str
    party: str
    persona: str
    name: str


@event
class Endowed(Event):
    """The role, temperament and confirmation bias of an agent (agents/traits.py). Agents without any have no such event.

    `belief`: whether it starts out as believer of an item of news, or as susceptible ("": the prompts do not mention it).
    """

    agent: int
    room: str
    role: str
    traits: dict[str, str]
    confirmation_bias: str
    belief: str = ""


@event
class OwnModel(Event):
    """The model of an agent that a share of the models fell on, or whose persona names one. Other agents have no such event."""

    agent: int
    room: str
    llm: str


@event
class Consented(AgentAtTurn):
    """What a person in a seat answered to the consent text. `agreed` is None if the person gave no answer, for this `reason`."""

    text: str
    agreed: bool | None
    reason: str | None


@event
class Occupied(AgentAtTurn):
    """From this turn on, the seat of a person is taken by `person`, `representative` or no one (`empty`).

    `reason`: why the person is not there (away, left, no_consent); "" if the person is.
    """

    by: str
    reason: str


@event
class Node(Event):
    """The node of a graph of the user at which an agent sits: its name and its attributes in the graph."""

    room: str
    agent: int
    node: str
    attributes: dict[str, Any]


@event
class Posed(Event):
    """The question of a room, where rooms draw theirs from a set (see agents.question.Question for its fields).

    In a `session` the same people deliberate on several questions; `episode` counts them from 0.
    """

    room: str
    session: str
    episode: int
    id: str
    question: str
    statement: str
    against: str
    topic: str
    split: str
