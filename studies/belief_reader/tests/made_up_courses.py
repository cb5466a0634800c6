"""Made-up rooms whose readers have planted weights: what is tagged, and ratings with errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.studies.belief_reader.courses import Courses, Step
from parley.studies.belief_reader.exam import exact
from parley.studies.belief_reader.reader import belief_of
from parley.studies.belief_reader.tags import APPEAL, DIRECTIONS, REASON, SIGNS, Tag

EXACT = exact(load_topic("racism"))
REASONS, APPEALS = EXACT.answers[REASON], EXACT.answers[APPEAL]


class World(NamedTuple):
    """What is planted. weight: of a line; extra: of a reason or appeal besides; noise, shock: SD of changes, of a person
    and of all people of a room in a round; report: SD of errors of ratings, in log odds; confused: share of directions
    that are drawn anew.
    """

    rooms: int = 30
    people: int = 3
    rounds: int = 4
    weight: float = 0.4
    extra: Mapping[str, float] = {}
    noise: float = 0.4
    shock: float = 0.3
    report: float = 0.3
    back: float = 0.0
    confused: float = 0.0
    lost: float = 0.0
    unequal: bool = False


def courses(world: World, seed: int) -> tuple[Courses, list[Tag]]:
    """Return the courses of all rooms and the tags of all lines. People of a room are alike, and say what they believe."""
    rng, steps, tags, lines = np.random.default_rng(seed), list[Step](), list[Tag](), list[tuple[str, str]]()
    for room in range(world.rooms):
        rounds = 1 + int(rng.lognormal(1, 1)) if world.unequal else world.rounds
        odds = rng.normal(0, 1, world.people) + rng.normal()
        shown, heard = odds + rng.normal(0, world.report, world.people), [Counter[tuple[str, str]]() for _ in odds]
        for number in range(1, rounds + 1):
            said = [_line(rng, value) for value in odds]
            places = range(len(tags), len(tags) + len(said))
            tags += [_seen(rng, world, tag) for tag in said]
            lines += [("racism", str(room))] * len(said)
            odds = odds * (1 + world.back) + rng.normal(0, world.noise, world.people) + rng.normal(0, world.shock)
            odds += [_moved(world, heard[person], said, person) for person in range(world.people)]
            after = odds + rng.normal(0, world.report, world.people)
            for person in range(world.people):
                others = tuple(place for other, place in enumerate(places) if other != person)
                beliefs = belief_of(shown[person]), belief_of(after[person])
                steps.append(Step(str(room), f"{room} {person}", "racism", number, *beliefs, others, (places[person],)))
            shown = after
    frame = pd.DataFrame(lines, columns=["topic", "cluster"]).assign(text="said")
    return Courses(frame, steps, "room"), tags


def _line(rng: np.random.Generator, odds: float) -> Tag:
    side = DIRECTIONS[2] if rng.random() < 0.1 else DIRECTIONS[0 if odds + rng.normal() > 0 else 1]
    return Tag(side, str(rng.choice(REASONS[:-1])), str(rng.choice(APPEALS)))


def _seen(rng: np.random.Generator, world: World, tag: Tag) -> Tag:
    if rng.random() < world.lost:
        return tag._replace(direction="")
    return tag._replace(direction=str(rng.choice(DIRECTIONS))) if rng.random() < world.confused else tag


def _moved(world: World, heard: Counter[tuple[str, str]], said: Sequence[Tag], person: int) -> float:
    total = 0.0
    for other, tag in enumerate(said):
        if other != person:
            key = tag.direction, tag.reason
            worth = world.weight + world.extra.get(tag.reason, 0) + world.extra.get(tag.appeal, 0)
            total += SIGNS[tag.direction] * worth * 0.5 ** heard[key]
            heard[key] += 1
    return total
