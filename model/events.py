"""The record: a header that suffices to run it again, then small frozen events, one JSON object a line.

The record is the only bridge to analysis. It holds no clock time, and no path but one that the user names as the model, so
that the same command gives the same bytes (times are in the journal's table `sittings`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Header:
    """Everything needed to run it again. `given` are the arguments given, the rest of `scenario` was defaulted.

    `stand_ins`: which seats were held by a surrogate, and its fidelity (model/surrogate_seats.py).
    `parties`: name and colour (each may be empty) of those whose persona files give them (agents/persona.py).
    """

    kind: ClassVar[str] = "header"
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


@dataclass(frozen=True, slots=True)
class Seated:
    """An agent takes its seat. `party` is what its persona stands for, `seat` its label in the group (republican 2).

    A mediator is agent 0 of its room, its party and seat are "mediator", and it has no persona ("").
    """

    kind: ClassVar[str] = "seated"
    agent: int
    room: str
    topic: str
    group: str
    repetition: int
    seat: str
    party: str
    persona: str
    name: str


@dataclass(frozen=True, slots=True)
class Endowed:
    """What an agent was given beside its persona (agents/traits.py), after its seat; there is none for those given nothing."""

    kind: ClassVar[str] = "endowed"
    agent: int
    room: str
    role: str
    traits: dict[str, str]
    confirmation_bias: str


@dataclass(frozen=True, slots=True)
class Node:
    """The node of a graph from a file at which an agent sits: its name there, and its attributes as the file has them."""

    kind: ClassVar[str] = "node"
    room: str
    agent: int
    node: str
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Posed:
    """The question of a room, where rooms draw theirs from a set (see agents.question.Question for its fields).

    `session` names the sitting of the same people on several questions, `episode` which of them this is (from 0).
    """

    kind: ClassVar[str] = "posed"
    room: str
    session: str
    episode: int
    id: str
    question: str
    statement: str
    against: str
    topic: str
    split: str


@dataclass(frozen=True, slots=True)
class Linked:
    """Links of a networked room that appear before a round's turns (round 0: the graph at the start), as (source, target).

    The source hears the target; an undirected link is there both ways. Rooms around a table, where all hear all, have none.
    `weights`: one a pair where the graph is from a file that has them (None for a link without one); debates ignore them.
    """

    kind: ClassVar[str] = "linked"
    room: str
    round: int
    pairs: tuple[tuple[int, int], ...]
    weights: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Links of a networked room that vanish before a round's turns; see Linked."""

    kind: ClassVar[str] = "unlinked"
    room: str
    round: int
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Heard:
    """Which turns, by their iteration, an agent of a networked room heard or was shown in a round, in the order in which it did.

    Only those with a text; an agent that heard nothing in a round has none of these.
    """

    kind: ClassVar[str] = "heard"
    room: str
    round: int
    agent: int
    iterations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One turn. `iteration` counts the turns of the room from 1; `text` None has a `reason`.

    `raw` is the reply as it came, where cleaning changed it (None: it did not). `form` is what was asked for: reply, opening,
    closing; opinion, draft, critique, revision.
    """

    kind: ClassVar[str] = "utterance"
    room: str
    round: int
    iteration: int
    agent: int
    text: str | None
    reason: str | None
    raw: str | None = None
    form: str = "reply"


@dataclass(frozen=True, slots=True)
class Represented:
    """The next utterance of `agent` is written by its representative, which is told of the member what `knows` says.

    Letters of D, O, C, P (agents/representative.py); `told` are the ids of the other questions on which the prompt has something.
    """

    kind: ClassVar[str] = "represented"
    room: str
    round: int
    iteration: int
    agent: int
    knows: str
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposed:
    """A candidate for the mediator's statement at turn `iteration`, numbered from 0; `text` None has a `reason`."""

    kind: ClassVar[str] = "proposed"
    room: str
    round: int
    iteration: int
    number: int
    text: str | None
    reason: str | None
    raw: str | None
    asked: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """How the mediator predicts that a member (`agent`) ranks the candidates: their numbers, best first, ties in tuples.

    None has a `reason`. `asked` is how often it was asked for, `earlier` are the replies before the last one (`raw`), which could
    not be read.
    """

    kind: ClassVar[str] = "ranked"
    room: str
    round: int
    iteration: int
    agent: int
    order: tuple[int | tuple[int, ...], ...] | None
    reason: str | None
    raw: str | None
    asked: int
    earlier: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The mediator's order of the candidates by their numbers, the statement first; `tied`: how many the rule alone put first."""

    kind: ClassVar[str] = "chosen"
    room: str
    round: int
    iteration: int
    order: tuple[int, ...]
    tied: int


