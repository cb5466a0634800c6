"""trained: a payoff model that was trained on recorded ratings (`run.py study representatives payoff`). `trained:FOLDER`

It reads the question, the participant's opinion and the statement, in this order, a line each, and gives a number. The form
`rating` gives a rating, cut to 1 to 7. The form `pairs` gives a payoff without a zero: the difference of two is the log odds
that the participant rates the first statement higher (Bradley and Terry 1952, Biometrika 39).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from parley.agents.reply_cleaning import one_line
from parley.analysis.deliberation.episode import SCALE, Episode, Voice
from parley.analysis.judging import Verdict, missing
from parley.llm.backends.hf.reward import RATING, RewardModel
from parley.llm.driver import Conversation, ask_all
from parley.llm.request import Message, Reply, Request, Sampling
from parley.studies.representatives.payoffs import AGREEMENT

UNIT = "agreement, 1 to 7 (form rating), or log odds (form pairs)"
MOST: int | None = None
LOG_ODDS = "log odds"


class TrainedPayoff:
    """A scorer with its model."""

    MOST = MOST

    def __init__(self, model: RewardModel):
        self.model, self.form, self.blind = model, model.head.form, model.head.blind
        self.UNIT = AGREEMENT if self.form == RATING else LOG_ODDS

    def score(
        self, episode: Episode, voice: Voice, statements: Sequence[str], seed: int
    ) -> Conversation[tuple[Verdict, ...]]:
        """One question a statement. Without an opinion there is nothing to go by, unless the model does not read it."""
        if voice.opinion is None and not self.blind:
            return tuple(missing("no opinion") for _ in statements)
        questions = [
            payoff_question(episode.question.question, voice.opinion, statement, self.blind) for statement in statements
        ]
        requests = [Request((message,), Sampling(0.0, 8), seed, purpose="payoff") for message in questions]
        replies = yield from ask_all(requests)
        return tuple(self._read(reply) for reply in replies)

    def _read(self, reply: Reply) -> Verdict:
        if reply.failure or reply.text is None:
            return missing(reply.failure.name if reply.failure else "empty")
        value = float(reply.text)
        if not math.isfinite(value):
            return missing("not a number")
        return Verdict(min(max(value, SCALE[0]), SCALE[1]) if self.form == RATING else value)


score = TrainedPayoff.score


def open_model(folder: Path) -> TrainedPayoff:
    """Return the scorer of a folder. Errors: UserError when it has no payoff model."""
    return TrainedPayoff(RewardModel(folder))


def payoff_question(question: str, opinion: str | None, statement: str, blind: bool = False) -> Message:
    """Return what the model reads, in training and when it is asked. blind: without the opinion."""
    parts = [question, statement] if blind else [question, opinion or "", statement]
    return Message("user", "\n".join(map(one_line, parts)))
