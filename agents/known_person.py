"""A person who answers a survey, as a model plays it: what is known of the person is in the prompt, and one question is asked.

The prompt lists facts about the person and its answers to other questions. The answer is a closed question with two answers
(`Request.answers`), so that a backend can give the probability of each. Nothing is remembered.
"""

from __future__ import annotations

from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS, read_choice
from parley.agents.language import Language
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling


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
        lines = [language.fill("known_fact", name=name, value=value) for name, value in self.facts]
        lines += [
            language.fill("known_answer", question=item.text, answer=item.answers[1 - value])
            for item, value in self.stated
        ]
        return "\n".join(lines) or language.words("nothing_known")

    def compose(self, item: SurveyItem, language: Language, seed: int, adapter: str = "") -> Request:
        """Ask a question. The same knowledge, question and seed make the same request, for any person."""
        known = language.prompt("respondent").fill(known=self.describe(language))
        asked = language.prompt("respondent_ask").fill(question=item.text, answers="; ".join(item.answers))
        facts: Facts = {
            "question": item.text,
            "stated": [(other.text, other.answers[1 - value]) for other, value in self.stated],
        }
        messages = (Message("system", known), Message("user", asked))
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
