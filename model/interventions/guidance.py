"""guidance: an official account publishes a statement on the event, with empathy, with facts, or without content.

style     empathic (says that it understands how people feel), factual (says what is known), empty (says nothing: the placebo)
empathic  the words of each style; without them those of the language, which fit any topic
factual
by        the name of the account; without it that of the language

All styles come from the same account, at the same time, to the same people. `run.py guidance` compares them (docs/guidance.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from parley.agents.guidance import EMPATHIC, EMPTY, FACTUAL, Style
from parley.agents.topic import Topic
from parley.model.interventions.base import Act, Intervention, View, check_line, line_events
from parley.model.room import RoomState


@dataclass(frozen=True, kw_only=True)
class Guidance(Intervention):
    """A statement by an official account, in one of three styles.

    Parameters
    ----------
    style : str
        `empathic`, `factual` or `empty`.
    empathic, factual : str
        The words of a style; `{topic}` is replaced by the title of the room's topic. Default: those of the language.
    by : str
        The name of the account. Default: that of the language.
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Raises
    ------
    UserError
        The style is unknown, or the name is no name of a speaker.

    Examples
    --------
    >>> Guidance(round=4, style="empathic").kind
    'guidance'
    """

    style: Style
    empathic: str = ""
    factual: str = ""
    by: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_line(self.kind, self.by or "Official Account", "in the words of the language")

    def placebo(self) -> Intervention:
        return replace(self, style=EMPTY)

    def words(self, topic: Topic) -> str:
        """Return what is said in a room on this topic."""
        own = {EMPATHIC: self.empathic, FACTUAL: self.factual}.get(self.style, "")
        return own or topic.language.prompt(f"guidance_{self.style}").text.strip()

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        topic = next(iter(room.members.values())).topic
        by = self.by or topic.language.words("official")
        yield line_events(room, agents, by, self.words(topic), form=self.style)
