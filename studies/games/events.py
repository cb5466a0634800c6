"""Games: expectations, moves and points."""

from __future__ import annotations

from typing import ClassVar

from parley.model.events.base import AgentAtTurn, InRound, OfAgent, event


@event
class Expected(OfAgent):
    """What a player expects before a game: a number from 0 to 10, or None and the reason.

    `about` is self (its own move) or other, `move` the kind of that move, and `ahead` the round of it. `probabilities` are those
    of 0 to 10, if the model tells them. `asked` counts the calls, `earlier` are unreadable replies.
    """

    counted: ClassVar[str] = "expectations"
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
    """A move of a game: its kind (`move`) and number (studies/games/rules.py), or None and the reason. The rest is as in
    `Expected`; `probabilities` are in the order of the allowed answers.
    """

    counted: ClassVar[str] = "moves"
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
