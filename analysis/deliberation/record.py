"""Episodes of a run: what a record says of its private deliberations, in the form of analysis/deliberation/episode.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parley.agents.question import Question
from parley.agents.questionnaire import questionnaire
from parley.analysis import honesty
from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice
from parley.analysis.deliberation.represented import WRITTEN
from parley.analysis.load import record_of
from parley.llm.errors import UserError
from parley.model import events
from parley.model.lines import read
from parley.model.scenario import MEDIATOR

DRAFT, REVISION = STATEMENTS
OPINION, CRITIQUE = "opinion", "critique"
SECOND = 2
"""The round of the first revision; ratings of later ones are named by their round."""
NOT_ASKED, UNFINISHED = "not_asked", "unfinished"
"""Why something is missing that the record has no word on: the scenario did not ask for it, or the run was stopped before."""


@dataclass
class _Room:
    """What the record has of one room: utterances by agent and form, ratings by agent and what they rate, answers.

    Of critiques the first is kept (that of the draft, silent or not), of revisions the last that has a text.
    """

    posed: events.Posed
    members: list[events.Seated] = field(default_factory=list)
    mediator: int | None = None
    said: dict[tuple[int, str], events.Utterance] = field(default_factory=dict)
    rated: dict[tuple[int, str], events.Rated] = field(default_factory=dict)
    answered: list[events.Answered] = field(default_factory=list)
    represented: set[int] = field(default_factory=set)

    def note(self, event: events.Event, probe: str) -> None:
        """Keep an event."""
        if isinstance(event, events.Seated) and event.party == MEDIATOR:
            self.mediator = event.agent
        elif isinstance(event, events.Seated):
            self.members.append(event)
        elif isinstance(event, events.Utterance):
            kept = self.said.setdefault((event.agent, event.form), event)
            if event.form == REVISION and (event.text is not None or kept.text is None):
                self.said[event.agent, event.form] = event
        elif isinstance(event, events.Rated):
            self.rated[event.agent, _rates(event, probe)] = event
        elif isinstance(event, events.Answered):
            self.answered.append(event)
        elif isinstance(event, events.Represented):
            self.represented.add(event.agent)

    def statement(self, form: str) -> events.Utterance | None:
        """The draft, or the revision that is kept."""
        return self.said.get((self.mediator or 0, form))

    def rating(self, agent: int, form: str) -> events.Rated | None:
        """The last rating of that very statement: those of another revision do not count."""
        said = self.statement(form)
        later = f" {said.round}" if said and said.round > SECOND else ""
        return self.rated.get((agent, f"{form}{later}")) if said and said.text is not None else None


def from_record(run: Path) -> tuple[Episode, ...]:
    """The episodes of a run folder or a record; see `from_events`. Errors: UserError when there is none."""
    return from_events(read(record_of(run)), str(run))


def from_events(record: Iterable[events.Event], run: str = "this run") -> tuple[Episode, ...]:
    """The episodes of a record's events, room by room.

    A participant is its persona; the critique is that of the draft, the revision the last one that has a text, with its ratings.
    What is missing has its reason: that of the record, "not_asked" where the scenario did not ask for it, "unfinished" where
    the run was stopped before, "represented" for the critique of who did not write it.
    Errors: UserError when there are no private deliberations in it.
    """
    rooms: dict[str, _Room] = {}
    header, ended = None, False
    for event in record:
        if isinstance(event, events.Header):
            header = event
        elif isinstance(event, events.Posed):
            rooms[event.room] = _Room(event)
        elif isinstance(event, events.Ended):
            ended = True
        elif header and event.room in rooms:
            rooms[event.room].note(event, str(header.scenario["probe"]))
    kept = [room for room in rooms.values() if room.mediator is not None]
    if header is None or not kept:
        raise UserError(f"{run} holds no private deliberations")
    source, why = honesty.model(header), NOT_ASKED if ended else UNFINISHED
    told = _demographics(kept)
    return tuple(_episode(room, told, source, why) for room in kept)


def _rates(event: events.Rated, probe: str) -> str:
    """What a rating is of: position (before), after, draft, revision, "revision 3" (that of round 3), ..."""
    if event.probe == probe:
        return "after" if event.round else "position"
    return event.probe


def _demographics(rooms: Iterable[_Room]) -> Mapping[tuple[str, str], dict[str, str]]:
    """What was answered, by session and participant; who would rather not say has not answered."""
    declined = {item.answers[-1] for item in questionnaire()}
    told: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for room in rooms:
        people = {one.agent: one.persona for one in room.members}
        for event in room.answered:
            if event.answer is not None and event.answer not in declined:
                told[room.posed.session, people[event.agent]][event.item] = event.answer
    return told


def _episode(room: _Room, told: Mapping[tuple[str, str], dict[str, str]], source: str, why: str) -> Episode:
    posed, reasons = room.posed, dict[str, str]()
    draft, revision = (_text(room.statement(form), form, why, reasons) for form in STATEMENTS)
    question = Question(posed.id, posed.question, posed.statement, posed.against, posed.topic, posed.split)
    voices = tuple(_voice(room, one, told.get((posed.session, one.persona), {}), reasons, why) for one in room.members)
    return Episode(posed.room, posed.session, question, voices, draft, revision, source, reasons)


def _voice(
    room: _Room, one: events.Seated, demographics: Mapping[str, str], missing: Mapping[str, str], why: str
) -> Voice:
    reasons: dict[str, str] = {}
    opinion = _text(room.said.get((one.agent, OPINION)), OPINION, why, reasons)
    own = None if one.agent in room.represented else room.said.get((one.agent, CRITIQUE))
    critique = _text(own, CRITIQUE, WRITTEN if one.agent in room.represented else why, reasons)
    position, after = (_rating(room.rated.get((one.agent, name)), name, why, reasons) for name in ("position", "after"))
    agreement = {
        name: _rating(room.rating(one.agent, name), f"agreement.{name}", missing.get(name, why), reasons)
        for name in STATEMENTS
    }
    return Voice(one.persona, opinion, critique, position, agreement, after, dict(demographics), reasons)


def _text(event: events.Utterance | None, name: str, why: str, reasons: dict[str, str]) -> str | None:
    if event is None or event.text is None:
        reasons[name] = (event.reason if event else None) or why
    return event.text if event else None


def _rating(event: events.Rated | None, name: str, why: str, reasons: dict[str, str]) -> float | None:
    if event is None or event.rating is None:
        reasons[name] = (event.reason if event else None) or why
    return event.rating if event else None
