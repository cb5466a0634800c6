"""Asks again for a turn whose reply holds no line of its speaker, as a survey question is asked again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from parley.agents.speech import UNSAID, Speech
from parley.llm.driver import Conversation, ask_all
from parley.llm.request import Reply, Request

Key = TypeVar("Key")


class TurnReply(NamedTuple):
    """The last request for a turn and its reply. earlier: the texts of replies before it without a line of the speaker."""

    request: Request
    reply: Reply
    earlier: tuple[str | None, ...] = ()


def ask_until_said(
    turns: dict[Key, TurnReply],
    read: Callable[[Key, Reply], Speech],
    compose: Callable[[Key, int], Request],
    record: Callable[[Key, Request, Reply], None],
    asks: int,
) -> Conversation[None]:
    """Ask for turns again, up to `asks` times in all, and put the last reply of each in its place.

    A failed call is not repeated here. compose: the request for a turn and the attempt (from 1). record: keeps a call whose reply
    is replaced.
    """
    for attempt in range(1, asks):
        unsaid = [
            key for key, turn in turns.items() if turn.reply.failure is None and read(key, turn.reply).reason in UNSAID
        ]
        requests = [_drawn(compose(key, attempt)) for key in unsaid]
        replies = yield from ask_all(requests)
        for key, request, reply in zip(unsaid, requests, replies, strict=True):
            before = turns[key]
            record(key, before.request, before.reply)
            turns[key] = TurnReply(request, reply, (*before.earlier, before.reply.text))


def _drawn(request: Request) -> Request:
    """Return the request with a temperature above 0: the likeliest reply would be the same again."""
    if request.sampling.temperature:
        return request
    return replace(request, sampling=request.sampling._replace(temperature=1.0))
