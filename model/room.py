"""One room on its way through a run (`RoomState`), and what its conversations are stamped with (`RunContext`).

`shared_prefix` and its neighbours count how much of a prompt was sent before: what a server with a prompt cache (vLLM, SGLang,
the OpenAI API) need not process again. They count characters, for each agent by itself: the beginning that a prompt has in
common with what the agent sent last. The agent's own reply counts as sent once it is generated. What agents have in common with
each other is not counted, so a server may find more; a server that forgets finds less.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from parley.agents.agent import DebateAgent
from parley.agents.mediators.base import MediatorAgent
from parley.agents.representative import CRITIQUE, ProxySeat
from parley.agents.topic import Probe
from parley.environments._social_graph import SocialGraph
from parley.environments.base import MEDIATOR, Turn
from parley.llm.request import Message, Reply, Request
from parley.llm.seeding import seed_deriver
from parley.model.events import Called, Event, Thought

LATEST = 64
"""Public lines that a room keeps for who reads them from outside."""


@dataclass(slots=True)
class RunContext:
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
    members: dict[int, DebateAgent]
    seats: dict[int, str]
    iteration: int = 0
    sent: dict[int, str] = field(default_factory=dict)
    chair: MediatorAgent | None = None
    statements: dict[str, str] = field(default_factory=dict)
    society: SocialGraph | None = None
    heard: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    said: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    each_turn: Sequence[Probe] = ()
    proxies: dict[int, ProxySeat] = field(default_factory=dict)
    public: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=LATEST))
    _streams: dict[int, Callable[..., int]] = field(default_factory=dict)

    def writer(self, agent: int, form: str) -> DebateAgent | ProxySeat:
        """Who writes what an agent is asked for: itself, or of a critique its representative, if it has one that can."""
        proxy = self.proxies.get(agent)
        return proxy if proxy and form == CRITIQUE and proxy.ready else self.members[agent]

    def seed(
        self, context: RunContext, agent: int, purpose: str, attempt: int = 0, iteration: int | None = None
    ) -> int:
        """The seed of one request, at a turn or (None) the last one.

        It names the seat, not the agent's number: the same in any selection of rooms.
        """
        stream = self._streams.get(agent)
        if stream is None:
            stream = self._streams[agent] = seed_deriver(context.seed, self.id, self.seats[agent])
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


def record_call(
    events: list[Event], room: RoomState, round_: int, agent: int, request: Request, reply: Reply, context: RunContext
) -> None:
    failure = None
    if reply.failure:
        failure = reply.failure.name
        context.details.setdefault(failure, reply.failure.detail)
    if context.key is None:
        return
    key = context.key(request).hex()
    text = request_as_text(request)
    told = len(text), shared_prefix(text, room.sent.get(agent, ""))
    room.sent[agent] = text_with_reply(text, reply)
    events.append(Called(room.id, round_, agent, request.purpose, key, failure, *reply.usage, dict(reply.notes), *told))
    if reply.thinking:
        events.append(Thought(room.id, round_, agent, request.purpose, key, reply.thinking))


def request_as_text(request: Request) -> str:
    """A prompt in the order in which a server reads it."""
    return "".join(map(_part, request.messages))


def text_with_reply(text: str, reply: Reply) -> str:
    return text + _part(Message("assistant", reply.text)) if reply.text else text


def shared_prefix(one: str, other: str) -> int:
    """Length of the common beginning, by halving. `shared_prefix("abcd", "abxd")` is 2."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _part(message: Message) -> str:
    return f"\n<{message.role}>\n{message.content}"
