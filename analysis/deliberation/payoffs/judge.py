"""judge: a model says how strongly the participant would agree with the statement, 1 to 7, from the opinion alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.agents.representative import knowledge_line
from parley.agents.scales import Scale, read_rating
from parley.agents.topic import scales
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.deliberation.payoffs._score import Score
from parley.llm.driver import Conversation, ask_all
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.seeding import derive

UNIT = "agreement, 1 to 7"
MOST: int | None = None
PROMPTS = Path(__file__).parents[1] / "prompts"
TOKENS = 8


def score(episode: Episode, voice: Voice, statements: Sequence[str], seed: int) -> Conversation[tuple[Score, ...]]:
    """One question a statement, at temperature 0. Without an opinion there is nothing to go by."""
    if voice.opinion is None:
        return tuple(Score(None, "no opinion") for _ in statements)
    replies = yield from ask_all(
        [compose(episode, voice.opinion, one, derive(seed, "payoff", one)) for one in statements]
    )
    return tuple(map(read, replies))


def compose(episode: Episode, opinion: str, statement: str, seed: int) -> Request:
    """The question about one statement."""
    scale = scale_()
    facts: Facts = {
        "issue": knowledge_line(episode.question.question),
        "opinion": knowledge_line(opinion),
        "statement": knowledge_line(statement),
        "scale": scale,
    }
    told = prompt(PROMPTS, "judge").fill(
        question=facts["issue"],
        opinion=facts["opinion"],
        statement=facts["statement"],
        low=scale.low,
        high=scale.high,
        anchors=", ".join(f"{point} means {scale.labels[point]}" for point in scale.points),
    )
    return Request((Message("user", told),), Sampling(0.0, TOKENS), seed, scale.answers, "payoff", facts=facts)


def read(reply: Reply) -> Score:
    """The mean of a distribution, else the number that the reply names."""
    if reply.failure:
        return Score(None, reply.failure.name)
    if reply.answers:
        return Score(scale_().expected(reply.answers))
    found = read_rating(reply.text, scale_(), "strict")
    return Score(found.value, found.reason or "")


def scale_() -> Scale:
    """Agreement from 1 to 7."""
    found: Scale = scales()["agreement_1_7"]
    return found
