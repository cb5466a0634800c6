"""The conditions of a card: scenarios with the same agents, seats and seeds.

three, two, same   one agent of each debating party and a Default; the same without the Default; two agents of one party
alone              the rooms of `three`, but no agent speaks: the agents are only surveyed repeatedly
copy               two agents of a party who are the same persona under two names
shuffled PARTY     the rooms of `three`, but the partners of PARTY say lines from other rooms (records.py)
empty PARTY        the rooms of `three`, but the partners of PARTY say a phrase without content
turned             the rooms of `two`, but the other agent begins
closing, no closing   a structured debate of two that ends with an announced closing statement, or with an ordinary reply
men, women         one agent of each party, the same people as men and as women; none where the society has no such people
asked ...          each agent alone, before any debate, at temperature 1, in every wording
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.agents.own_people import people_folder
from parley.agents.persona import all_personas
from parley.agents.probe import PHRASES
from parley.agents.scales import LABELLED
from parley.agents.society import DEFAULT, Society
from parley.agents.topic import load_topic
from parley.analysis.statistics.intervals import FEWEST
from parley.llm.seeding import derive
from parley.model.scenario import Scenario

LINES = "lines.json"
TWINS = "twins"
"""The set of personas in which a man and a woman differ in one word."""
GENDERS = {"men": "male", "women": "female"}
"""The variant of personas of each condition."""
Conditions = Mapping[str, Scenario]


@dataclass(frozen=True)
class Batch:
    """Blocks that are run together.

    base: the scenario that all conditions share; its repetitions are the blocks of a batch. folder: that of the card. number:
    counts from 1; every batch has its own seed, the same for all its conditions. judge: the spec of the model that judges
    answers and lines (interviews.py); empty: there is none.
    """

    base: Scenario
    folder: Path
    number: int = 1
    judge: str = ""

    @property
    def place(self) -> Path:
        return self.folder / f"batch-{self.number}"

    @property
    def society(self) -> Society:
        return self.base.society

    @property
    def parties(self) -> tuple[str, str]:
        """The two parties that debate."""
        return self.society.debaters

    @property
    def seats(self) -> tuple[str, str, str]:
        """The seats of a debate of three."""
        return (*self.parties, DEFAULT)

    @property
    def scenario(self) -> Scenario:
        seed = self.base.seed if self.number == 1 else derive(self.base.seed, "batch", self.number)
        return self.base.with_settings({"seed": seed})

    def set(self, **settings: Any) -> Scenario:
        return self.scenario.with_settings(settings)

    def table(self, *seats: str, **settings: Any) -> Scenario:
        """A debate of these seats."""
        return self.set(environment="round_table", seats=seats).with_settings(settings)

    def with_partners(self, party: str, spec: str) -> Scenario:
        """The rooms of `three`, in which all but one party speak through this backend."""
        own_llms = tuple(entry for entry in self.base.models.llms if entry.partition("=")[0] == party)
        partners = tuple(f"{other}={spec}" for other in self.seats if other != party)
        return self.table(*self.seats, llms=(*own_llms, *partners))


def three(batch: Batch) -> Conditions:
    return {"three": batch.table(*batch.seats, forecast=True)}


def two(batch: Batch) -> Conditions:
    return {"two": batch.table(*batch.parties)}


def same(batch: Batch) -> Conditions:
    return {"same": batch.set(environment="groups", parties=batch.parties, size=2, default_agent="without")}


def copy(batch: Batch) -> Conditions:
    return {"copy": same(batch)["same"].with_settings({"cast": "copies"})}


def alone(batch: Batch) -> Conditions:
    return {"alone": batch.table(*batch.seats, interventions=("mute round=1",))}


def empty(batch: Batch) -> Conditions:
    return {f"empty {party}": batch.with_partners(party, "fake") for party in batch.parties}


def shuffled(batch: Batch) -> Conditions:
    spec = f"yoked:{batch.place / 'three' / LINES}"
    return {f"shuffled {party}": batch.with_partners(party, spec) for party in batch.parties}


def turned(batch: Batch) -> Conditions:
    return {"turned": batch.table(*batch.parties, order="random_second")}


def closing(batch: Batch) -> Conditions:
    announced = batch.table(*batch.parties, format="structured")
    return {"closing": announced, "no closing": announced.with_settings({"closing": False})}


def gender(batch: Batch) -> Conditions:
    """The next two of the files in each repetition, as men and as women; two pairs per block, if possible.

    Empty if the society has no set of personas for it.
    """
    if not (personas := with_genders(batch.base)):
        return {}
    pairs = min(2 * batch.base.repetitions, both_genders(batch.society, personas))
    settings = {"environment": "round_table", "personas": personas, "cast": "listed", "repetitions": pairs}
    return {
        name: batch.set(seats=tuple(f"{party}:{variant}" for party in batch.parties), **settings)
        for name, variant in GENDERS.items()
    }


def with_genders(base: Scenario) -> str:
    """The set of personas that exist as men and as women: the scenario's own if it has enough for an interval, else `twins`.

    Empty if the society has no `twins` either.
    """
    if both_genders(base.society, base.people.personas) >= FEWEST:
        return base.people.personas
    return TWINS if TWINS in base.society.persona_sets else ""


def both_genders(society: Society, personas: str) -> int:
    """How many personas of each party exist as a man and as a woman (of the party that has fewer)."""
    folder = people_folder(personas, society)
    return min(len(set.intersection(*_names_by_variant(party, folder).values())) for party in society.debaters)


def _names_by_variant(party: str, folder: Path) -> dict[str, set[str]]:
    people = all_personas(party, folder)
    return {variant: {member.name for member in people if member.variant == variant} for variant in GENDERS.values()}


def asked(batch: Batch) -> Conditions:
    """Each agent alone: the questions of `wordings`, in two frames and three orders of the answers (one for phrases)."""
    first, *others = wordings(batch.base)
    settings = {"probe": first, "also": tuple(others), "rounds": 0, "survey_temperature": 1.0}
    groups = {"environment": "groups", "parties": batch.seats, "size": 1, "default_agent": "without"}
    plain = batch.set(**groups, **settings)
    frames = {"asked": plain, "asked conversation": plain.with_settings({"frame": "conversation"})}
    if batch.base.surveys.asked == PHRASES:
        return frames
    return frames | {f"asked {order}": plain.with_settings({"listing": order}) for order in ("reversed", "shuffled")}


def wordings(base: Scenario) -> list[str]:
    """The probes that ask what the main question asks, on every scale and in both directions, and that all topics have.

    A run has one way of asking: in phrases only questions that phrases answer.
    """
    topics = [load_topic(slug) for slug in base.subject.topic]
    about = {topic.slug: topic.probe("attitude").construct for topic in topics}
    probes = {name: probe for name, probe in topics[0].probes.items() if not name.endswith(f"_{PHRASES}")}
    if base.surveys.asked == PHRASES:
        probes = {
            name: probe
            for name, probe in probes.items()
            if probe.scale.kind == LABELLED or f"{name}_{PHRASES}" in topics[0].probes
        }
    return [
        name
        for name in probes
        if all(name in topic.probes and topic.probes[name].construct == about[topic.slug] for topic in topics)
    ]
