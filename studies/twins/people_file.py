"""Recorded people in one long table: a row for each message, answer or attribute.

| column | meaning |
|---|---|
| person | a name or number, which no prompt contains |
| kind | `attribute`, `answer`, `message`, or `given`: a text that a group sees and no recorded person wrote, such as a draft |
| topic | the name of the attribute, the question that was answered, or what the message is about |
| value | the value of the attribute, or the number of the answer |
| text | the message |
| lowest, highest | the ends of the answer's scale |
| labels | the words of the scale from low to high, joined by `|` (optional) |
| order | a whole number: events with a smaller number were before (optional; default: the order of the rows) |
| group | the conversation in which it happened; people of one group hear each other (optional) |
| wave | 2 for an answer given again later, such as after a week (optional; default: 1) |
| private | `yes` for a message that no one else in the group saw (optional) |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import pandas as pd

from parley.analysis.table_files import read_table
from parley.llm.errors import UserError
from parley.llm.seeding import digest, stream

PAGE = "studies/twins/README.md"
ATTRIBUTE, ANSWER, MESSAGE, GIVEN = KINDS = ("attribute", "answer", "message", "given")
NEEDED = ("person", "kind", "topic", "value", "text")
COLUMNS = (*NEEDED, "lowest", "highest", "labels", "order", "group", "wave", "private")
NUMBERS = ("lowest", "highest", "order", "wave")
SEPARATOR = "|"


class Scale(NamedTuple):
    """The scale of an answer: its ends, and the words of its points from low to high (none: it has numbers)."""

    low: float
    high: float
    labels: tuple[str, ...] = ()

    def share(self, value: float) -> float:
        """Return where a value lies on the scale, from 0 to 1.

        >>> Scale(1, 5).share(2)
        0.25
        """
        return (value - self.low) / (self.high - self.low)


class Event(NamedTuple):
    """Something that a person said, answered or is. value: of an answer, from 0 to 1; text: of a message or an attribute."""

    person: str
    kind: str
    topic: str
    value: float = 0.0
    text: str = ""
    scale: Scale = Scale(0, 1)
    order: int = 0
    group: str = ""
    wave: int = 1
    private: bool = False


@dataclass(frozen=True)
class RecordedPeople:
    """Everything in a file of people, in its order. missing: rows without a value or text, by kind, which are left out."""

    name: str
    events: tuple[Event, ...]
    missing: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def by_person(self) -> Mapping[str, tuple[Event, ...]]:
        """The events of each person; `given` texts are of no person."""
        return _grouped([event for event in self.events if event.kind != GIVEN], lambda event: event.person)

    @cached_property
    def by_group(self) -> Mapping[str, tuple[Event, ...]]:
        """The events of each group that is named."""
        named = [event for event in self.events if event.group]
        return _grouped(named, lambda event: event.group)

    @cached_property
    def answers_by_topic(self) -> Mapping[str, tuple[Event, ...]]:
        """The answers to each question."""
        return _grouped([event for event in self.events if event.kind == ANSWER], lambda event: event.topic)

    @cached_property
    def digest(self) -> str:
        """Identifies the events."""
        return digest(*map(repr, self.events)).hex()

    def only(self, people: Collection[str]) -> RecordedPeople:
        """Return the same file with these people alone."""
        groups = {event.group for event in self.events if event.person in people and event.kind != GIVEN}
        kept = [
            event for event in self.events if (event.group in groups if event.kind == GIVEN else event.person in people)
        ]
        return replace(self, events=tuple(kept))

    def drawn(self, count: int, seed: int) -> RecordedPeople:
        """Return whole clusters, drawn with the seed, until they have `count` people or more; all if there are no more."""
        chunks = _members(self.clusters)
        stream(seed, "recorded people").shuffle(chunks)
        kept: set[str] = set()
        for chunk in chunks:
            if len(kept) < count:
                kept.update(chunk)
        return self.only(kept)

    def halves(self, seed: int) -> tuple[RecordedPeople, RecordedPeople]:
        """Return two halves that share no person and no group, drawn with the seed. Errors: UserError below two clusters."""
        chunks = _members(self.clusters)
        if len(chunks) < 2:
            raise UserError(
                f"{self.name} cannot be split by person: all people are linked by groups that they share. Add people of other "
                "groups, or leave out --train"
            )
        stream(seed, "halves of recorded people").shuffle(chunks)
        sides: tuple[set[str], set[str]] = (set(), set())
        for chunk in sorted(chunks, key=len, reverse=True):
            min(sides, key=len).update(chunk)
        first, second = (self.only(side) for side in sides)
        return first, second

    @cached_property
    def clusters(self) -> Mapping[str, str]:
        """The cluster of each person: people who share a group, directly or through others, are one cluster."""
        graph = nx.Graph()
        graph.add_nodes_from(("person", person) for person in self.by_person)
        graph.add_edges_from(
            (("person", event.person), ("group", event.group))
            for events in self.by_person.values()
            for event in events
            if event.group
        )
        chunks = [sorted(name for kind, name in chunk if kind == "person") for chunk in nx.connected_components(graph)]
        return {person: chunk[0] for chunk in chunks for person in chunk}


def _members(clusters: Mapping[str, str]) -> list[list[str]]:
    """Return the people of each cluster."""
    members: dict[str, list[str]] = {}
    for person, cluster in clusters.items():
        members.setdefault(cluster, []).append(person)
    return [members[cluster] for cluster in sorted(members)]


def _grouped(events: Iterable[Event], key: Callable[[Event], str]) -> dict[str, tuple[Event, ...]]:
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(key(event), []).append(event)
    return {name: tuple(members) for name, members in groups.items()}


def read_people(path: Path) -> RecordedPeople:
    """Read a table of recorded people. Errors: UserError in one line, with the row and what to change."""
    table = read_table(path, NEEDED, PAGE, filled=("person", "kind", "topic"), numbers=NUMBERS)
    rows = table.to_dict("records")
    missing = Counter[str]()
    events: list[Event] = []
    for place, (row_number, row) in enumerate(zip(table.index, rows, strict=True)):
        if (event := _event(row, place, f"{path}, row {row_number}")) is None:
            missing[str(row["kind"])] += 1
        else:
            events.append(event)
    _refuse_twice(events, path)
    if not any(event.kind in (ANSWER, MESSAGE) for event in events):
        raise UserError(
            f"{path} has no answer and no message, so nothing can be predicted: add rows with kind answer or message"
        )
    return RecordedPeople(path.name, tuple(events), dict(missing))


def _event(row: Mapping[Hashable, Any], place: int, where: str) -> Event | None:
    """Return the event of a row; None if its value or text is missing. Errors: UserError."""
    kind = row["kind"]
    if kind not in KINDS:
        raise UserError(f"{where}: kind is {kind!r}, but must be {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    base = Event(
        row["person"], kind, row["topic"], order=_whole(row, "order", place, where), group=row.get("group", ""),
        wave=_whole(row, "wave", 1, where), private=_flag(row.get("private", ""), where),
    )  # fmt: skip
    text = row["text"] if kind in (MESSAGE, GIVEN) else row["value"]
    if not text:
        return None
    return _answer(base, row, where) if kind == ANSWER else base._replace(text=text)


def _answer(event: Event, row: Mapping[Hashable, Any], where: str) -> Event:
    low, high = row.get("lowest"), row.get("highest")
    if low is None or high is None or not low < high:
        raise UserError(
            f"{where}: an answer needs the ends of its scale: fill in lowest and highest, lowest below highest"
        )
    try:
        value = float(row["value"])
    except ValueError:
        raise UserError(f"{where}: value is {row['value']!r}, not a number from {low:g} to {high:g}") from None
    if not low <= value <= high:
        raise UserError(
            f"{where}: the answer {value:g} is not between lowest {low:g} and highest {high:g}: correct one of the "
            "three values"
        )
    labels = tuple(word.strip() for word in row.get("labels", "").split(SEPARATOR) if word.strip())
    if len(labels) == 1 or len(set(labels)) < len(labels):
        raise UserError(f"{where}: labels must be two or more different words joined by {SEPARATOR}, or empty")
    scale = Scale(low, high, labels)
    return event._replace(value=scale.share(value), scale=scale)


def _whole(row: Mapping[Hashable, Any], name: str, usual: int, where: str) -> int:
    number = row.get(name)
    if number is None or number != number:
        return usual
    if number != int(number):
        raise UserError(f"{where}: {name} is {number:g}, but must be a whole number")
    return int(number)


def _flag(text: str, where: str) -> bool:
    if text.lower() not in ("", "yes", "no"):
        raise UserError(f"{where}: private is {text!r}, but must be yes, no or empty")
    return text.lower() == "yes"


def _refuse_twice(events: Sequence[Event], path: Path) -> None:
    """Errors: UserError for an answer or message that is there twice, and for a question with two scales."""
    counts = Counter(
        (event.person, event.kind, event.topic, event.order, event.wave) for event in events if event.kind != ATTRIBUTE
    )
    if twice := [key for key, count in counts.items() if count > 1]:
        person, kind, topic, order, _ = twice[0]
        raise UserError(
            f"{path}: person {person} has two rows of kind {kind} on {topic!r} at order {order}: give each its own order"
        )
    scales: dict[str, Scale] = {}
    for event in events:
        if event.kind == ANSWER and scales.setdefault(event.topic, event.scale) != event.scale:
            raise UserError(
                f"{path}: the question {event.topic!r} has two scales: give all its rows the same lowest, highest and labels"
            )


def people_table(people: RecordedPeople) -> pd.DataFrame:
    """Return recorded people as a table with COLUMNS, which `read_people` reads."""
    return pd.DataFrame([_row(event) for event in people.events], columns=list(COLUMNS))


def _row(event: Event) -> dict[str, object]:
    low, high, labels = event.scale
    row: dict[str, object] = {
        "person": event.person, "kind": event.kind, "topic": event.topic, "order": event.order, "group": event.group,
        "wave": event.wave, "private": "yes" if event.private else "", "value": "", "text": "", "lowest": "", "highest": "",
        "labels": "",
    }  # fmt: skip
    if event.kind == ANSWER:
        value = round(low + event.value * (high - low), 9)
        return row | {
            "value": f"{value:g}",
            "lowest": f"{low:g}",
            "highest": f"{high:g}",
            "labels": SEPARATOR.join(labels),
        }
    return row | {"value" if event.kind == ATTRIBUTE else "text": event.text}