@dataclass(frozen=True, slots=True)
class Answered:
    """An item of the questionnaire: one of its answers, or None and a `reason`; `asked` and `earlier` as in Rated."""

    kind: ClassVar[str] = "answered"
    room: str
    round: int
    agent: int
    item: str
    answer: str | None
    reason: str | None
    raw: str | None
    asked: int
    earlier: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Summarised:
    """What an agent keeps of the lines that it forgets before the turn `iteration`; `text` None has a `reason`."""

    kind: ClassVar[str] = "summarised"
    room: str
    round: int
    iteration: int
    agent: int
    text: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Private:
    """What an agent wrote for itself before the turn `iteration`; nobody else reads it. `text` None has a `reason`.

    `purpose` says what for: an ability (bdi, latent, ...), reflection (insights, one a line), importance (1 to 10, of the line
    `of`). `raw` is the reply as it came, where reading changed it.
    """

    kind: ClassVar[str] = "private"
    room: str
    round: int
    iteration: int
    agent: int
    purpose: str
    text: str | None
    reason: str | None
    raw: str | None = None
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Rated:
    """One survey answer after `iteration` turns (0: before the debate). See parley.agents.agent.Rating for the fields.

    `asked` is how often the question was put; `earlier` are the replies before the last one, which could not be read.
    `probabilities` are scaled to sum to 1; before that they came to `covered` (None where the model does not tell).
    """

    kind: ClassVar[str] = "rated"
    room: str
    round: int
    iteration: int
    agent: int
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


@dataclass(frozen=True, slots=True)
class Called:
    """One call to the model: its journal key, what for, what it cost, and what the backend noted (`unread` lines).

    A representative's call has the number of its member with a minus before it.
    `prompt_chars` is the length of the prompt, `sent_before` how much of its beginning the agent had sent before
    (model/room.py).
    """

    kind: ClassVar[str] = "called"
    room: str
    round: int
    agent: int
    purpose: str
    key: str
    failure: str | None
    prompt_tokens: int
    completion_tokens: int
    notes: dict[str, int]
    prompt_chars: int = 0
    sent_before: int = 0


@dataclass(frozen=True, slots=True)
class Thought:
    """What a model that thinks first wrote before the reply of the call `key`. Nobody in the room hears it."""

    kind: ClassVar[str] = "thought"
    room: str
    round: int
    agent: int
    purpose: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Intervened:
    """Something from outside before a round: what (a kind of model/interventions), to which agents, by whom ("": nobody).

    `text` is the line that they heard, or the model that they speak through from now on; None: there is none, and where one might
    have been said (a planner's) a `reason`. No agent said it: it is no utterance.
    """

    kind: ClassVar[str] = "intervened"
    room: str
    round: int
    what: str
    agents: tuple[int, ...]
    text: str | None
    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The last line of a finished record."""

    kind: ClassVar[str] = "ended"
    rounds: int
    events: int


Event = (
    Header
    | Seated
    | Endowed
    | Node
    | Posed
    | Linked
    | Unlinked
    | Utterance
    | Heard
    | Represented
    | Proposed
    | Ranked
    | Chosen
    | Summarised
    | Private
    | Rated
    | Answered
    | Called
    | Thought
    | Intervened
    | Ended
)
KINDS: dict[str, type] = {cls.kind: cls for cls in get_args(Event)}
