"""A questionnaire: survey questions on several topics, asked outside of any debate, and the answers on the axis from 0 to 10."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.probe import Probe, answer_order
from parley.agents.society import Society
from parley.agents.topic import Topic, load_topic, topic_names
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling


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


def questionnaire(society: Society, topics: Sequence[str], probes: Sequence[str]) -> list[Item]:
    """Return the questions: every probe of every topic (without topics: all topics in the folder of the society).

    Errors: UserError on an unknown name, and on a probe whose answer is no attitude toward the topic.
    """
    items = []
    for name in map(society.qualified, topics or topic_names(society.folder / "topics")):
        topic = load_topic(name)
        items += [Item(f"{Path(topic.slug).stem}/{probe}", topic, topic.probe(probe)) for probe in probes]
    if off := [item.name for item in items if not item.probe.on_axis]:
        raise UserError(
            f"{off[0]} is no attitude toward its topic: ask for others, such as --probes attitude,agreement"
        )
    return items


def ask_item(
    item: Item, seed: int, temperature: float, system: str = "", before: str = "", state: float | None = None
) -> Conversation[Answer]:
    """Ask a question once, with its answers listed in an order that the seed draws; return the answer.

    system: who answers ("": no one in particular). before: text that comes before the question. state: the earlier answer to this
    question that `before` names, as a share of the scale.
    """
    probe = item.probe
    text = probe.ask("debate", answer_order(probe, "shuffled", seed))
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
