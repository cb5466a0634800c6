"""guidance: an official account publishes a statement on the event, with empathy, with facts, or without content.

style     empathic (says that it understands how people feel), factual (says what is known), empty (says nothing: the placebo)
empathic  the words of each style; without them those of the language, which fit any topic
factual
by        the name of the account; without it that of the language

All styles come from the same account, at the same time, to the same people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, get_args

from parley.agents.language import Language, language_of_study
from parley.agents.topic import Topic
from parley.model.interventions.base import Act, Intervention, View, check_line, line_events
from parley.model.room import RoomState

Style = Literal["empathic", "factual", "empty"]
STYLES: tuple[Style, ...] = get_args(Style)
EMPATHIC, FACTUAL, EMPTY = STYLES


def own_words(language: Language) -> Language:
    """Return the prompts and short texts of the study in a language."""
    return language_of_study(language, Path(__file__).parent)


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

    wordless: ClassVar[str] = "guidance says a text in a style: use message with value=0 to 10"
    says_unvalued = True
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
        style_text = {EMPATHIC: self.empathic, FACTUAL: self.factual}.get(self.style, "")
        return style_text or own_words(topic.language).prompt(f"guidance_{self.style}").text.strip()

    def in_words(self, whom: str) -> str:
        return f"{self.by or 'an official account'} speaks to {whom} ({self.style})"

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        topic = next(iter(room.members.values())).topic
        by = self.by or own_words(topic.language).words("official")
        yield line_events(room, agents, by, self.words(topic), form=self.style)
