"""The record: a header with everything needed to repeat the run, then one small event per line.

Analysis reads the record and nothing else. A record holds no clock time and no path except one that the user names as a model,
so the same command writes the same bytes. (Times are in the journal's table `sittings`.)

Events share the first fields of their base class: the room, the round, the turn (`iteration`), the agent. In every event, `text`,
`order`, `rating` or `answer` is None if it is missing, and `reason` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar, dataclass_transform

from parley.agents.society import PartyNames

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Event:
    """The base class. `kind` is the name of the class in lower case; it comes first in a line of the record."""

    kind: ClassVar[str]


@dataclass(frozen=True, slots=True)
class InRound(Event):
    room: str
    round: int


@dataclass(frozen=True, slots=True)
class OfAgent(InRound):
    agent: int


@dataclass(frozen=True, slots=True)
class AtTurn(InRound):
    iteration: int


@dataclass(frozen=True, slots=True)
class AgentAtTurn(AtTurn):
    agent: int


Kind = TypeVar("Kind", bound=Event)
KINDS: dict[str, type[Event]] = {}
"""The classes of events by kind."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def event(cls: type[Kind]) -> type[Kind]:
    """Make a class a kind of event: a frozen dataclass, listed in `KINDS`."""
    made = dataclass(frozen=True, slots=True)(cls)
    made.kind = made.__name__.lower()
    KINDS[made.kind] = made
    return made


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
class Received(OfAgent):
    """The version of a story that an agent gets on a day, by the turn in which it was written (0: the true report).

    `source`: the agent from whom it comes (0: the report itself, before the first day; its own id: it takes up its own version).
    The agent's Utterance of the form `retelling` in the same round is made of this version.
    """

    version: int
    source: int


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


@event
class Utterance(AgentAtTurn):
    """One turn. `iteration` counts the turns of the room from 1.

    `raw` is the reply of the model, if cleaning changed it, else None. `form` is the kind of text that was asked for: reply,
    opening, closing; opinion, draft, critique, revision.
    """

    text: str | None
    reason: str | None
    raw: str | None = None
    form: str = "reply"


@event
class Represented(AgentAtTurn):
    """The representative of `agent` writes the next utterance.

    `knows`: what it knows of the member, as letters of D, O, C, P (agents/representative.py). `told`: the ids of the other
    questions about which its prompt says something.
    """

    knows: str
    told: tuple[str, ...]


@event
class Proposed(AtTurn):
    """A candidate for the mediator's statement. `number` counts candidates from 0, `asked` the calls for this one."""

    number: int
    text: str | None
    reason: str | None
    raw: str | None
    asked: int


@event
class Ranked(AgentAtTurn):
    """How a member would rank the candidates, as the mediator predicts: their numbers, best first, ties in tuples.

    `asked` counts the calls. `earlier` are the unreadable replies before the last one (`raw`).
    """

    order: tuple[int | tuple[int, ...], ...] | None
    reason: str | None
    raw: str | None
    asked: int
    earlier: tuple[str | None, ...] = ()


@event
class Chosen(AtTurn):
    """The mediator's order of the candidates by number; the first is the statement. `tied`: how many the rule ranked first."""

    order: tuple[int, ...]
    tied: int


@event
class Answered(OfAgent):
    """The answer to an item of the questionnaire. `asked` and `earlier` as in Rated."""

    item: str
    answer: str | None
    reason: str | None
    raw: str | None
    asked: int
    earlier: tuple[str | None, ...] = ()


@event
class Summarised(AgentAtTurn):
    """The summary of the lines that an agent forgets before a turn."""

    text: str | None
    reason: str | None


@event
class Private(AgentAtTurn):
    """A note that an agent wrote before a turn. No other agent reads it.

    `purpose`: an ability (bdi, latent, ...), plan, reflection (conclusions, one a line) or importance (1 to 10, of the line
    `of`).
    `raw` is the reply of the model, if reading changed it.
    """

    purpose: str
    text: str | None
    reason: str | None
    raw: str | None = None
    of: str | None = None


@event
class Concluded(AgentAtTurn):
    """An insight of a reflection that cites memories. `number` counts the insights of the agent from 1.

    `parents` are the insights that it cites, by number, and `lines` the lines, as the agent remembers them. `depth` is 1 more
    than that of the deepest memory cited; a line has 0. It is None, with a `reason`, if no cited memory could be read, or if an
    insight without depth is cited.
    """

    number: int
    text: str
    depth: int | None
    reason: str | None
    parents: tuple[int, ...] = ()
    lines: tuple[str, ...] = ()


@event
class Interviewed(OfAgent):
    """The answer to a question about what the agent recalls (agents/recollection.py), under a condition of its memory.

    `question` is its name, `about` the kind of its right answer, `asked` its text, `truth` the right answer. Without a truth
    nothing is asked (`nothing_to_recall`).
    """

    question: str
    about: str
    condition: str
    asked: str
    truth: str | None
    text: str | None
    reason: str | None
    raw: str | None = None


@event
class Rated(AgentAtTurn):
    """One survey answer after `iteration` turns (0: before the debate). See parley.agents.agent.Rating for the fields.

    `asked` counts the calls. `earlier` are the unreadable replies before the last one. `probabilities` are scaled to sum to 1;
    `covered` is their sum before scaling (None if the model does not give it).
    """

    probe: str
    rating: float | None
    attitude: float | None
    expected: float | None
    probabilities: tuple[float, ...] | None
    reason: str | None
    raw: str | None
    how: str
    asked: int
    earlier: tuple[str | None, ...] = ()
    covered: float | None = None


@event
class Called(OfAgent):
    """One call to the model: its purpose, journal key and tokens, and what the backend noted (such as unread lines).

    For a call of a representative, `agent` is the number of its member with a minus sign. `prompt_chars` is the length of the
    prompt, `sent_before` the length of its beginning that repeats what the agent sent before (model/room.py).
    """

    purpose: str
    key: str
    failure: str | None
    prompt_tokens: int
    completion_tokens: int
    notes: dict[str, int]
    prompt_chars: int = 0
    sent_before: int = 0


@event
class Thought(OfAgent):
    """The reasoning of a model before its reply to the call `key`. No agent hears it."""

    purpose: str
    key: str
    text: str


@event
class Intervened(InRound):
    """An intervention before a round: its kind, the agents on which it acted, and the name of its speaker ("" without one).

    `text` is the line that the agents heard, or the model through which they speak from now on. It is no utterance, because no
    agent said it. `reason` says why a planner or a fact checker said nothing.
    """

    what: str
    agents: tuple[int, ...]
    text: str | None
    by: str
    reason: str | None = None


@event
class Ended(Event):
    """The last line of a finished record."""

    rounds: int
    events: int
