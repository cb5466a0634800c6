"""The vote at the end of a deliberation, as a generator that yields requests and returns events."""

from __future__ import annotations

import random
from collections.abc import Sequence

from parley.agents.participant import Participant
from parley.agents.proxy_seat import ProxySeat
from parley.agents.representative import VOTE
from parley.agents.social_choice import Places, read_ranking
from parley.llm.driver import Conversation
from parley.llm.request import Reply, Request
from parley.model.events import Event, Represented, Voted
from parley.model.room import RoomState, record_call
from parley.model.surveys import ask_with_retries


def run_vote(room: RoomState) -> Conversation[list[Event]]:
    """Let every member rank the draft and the last revision, in an order drawn for the member; none without both."""
    names = [name for name in dict.fromkeys((next(iter(room.statements), ""), *list(room.statements)[-1:])) if name]
    members = [
        number for number, member in room.members.items() if isinstance(member, Participant) and not member.absent
    ]
    voters = {number: room.voter(number, VOTE) for number in members}
    votes: dict[int, Voted] = {}
    calls: list[Event] = []
    shown = {number: random.Random(room.seed(number, "vote order")).sample(names, len(names)) for number in members}

    def compose(number: int, attempt: int) -> Request:
        texts = [room.statements[name] for name in shown[number]]
        return voters[number].compose_ballot(texts, room.seed(number, "vote", attempt), attempt > 0)

    def absorb(number: int, request: Request, reply: Reply) -> bool:
        earlier = (*votes[number].earlier, votes[number].raw) if number in votes else ()
        ranking = read_ranking(reply.text, len(names))
        reason = reply.failure.name if reply.failure else ranking.reason
        order = None if ranking.order is None else named_order(ranking.order, shown[number])
        votes[number] = Voted(room.id, room.round, number, order, reason, reply.text, len(earlier) + 1, earlier)
        record_call(calls, room, -number if isinstance(voters[number], ProxySeat) else number, request, reply)
        return order is not None or reply.failure is not None

    if len(names) > 1:
        yield from ask_with_retries(members, compose, absorb, room.context.asks)
    return [event for number in votes for event in (*_by_proxy(room, number, voters[number]), votes[number])] + calls


def _by_proxy(room: RoomState, number: int, voter: Participant | ProxySeat) -> list[Event]:
    """Return the event that says that a representative casts the next vote; nothing where the member votes."""
    if not isinstance(voter, ProxySeat):
        return []
    return [Represented(room.id, room.round, room.iteration, number, voter.knows, voter.told, VOTE)]


def named_order(order: Places, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return a ballot with names in the place of numbers, best first, tied ones together.

    >>> named_order((1, (0, 2)), ["draft", "revision", "revision 3"])
    (('revision',), ('draft', 'revision 3'))
    """
    groups = (place if isinstance(place, tuple) else (place,) for place in order)
    return tuple(tuple(sorted(names[number] for number in group)) for group in groups)
