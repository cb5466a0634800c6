"""Events of a period: the right option is drawn, and people decide."""

from __future__ import annotations

from typing import ClassVar

from parley.model.events.base import AgentAtTurn, InRound, event


@event
class StateDrawn(InRound):
    """The right option of a period, A or B, drawn with the probability `prior` of A."""

    state: str
    prior: float


@event
class Decided(AgentAtTurn):
    """A person chooses between A and B: `act`, or None and the reason. `position` counts the people of a period from 1.

    `precision` is the probability that its private `signal` is right, and `belief` the probability of A for a Bayesian who sees
    the acts before. `probability` is that of A, if the model tells it. A planner that cannot be read (`planner_reason`) leaves
    the precision as it is; `cost` is what the precision costs. `planner_raw` is the reply of a planner that is a model. `asked`
    counts the calls for the act, `earlier` are its unreadable replies.
    """

    counted: ClassVar[str] = "decisions"
    position: int
    belief: float
    precision: float
    cost: float
    signal: str
    act: str | None
    reason: str | None
    probability: float | None = None
    covered: float | None = None
    raw: str | None = None
    how: str = "strict"
    asked: int = 0
    earlier: tuple[str | None, ...] = ()
    planner_reason: str | None = None
    planner_raw: str | None = None
