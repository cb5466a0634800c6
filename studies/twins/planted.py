"""Made-up people of known kind, to see that the study finds what is there and nothing else.

planted    a person has a position, and two sentences that it says again and again. Its answers follow its position; in a
           conversation of three it moves toward the grades that it hears
shuffled   the same answers and messages, each dealt to other people: nothing that is known of a person says what it does next
"""

from __future__ import annotations

import random

import numpy as np

from parley.llm.errors import unknown_name
from parley.llm.seeding import derive

from .oracle import GRADES
from .people_file import ANSWER, ATTRIBUTE, MESSAGE, Event, RecordedPeople, Scale

PLANTED, SHUFFLED = INVENTED = ("planted", "shuffled")
SIZE = 3
"""People of a group."""
PULL, NOISE, LATER = 0.3, 0.08, 0.05
"""How far people move toward what they hear; the SD of an answer; that of the same answer a week later."""
EARLIER = ("Should the town plant more trees?", "Should shops close on Sundays?", "Should buses be free?")
TOPIC = "Should the centre be closed to cars?"
SCALE = Scale(1, GRADES)
SENTENCES = (
    "My street is loud at night.", "Parking costs me an hour a week.", "Old people need a lift to the doctor.",
    "The market would lose its farmers.", "Children could play outside again.", "Nobody asked the shopkeepers.",
    "I cycle in any weather.", "The bus never comes on time.", "Clean air is worth money.",
    "My shop lives from passing trade.", "Other towns did it long ago.", "It rains here most of the year.",
    "The bridge is the real problem.", "Taxes paid for those roads.", "Deliveries must stay possible.",
    "I would rather walk anyway.", "The mayor promised this twice.", "Ambulances need the short way.",
    "Tourists like quiet squares.", "My knees are bad.", "A trial year would settle it.",
    "The plan has no numbers.", "Rents will go up after that.", "We drove through there for decades.",
)  # fmt: skip


def invent_people(name: str, groups: int = 20, seed: int = 0) -> RecordedPeople:
    """Return made-up people, three a group. Errors: UserError for an unknown name."""
    if name not in INVENTED:
        raise unknown_name("made-up people", name, INVENTED)
    rng = np.random.default_rng(derive(seed, "made-up people", "twins"))
    events = [event for group in range(groups) for event in _group(f"group {group + 1}", rng)]
    return RecordedPeople(name, tuple(_dealt(events, rng) if name == SHUFFLED else events))


def _group(name: str, rng: np.random.Generator) -> list[Event]:
    people = [f"{name} person {number + 1}" for number in range(SIZE)]
    positions = rng.uniform(0.1, 0.9, SIZE)
    sentences = [rng.choice(len(SENTENCES), 2, replace=False) for _ in people]
    now = [_noisy(position, NOISE, rng) for position in positions]
    events = [Event(person, ATTRIBUTE, "age", text=str(int(rng.integers(18, 80))), group=name) for person in people]
    for place, person in enumerate(people):
        answered = [(topic, _noisy(positions[place], NOISE, rng)) for topic in EARLIER] + [(TOPIC, now[place])]
        events += [_answer(person, name, topic, value, order) for order, (topic, value) in enumerate(answered, 1)]
    for turn in range(2 * SIZE):
        place = turn % SIZE
        heard = [now[other] for other in range(SIZE) if other != place]
        text = " ".join(SENTENCES[sentence] for sentence in sentences[place])
        grade = 1 + round(now[place] * (GRADES - 1))
        events.append(
            Event(people[place], MESSAGE, TOPIC, text=f"{text} Grade {grade} of {GRADES}", order=10 + turn, group=name)
        )
        if turn >= SIZE:  # everybody has heard the others once
            now[place] += PULL * (float(np.mean(heard)) - now[place])
    for place, person in enumerate(people):
        last = _noisy(now[place], NOISE / 2, rng)
        events.append(_answer(person, name, TOPIC, last, 20))
        events.append(_answer(person, name, TOPIC, _noisy(last, LATER, rng), 30)._replace(wave=2))
    return events


def _noisy(value: float, spread: float, rng: np.random.Generator) -> float:
    return float(np.clip(value + rng.normal(0, spread), 0, 1))


def _answer(person: str, group: str, topic: str, value: float, order: int) -> Event:
    """Return an answer on the scale's nearest point."""
    point = round(value * (GRADES - 1)) / (GRADES - 1)
    return Event(person, ANSWER, topic, point, scale=SCALE, order=order, group=group)


def _dealt(events: list[Event], rng: np.random.Generator) -> list[Event]:
    """Return the events with the answers and messages of each kind, topic and order dealt to other people."""
    slots: dict[tuple[object, ...], list[int]] = {}
    for place, event in enumerate(events):
        if event.kind != ATTRIBUTE:
            order = 0 if event.kind == MESSAGE else event.order
            slots.setdefault((event.kind, event.topic, order, event.wave), []).append(place)
    draw, dealt = random.Random(int(rng.integers(2**32))), list(events)
    for places in slots.values():
        taken = draw.sample(places, len(places))
        for place, other in zip(places, taken, strict=True):
            dealt[place] = events[place]._replace(value=events[other].value, text=events[other].text)
    return dealt
