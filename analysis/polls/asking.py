"""Asks a model every question of a survey, once for each group with the group's name, and once without one.

A model that gives the probability of each allowed answer is asked once. Any other model is asked several times with other seeds,
and the shares of its readable replies are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from parley.agents.language import Language
from parley.agents.respondent import LETTERS, Group, Respondent, read_option
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.polls.table import SurveyTable
from parley.llm.backends import identity_spec
from parley.llm.driver import Conversation, ask_all
from parley.llm.request import Backend, Request
from parley.llm.seeding import derive

EXACT, SAMPLED = "exact", "sampled"


class ModelAnswer(NamedTuple):
    """What a model answers to a question: shares by option, or None without a readable reply.

    replies: readable ones that were counted; 0 for exact probabilities. lost: why replies are missing, by reason.
    """

    shares: tuple[float, ...] | None
    way: str
    replies: int
    lost: tuple[tuple[str, int], ...] = ()

    @property
    def reason(self) -> str | None:
        """Why there are no shares; None if there are some."""
        return None if self.shares is not None else (self.lost[0][0] if self.lost else "empty")


@dataclass(frozen=True)
class Poll:
    """A survey, the model, how a group is named (prefix, persona), and how often a model without probabilities is asked."""

    table: SurveyTable
    llm: str
    language: Language
    way: str = "prefix"
    samples: int = 20
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        return {
            "llm": identity_spec(self.llm), "survey": self.table.fingerprint, "language": self.language.code, "way": self.way,
            "samples": self.samples, "seed": self.seed,
        }  # fmt: skip

    @property
    def calls(self) -> int:
        """How many distributions are asked for: one for each row, and one for each question without a group."""
        return len(self.table.rows) + len(self.table.questions)

    def run(self, desk: CallDesk, backend: Backend | None = None) -> StudyAnswers:
        """Return all answers. backend: the model, if it is open. Errors: Unreadable, BudgetSpent."""
        questions = self.table.questions
        all_questions: list[tuple[str, tuple[str, ...], Group | None]] = [
            (*row.asked, row.group) for row in self.table.rows
        ]
        all_questions += [(*question, None) for question in questions]
        conversations = [self._conversation(*question) for question in all_questions]
        answers = desk.ask(conversations, self.llm, "answers", lambda answer: answer.reason, backend)
        rows = len(self.table.rows)
        return StudyAnswers(answers[:rows], dict(zip(questions, answers[rows:], strict=True)))

    def _conversation(self, question: str, options: tuple[str, ...], group: Group | None) -> Conversation[ModelAnswer]:
        who, respondent = group.name if group else "", Respondent(self.language, self.way)

        def compose(number: int) -> Request:
            seed = derive(self.seed, "poll", question, options, who, number)
            return respondent.compose(question, options, group, seed)

        return answer_question(compose, options, self.samples)


class StudyAnswers(NamedTuple):
    """Answers to each row of the survey with the group named, and to each question without a group."""

    named: list[ModelAnswer]
    unnamed: dict[tuple[str, tuple[str, ...]], ModelAnswer]


def answer_question(
    compose: Callable[[int], Request], options: Sequence[str], samples: int
) -> Conversation[ModelAnswer]:
    """Ask a question until its distribution is known. compose: makes the request of each sample, numbered from 0."""
    (first,) = yield from ask_all([compose(0)])
    if first.answers is not None:
        letters = compose(0).answers
        return ModelAnswer(tuple(first.answers[letter] for letter in letters), EXACT, 0)
    others = (yield from ask_all([compose(number) for number in range(1, samples)])) if samples > 1 else ()
    read = [read_option(reply, options) for reply in (first, *others)]
    counts = Counter(LETTERS.index(choice.answer) for choice in read if choice.answer is not None)
    lost = Counter(choice.reason or "empty" for choice in read if choice.answer is None)
    total = counts.total()
    shares = tuple(counts[place] / total for place in range(len(options))) if total else None
    return ModelAnswer(shares, SAMPLED, total, tuple(lost.most_common()))
