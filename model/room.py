"""The state of one room during a run (`RoomState`), and what all rooms of a run share (`RunContext`).

`record_call` also counts how many characters of a prompt repeat the agent's last prompt and reply (model/sent_texts.py).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from parley.agents.probe import Probe
from parley.agents.proxy_seat import ProxySeat
from parley.agents.representative import CRITIQUE
from parley.environments._social_graph import SocialGraph
from parley.environments.base import MEDIATOR, Turn
from parley.llm.backends.person.desk import GONE
from parley.llm.exchange import Meeting
from parley.llm.request import Reply, Request
from parley.llm.seeding import seed_deriver
from parley.model.events import Called, Event, Occupied, Thought
from parley.model.recorder import Preview, Slot
from parley.model.sent_texts import SentTexts
from parley.model.word_index import WordIndex

if TYPE_CHECKING:
    from parley.agents.agent import DebateAgent
    from parley.agents.mediators.base import MediatorAgent
    from parley.agents.participant import Participant
    from parley.agents.topic import Topic

HUMAN, REPRESENTED, EMPTY = "person", "representative", "empty"
"""Who is in the seat of a person."""
NO_CONSENT = "no_consent"
"""Why the answers of a person are missing who did not agree to take part."""
LATEST = 64
"""Number of public lines that a room keeps, for example for a fact checker."""


@dataclass(slots=True)
class RunContext:
    """What all rooms of a run share.

    `seed` is the seed of the run. `key` returns the journal key of a request; without it calls are not recorded.
    `asks` is how often a survey question or a turn is asked until the reply can be read.
    `failure_details` holds the message of the first failed call, by the name of the failure.
    `embedder` is the voice of the model that embeds texts.
    `preview` gets lines and requests at once (model/recorder.py).
    `people` are the voices of seats in which a person sits.
    """

    seed: int
    key: Callable[[Request], bytes] | None = None
    asks: int = 1
    failure_details: dict[str, str] = field(default_factory=dict)
    preview: Preview | None = None
    embedder: str = ""
    people: frozenset[str] = frozenset()


@dataclass(slots=True)
class RoomState:
    """The state of one room: its agents by id in seat order, the labels of their seats, the round and the count of turns.

    `last_sent` is the last prompt and reply of each agent. `public_lines` are the latest lines (name, text) that were
    not said to one agent alone. `turn_probes` returns the survey questions on a topic that every agent answers after every turn;
    None: there are none.

    In a deliberation, `mediator` writes the `statements` (draft, revision, revision 3, ...), and `proxies` holds the
    representatives of members by id. `stand_ins` are the representatives of people, which write critiques while their people
    are away, and `occupied` is who is in the seat of each person.
    `heard` lists the turns that each agent heard, in a network those of this round. In a
    network, `society` holds the links, and `posts` maps each turn that can still be shown to its name, text and form. `words`
    are the words of posts. `vectors` are
    the embeddings of what its agents remember (model/embedding.py). `kept` is what an environment with
    rounds of its own keeps from round to round. `meeting`: where this process tells others what its part of the members does,
    `steps` of which each is done by all of them.
    """

    id: str
    topic: str
    group: str
    repetition: int
    members: dict[int, DebateAgent]
    seats: dict[int, str]
    context: RunContext
    round: int = 0
    iteration: int = 0
    last_sent: SentTexts = field(default_factory=SentTexts)
    public_lines: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=LATEST))
    turn_probes: Callable[[Topic], Sequence[Probe]] | None = None
    mediator: MediatorAgent | None = None
    statements: dict[str, str] = field(default_factory=dict)
    proxies: dict[int, ProxySeat] = field(default_factory=dict)
    stand_ins: dict[int, ProxySeat] = field(default_factory=dict)
    occupied: dict[int, str] = field(default_factory=dict)
    society: SocialGraph | None = None
    heard: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    posts: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    words: WordIndex = field(default_factory=WordIndex)
    vectors: dict[str, tuple[float, ...] | None] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    meeting: Meeting | None = None
    steps: int = 0
    _seeds: dict[int, Callable[..., int]] = field(default_factory=dict)

    def writer(self, agent: int, form: str) -> DebateAgent | ProxySeat:
        """Return who writes a turn: the agent, or its representative, if that one takes its place at this step."""
        proxy = self.proxies.get(agent)
        return proxy if proxy and proxy.takes(form) else self.members[agent]

    def voter(self, agent: int, step: str) -> Participant | ProxySeat:
        """Return who casts a ballot or a vote for a member of a deliberation: the member itself, or its representative."""
        return cast("Participant | ProxySeat", self.writer(agent, step))

    def seed(self, agent: int, purpose: str, attempt: int = 0, iteration: int | None = None) -> int:
        """Return the seed of one request at a turn (None: the last turn).

        It depends on the label of the seat and not on the agent's id, so that it is the same in any selection of rooms.
        """
        if (derive := self._seeds.get(agent)) is None:
            derive = self._seeds[agent] = seed_deriver(self.context.seed, self.id, self.seats[agent])
        seed = derive(self.iteration if iteration is None else iteration, purpose, attempt)
        if self.context.preview:
            self.context.preview.asks(agent, seed)
        return seed

    def owns(self, agent: int) -> bool:
        """Return whether this process asks this agent."""
        return self.meeting is None or self.meeting.owns(agent)

    def mark(self, events: list[Event], part: int, place: int, step: int | None = None) -> None:
        """Say where the next events stand at a step (default: this one), if other processes have events of it as well."""
        if self.meeting:
            events.append(Slot(self.steps if step is None else step, part, place))

    def tell(self, turn: Turn, name: str, text: str, form: str, iteration: int) -> None:
        """Let the hearers of a turn remember its text, unless they are absent."""
        members, heard = self.members, self.heard
        for hearer in turn.hearers:
            if (member := members.get(hearer)) is not None:
                if not member.absent and self.owns(hearer):
                    member.hear(name, text, form)
                    heard[hearer].append(iteration)
            elif self.mediator and hearer == MEDIATOR:
                self.mediator.hear(turn.speaker, text, form)


def concurrent_rooms(rooms: Sequence[RoomState], round_: int) -> tuple[list[RoomState], list[RoomState]]:
    """Return the rooms that run first, all at the same time, and those that run after them.

    A representative may read opinions or critiques of earlier episodes that are written in the same round: its room runs later.
    """
    late = {room.id for room in rooms if any(proxy.waits(round_) for proxy in room.proxies.values())}
    return [room for room in rooms if room.id not in late], [room for room in rooms if room.id in late]


def record_call(events: list[Event], room: RoomState, agent: int, request: Request, reply: Reply) -> None:
    """Append the event of a call, and the reasoning of a model that writes one; note the message of a failure."""
    failure = reply.failure.name if reply.failure else None
    if reply.failure:
        room.context.failure_details.setdefault(reply.failure.name, reply.failure.detail)
    if room.context.key is None:
        return
    if request.voice in room.context.people and agent in room.members:
        _note_occupant(events, room, agent, reply)
    place, key = (room.id, room.round, agent, request.purpose), room.context.key(request).hex()
    lengths = room.last_sent.replace(agent, request, reply)
    events.append(Called(*place, key, failure, *reply.usage, dict(reply.notes), *lengths))
    if reply.thinking:
        events.append(Thought(*place, key, reply.thinking))


def is_gone(reply: Reply) -> bool:
    """Return whether a reply is missing because the person of the seat is away, or has left."""
    return reply.failure is not None and reply.failure.name in GONE


def _note_occupant(events: list[Event], room: RoomState, agent: int, reply: Reply) -> None:
    """Append who is in the seat of a person now, if that has changed: the person, its representative, or no one."""
    stand_in, refused = room.stand_ins.get(agent), room.members[agent].why_absent == NO_CONSENT
    reason = reply.failure.name if reply.failure and is_gone(reply) else NO_CONSENT if refused else ""
    absent = REPRESENTED if stand_in and stand_in.takes(CRITIQUE) else EMPTY
    by = absent if reason else HUMAN
    if room.occupied.get(agent) != by:
        room.occupied[agent] = by
        events.append(Occupied(room.id, room.round, room.iteration, agent, by, reason))
