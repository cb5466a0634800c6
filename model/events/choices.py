"""Choices one after another, and games: states, decisions, expectations, moves and points."""

from __future__ import annotations

from parley.model.events.base import AgentAtTurn, InRound, OfAgent, event


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


@event
class Expected(OfAgent):
    """What a player expects before a game: a number from 0 to 10, or None and the reason.

    `about` is self (its own move) or other, `move` the kind of that move, and `ahead` the round of it. `probabilities` are those
    of 0 to 10, if the model tells them. `asked` counts the calls, `earlier` are unreadable replies.
    """

    about: str
    move: str
    ahead: int
    value: float | None
    reason: str | None
    probabilities: tuple[float, ...] | None = None
    covered: float | None = None
    raw: str | None = None
    how: str = "strict"
    asked: int = 0
    earlier: tuple[str | None, ...] = ()


@event
class Moved(AgentAtTurn):
    """A move of a game: its kind (`move`) and number (agents/game_rules.py), or None and the reason. The rest is as in
    `Expected`; `probabilities` are in the order of the allowed answers.
    """

    move: str
    value: float | None
    reason: str | None
    probabilities: tuple[float, ...] | None = None
    covered: float | None = None
    raw: str | None = None
    how: str = "strict"
    asked: int = 0
    earlier: tuple[str | None, ...] = ()


@event
class Settled(InRound):
    """What the players (`agents`) get in a round of a game; None where a move is missing, and while a negotiation goes on.

    `outcome` is how the game went, in its last round, None if it is unknown; `package` is the package that was agreed; `ended`
    says whether the game ended with this round.
    """

    agents: tuple[int, ...]
    points: tuple[float | None, ...]
    outcome: str | None = None
    package: int | None = None
    ended: bool = False
