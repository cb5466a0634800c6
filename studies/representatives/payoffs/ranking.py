"""ranking: the share of the others that a statement beats, 0 to 1.

The same question as that of the habermas mediator (the prompt ranking.txt), put to a judge; statements in an order
drawn by lot. Equal statements are shown once. One statement alone has no rank. There are 26 letters for them: no more
fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from parley.agents.representative import knowledge_line
from parley.agents.social_choice import LETTERS, borda, read_ranking
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.judging import Verdict, missing
from parley.llm.driver import Conversation, ask
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.seeding import derive, stream

UNIT = "share of the other statements beaten, 0 to 1"
MOST = len(LETTERS)
TOKENS = 150


def score(episode: Episode, voice: Voice, statements: Sequence[str], seed: int) -> Conversation[tuple[Verdict, ...]]:
    """One question for all statements, at temperature 0. Errors: ValueError for more statements than letters."""
    shown = stream(seed, "ranking").sample(
        distinct := list(dict.fromkeys(map(knowledge_line, statements))), len(distinct)
    )
    if voice.opinion is None or len(shown) < 2:
        return tuple(missing("nothing to compare" if voice.opinion else "no opinion") for _ in statements)
    if len(shown) > len(LETTERS):
        raise ValueError(f"{len(shown)} statements cannot be ranked at once")
    reply = yield from ask(compose(episode, voice.opinion, shown, derive(seed, "payoff", *shown)))
    verdict_of = dict(zip(shown, read(reply, len(shown)), strict=True))
    return tuple(verdict_of[knowledge_line(statement)] for statement in statements)


def compose(episode: Episode, opinion: str, shown: Sequence[str], seed: int) -> Request:
    """The question about all of them."""
    listed = "\n".join(f"{letter}: {text}" for letter, text in zip(LETTERS, shown, strict=False))
    language = episode.question.place.language
    told = language.prompt("ranking").fill(
        number=len(shown),
        question=knowledge_line(episode.question.question),
        known=f"{language.words('opinion')}: {knowledge_line(opinion)}",
        statements=listed,
    )
    facts: Facts = {"issue": episode.question.question, "opinion": knowledge_line(opinion), "candidates": shown}
    return Request((Message("user", told),), Sampling(0.0, TOKENS), seed, purpose="payoff_ranking", facts=facts)


def read(reply: Reply, count: int) -> tuple[Verdict, ...]:
    """A score for each statement in the order shown; all missing where the ranking cannot be read.

    >>> [one.value for one in read(Reply("B > A > C"), 3)]
    [0.5, 1.0, 0.0]

    Tied statements have the mean of their places.
    """
    ranking = read_ranking(reply.text, count)
    if reply.failure or ranking.order is None:
        return (missing(reply.failure.name if reply.failure else ranking.reason or "unread"),) * count
    return tuple(Verdict(points / (count - 1)) for points in borda([ranking.order], count).values)
