"""What agents write: lines of a debate, statements, rankings, summaries, private notes and answers to interviews."""

from __future__ import annotations

from parley.model.events.base import AgentAtTurn, AtTurn, OfAgent, event

RETELLING = "retelling"
"""The form of a text that passes on what others wrote, and so does not say what its author thinks."""


@event
class Utterance(AgentAtTurn):
    """One turn. `iteration` counts the turns of the room from 1.

    `raw` is the reply of the model, if cleaning changed it, else None. `form` is the kind of text that was asked for: reply,
    opening, closing; opinion, draft, critique, revision. `mended` is what was mended in the reply: relabelled (a label of another
    agent in front was cut). `earlier` are the replies before the last one, which contained no line of the agent.
    """

    text: str | None
    reason: str | None
    raw: str | None = None
    form: str = "reply"
    mended: str | None = None
    earlier: tuple[str | None, ...] = ()


@event
class Represented(AgentAtTurn):
    """The representative of `agent` writes the next utterance, or casts the next ballot or vote; `form` says which.

    `knows`: what it knows of the member, as letters of D, O, C, P (agents/representative.py). `told`: the ids of the other
    questions about which its prompt says something.
    """

    knows: str
    told: tuple[str, ...]
    form: str = "critique"


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
class Balloted(AgentAtTurn):
    """How a member itself ranks the candidates of the mediator; the fields of `Ranked`."""

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
class Voted(OfAgent):
    """How a member ranks the draft and the last revision at the end: their names, best first, tied ones together.

    `reason`, `raw`, `asked` and `earlier` as in `Ranked`.
    """

    order: tuple[tuple[str, ...], ...] | None
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
