"""What happens on a network: links, what is heard, and what people on a social medium see and do."""

from __future__ import annotations

from parley.model.events.base import AgentAtTurn, InRound, OfAgent, event


@event
class Linked(InRound):
    """Links of a network that appear before the turns of a round (round 0: the graph at the start), as (source, target).

    The source hears the target; an undirected link is listed in both directions. Rooms around a table have no links.
    `weights`: one per pair, if the graph is from a file with weights (None for a link without one). Debates ignore weights.
    """

    pairs: tuple[tuple[int, int], ...]
    weights: tuple[float | None, ...] = ()


@event
class Unlinked(InRound):
    """Links of a network that vanish before the turns of a round; see Linked."""

    pairs: tuple[tuple[int, int], ...]


@event
class Signed(InRound):
    """The signs (1 or -1) of links that appear, one per pair, if the graph of the user has signs. Debates ignore signs."""

    pairs: tuple[tuple[int, int], ...]
    signs: tuple[int, ...]


@event
class Heard(OfAgent):
    """The turns, by iteration, that an agent of a network heard or was shown in a round, in this order.

    Only turns with a text are listed. An agent that heard nothing in a round has no such event.
    """

    iterations: tuple[int, ...]


@event
class Gathered(InRound):
    """Who sits together from this round on, where people meet in several places: one event for each table.

    `stage` counts the stages from 1, `place` is the kind of place, `table` counts its tables from 1. `round` is the first round
    of the stage; that of the first stage is 0. People in none of the events of a stage sit nowhere in it.
    """

    stage: int
    place: str
    table: int
    members: tuple[int, ...]


@event
class Shown(OfAgent):
    """The posts that a person on a platform was shown, by the turn in which each was written, best first.

    `scores` are their scores at that time, as shown. `carriers`: through whom each came, its author or an agent who reposted it.
    `source`: feed, or search.
    """

    posts: tuple[int, ...]
    scores: tuple[int, ...]
    carriers: tuple[int, ...]
    source: str


@event
class Acted(AgentAtTurn):
    """What a person on a platform did (agents/acts.py), or None and the reason. A written text is the Utterance of this turn.

    `target`: the post that the act is about, by its turn; `options`: the posts that it could be about. `query`: the words of a
    search. `offered`: the acts that were possible, with the probability of each, and for the target with that of each of
    `options`, if the model gives them. `seeded`: the vote from outside that the written post got at once. `asked` counts the
    calls for act and target, `earlier` are the unreadable replies. `raw` and `target_raw` are the replies that were read.
    """

    act: str | None
    reason: str | None
    target: int | None = None
    query: str | None = None
    seeded: int = 0
    offered: tuple[str, ...] = ()
    probabilities: tuple[float, ...] | None = None
    covered: float | None = None
    options: tuple[int, ...] = ()
    target_probabilities: tuple[float, ...] | None = None
    raw: str | None = None
    target_raw: str | None = None
    how: str = ""
    asked: int = 0
    earlier: tuple[str | None, ...] = ()
