"""A log as a run folder: its rows as the events of a record, after a header that says what is known, and what is not.

Topics and questions of a log get the name `log: ...`, so that no topic or question of Parley with the same name is taken for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from parley.agents.act_names import ACTS
from parley.analysis.formatting import strip_controls
from parley.analysis.logs.log import UNKNOWN, Line, Log, Person, Rating
from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.model import events
from parley.model.events import Event, Header
from parley.model.files import RECORD, file_errors
from parley.model.recorder import FileRecorder
from parley.model.run_folder import code_revision, package_versions

Key = tuple[str, str]
LONGEST = 80
LAST = 1_000_000
AGENT = "agent"
"""The party of people of whom a log says none."""
OUTSIDE = "outside the scale"


def write_run(log: Log, files: Sequence[Path], form: str, folder: Path) -> Path:
    """Write the log as the record of a new run folder; return the folder. Errors: UserError if the folder is not empty."""
    with file_errors(f"cannot use the folder {folder}"):
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder} is not empty: give another --out")
        written = list(record_events(log, files, form))
        folder.mkdir(parents=True, exist_ok=True)
    recorder = FileRecorder(folder / RECORD)
    recorder.write(written)
    recorder.close()
    return folder


def record_events(log: Log, files: Sequence[Path], form: str) -> Iterator[Event]:
    """Yield the events of a log. files: what was read, for the header. Errors: UserError on a log without people."""
    if not log.people:
        raise UserError(f"no person in {files[0]} rates, speaks or acts, so there is nothing to read")
    rooms: dict[str, list[Person]] = defaultdict(list)
    for person in log.people:
        rooms[person.room].append(person)
    numbers = Numbers({(person.room, person.name): number for number, person in enumerate(log.people, 1)})
    if len(numbers) < len(log.people):
        raise UserError(
            f"{files[0]}: two people of one room have the same name; a format must give each a different name"
        )
    last = max(
        (record.round for rows in (log.ratings, log.lines, log.deeds, log.links, log.uses) for record in rows),
        default=0,
    )
    if last > LAST:
        raise UserError(f"{files[0]} has round {last:.4g}, but Parley reads only rounds up to {LAST:,}")
    seated = list(_seats(log, rooms, numbers, files[0].stem))
    yield _header(log, files, form, seated)
    yield from seated
    for person in log.people:
        if person.model and person.model != log.model:
            yield events.OwnModel(numbers[person.room, person.name], person.room, person.model)
    yield from _all_rounds(log, numbers)


class Numbers(dict[Key, int]):
    """The number of each person, by room and name. Errors: UserError for someone who is not among the people of the log."""

    def __missing__(self, key: Key) -> int:
        raise UserError(
            f"the log names {key[1]} in room {key[0]}, but {key[1]} is not among the people of the log: `read` must "
            "list all people"
        )


def question_name(log: Log, question: str) -> str:
    """Return the name of a question, or of a topic, in the record: `log: trust`."""
    return question if log.topics_of_parley else f"log: {short_name(question)}"


def short_name(name: str) -> str:
    """Return a name on one line; a very long one is cut, with a digest in place of the rest."""
    name = strip_controls(name).strip()
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}... {digest([name]).hex()[:6]}"


def _header(log: Log, files: Sequence[Path], form: str, seated: Sequence[events.Seated]) -> Header:
    """Return the header: what the log says, and who read it."""
    last = max([0, *(record.round for rows in (log.ratings, log.lines, log.deeds) for record in rows)])
    questions = list(dict.fromkeys(rating.question for rating in log.ratings))
    parts = Counter((topic, group) for topic, group, _ in {(seat.topic, seat.group, seat.room) for seat in seated})
    names = ", ".join(path.name for path in files)
    scenario: dict[str, Any] = {
        "name": short_name(files[0].stem),
        "title": f"A log recorded by {strip_controls(log.by)}, read by Parley",
        "source": strip_controls(names),
        "topic": list(dict.fromkeys(seat.topic for seat in seated)),
        "repetitions": max(parts.values()),
        "rounds": last,
        "survey": "rounds" if log.main else "never",
        "probe": question_name(log, log.main) if log.main else "",
        "also": [question_name(log, question) for question in questions if question != log.main],
        "scales": {question_name(log, name): list(scale) for name, scale in log.scales.items()},
        "llm": strip_controls(log.model) or UNKNOWN,
        "llms": [],
        "seed": strip_controls(log.seed) or UNKNOWN,
        "options": {},
        "environment": "",
        "society": "",
    }
    model = {
        "backend": events.LOG,
        "format": form,
        "recorded_by": strip_controls(log.by),
        "read_by": f"parley {package_versions().get('parley-debates', '')}, {code_revision()}".replace(" ,", ","),
        "topics": "parley" if log.topics_of_parley else "log",
        "lacks": {what: strip_controls(why) for what, why in log.lacks.items()},
    }
    parties = {} if log.topics_of_parley else {seat.party: _words(seat.party) for seat in seated}
    return Header(events.SCHEMA, scenario, (), model, {}, _digest(files), UNKNOWN, dict(log.versions), parties=parties)


def _words(party: str) -> dict[str, str]:
    """Return what one and several people of a party are called: `left agent`, `Agents of left`."""
    if party == AGENT:
        return {"name": "Agent", "plural": "Agents"}
    return {"name": party, "plural": f"Agents of {party}"}


def _digest(files: Sequence[Path]) -> str:
    """Return a digest of the files; of a folder, of the names and sizes of its files."""
    with file_errors(f"cannot read {files[0]}"):
        parts = [
            [(str(path.relative_to(file)), path.stat().st_size) for path in sorted(file.rglob("*")) if path.is_file()]
            if file.is_dir()
            else file.read_bytes().hex()
            for file in files
        ]
    return digest(parts).hex()


def _seats(log: Log, rooms: dict[str, list[Person]], numbers: Numbers, stem: str) -> Iterator[events.Seated]:
    """Yield the seat of each person: the one that the log names, or its party with a number, as in `labour 2`."""
    repetitions: Counter[Key] = Counter()
    for room, people in rooms.items():
        first, taken = people[0], Counter[str]()
        topic = question_name(log, first.topic or stem)
        group = short_name(first.group) or AGENT
        for person in people:
            party = short_name(person.party) or AGENT
            taken[party] += 1
            numbered = party if taken[party] == 1 else f"{party} {taken[party]}"
            yield events.Seated(
                numbers[person.room, person.name], room, topic, group, repetitions[topic, group],
                short_name(person.seat) or numbered, party, "", strip_controls(person.name),
            )  # fmt: skip
        repetitions[topic, group] += 1


def _all_rounds(log: Log, numbers: Numbers) -> Iterator[Event]:
    """Yield what happens, round by round; in a round first links, then calls, lines and acts, then ratings."""
    turns = Turns(log.lines)
    by_round: dict[int, list[Event]] = defaultdict(list)
    for event in (
        *_links(log, numbers),
        *_calls(log, numbers),
        *turns.utterances(numbers),
        *_acts(log, numbers, turns),
    ):
        by_round[event.round].append(event)
    for rated in _ratings(log, numbers, turns):
        by_round[rated.round].append(rated)
    written = [event for round_ in sorted(by_round) for event in by_round[round_]]
    yield from written
    yield events.Ended(max(by_round, default=0), len(written))


class Turns:
    """The lines of a log, numbered from 1 in each room by round; the posts by their key."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._rounds: dict[str, list[int]] = defaultdict(list)
        self._lines: list[tuple[Line, int]] = []
        self._posts: dict[Key, int] = {}
        for line in sorted(lines, key=lambda line: line.round):
            self._rounds[line.room].append(line.round)
            turn = len(self._rounds[line.room])
            self._lines.append((line, turn))
            if line.key:
                self._posts[line.room, line.key] = turn

    def until(self, room: str, round_: int) -> int:
        """Return how many lines a room has up to the end of a round."""
        return bisect_right(self._rounds.get(room, []), round_)

    def post(self, room: str, key: str) -> int | None:
        """Return the turn of a post; None if the log has no such post."""
        return self._posts.get((room, key))

    def utterances(self, numbers: Numbers) -> Iterator[events.Utterance]:
        for line, turn in self._lines:
            agent = numbers[line.room, line.name]
            yield events.Utterance(line.room, line.round, turn, agent, line.text, line.reason, form=line.form)


