"""What is predicted of each person, what is known before it, and whose history a stranger's twin has.

A point is the last answer of a person to a question in wave 1, or a message, if something is known of the person before
it. Known are attributes, and the person's own answers and messages with a smaller `order`. In a conversation the lines of
others with a smaller `order` were heard. Nothing of the same or a larger `order` is shown, and no answer of a later wave.

A stranger's twin has the history of another person on the same topic, at that person's own point there, and hears the same
conversation. Strangers are from other groups where these have enough people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from parley.llm.seeding import stream

from .people_file import ANSWER, ATTRIBUTE, GIVEN, MESSAGE, Event, RecordedPeople

LAST = 12
"""Lines of a conversation that are shown, the latest ones."""


class Known(NamedTuple):
    """What a twin is told of its person, in the order of time."""

    attributes: tuple[Event, ...] = ()
    past: tuple[Event, ...] = ()


class Point(NamedTuple):
    """Something to be predicted. heard: lines of others in the same conversation, before it."""

    event: Event
    known: Known
    heard: tuple[Event, ...]

    @property
    def key(self) -> str:
        """The name of the point in tables: `p3 answer 4 parks`."""
        return f"{self.event.person} {self.event.kind} {self.event.order} {self.event.topic}"


def known_before(people: RecordedPeople, person: str, order: int) -> Known:
    """Return what is known of a person before an order: nothing of that order or later, and only of wave 1."""
    events = people.by_person[person]
    attributes = tuple(event for event in events if event.kind == ATTRIBUTE)
    past = [event for event in events if event.kind != ATTRIBUTE and event.wave == 1 and event.order < order]
    return Known(attributes, tuple(sorted(past, key=lambda event: event.order)))


def heard_before(people: RecordedPeople, event: Event) -> tuple[Event, ...]:
    """Return the lines of others in the event's group before it that were not private, the latest LAST."""
    if not event.group:
        return ()
    lines = [
        other
        for other in people.by_group[event.group]
        if other.kind in (MESSAGE, GIVEN)
        and other.person != event.person
        and not other.private
        and other.order < event.order
    ]
    return tuple(sorted(lines, key=lambda line: line.order))[-LAST:]


def points(people: RecordedPeople, most: int, seed: int) -> list[Point]:
    """Return what is predicted: at most `most` answers and as many messages of each person, drawn with the seed."""
    chosen: list[Point] = []
    for person in people.by_person:
        for kind in (ANSWER, MESSAGE):
            events = [event for event in _targets(people.by_person[person], kind) if _has_history(people, event)]
            if len(events) > most:
                events = stream(seed, "points", person, kind).sample(events, most)
            found = sorted(events, key=lambda event: event.order)
            chosen += [point_of(people, event) for event in found]
    return chosen


def point_of(people: RecordedPeople, event: Event) -> Point:
    """Return an event as a point, with all that is known before it."""
    return Point(event, known_before(people, event.person, event.order), heard_before(people, event))


def _targets(events: Sequence[Event], kind: str) -> list[Event]:
    """Return the events of a kind in wave 1; of the answers to one question only the last one."""
    targets = [event for event in events if event.kind == kind and event.wave == 1]
    if kind == MESSAGE:
        return targets
    last = {event.topic: event for event in sorted(targets, key=lambda event: event.order)}
    return list(last.values())


def _has_history(people: RecordedPeople, event: Event) -> bool:
    known = known_before(people, event.person, event.order)
    return bool(known.attributes or known.past)


def strangers(chosen: Sequence[Point], count: int, seed: int) -> Mapping[str, tuple[Point, ...]]:
    """Return for each point up to `count` points of other people on the same topic and of the same kind, by key.

    Within a topic people stand in a circle, those of one group side by side, in an order drawn with the seed. The stranger is the
    person so many places further that it is of another group, if no group has more than half of the people. So each person is
    a stranger equally often.
    """
    by_topic: dict[tuple[str, str], dict[str, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for point in chosen:
        by_topic[point.event.kind, point.event.topic][point.event.person].append(point)
    found: dict[str, tuple[Point, ...]] = {}
    for topic, points_by_person in by_topic.items():
        circle, step = _circle(points_by_person, seed, topic)
        for place, person in enumerate(circle):
            far = [circle[(place + step + more) % len(circle)] for more in range(len(circle) - 1)]
            others = [other for other in dict.fromkeys(far) if other != person][:count]
            for point in points_by_person[person]:
                found[point.key] = tuple(_nearest(points_by_person[other], point) for other in others)
    return found


def _circle(
    points_by_person: Mapping[str, Sequence[Point]], seed: int, topic: tuple[str, str]
) -> tuple[list[str], int]:
    groups: dict[str, list[str]] = defaultdict(list)
    for person, points in points_by_person.items():
        groups[points[0].event.group or f"alone {person}"].append(person)
    draw, names = stream(seed, "strangers", *topic), sorted(groups)
    draw.shuffle(names)
    for members in groups.values():
        draw.shuffle(members)
    largest = max(map(len, groups.values()))
    circle = [person for name in names for person in groups[name]]
    return circle, largest if 2 * largest <= len(circle) else 1


def _nearest(candidates: Sequence[Point], point: Point) -> Point:
    """Return the point with the most similar number of earlier events, so that histories are about equally long."""
    return min(candidates, key=lambda other: (abs(len(other.known.past) - len(point.known.past)), other.event.order))
