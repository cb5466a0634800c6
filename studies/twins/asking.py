"""The questions to a twin: what it would answer, and what it would say next.

The system message lists what is known of the person. The user message has the conversation so far and the question. A person's
name is in neither; the others of a conversation are called Participant A, B and so on. Equal questions are asked once.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from string import ascii_uppercase
from typing import NamedTuple, TypeVar

from parley.agents.closed_answers import ANSWER_TOKENS, read_choice
from parley.agents.language import Language, language_of_study
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.driver import Conversation, ask, ask_all
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive

from .history import Known
from .people_file import ANSWER, ATTRIBUTE, MESSAGE, Event, RecordedPeople, Scale

HOME = Path(__file__).parent
WHOLE = 10
"""A scale of whole numbers that spans no more than this has an answer for each; others have WHOLE + 1 even steps."""
TEMPERATURE, TOP_P = 0.7, 0.9
SHORTEST, LONGEST = 10, 120
TOKENS_PER_WORD = 2
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class TwinFacts(Facts, total=False):
    """What a prompt to a twin states besides: answers of the person (question, share of the scale), own and heard messages."""

    rated_before: Sequence[tuple[str, float]]
    wrote: Sequence[str]
    lines: Sequence[str]


class Told(NamedTuple):
    """What a twin is told: what is known of a person, and what it hears (speaker, text)."""

    known: Known
    heard: tuple[tuple[str, str], ...] = ()


class Answered(NamedTuple):
    """A twin's answer from 0 to 1 (None: missing, for the reason). exact: the mean of probabilities that the model gave."""

    value: float | None
    reason: str | None = None
    exact: bool = False


class Written(NamedTuple):
    """A twin's message (None: missing, for the reason)."""

    text: str | None
    reason: str | None = None


def choices(scale: Scale) -> tuple[str, ...]:
    """Return the allowed answers from low to high, evenly spaced.

    >>> choices(Scale(1, 3)), choices(Scale(0, 1, ("no", "yes")))
    (('1', '2', '3'), ('no', 'yes'))
    >>> choices(Scale(0, 100))[:3]
    ('0', '10', '20')
    """
    if scale.labels:
        return scale.labels
    span = scale.high - scale.low
    steps = int(span) if span == int(span) and scale.low == int(scale.low) and span <= WHOLE else WHOLE
    return tuple(f"{scale.low + step * span / steps:g}" for step in range(steps + 1))


def said(event: Event) -> str:
    """Return an answer in the words of its scale: the nearest of `choices`."""
    answers = choices(event.scale)
    return answers[round(event.value * (len(answers) - 1))]


def usual_words(people: RecordedPeople) -> int:
    """Return the median length of the file's messages in words, from SHORTEST to LONGEST: the length that twins are asked for."""
    lengths = [len(event.text.split()) for event in people.events if event.kind == MESSAGE]
    return min(max(round(statistics.median(lengths)), SHORTEST), LONGEST) if lengths else SHORTEST


def heard_lines(events: Sequence[Event]) -> tuple[tuple[str, str], ...]:
    """Return lines of others as (speaker, text)."""
    return tuple((event.person, event.text) for event in events)


def describe(known: Known, language: Language) -> str:
    """Return what is known of a person, in a line each."""
    prompts = language_of_study(language, HOME)
    lines = [_known_line(event, prompts) for event in (*known.attributes, *known.past)]
    return "\n".join(lines) or prompts.words("nothing_known")


def _known_line(event: Event, prompts: Language) -> str:
    if event.kind == ATTRIBUTE:
        return prompts.fill("known_attribute", name=event.topic, value=event.text)
    if event.kind == MESSAGE:
        return prompts.fill("known_message", topic=event.topic, text=event.text)
    low, high, labels = event.scale
    name = "known_answer" if labels else "known_number"
    return prompts.fill(name, question=event.topic, answer=said(event), low=f"{low:g}", high=f"{high:g}")


def describe_heard(heard: Sequence[tuple[str, str]], language: Language) -> str:
    """Return the lines of a conversation under their heading, with a blank line after them; "" if there are none."""
    if not heard:
        return ""
    prompts = language_of_study(language, HOME)
    speakers = list(dict.fromkeys(speaker for speaker, _ in heard))
    names = {speaker: prompts.fill("other", letter=_letter(place)) for place, speaker in enumerate(speakers)}
    lines = [prompts.fill("heard_line", name=names[speaker], text=text) for speaker, text in heard]
    return "\n".join([prompts.words("conversation"), *lines]) + "\n\n"


def _letter(place: int) -> str:
    return ascii_uppercase[place] if place < len(ascii_uppercase) else str(place + 1)


def _messages(told: Told, ask_text: str, language: Language) -> tuple[Message, ...]:
    system = language_of_study(language, HOME).prompt("twin").fill(known=describe(told.known, language))
    return Message("system", system), Message("user", ask_text)


def _facts(told: Told) -> TwinFacts:
    past = told.known.past
    return TwinFacts(
        rated_before=[(event.topic, event.value) for event in past if event.kind == ANSWER],
        wrote=[event.text for event in past if event.kind == MESSAGE],
        lines=[text for _, text in told.heard],
    )


