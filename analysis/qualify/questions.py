"""People of known position answer survey questions: the way of asking is what is compared.

Each person is asked alone, outside of any debate. The persona states the position in one sentence (agents/planted_people.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.planted_people import PlantedPerson, planted_people
from parley.agents.probe import Probe, answer_order
from parley.agents.topic import Topic, load_topic
from parley.analysis.journaled_calls import check_manifest, run_journaled
from parley.analysis.table_export import write_csv
from parley.llm.backends import identity_spec
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar, Conversation, ask
from parley.llm.errors import UserError
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

NUMBERS, PHRASES = "numbers", "phrases"
WAYS = {NUMBERS: "attitude", PHRASES: "attitude@phrases"}
"""The ways of asking, each with its survey question on a topic."""
ASKED, REVERSED, ORDER, REWORDED, UNSTATED = "asked", "reversed scale", "other order", "other words", "no position"
SHORT = 3
"""Topics of a short battery: with two wordings six blocks, the fewest with an interval that leave room for a missing one."""
MANIFEST = "qualify.json"
COLUMNS = [
    "way", "form", "topic", "wording", "level", "block", "attitude", "mean", "covered", "how", "reason", "text",
]  # fmt: skip


@dataclass(frozen=True)
class Battery:
    """What is asked. topics: slugs. short: without other orders and other words, which a full battery has."""

    topics: tuple[str, ...]
    short: bool = False
    seed: int = 0


class PlantedQuestion(NamedTuple):
    """One survey question to one person, in one way and one form."""

    way: str
    form: str
    person: PlantedPerson
    probe: Probe
    listing: str = "given"

    def request(self, seed: int) -> Request:
        """Return the request; greedy, so that a model without probabilities gives its likeliest answer."""
        drawn = derive(seed, "qualify", self.way, self.form, self.person.block, self.person.level)
        question = self.probe.ask("debate", answer_order(self.probe, self.listing, drawn))
        return Request(
            (Message("system", self.person.backstory), Message("user", question)),
            Sampling(0.0, ANSWER_TOKENS),
            drawn,
            self.probe.scale.answers,
            "survey",
            self.probe.prefix,
            begin=self.probe.begin,
            facts=self.probe.facts,
        )


def questions(battery: Battery) -> list[PlantedQuestion]:
    """Return all questions of a battery. Errors: UserError for a topic without sentences for known positions."""
    return [question for slug in battery.topics for question in _topic_questions(load_topic(slug), battery)]


def _topic_questions(topic: Topic, battery: Battery) -> list[PlantedQuestion]:
    people, unstated = planted_people(topic, battery.seed), planted_people(topic, battery.seed, stated=False)
    planted = []
    for way, name in WAYS.items():
        probe = topic.probe(name)
        planted += [PlantedQuestion(way, ASKED, person, probe) for person in people]
        planted += [PlantedQuestion(way, UNSTATED, person, probe) for person in unstated]
        if way == NUMBERS:
            reversed_ = topic.probe(f"{name}_reversed")
            planted += [PlantedQuestion(way, REVERSED, person, reversed_) for person in people]
        if battery.short:
            continue
        if way == NUMBERS:  # phrases are not listed
            planted += [PlantedQuestion(way, ORDER, person, probe, "reversed") for person in people]
        others = [topic.worded(wording).probe(name) for wording in topic.language.wordings]
        reworded = next((other for other in others if other.ask("debate") != probe.ask("debate")), None)
        planted += [PlantedQuestion(way, REWORDED, person, reworded) for person in people if reworded]
    return planted


def ask_planted(
    battery: Battery,
    spec: str,
    folder: Path,
    bar: Bar,
    budget: Budget = NO_LIMIT,
    backend: Backend | None = None,
    ledger: Ledger | None = None,
) -> pd.DataFrame:
    """Return one row per answer, with COLUMNS. backend: the model of the spec, if it is open. ledger: what a run shares with it.

    attitude: the answer read from the text, 0 to 10 on the topic's axis. mean: that of the distribution of answers (NaN where it
    is not known). covered: the probability of all answers together.

    The folder keeps a journal and answers.csv. Errors: UserError on a folder of another battery.
    """
    planted = questions(battery)
    with lock_folder(folder):
        check_manifest(folder / MANIFEST, {"llm": identity_spec(spec), **asdict(battery)}, "qualification")
        conversations = [_answer(question, battery.seed) for question in planted]
        budget = budget._replace(keep_going=True)  # that answers cannot be read is a result
        replies = run_journaled(conversations, backend or spec, folder, bar, "answers", budget, ledger, name=spec)
        rows = [_row(question, reply) for question, reply in zip(planted, replies, strict=True)]
        table = pd.DataFrame(rows, columns=COLUMNS).astype({"attitude": float, "mean": float, "covered": float})
        write_csv(table, folder / "answers.csv")
    return table


def _answer(question: PlantedQuestion, seed: int) -> Conversation[Reply]:
    return (yield from ask(question.request(seed)))


def _row(question: PlantedQuestion, reply: Reply) -> list[object]:
    person, probe = question.person, question.probe
    read = probe.read(reply.text) if reply.text is not None else None
    reason = reply.failure.name if reply.failure else read.reason if read else "empty"
    attitude = None if read is None or read.value is None else probe.attitude(read.value)
    mean = None if reply.answers is None else probe.attitude(probe.scale.expected(reply.answers))
    place = [person.topic, person.wording, person.level, person.block]
    return [question.way, question.form, *place, attitude, mean, reply.covered, reply.way, reason, reply.text]


def battery_topics(society_topics: Sequence[str], given: Sequence[str], short: bool) -> tuple[str, ...]:
    """Return the topics of a battery: those that were given, else those of the society on which people can be planted.

    A short battery has SHORT. Errors: UserError where none is left.
    """
    if given:
        return tuple(given)
    plantable = []
    for slug in society_topics:
        try:
            planted_people(load_topic(slug), 0)
        except UserError:
            continue
        plantable.append(slug)
    if not plantable:
        raise UserError(
            "this society has no topic on which a person can be given a known position: name one with --topic"
        )
    return tuple(plantable[:SHORT] if short else plantable)
