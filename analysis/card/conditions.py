"""The conditions of the battery, each a scenario on the same people, seats and seeds; null conditions like any other.

three, two, same   a Republican, a Democrat and a Default; without the Default; two of a party
alone              the rooms of `three` in which nobody says anything: asked again and again
copy               two of a party who are one person under two names
shuffled PARTY     the rooms of `three`, where the partners of PARTY say lines from other rooms (records.py)
empty PARTY        likewise, where they say a phrase without content
turned             the rooms of `two`, where the other one begins
closing, no closing   a structured debate of two, which ends with an announced closing statement, or with a reply like any other
men, women         a Republican and a Democrat of either gender, the same people
asked ...          each by itself before any debate, at temperature 1, by every wording that there is
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.agents.persona import all_personas, persona_set
from parley.agents.topic import load_topic
from parley.analysis.bootstrap import FEWEST
from parley.llm.seeding import derive
from parley.model.scenario import Scenario

PARTIES = ("republican", "democrat")
DEFAULT = "default"
THREE = (*PARTIES, DEFAULT)
LINES = "lines.json"
TWINS = "twins"
"""The set of personas of whom a man and a woman differ in one word."""
GENDERS = {"men": "male", "women": "female"}
"""A condition a variant of personas."""
Conditions = Mapping[str, Scenario]


@dataclass(frozen=True)
class Batch:
    """Blocks that are held together. `base`: whom is asked, on what, with which seed; its repetitions are the blocks of a batch.

    `folder` is that of the card, `number` counts from 1. Every batch has a seed of its own, the same for all its conditions.
    `judge`: the spec of who judges answers and lines (interviews.py); empty: nobody does.
    """

    base: Scenario
    folder: Path
    number: int = 1
    judge: str = ""

    @property
    def place(self) -> Path:
        return self.folder / f"batch-{self.number}"

    @property
    def scenario(self) -> Scenario:
        seed = self.base.seed if self.number == 1 else derive(self.base.seed, "batch", self.number)
        return self.base.with_settings({"seed": seed})

    def set(self, **settings: Any) -> Scenario:
        return self.scenario.with_settings(settings)


def three(batch: Batch) -> Conditions:
    return {"three": _round_table(batch, THREE).with_settings({"forecast": True})}


def two(batch: Batch) -> Conditions:
    return {"two": _round_table(batch, PARTIES)}


def same(batch: Batch) -> Conditions:
    return {"same": batch.set(environment="groups", parties=PARTIES, size=2, default_agent="without")}


def copy(batch: Batch) -> Conditions:
    return {"copy": same(batch)["same"].with_settings({"cast": "copies"})}


def alone(batch: Batch) -> Conditions:
    return {"alone": _round_table(batch, THREE).with_settings({"interventions": ("mute round=1",)})}


def empty(batch: Batch) -> Conditions:
    return {f"empty {party}": _with_partners(batch, party, "fake") for party in PARTIES}


def shuffled(batch: Batch) -> Conditions:
    spec = f"yoked:{batch.place / 'three' / LINES}"
    return {f"shuffled {party}": _with_partners(batch, party, spec) for party in PARTIES}


def turned(batch: Batch) -> Conditions:
    return {"turned": _round_table(batch, PARTIES).with_settings({"order": "random_second"})}


def closing(batch: Batch) -> Conditions:
    announced = _round_table(batch, PARTIES).with_settings({"format": "structured"})
    return {"closing": announced, "no closing": announced.with_settings({"closing": False})}


def gender(batch: Batch) -> Conditions:
    """The next Republican and Democrat of the file in each repetition, as men and as women; two pairs a block, if there are."""
    personas = with_genders(batch.base)
    pairs = min(2 * batch.base.repetitions, both_genders(personas))
    told = {"environment": "round_table", "personas": personas, "cast": "listed", "repetitions": pairs}
    return {
        name: batch.set(seats=tuple(f"{party}:{variant}" for party in PARTIES), **told)
        for name, variant in GENDERS.items()
    }


def with_genders(base: Scenario) -> str:
    """The set of personas who are there as men and as women: the scenario's own where these are enough for an interval, else
    `twins`.
    """
    return base.people.personas if both_genders(base.people.personas) >= FEWEST else TWINS


def both_genders(personas: str) -> int:
    """How many of each party a set has as a man and as a woman (of the party that has fewer)."""
    names = [
        {variant: {one.name for one in all_personas(party, persona_set(personas)) if one.variant == variant}
         for variant in GENDERS.values()}
        for party in PARTIES
    ]  # fmt: skip
    return min(len(set.intersection(*of.values())) for of in names)


def asked(batch: Batch) -> Conditions:
    """Who is asked by itself: the questions of `wordings`, in two frames and three orders of the answers."""
    first, *others = wordings(batch.base)
    told = {"probe": first, "also": tuple(others), "rounds": 0, "survey_temperature": 1.0}
    groups = {"environment": "groups", "parties": THREE, "size": 1, "default_agent": "without"}
    plainly = batch.set(**groups, **told)
    return {
        "asked": plainly,
        "asked conversation": plainly.with_settings({"frame": "conversation"}),
        "asked reversed": plainly.with_settings({"listing": "reversed"}),
        "asked shuffled": plainly.with_settings({"listing": "shuffled"}),
    }


def wordings(base: Scenario) -> list[str]:
    """The probes of what the main question is about, on every scale and either way round, that all topics have."""
    topics = [load_topic(slug) for slug in base.subject.topics]
    about = {topic.slug: topic.probe("attitude").construct for topic in topics}
    return [
        name
        for name in topics[0].probes
        if all(name in topic.probes and topic.probes[name].construct == about[topic.slug] for topic in topics)
    ]


def _round_table(batch: Batch, seats: tuple[str, ...]) -> Scenario:
    return batch.set(environment="round_table", seats=seats)


def _with_partners(batch: Batch, party: str, spec: str) -> Scenario:
    """The rooms of `three` where all but one party speak through a backend that says something else."""
    own = tuple(entry for entry in batch.base.models.llms if entry.partition("=")[0] == party)
    partners = tuple(f"{other}={spec}" for other in THREE if other != party)
    return _round_table(batch, THREE).with_settings({"llms": (*own, *partners)})
