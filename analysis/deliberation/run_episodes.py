"""Reads the private deliberations of a record: episodes, what mediators considered, and what representatives wrote."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from parley.agents.mediators import open_mediator
from parley.agents.question import Question, questionnaire
from parley.agents.representative import BALLOT
from parley.agents.society import US, Society, load_society
from parley.analysis import disclaimers
from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice
from parley.analysis.rating_value import RATING
from parley.llm.errors import UserError
from parley.model import events
from parley.model.recorder import read_lines
from parley.model.scenario import MEDIATOR
from parley.model.scenario_run import record_of

DRAFT, REVISION = STATEMENTS
OPINION, CRITIQUE = "opinion", "critique"
FIRST_REVISION = 2
"""The round of the first revision; ratings of later revisions have the round in their name."""
USUAL = "schulze"
"""The rule of choice of a mediator that names none."""
NOT_ASKED, UNFINISHED = "not_asked", "unfinished"
"""Reasons that the record does not state: the scenario did not ask for it, or the run was stopped before."""
WRITTEN = "represented"
"""Reason why a participant's own opinion, critique, ballot or vote is missing: a representative gave one instead."""
Represented = Mapping[tuple[str, int], events.Represented]
"""The texts of representatives, by room and turn."""


@dataclass
class MediatorChoice:
    """How a mediator chose a statement: candidates by number, predicted and own rankings, and the order chosen (if any).

    represented: the members whose own ranking their representative gave.
    """

    candidates: list[events.Proposed] = field(default_factory=list)
    rankings: list[events.Ranked] = field(default_factory=list)
    own: list[events.Balloted] = field(default_factory=list)
    chosen: events.Chosen | None = None
    represented: set[int] = field(default_factory=set)


Choices = Mapping[tuple[str, int], MediatorChoice]


def run_names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each path: its last part, with as many folders before it as it takes until all names differ.

    Errors: UserError for a path that is given twice.

    >>> run_names([Path("/a/run"), Path("/b/run")])
    ['a/run', 'b/run']
    """
    folders, length = [path.resolve() for path in paths], 1
    twice, times = Counter(folders).most_common(1)[0]
    if times > 1:
        raise UserError(f"{twice} is given more than once: give each path only once")
    while len(set(names := ["/".join(folder.parts[-length:]) for folder in folders])) < len(paths):
        length += 1
    return names


def mediator_choices(record: Iterable[events.Event]) -> dict[tuple[str, int], MediatorChoice]:
    """Return the mediators' choices by room and round; empty for mediators that write a single statement."""
    choices: dict[tuple[str, int], MediatorChoice] = defaultdict(MediatorChoice)
    for event in record:
        if isinstance(event, events.Proposed):
            choices[event.room, event.round].candidates.append(event)
        elif isinstance(event, events.Ranked):
            choices[event.room, event.round].rankings.append(event)
        elif isinstance(event, events.Balloted):
            choices[event.room, event.round].own.append(event)
        elif isinstance(event, events.Chosen):
            choices[event.room, event.round].chosen = event
        elif isinstance(event, events.Represented) and event.form == BALLOT:
            choices[event.room, event.round].represented.add(event.agent)
    return dict(choices)


def rule_of(mediator: str) -> str:
    """Return the rule of choice of a mediator, by its specification; the usual one of a mediator without the option."""
    return str(getattr(open_mediator(mediator), "rule", USUAL))


def represented_texts(record: Iterable[events.Event]) -> dict[tuple[str, int], events.Represented]:
    """Return what representatives wrote, by room and turn: opinions and critiques, no ballots or votes."""
    written = (event for event in record if isinstance(event, events.Represented) and event.form in (OPINION, CRITIQUE))
    return {(event.room, event.iteration): event for event in written}


def unanswered_items(record: Iterable[events.Event]) -> tuple[int, Counter[str]]:
    """Return how many items of the questionnaire were asked, and why some have no answer."""
    item_answers = [event for event in record if isinstance(event, events.Answered)]
    return len(item_answers), Counter(str(event.reason) for event in item_answers if event.answer is None)


def episodes_of_run(run: Path) -> tuple[Episode, ...]:
    """Return the episodes of a run folder or a record; see `episodes_of_events`."""
    return episodes_of_events(read_lines(record_of(run)), str(run))


def episodes_of_events(record: Iterable[events.Event], run: str = "this run") -> tuple[Episode, ...]:
    """Return the episodes of a record's events, room by room.

    A participant is a persona. The critique is that of the draft; the revision is the last one that has a text, with
    its ratings. What is missing has the record's reason, or "not_asked" (the scenario did not ask for it), "unfinished"
    (the run was stopped before), "represented" (a representative wrote the opinion or critique). Errors: UserError when the
    record has no private deliberations.
    """
    rooms: dict[str, _Room] = {}
    header, ended = None, False
    for event in record:
        if isinstance(event, events.Header):
            header = event
        elif isinstance(event, events.Posed):
            rooms[event.room] = _Room(event, str(header.scenario["society"]) if header else US)
        elif isinstance(event, events.Ended):
            ended = True
        elif header and (room := rooms.get(getattr(event, "room", ""))):
            room.add(event, str(header.scenario["probe"]))
    mediated = [room for room in rooms.values() if room.mediator is not None]
    if header is None or not mediated:
        raise UserError(
            f"{run} has no private deliberations: choose a run of the scenario consensus or representatives"
        )
    source, default_reason = disclaimers.model_label(header), NOT_ASKED if ended else UNFINISHED
    demographics = _demographics(mediated, load_society(str(header.scenario["society"])))
    return tuple(room.episode(demographics, source, default_reason) for room in mediated)


