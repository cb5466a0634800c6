"""One verdict: the question, and what is read out of the replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from parley.agents.attitude import read_rating
from parley.agents.datafiles import read_toml
from parley.agents.topic import Topic, scales
from parley.llm.driver import Conversation, ask_all
from parley.llm.errors import UserError
from parley.llm.randomness import derive
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.template import prompt

HERE = Path(__file__).parent
PROMPTS = HERE / "prompts"
SCALE = "agreement_1_7"
TOKENS = 12


@dataclass(frozen=True)
class Judging:
    """How a judge is asked: `calls` times a statement at `temperature`; `shown` examples; whether it is told who speaks (`name`,
    `party`). A backend that gives the distribution of answers is asked once and its mean taken. The values are those of the
    UCL study's public code (3 calls, 0.01), but for the seed: a different one each call.
    """

    calls: int = 3
    temperature: float = 0.01
    shown: int = 4
    told: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.calls < 1 or self.temperature < 0 or self.shown < 0:
            raise UserError("a judge is asked at least once, at a temperature of 0 or more, with 0 or more examples")
        if unknown_ := set(self.told) - {"name", "party"}:
            raise UserError(f"a judge can be told name and party, not {', '.join(sorted(unknown_))}")


class Statement(NamedTuple):
    """What is judged; `place` names it (room and turn), and with it the random stream."""

    place: str
    topic: Topic
    text: str
    name: str
    party: str


class Verdict(NamedTuple):
    """`score` is the mean of the readings (1-7), None when there is none; `reasons` say why replies were not read, in order."""

    score: float | None
    readings: tuple[float, ...]
    reasons: tuple[str, ...]


def judge(statement: Statement, judging: Judging) -> Conversation[Verdict]:
    """Ask the judge about one statement: once, and where the reply has no distribution the other times too."""
    first = yield from ask_all([compose(statement, judging, 0)])
    if first[0].answers or judging.calls == 1:
        return verdict(first)
    others = yield from ask_all([compose(statement, judging, call) for call in range(1, judging.calls)])
    return verdict((*first, *others))


def compose(statement: Statement, judging: Judging, call: int) -> Request:
    """The rules as system message, examples as turns of a chat, the statement last."""
    scale = scales()[SCALE]
    ends = {"low": scale.low, "high": scale.high}
    named = ", ".join(f"{point} {scale.labels[point]}" for point in scale.points)
    rules = Message("system", prompt(PROMPTS, "judge").fill(scale=named, **ends))
    messages = [rules]
    for example, score in examples(statement.topic.root)[: judging.shown]:
        messages += [Message("user", _case(example, "", statement.topic)), Message("assistant", str(score))]
    by = ", ".join(getattr(statement, name) for name in judging.told)
    messages.append(Message("user", _case(statement.text, f" ({by})" if by else "", statement.topic)))
    seed = derive(judging.seed, "judge", statement.place, call)
    return Request(tuple(messages), Sampling(judging.temperature, TOKENS), seed, scale.answers, "verdict")


def verdict(replies: Sequence[Reply]) -> Verdict:
    """The mean of what could be read; of a distribution its mean."""
    scale = scales()[SCALE]
    readings: list[float] = []
    reasons: list[str] = []
    for reply in replies:
        if reply.answers:
            readings.append(scale.expected(reply.answers))
        elif reply.failure:
            reasons.append(reply.failure.name)
        else:
            found = read_rating(reply.text, scale, "strict")
            readings += [] if found.value is None else [found.value]
            reasons += [found.reason] if found.reason else []
    return Verdict(fmean(readings) if readings else None, tuple(readings), tuple(reasons))


def claim(topic: Topic) -> str:
    """The proposition that is judged: that of the topic's agreement probe."""
    return topic.claim


@cache
def examples(slug: str) -> tuple[tuple[str, int], ...]:
    """The scored statements of a topic, the extremes first (a judge that is shown two has seen both ends)."""
    entries: Sequence[Mapping[str, object]] = read_toml(HERE / "examples.toml").get(slug, [])
    found = [(str(entry["statement"]), int(str(entry["score"]))) for entry in entries]
    return tuple(sorted(found, key=lambda pair: -abs(pair[1] - 4)))


def _case(text: str, by: str, topic: Topic) -> str:
    scale = scales()[SCALE]
    slots = {"low": scale.low, "high": scale.high, "anchors": scale.anchors}
    return prompt(PROMPTS, "case").fill(statement=text, by=by, claim=claim(topic), **slots)


def prompts() -> Iterator[Path]:
    """The files that the question is made of."""
    yield from (*sorted(PROMPTS.glob("*.txt")), HERE / "examples.toml")
