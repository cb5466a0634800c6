"""judge: a model says how strongly the participant would agree with the statement, 1 to 7, from the opinion alone."""

from __future__ import annotations

from collections.abc import Sequence

from parley.agents.reply_cleaning import one_line
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.judging import Item, Verdict, compose, load_rubric, missing, read
from parley.llm.driver import Conversation, ask_all
from parley.studies.representatives.payoffs import AGREEMENT

UNIT = AGREEMENT
MOST: int | None = None
RUBRIC = load_rubric("payoff")


def score(episode: Episode, voice: Voice, statements: Sequence[str], seed: int) -> Conversation[tuple[Verdict, ...]]:
    """One question a statement, at temperature 0. Without an opinion there is nothing to go by."""
    if voice.opinion is None:
        return tuple(missing("no opinion") for _ in statements)
    items = [statement_item(episode, voice.opinion, statement) for statement in statements]
    replies = yield from ask_all([compose(RUBRIC, item, seed) for item in items])
    return tuple(read(RUBRIC, [reply]) for reply in replies)


def statement_item(episode: Episode, opinion: str, statement: str) -> Item:
    """The question about one statement."""
    slots = {"issue": episode.question.question, "opinion": opinion, "statement": statement}
    return Item((statement,), {name: one_line(text) for name, text in slots.items()})
