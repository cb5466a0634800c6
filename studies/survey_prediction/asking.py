"""Asks a model for answers of people of whom other answers are known.

The prompt lists facts about the person and its answers to other questions. The answer is a closed question with two answers, so
that a backend can give the probability of each. Two people of whom the same is known are asked about once. If a model gives the
probability of each answer, one question is enough; otherwise the probability is the share of several drawn answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS, read_choice
from parley.agents.language import Language, language_of_study
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.driver import Conversation, ask, ask_all
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive

HOME = Path(__file__).parent


class SurveyItem(NamedTuple):
    """A question of a survey with two answers; the first one counts as 1, the second one as 0."""

    name: str
    text: str
    answers: tuple[str, str]


class KnownPerson(NamedTuple):
    """What a model knows of a person: facts (name, value), and answers to questions (1 or 0)."""

    facts: tuple[tuple[str, str], ...] = ()
    stated: tuple[tuple[SurveyItem, int], ...] = ()

    def describe(self, language: Language) -> str:
        """Return what is known, in a line each."""
        language = language_of_study(language, HOME)
        lines = [language.fill("known_fact", name=name, value=value) for name, value in self.facts]
        lines += [
            language.fill("known_answer", question=item.text, answer=item.answers[1 - value])
            for item, value in self.stated
        ]
        return "\n".join(lines) or language.words("nothing_known")

    def compose(self, item: SurveyItem, language: Language, seed: int, adapter: str = "") -> Request:
        """Ask a question. The same knowledge, question and seed make the same request, for any person."""
        prompts = language_of_study(language, HOME)
        system_text = prompts.prompt("respondent").fill(known=self.describe(language))
        question_text = prompts.prompt("respondent_ask").fill(question=item.text, answers="; ".join(item.answers))
        facts: Facts = {
            "question": item.text,
            "stated": [(other.text, other.answers[1 - value]) for other, value in self.stated],
        }
        messages = (Message("system", system_text), Message("user", question_text))
        sampling = Sampling(1.0, ANSWER_TOKENS)
        return Request(messages, sampling, seed, item.answers, "respondent", adapter=adapter, facts=facts)


class Prediction(NamedTuple):
    """The probability of the first answer, or None and the reason. exact: the model gave it; otherwise it is 1 or 0, a draw."""

    probability: float | None
    reason: str | None = None
    exact: bool = False


def read_prediction(reply: Reply, item: SurveyItem) -> Prediction:
    """Return the probability of the item's first answer.

    >>> item = SurveyItem("parks", "More parks?", ("yes", "no"))
    >>> read_prediction(Reply("Yes."), item).probability, read_prediction(Reply("Perhaps."), item).reason
    (1.0, 'no_answer')
    """
    if reply.failure:
        return Prediction(None, reply.failure.name)
    if reply.answers:
        return Prediction(reply.answers[item.answers[0]], exact=True)
    answer, reason = read_choice(reply.text, item.answers)
    return Prediction(None, reason) if answer is None else Prediction(float(answer == item.answers[0]))


Asked = tuple[KnownPerson, SurveyItem]


@dataclass
class Interviewer:
    """A model that answers as people of a survey. samples: draws for a probability that the model does not give.

    adapter: the name of the adapter that answers; "" for none. spec: how the model is opened, if not as `llm`.
    """

    llm: str
    language: Language
    desk: CallDesk
    seed: int = 0
    samples: int = 10
    adapter: str = ""
    spec: str = ""
    answered: dict[Asked, Prediction] = field(default_factory=dict)

    @cached_property
    def backend(self) -> Backend:
        """The model, opened once."""
        return open_spec(self.spec or self.llm)

    def predict(self, questions: Sequence[Asked], title: str) -> list[float | None]:
        """Return the probability of each question's first answer; None where no answer can be read.

        title: what is asked for, for the progress bar.
        """
        fresh = [question for question in dict.fromkeys(questions) if question not in self.answered]
        if fresh:
            conversations = [self._converse(*question) for question in fresh]
            predictions = self.desk.ask(
                conversations, self.llm, title, lambda prediction: prediction.reason, self.backend
            )
            self.answered |= dict(zip(fresh, predictions, strict=True))
        return [self.answered[question].probability for question in questions]

    def exact(self) -> int:
        """Return how many predictions are probabilities that the model gave."""
        return sum(prediction.exact for prediction in self.answered.values())

    def reasons(self) -> Counter[str]:
        """Return why predictions are missing."""
        return Counter(prediction.reason for prediction in self.answered.values() if prediction.reason)

    def _converse(self, respondent: KnownPerson, item: SurveyItem) -> Conversation[Prediction]:
        first = read_prediction((yield from ask(self._request(respondent, item, 0))), item)
        if first.exact or self.samples < 2:
            return first
        replies = yield from ask_all(self._request(respondent, item, draw) for draw in range(1, self.samples))
        draws = [first, *(read_prediction(reply, item) for reply in replies)]
        probabilities = [draw.probability for draw in draws if draw.probability is not None]
        return Prediction(sum(probabilities) / len(probabilities)) if probabilities else first

    def _request(self, respondent: KnownPerson, item: SurveyItem, draw: int) -> Request:
        seed = derive(self.seed, "respondent", respondent.describe(self.language), item.text, draw)
        return respondent.compose(item, self.language, seed, self.adapter)
