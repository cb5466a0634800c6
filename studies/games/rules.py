"""The rules of the games: who moves how, what a round pays, what fully selfish players do, and how a game ended.

Moves are numbers, so that games can be compared. In three games a move lies between 0 and 10: points that are sent, points that
are returned of every 10, points that are put in; in the prisoner's dilemma 10 is A (cooperate) and 0 is B (defect). In a
negotiation a move is one of nine packages (1 to 9), or a response (`RESPONSES`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

GameName = Literal["trust", "prisoners", "public_goods", "negotiation"]
KINDS: dict[str, tuple[str, ...]] = {
    "trust": ("sent", "returned"),
    "prisoners": ("choice",),
    "public_goods": ("contributed",),
    "negotiation": ("offer", "response"),
}
"""The kinds of move of each game, in the order of moving."""
POINTS, TRIPLED = 10, 3
DILEMMA = {(10.0, 10.0): (3.0, 3.0), (10.0, 0.0): (0.0, 5.0), (0.0, 10.0): (5.0, 0.0), (0.0, 0.0): (1.0, 1.0)}
"""Points of both players by their choices (10: A, 0: B)."""
PACKAGES = tuple([(first, second) for first in range(3) for second in range(3)])
"""The nine packages: the level (0 to 2) of two terms. The first player cares more for the first, the second for the second."""
RESPONSES = {1: "accept", 2: "refuse", 3: "leave"}
ACCEPT, REFUSE, LEAVE = RESPONSES
OUTSIDE, IMPOSED = 2.0, 3.0
"""Points of each player when one leaves, and when an authority decides because no package was accepted in time."""
AGREED, LEFT, DECIDED = "agreement", "walked away", "authority"


class Setting(NamedTuple):
    """What a player knows of its game: the name, whether the number of rounds is announced, that number, by how much a pot is
    multiplied, and what the player is known to do (None: nothing is said).
    """

    game: str
    announced: bool
    last: int
    factor: float = 1.6
    imposed: int | None = None


class Play(NamedTuple):
    """One move: the round, who moves, the kind of move, and the number; None if the move is missing."""

    round: int
    agent: int
    kind: str
    value: float | None


def kind_of(game: str, place: int) -> str:
    """Return the kind of move of the player who moves in this place of a round, from 0."""
    kinds = KINDS[game]
    return kinds[min(place, len(kinds) - 1)]


def answers(kind: str) -> tuple[int, ...]:
    """Return the numbers that a move can be."""
    return {"choice": (0, 10), "offer": tuple(range(1, 10)), "response": tuple(RESPONSES)}.get(kind, tuple(range(11)))


def package_points(package: int) -> tuple[float, float]:
    """Return what a package gives to the first and to the second player.

    >>> package_points(7), package_points(5), package_points(9)
    ((6.0, 6.0), (4.0, 4.0), (8.0, 0.0))
    """
    first, second = PACKAGES[package - 1]
    return float(3 * first + second), float((2 - first) + 3 * (2 - second))


def round_points(game: str, values: Sequence[float | None], factor: float = 1.6) -> list[float | None]:
    """Return what each player gets in a round of a game without a terminal outcome; all None where a move is missing.

    values: the moves in the order of seats. In the trust game a second player who got nothing makes no move.

    >>> round_points("trust", [4, 5])
    [12.0, 6.0]
    >>> round_points("trust", [0, None])
    [10.0, 0.0]
    """
    if game == "trust" and values[0] == 0:
        return [float(POINTS), 0.0]
    moves = [value for value in values if value is not None]
    if len(moves) < len(values):
        return [None] * len(values)
    if game == "trust":
        pot = TRIPLED * moves[0]
        return [POINTS - moves[0] + pot * moves[1] / 10, pot * (1 - moves[1] / 10)]
    if game == "prisoners":
        return list(DILEMMA[moves[0], moves[1]])
    share = factor * sum(moves) / len(moves)
    return [POINTS - value + share for value in moves]


def ending(plays: Sequence[Play], last: bool) -> tuple[str, int | None]:
    """Return how a negotiation ended ("" while it goes on, or if that is unknown) and the package that was agreed.

    last: whether the round is the last one; then an authority decides where the package is refused. Where the offer or the
    response of the last round is missing, it is unknown how the negotiation would have ended.

    >>> ending([Play(3, 1, "offer", 7), Play(3, 2, "response", REFUSE)], last=True)
    ('authority', None)
    >>> ending([Play(3, 1, "offer", 7), Play(3, 2, "response", None)], last=True)
    ('', None)
    """
    offers = [play.value for play in plays if play.kind == "offer"]
    responses = [play.value for play in plays if play.kind == "response"]
    if responses and responses[-1] == ACCEPT and offers and offers[-1]:
        return AGREED, int(offers[-1])
    if responses and responses[-1] == LEAVE:
        return LEFT, None
    return (DECIDED, None) if last and responses and responses[-1] == REFUSE else ("", None)


def ending_points(outcome: str, package: int | None) -> tuple[float, float]:
    """Return what both players get when a negotiation ended so."""
    if package is not None:
        return package_points(package)
    return (OUTSIDE, OUTSIDE) if outcome == LEFT else (IMPOSED, IMPOSED)


def selfish_package(proposer: int) -> int:
    """Return what a selfish proposer (0 or 1) offers in the last round: its best package that leaves the other no less than the
    authority would. Backward induction: before the last round a selfish proposer can offer no more to itself, because the other
    waits for what it gets then.

    >>> selfish_package(0), selfish_package(1)
    (8, 4)
    """
    fine = [number for number in answers("offer") if package_points(number)[1 - proposer] >= IMPOSED]
    return max(fine, key=lambda number: package_points(number)[proposer])


def most_points(game: str, players: int, factor: float = 1.6) -> float:
    """Return the most that all players can get together in a round (in a negotiation: in the whole game)."""
    if game == "negotiation":
        return max(sum(package_points(number)) for number in answers("offer"))
    return {"trust": 3.0 * POINTS, "prisoners": 6.0}.get(game, POINTS * factor * players)


def selfish_points(game: str, players: int) -> float:
    """Return what selfish players get together in a round (of a negotiation in all): the subgame-perfect equilibrium."""
    if game == "negotiation":
        return sum(package_points(selfish_package(0)))
    return {"trust": float(POINTS), "prisoners": 2.0}.get(game, float(POINTS * players))


def summary_outcome(game: str, plays: Sequence[Play]) -> str:
    """Return how a repeated game went, in a word: of trust games whether trust was repaid, of the others whether all cooperated.

    The word is "" where a move is missing.
    """
    moves = [play for play in plays if play.value is not None]
    values = [float(play.value or 0) for play in moves]
    if game != "trust":
        if any(play.value is None for play in plays) or not values:
            return ""
        word = "cooperation" if game == "prisoners" else "full contributions"
        none = "defection" if game == "prisoners" else "no contributions"
        return word if min(values) == 10 else none if max(values) == 0 else "mixed"
    sent = {play.round: float(play.value or 0) for play in moves if play.kind == "sent"}
    back = {play.round: float(play.value or 0) for play in moves if play.kind == "returned"}
    rounds = {play.round for play in plays}
    if set(sent) != rounds or any(sent[round_] and round_ not in back for round_ in rounds):
        return ""
    total, returned = sum(sent.values()), sum(TRIPLED * sent[round_] * back.get(round_, 0) / 10 for round_ in rounds)
    return "no trust" if not total else "trust repaid" if returned >= total else "trust abused"
