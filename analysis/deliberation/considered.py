"""What mediators considered: candidates, predicted rankings and the choice, by room and round."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from parley.analysis.load import record_of
from parley.model import events
from parley.model.lines import read


@dataclass
class Considered:
    """One statement's candidates in the order of their numbers, the rankings, and the order that was chosen (if any)."""

    candidates: list[events.Proposed] = field(default_factory=list)
    rankings: list[events.Ranked] = field(default_factory=list)
    chosen: events.Chosen | None = None


def considered(run: Path) -> dict[tuple[str, int], Considered]:
    """By room and round; nothing for mediators that write one statement. Errors: UserError when there is no record."""
    return weighed(read(record_of(run)))


def weighed(record: Iterable[events.Event]) -> dict[tuple[str, int], Considered]:
    """The same of a record's events."""
    found: dict[tuple[str, int], Considered] = defaultdict(Considered)
    for event in record:
        if isinstance(event, events.Proposed):
            found[event.room, event.round].candidates.append(event)
        elif isinstance(event, events.Ranked):
            found[event.room, event.round].rankings.append(event)
        elif isinstance(event, events.Chosen):
            found[event.room, event.round].chosen = event
    return dict(found)


def unanswered(run: Path) -> tuple[int, Counter[str]]:
    """How many items of the questionnaire were asked, and why some have no answer."""
    asked = [event for event in read(record_of(run)) if isinstance(event, events.Answered)]
    return len(asked), Counter(str(event.reason) for event in asked if event.answer is None)
