"""own: the rating that the person gave in the episode.

No model is asked and nothing is estimated: what a mediator writes anew has no value.
"""

from __future__ import annotations

from collections.abc import Sequence

from parley.agents.representative import knowledge_line
from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice
from parley.analysis.judging import Verdict, missing
from parley.llm.driver import Conversation, ask_all
from parley.studies.representatives.payoffs import AGREEMENT

UNIT = AGREEMENT
MOST: int | None = None


def score(episode: Episode, voice: Voice, statements: Sequence[str], seed: int) -> Conversation[tuple[Verdict, ...]]:
    """Return the recorded ratings, without calling a model."""
    yield from ask_all(())
    texts = {name: getattr(episode, name) for name in STATEMENTS}
    rated = {knowledge_line(texts[name]): value for name, value in voice.agreement.items() if texts[name] is not None}
    return tuple(_score(rated, knowledge_line(statement)) for statement in statements)


def _score(rated: dict[str, float | None], statement: str) -> Verdict:
    if statement not in rated:
        return missing("not rated by the participant")
    value = rated[statement]
    return missing("rating missing") if value is None else Verdict(value)
