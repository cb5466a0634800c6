"""Asks a model for answers of people of whom other answers are known.

Two people of whom the same is known are asked about once. If a model gives the probability of each answer, one question is
enough; otherwise the probability is the share of several drawn answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from parley.agents.known_person import KnownPerson, Prediction, SurveyItem, read_prediction
from parley.agents.language import Language
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.driver import Conversation, ask, ask_all
from parley.llm.request import Backend, Request
from parley.llm.seeding import derive

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

    def predict(self, asked: Sequence[Asked], title: str) -> list[float | None]:
        """Return the probability of each question's first answer; None where no answer can be read.

        title: what is asked for, for the progress bar.
        """
        fresh = [one for one in dict.fromkeys(asked) if one not in self.answered]
        if fresh:
            conversations = [self._converse(*one) for one in fresh]
            predictions = self.desk.ask(conversations, self.llm, title, lambda one: one.reason, self.backend)
            self.answered |= dict(zip(fresh, predictions, strict=True))
        return [self.answered[one].probability for one in asked]

    def exact(self) -> int:
        """Return how many predictions are probabilities that the model gave."""
        return sum(one.exact for one in self.answered.values())

    def reasons(self) -> Counter[str]:
        """Return why predictions are missing."""
        return Counter(one.reason for one in self.answered.values() if one.reason)

    def _converse(self, respondent: KnownPerson, item: SurveyItem) -> Conversation[Prediction]:
        first = read_prediction((yield from ask(self._request(respondent, item, 0))), item)
        if first.exact or self.samples < 2:
            return first
        replies = yield from ask_all(self._request(respondent, item, draw) for draw in range(1, self.samples))
        draws = [first, *(read_prediction(reply, item) for reply in replies)]
        known = [draw.probability for draw in draws if draw.probability is not None]
        return Prediction(sum(known) / len(known)) if known else first

    def _request(self, respondent: KnownPerson, item: SurveyItem, draw: int) -> Request:
        seed = derive(self.seed, "respondent", respondent.describe(self.language), item.text, draw)
        return respondent.compose(item, self.language, seed, self.adapter)