def measured_episodes(record: Iterable[events.Event], run: str = "this run") -> tuple[Episode, ...]:
    """Return the episodes with opinions in place of answers: the mean of the distribution of each rating, from 1 to 7.

    The likeliest answer jumps from 4 to 1 where the distribution is flat (analysis/rating_value.py). One question has one
    measure: where a model of the run gives no distribution, or the scenario says `measure=rating`, its answers stay.
    """
    record_events = list(record)
    answers = [event for event in record_events if isinstance(event, events.Rated) and event.rating is not None]
    whole = {event.probe for event in answers if event.probabilities is None}
    if any(isinstance(event, events.Header) and event.scenario.get("measure") == RATING for event in record_events):
        whole = {event.probe for event in answers}
    means = [
        replace(event, rating=_mean_answer(event.probabilities or ()))
        if isinstance(event, events.Rated) and event.rating is not None and event.probe not in whole
        else event
        for event in record_events
    ]
    return episodes_of_events(means, run)


def _mean_answer(shares: Sequence[float]) -> float:
    """Return the mean of a distribution over the answers from 1 on."""
    return sum(answer * share for answer, share in enumerate(shares, 1)) / sum(shares)


@dataclass
class _Room:
    """The events of one room: utterances by agent and form, ratings by agent and what they rate, answers about oneself.

    Of critiques the first is kept (that of the draft, silent or not), of revisions the last that has a text.
    """

    posed: events.Posed
    society: str
    members: list[events.Seated] = field(default_factory=list)
    mediator: int | None = None
    utterances: dict[tuple[int, str], events.Utterance] = field(default_factory=dict)
    ratings: dict[tuple[int, str], events.Rated] = field(default_factory=dict)
    answers: list[events.Answered] = field(default_factory=list)
    represented: set[tuple[int, str]] = field(default_factory=set)

    def add(self, event: events.Event, probe: str) -> None:
        if isinstance(event, events.Seated) and event.party == MEDIATOR:
            self.mediator = event.agent
        elif isinstance(event, events.Seated):
            self.members.append(event)
        elif isinstance(event, events.Utterance):
            first = self.utterances.setdefault((event.agent, event.form), event)
            if event.form == REVISION and (event.text is not None or first.text is None):
                self.utterances[event.agent, event.form] = event
        elif isinstance(event, events.Rated):
            name = event.probe if event.probe != probe else "after" if event.round else "position"
            self.ratings[event.agent, name] = event
        elif isinstance(event, events.Answered):
            self.answers.append(event)
        elif isinstance(event, events.Represented):
            self.represented.add((event.agent, event.form))

    def statement(self, form: str) -> events.Utterance | None:
        """Return the draft, or the last revision that has a text."""
        return self.utterances.get((self.mediator or 0, form))

    def rating(self, agent: int, form: str) -> events.Rated | None:
        """Return the last rating of that very statement, not of another revision."""
        statement = self.statement(form)
        round_ = f" {statement.round}" if statement and statement.round > FIRST_REVISION else ""
        return self.ratings.get((agent, f"{form}{round_}")) if statement and statement.text is not None else None

    def episode(self, answers: Mapping[tuple[str, str], dict[str, str]], source: str, default_reason: str) -> Episode:
        posed, reasons = self.posed, dict[str, str]()
        draft, revision = (_known(self.statement(form), form, default_reason, reasons) for form in STATEMENTS)
        question = Question(
            posed.id, posed.question, posed.statement, posed.against, posed.topic, posed.split, self.society
        )
        voices = tuple(
            self._voice(member, answers.get((posed.session, member.persona), {}), reasons, default_reason)
            for member in self.members
        )
        return Episode(posed.room, posed.session, question, voices, draft, revision, source, reasons)

    def _voice(
        self, member: events.Seated, demographics: Mapping[str, str], missing: Mapping[str, str], default_reason: str
    ) -> Voice:
        """missing: why the episode has no draft or revision, which is also why its ratings are missing."""
        reasons, agent = dict[str, str](), member.agent
        opinion, critique = (self._own_text(agent, form, default_reason, reasons) for form in (OPINION, CRITIQUE))
        position, after = (
            _known(self.ratings.get((agent, name)), name, default_reason, reasons) for name in ("position", "after")
        )
        agreement = {
            name: _known(self.rating(agent, name), f"agreement.{name}", missing.get(name, default_reason), reasons)
            for name in STATEMENTS
        }
        return Voice(member.persona, opinion, critique, position, agreement, after, dict(demographics), reasons)

    def _own_text(self, agent: int, form: str, default_reason: str, reasons: dict[str, str]) -> Any:
        """Return the text that the participant wrote itself; None, with a reason, where a representative wrote one."""
        represented = (agent, form) in self.represented
        own_text = None if represented else self.utterances.get((agent, form))
        return _known(own_text, form, WRITTEN if represented else default_reason, reasons)


def _demographics(rooms: Iterable[_Room], society: Society) -> Mapping[tuple[str, str], dict[str, str]]:
    """Return the answers about oneself by session and participant, without those who would rather not say."""
    declined = {item.answers[-1] for item in questionnaire(society)}
    answers: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for room in rooms:
        personas = {member.agent: member.persona for member in room.members}
        for event in room.answers:
            if event.answer is not None and event.answer not in declined:
                answers[room.posed.session, personas[event.agent]][event.item] = event.answer
    return answers


def _known(
    event: events.Utterance | events.Rated | None, name: str, default_reason: str, reasons: dict[str, str]
) -> Any:
    """Return the text or rating of an event; if it is missing, note the event's reason, or else the default one."""
    value = None if event is None else event.text if isinstance(event, events.Utterance) else event.rating
    if value is None:
        reasons[name] = (event.reason if event else None) or default_reason
    return value
