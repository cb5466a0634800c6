"""A questionnaire: survey questions on several topics, asked outside of any debate.

It is asked of people, or of the model itself, several times (in waves) under each of several conditions: after a sentence
(wave.py), with their own history (panel.py), with the answers in another order (probe_audit.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.persona import Persona
from parley.agents.probe import Probe, answer_order
from parley.agents.society import Society
from parley.agents.topic import Topic, load_topic, topic_names
from parley.analysis.journaled_calls import check_manifest, run_journaled
from parley.analysis.table_export import write_csv
from parley.llm.backends import identity_spec
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar, Conversation, ask, ask_in_step
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling
from parley.llm.seeding import derive, digest
from parley.model.scenario_run import lock_folder

WAVE, PANEL, ORDERS = KINDS = ("wave", "panel", "orders")
"""The model itself with and without sentences; people with and without their history; people with answers in several orders."""
ANSWERS = "answers.csv"
COLUMNS = ["condition", "person", "party", "wave", "question", "rating", "value", "reason"]


class Answer(NamedTuple):
    """An answer: the rating on the question's scale, its value (0-10), and the reason why they are missing ("": they are not).

    `value` is the mean of the answer distribution where the model tells one, else the rating on the axis of the topic.
    """

    rating: float | None = None
    value: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Item:
    """A question of the questionnaire. name: TOPIC/PROBE, where TOPIC has no folder."""

    name: str
    topic: Topic
    probe: Probe

    @property
    def text(self) -> str:
        """The question as it is asked, with the answers from low to high."""
        return self.probe.ask("debate")


def items_of(society: Society, topics: Sequence[str], probes: Sequence[str]) -> list[Item]:
    """Return the questions: every probe of every topic (without topics: all topics in the folder of the society).

    Errors: UserError on an unknown name, and on a probe whose answer is no attitude toward the topic.
    """
    items = []
    for name in map(society.qualified, topics or topic_names(society.folder / "topics")):
        topic = load_topic(name)
        items += [Item(f"{Path(topic.slug).stem}/{probe}", topic, topic.probe(probe)) for probe in probes]
    if off := [item.name for item in items if not item.probe.on_axis]:
        raise UserError(
            f"{off[0]} does not measure an attitude toward a topic: choose other questions, such as --probes "
            "attitude,agreement"
        )
    return items


def ask_item(
    item: Item,
    seed: int,
    temperature: float,
    system: str = "",
    before: str = "",
    state: float | None = None,
    order: str = "shuffled",
) -> Conversation[Answer]:
    """Ask a question once, with its answers listed in an order (the seed draws that of `shuffled`); return the answer.

    system: who answers ("": no one in particular). before: text that comes before the question. state: the earlier answer to this
    question that `before` names, as a share of the scale.
    """
    probe = item.probe
    text = probe.ask("debate", answer_order(probe, order, seed))
    user = Message("user", f"{before}\n\n{text}" if before else text)
    messages = (Message("system", system), user) if system else (user,)
    facts: Facts = {**probe.facts}
    if state is not None:
        facts["state"] = {probe.construct: state}
    sampling, answers = Sampling(temperature, ANSWER_TOKENS), probe.scale.answers
    reply = yield from ask(
        Request(messages, sampling, seed, answers, "survey", probe.prefix, names=frozenset(), facts=facts)
    )
    if reply.failure:
        return Answer(reason=reply.failure.name)
    read = probe.read(reply.text)
    if read.value is None:
        return Answer(reason=read.reason or "unreadable")
    mean = probe.scale.expected(reply.answers) if reply.answers else read.value
    return Answer(read.value, probe.attitude(mean))


class Condition(NamedTuple):
    """How people are asked. sentence: comes before the questions, and opposite: the name of the condition whose sentence is its
    opposite ("": none). order: of the answers. remembers: whether a person reads its answers of all earlier waves.
    """

    name: str
    sentence: str = ""
    opposite: str = ""
    order: str = "shuffled"
    remembers: bool = False


@dataclass(frozen=True)
class Questionnaire:
    """What is asked, of whom (no people: of the model itself), and how often (waves) in each condition.

    kind: one of KINDS; names the file that says what a folder is for. date: of the wave, for its report.
    """

    kind: str
    items: Sequence[Item]
    conditions: Sequence[Condition]
    people: Sequence[Persona] = ()
    waves: int = 5
    temperature: float = 1.0
    seed: int = 0
    date: str = ""

    def __post_init__(self) -> None:
        if self.kind != WAVE and self.waves < 2:
            raise UserError(
                f"{self.kind} needs --repeats 2 or more, because one answer shows neither change nor variance"
            )

    @property
    def manifest(self) -> dict[str, object]:
        """What identifies it in a folder."""
        return {
            "date": self.date, "waves": self.waves, "temperature": self.temperature, "seed": self.seed,
            "people": digest(*(person.backstory for person in self.people)).hex() if self.people else "",
            "questions": {item.name: item.text for item in self.items},
            "conditions": [condition._asdict() for condition in self.conditions],
        }  # fmt: skip

    def ask(self, spec: str, folder: Path, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
        """Return one row per answer: COLUMNS (wave: from 1; rating: on the question's scale; value: 0-10; NaN: missing).

        The folder keeps a journal, a file KIND.json and answers.csv. Errors: UserError on a folder of something else.
        """
        with lock_folder(folder):
            check_manifest(folder / f"{self.kind}.json", {"llm": identity_spec(spec), **self.manifest}, self.kind)
            trials = list(self._trials())
            interviews = [self._interview(*trial) for trial in trials]
            answers = run_journaled(interviews, spec, folder, bar, "answers", budget, None, _why)
            rows = [
                (condition.name, person.id if person else "", person.party if person else "", wave, item.name, *answer)
                for (condition, person, cells), given in zip(trials, answers, strict=True)
                for (wave, item), answer in zip(cells, given, strict=True)
            ]
            table = pd.DataFrame(rows, columns=COLUMNS).astype({"rating": "float64", "value": "float64"})
            write_csv(table, folder / ANSWERS)
        return table

    def _trials(self) -> Iterator[tuple[Condition, Persona | None, Sequence[tuple[int, Item]]]]:
        """Yield the interviews: all waves of a person that remembers, else each question alone."""
        cells = list(product(range(1, self.waves + 1), self.items))
        for condition, person in product(self.conditions, self.people or (None,)):
            yield from (
                [(condition, person, cells)] if condition.remembers else [(condition, person, [cell]) for cell in cells]
            )

    def _interview(
        self, condition: Condition, person: Persona | None, cells: Sequence[tuple[int, Item]]
    ) -> Conversation[list[Answer]]:
        """Ask the questions of some waves; return the answers in their order."""
        system, who = (person.backstory, (person.party, person.id)) if person else (condition.sentence, ())
        answers: list[Answer] = []
        history: list[str] = []
        last: dict[str, float] = {}
        for wave, wave_cells in groupby(cells, key=itemgetter(0)):
            items = [item for _, item in wave_cells]
            given = yield from ask_in_step([
                ask_item(
                    item, derive(self.seed, self.kind, *who, wave, item.name), self.temperature, system,
                    "\n".join(history), last.get(item.name), condition.order,
                )
                for item in items
            ])  # fmt: skip
            for item, answer in zip(items, given, strict=True):
                if answer.rating is not None:
                    history.append(earlier_answer_line(item, answer.rating, wave))
                    scale = item.probe.scale
                    last[item.name] = (answer.rating - scale.low) / (scale.high - scale.low)
            answers += given
        return answers


def _why(answers: list[Answer]) -> str | None:
    """Return why nothing of an interview could be read, or None."""
    return answers[0].reason if all(answer.reason for answer in answers) else None


def earlier_answer_line(item: Item, rating: float, wave: int) -> str:
    """Return the line that reminds a person of an earlier answer."""
    language, scale = item.probe.language, item.probe.scale
    anchors = scale.name_points(scale.points, *map(language.words, ("means", "and")))
    question = item.probe.question
    return language.fill("earlier_answer", number=wave, question=question, answer=f"{rating:g}", anchors=anchors)