def compose_answer(
    told: Told, topic: str, scale: Scale, language: Language, seed: int, draw: int = 0, adapter: str = ""
) -> Request:
    """Ask what a twin answers to a question. The same told, question and seed make the same request, for any person."""
    answers, prompts = choices(scale), language_of_study(language, HOME)
    text = prompts.prompt("twin_answer").fill(
        heard=describe_heard(told.heard, language), question=topic, answers="; ".join(answers)
    )
    messages = _messages(told, text, language)
    facts: TwinFacts = {**_facts(told), "question": topic}
    request_seed = derive(seed, "twin answer", *(message.content for message in messages), draw)
    sampling = Sampling(1.0, ANSWER_TOKENS)
    return Request(messages, sampling, request_seed, answers, "twin_answer", adapter=adapter, facts=facts)


def compose_message(told: Told, topic: str, words: int, language: Language, seed: int, adapter: str = "") -> Request:
    """Ask what a twin says next on a topic, in at most so many words."""
    prompts = language_of_study(language, HOME)
    text = prompts.prompt("twin_message").fill(heard=describe_heard(told.heard, language), topic=topic, words=words)
    messages = _messages(told, text, language)
    facts: TwinFacts = {**_facts(told), "topic": topic, "words": words}
    request_seed = derive(seed, "twin message", *(message.content for message in messages))
    sampling = Sampling(TEMPERATURE, TOKENS_PER_WORD * words, TOP_P)
    return Request(messages, sampling, request_seed, (), "twin_message", adapter=adapter, facts=facts)


def read_answer(reply: Reply, scale: Scale) -> Answered:
    """Return a twin's answer as a share of its scale: the mean of the probabilities, or the one answer that the reply chooses.

    >>> read_answer(Reply("2"), Scale(1, 3)).value, read_answer(Reply("Hm."), Scale(1, 3)).reason
    (0.5, 'no_answer')
    """
    if reply.failure:
        return Answered(None, reply.failure.name)
    answers = choices(scale)
    steps = {answer: place / (len(answers) - 1) for place, answer in enumerate(answers)}
    if reply.answers:
        return Answered(sum(steps[answer] * share for answer, share in reply.answers.items()), exact=True)
    chosen, reason = read_choice(reply.text, answers)
    return Answered(None, reason) if chosen is None else Answered(steps[chosen])


def read_message(reply: Reply) -> Written:
    """Return a twin's message on one line."""
    if reply.failure:
        return Written(None, reply.failure.name)
    text = " ".join((reply.text or "").split())
    return Written(text) if text else Written(None, "empty")


AskedAnswer = tuple[Told, str, Scale]
AskedMessage = tuple[Told, str]


@dataclass
class Twins:
    """A model that speaks as twins. samples: draws for an answer whose probabilities the model does not give.

    words: the most words of a message. adapter: the adapter that answers ("": none), and spec: how that model is opened.
    """

    llm: str
    language: Language
    desk: CallDesk
    seed: int = 0
    samples: int = 5
    words: int = 60
    adapter: str = ""
    spec: str = ""
    reasons: Counter[str] = field(default_factory=Counter)
    answers: dict[AskedAnswer, Answered] = field(default_factory=dict)
    messages: dict[AskedMessage, Written] = field(default_factory=dict)

    @cached_property
    def backend(self) -> Backend:
        """The model, opened once."""
        return open_spec(self.spec or self.llm)

    def answer(self, asked: Sequence[AskedAnswer], title: str) -> list[Answered]:
        """Return an answer for each (told, question, scale)."""
        return self._ask(asked, self.answers, self.answering, title, lambda found: found.reason)

    def write(self, asked: Sequence[AskedMessage], title: str) -> list[Written]:
        """Return a message for each (told, topic)."""
        return self._ask(asked, self.messages, self.writing, title, lambda found: found.reason)

    def answering(self, asked: AskedAnswer) -> Conversation[Answered]:
        """Return the conversation that asks for an answer."""
        told, topic, scale = asked
        requests = [
            compose_answer(told, topic, scale, self.language, self.seed, draw, self.adapter)
            for draw in range(self.samples)
        ]
        first = read_answer((yield from ask(requests[0])), scale)
        if first.exact or self.samples < 2:
            return first
        replies = yield from ask_all(requests[1:])
        draws = [first, *(read_answer(reply, scale) for reply in replies)]
        values = [found.value for found in draws if found.value is not None]
        return Answered(statistics.fmean(values)) if values else first

    def writing(self, asked: AskedMessage) -> Conversation[Written]:
        """Return the conversation that asks for a message."""
        told, topic = asked
        request = compose_message(told, topic, self.words, self.language, self.seed, self.adapter)
        return read_message((yield from ask(request)))

    def _ask(
        self,
        asked: Sequence[Key],
        known: dict[Key, Result],
        converse: Callable[[Key], Conversation[Result]],
        title: str,
        why: Callable[[Result], str | None],
    ) -> list[Result]:
        fresh = [question for question in dict.fromkeys(asked) if question not in known]
        if fresh:
            answered = self.desk.ask([converse(question) for question in fresh], self.llm, title, why, self.backend)
            known.update(zip(fresh, answered, strict=True))
            self.reasons.update(reason for result in answered if (reason := why(result)))
        return [known[question] for question in asked]