def _links(log: Log, numbers: Numbers) -> Iterator[events.Linked]:
    pairs: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for link in log.links:
        pairs[link.room, link.round].append((numbers[link.room, link.source], numbers[link.room, link.target]))
    for (room, round_), linked in pairs.items():
        yield events.Linked(room, round_, tuple(linked))


def _calls(log: Log, numbers: Numbers) -> Iterator[events.Called]:
    for number, use in enumerate(log.uses, 1):
        counted = use.prompt_tokens is not None and use.completion_tokens is not None
        agent, notes = numbers[use.room, use.name], {} if counted else {"uncounted": 1}
        tokens = use.prompt_tokens or 0, use.completion_tokens or 0
        yield events.Called(use.room, use.round, agent, use.purpose, f"log:{number}", use.failure, *tokens, notes)


def _acts(log: Log, numbers: Numbers, turns: Turns) -> Iterator[events.Acted]:
    """Yield the acts. An act whose post the log lacks has a reason and no target. Errors: UserError on an unknown act."""
    for deed in log.deeds:
        if deed.act not in ACTS:
            act_names = ", ".join(ACTS)
            raise UserError(f"{deed.act!r} is no act that Parley knows: a format translates acts to one of {act_names}")
        written, target = turns.post(deed.room, deed.written), turns.post(deed.room, deed.target)
        at = written if written is not None else turns.until(deed.room, deed.round)
        reason = "the post is not in the log" if deed.target and target is None else None
        yield events.Acted(deed.room, deed.round, at, numbers[deed.room, deed.name], deed.act, reason, target)


def _ratings(log: Log, numbers: Numbers, turns: Turns) -> Iterator[events.Rated]:
    """Yield the ratings. Errors: UserError if someone answers a question twice in a round."""
    seen = set()
    for rating in log.ratings:
        if (key := (rating.room, rating.name, rating.round, rating.question)) in seen:
            raise UserError(
                f"{rating.name} answers {rating.question} twice in room {rating.room}, round {rating.round}: name the columns "
                "that tell these answers apart, such as room or round (docs/files.md)"
            )
        seen.add(key)
        yield _rated(log, rating, numbers[rating.room, rating.name], turns.until(rating.room, rating.round))


def _rated(log: Log, rating: Rating, agent: int, turn: int) -> events.Rated:
    """Return a rating as an event. A number outside the scale is missing, with its reason; it stays in `raw`."""
    scale, value, reason = log.scales.get(rating.question), rating.value, rating.reason
    if scale and value is not None and rating.attitude is None and not scale.low <= value <= scale.high:
        value, reason = None, OUTSIDE
    attitude = scale.attitude(value) if scale and value is not None else None
    attitude = attitude if rating.attitude is None else rating.attitude
    raw = rating.raw if rating.raw is not None or rating.value is None else f"{rating.value:g}"
    name = question_name(log, rating.question)
    return events.Rated(
        rating.room,
        rating.round,
        turn,
        agent,
        name,
        value,
        attitude,
        rating.expected,
        rating.probabilities,
        reason,
        raw,
        "log",
        1,
    )
