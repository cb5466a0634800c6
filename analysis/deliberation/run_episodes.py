"""Episodes of a run: what a record says of its private deliberations, in the form of analysis/deliberation/episode.py.

What mediators considered: candidates, predicted rankings and the choice, by room and round.

Runs in which representatives wrote critiques: which ones, and how those they stood in for agree with what came of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import numpy as np

from parley.agents.question import Question, questionnaire
from parley.analysis import disclaimers
from parley.analysis.bootstrap import Floats, mean_interval
from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice
from parley.analysis.formatting import count_phrase, count_table, format_estimate, markdown_table
from parley.analysis.tables import Tables, record_of
from parley.llm.errors import UserError
from parley.model import events
from parley.model.recorder import read_lines
from parley.model.scenario import MEDIATOR


@dataclass
class MediatorChoice:
    """One statement's candidates in the order of their numbers, the rankings, and the order that was chosen (if any)."""

    candidates: list[events.Proposed] = field(default_factory=list)
    rankings: list[events.Ranked] = field(default_factory=list)
    chosen: events.Chosen | None = None


def mediator_choices(run: Path) -> dict[tuple[str, int], MediatorChoice]:
    """By room and round; nothing for mediators that write one statement. Errors: UserError when there is no record."""
    return candidate_table(read_lines(record_of(run)))


def candidate_table(record: Iterable[events.Event]) -> dict[tuple[str, int], MediatorChoice]:
    """The same of a record's events."""
    found: dict[tuple[str, int], MediatorChoice] = defaultdict(MediatorChoice)
    for event in record:
        if isinstance(event, events.Proposed):
            found[event.room, event.round].candidates.append(event)
        elif isinstance(event, events.Ranked):
            found[event.room, event.round].rankings.append(event)
        elif isinstance(event, events.Chosen):
            found[event.room, event.round].chosen = event
    return dict(found)


def unanswered_calls(run: Path) -> tuple[int, Counter[str]]:
    """How many items of the questionnaire were asked, and why some have no answer."""
    asked = [event for event in read_lines(record_of(run)) if isinstance(event, events.Answered)]
    return len(asked), Counter(str(event.reason) for event in asked if event.answer is None)


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


def episodes_of_run(run: Path) -> tuple[Episode, ...]:
    """The episodes of a run folder or a record; see `episodes_of_events`. Errors: UserError when there is none."""
    return episodes_of_events(read_lines(record_of(run)), str(run))


def episodes_of_events(record: Iterable[events.Event], run: str = "this run") -> tuple[Episode, ...]:
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
        elif header and (place := rooms.get(getattr(event, "room", ""))):
            place.note(event, str(header.scenario["probe"]))
    kept = [room for room in rooms.values() if room.mediator is not None]
    if header is None or not kept:
        raise UserError(f"{run} holds no private deliberations")
    source, why = disclaimers.model_label(header), NOT_ASKED if ended else UNFINISHED
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


WRITTEN = "represented"
"""Why a participant's own critique is missing: its representative wrote one."""
Stood = Mapping[tuple[str, int], events.Represented]
"""By room and turn: whose critique is a representative's, and what that was told."""


def written_critiques(run: Path) -> dict[tuple[str, int], events.Represented]:
    """Every critique of a run that a representative wrote. Errors: UserError when there is no record."""
    return position_before(read_lines(record_of(run)))


def position_before(record: Iterable[events.Event]) -> dict[tuple[str, int], events.Represented]:
    """The same of a record's events."""
    found = [event for event in record if isinstance(event, events.Represented)]
    return {(event.room, event.iteration): event for event in found}


def representation_lines(tables: Tables, episodes: Sequence[Episode], stood: Stood) -> Iterator[str]:
    """What the summary says of them; nothing where nobody was represented."""
    if not stood:
        return
    turns = tables.utterances
    theirs = turns[[key in stood for key in zip(turns["room"], turns["iteration"], strict=True)]]
    silent = theirs.loc[theirs["text"].isna(), "reason"]
    knows = next(iter(stood.values())).knows or "the base"
    yield "## Representatives\n"
    yield (
        f"{count_phrase(len(stood), 'critique')} in {count_phrase(theirs['room'].nunique(), 'episode')} "
        f"by representatives, told {knows} "
        f"(silent: {count_table(silent) or 'none'}). They are nobody's own words: in `episodes.jsonl` the critique of who was "
        f"represented is missing, with the reason `{WRITTEN}`.\n"
    )
    header = ["those represented", "represented", "before, writing themselves", "difference", "groups"]
    yield markdown_table(header, [_row(name, episodes) for name in MEASURES]) + "\n"
    yield (
        "The same people in the episodes of a session before, which are on other questions, drawn by lot; 95% intervals over "
        "groups. On the very same questions: the same command with `--set represented=none`.\n"
    )


def _agreement(voice: Voice) -> float | None:
    return voice.agreement.get(REVISION)


def _gain(voice: Voice) -> float | None:
    draft, revision = (voice.agreement.get(name) for name in STATEMENTS)
    return None if draft is None or revision is None else revision - draft


MEASURES = {"agreement with the revision (1-7)": _agreement, "revision less draft": _gain}


def representation_means(name: str, episodes: Sequence[Episode]) -> list[tuple[float, float]]:
    """A measure of those represented, a pair a session: with a representative, and before. Who lacks one of them is left out."""
    with_, before = (_by_person(name, episodes, own) for own in (False, True))
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for key in with_.keys() & before.keys():
        found[key[0]].append((fmean(with_[key]), fmean(before[key])))
    return [(fmean(one for one, _ in pairs), fmean(other for _, other in pairs)) for _, pairs in sorted(found.items())]


def _by_person(name: str, episodes: Sequence[Episode], own: bool) -> dict[tuple[str, str], list[float]]:
    """The values by session and participant, of episodes in which it wrote for itself (`own`) or was represented."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for episode in episodes:
        for voice in episode.voices:
            value = MEASURES[name](voice)
            if value is not None and (voice.reasons.get("critique") != WRITTEN) == own:
                found[episode.session, voice.participant].append(value)
    return found


def _row(name: str, episodes: Sequence[Episode]) -> list[str]:
    pairs = np.array(representation_means(name, episodes)).reshape(-1, 2)
    columns = {"with": pairs[:, 0], "before": pairs[:, 1], "gap": pairs[:, 0] - pairs[:, 1]}
    told = [_told(values) for values in columns.values()] if len(pairs) else ["–"] * 3
    return [name, *told, str(len(pairs))]


def _told(values: Floats) -> str:
    return format_estimate(float(values.mean()), *mean_interval(values))
