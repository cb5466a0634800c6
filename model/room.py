"""One room on its way through a run, and what its conversations are stamped with."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from parley.agents.debater import Member
from parley.agents.mediator import Chair
from parley.agents.proxy import CRITIQUE, Proxy
from parley.agents.topic import Probe
from parley.environments._society import Society
from parley.environments.base import MEDIATOR, Turn
from parley.llm.randomness import beneath
from parley.llm.request import Reply, Request
from parley.model.events import Called, Event, Thought
from parley.model.prefix import as_text, common, with_reply

LATEST = 64
"""Public lines that a room keeps for who reads them from outside."""


@dataclass(slots=True)
class Desk:
    """What a conversation is stamped with: the run's seed and, when calls are recorded, the key of a request.

    `asks` is how often a probe that is asked after every turn is put. `details`: what was said of the first
    call that failed, by the failure's name.
    """

    seed: int
    key: Callable[[Request], bytes] | None = None
    asks: int = 1
    details: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class RoomState:
    """One room on its way: its agents by id, in seat order, the count of turns so far, and what each agent sent last.

    `chair` is its mediator, if it has one, and `statements` what that one said so far: draft, revision, revision 3, ...
    Of a network `society` has the links, `heard` which turns of the round each agent heard, and `said` what can still be shown.
    `each_turn` are the probes that everybody is asked after every turn.
    `public` are the latest lines that were not said to one person alone (name, text).
    `proxies` are the representatives of its members, by the member's id.
    """

    id: str
    topic: str
    group: str
    repetition: int
    members: dict[int, Member]
    seats: dict[int, str]
    iteration: int = 0
    sent: dict[int, str] = field(default_factory=dict)
    chair: Chair | None = None
    statements: dict[str, str] = field(default_factory=dict)
    society: Society | None = None
    heard: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    said: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    each_turn: Sequence[Probe] = ()
    proxies: dict[int, Proxy] = field(default_factory=dict)
    public: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=LATEST))
    _streams: dict[int, Callable[..., int]] = field(default_factory=dict)

    def writer(self, agent: int, form: str) -> Member | Proxy:
        """Who writes what an agent is asked for: itself, or of a critique its representative, if it has one that can."""
        proxy = self.proxies.get(agent)
        return proxy if proxy and form == CRITIQUE and proxy.ready else self.members[agent]

    def seed(self, desk: Desk, agent: int, purpose: str, attempt: int = 0, iteration: int | None = None) -> int:
        """The seed of one request, at a turn or (None) the last one.

        It names the seat, not the agent's number: the same in any selection of rooms.
        """
        stream = self._streams.get(agent)
        if stream is None:
            stream = self._streams[agent] = beneath(desk.seed, self.id, self.seats[agent])
        return stream(self.iteration if iteration is None else iteration, purpose, attempt)

    def tell(self, turn: Turn, name: str, text: str, form: str, iteration: int) -> None:
        """Give what was said to those who hear it."""
        members, heard = self.members, None if self.society is None else self.heard
        for hearer in turn.hearers:
            member = members.get(hearer)
            if member is not None:
                if not member.absent:
                    member.hear(name, text, form)
                    if heard is not None:
                        heard[hearer].append(iteration)
            elif self.chair and hearer == MEDIATOR:
                self.chair.hear(turn.speaker, text, form)


def note(
    events: list[Event], room: RoomState, round_: int, agent: int, request: Request, reply: Reply, desk: Desk
) -> None:
    failure = None
    if reply.failure:
        failure = reply.failure.name
        desk.details.setdefault(failure, reply.failure.detail)
    if desk.key is None:
        return
    key = desk.key(request).hex()
    text = as_text(request)
    told = len(text), common(text, room.sent.get(agent, ""))
    room.sent[agent] = with_reply(text, reply)
    events.append(Called(room.id, round_, agent, request.purpose, key, failure, *reply.usage, dict(reply.notes), *told))
    if reply.thinking:
        events.append(Thought(room.id, round_, agent, request.purpose, key, reply.thinking))
