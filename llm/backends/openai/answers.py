"""Reads the distribution over the allowed answers from the likeliest tokens of a reply.

Reads an answer that comes token by token (server-sent events), and puts it together as if it had come at once.

So a call is known to be under way: it is given up when no token has come for some time, not when the whole reply takes long.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import aiohttp

MEDIA = "text/event-stream"
FIELDS: Mapping[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""What a request says to get its reply so."""
LONG = 200
"""From so many tokens on a reply is asked for token by token. To read the tokens one by one takes processor time."""


async def read_stream(response: aiohttp.ClientResponse, on_event: Callable[[], None]) -> tuple[int, bytes]:
    """Return status and body of the whole answer. `on_event` is called when tokens come.

    Errors: BadBody, and aiohttp.ClientPayloadError where the stream breaks off.
    """
    body = await read_body(response, lambda chunk: on_event() if b"data:" in chunk else None)
    data = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    try:
        events = [json.loads(line) for line in data if line != b"[DONE]"]
        broken = next((event["error"] for event in events if "error" in event), None)
        if broken is not None:
            code = broken.get("code") if isinstance(broken, dict) else None
            return (code if isinstance(code, int) and 400 <= code < 600 else 500), json.dumps(
                {"error": broken}
            ).encode()
        answer = _merge(events)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadBody("events that are none of this protocol") from error
    if answer["choices"][0]["finish_reason"] is None:
        raise aiohttp.ClientPayloadError("the reply broke off")
    return response.status, json.dumps(answer).encode()


def _merge(events: list[Any]) -> dict[str, Any]:
    """Return the body of an answer from its events. Texts and lists of the choice are joined, other values are the last."""
    answer: dict[str, Any] = {}
    choice: dict[str, Any] = {"finish_reason": None, "message": {}}
    for event in events:
        answer |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for piece in event.get("choices") or ():
            choice["message"] = _join(choice["message"], piece.get("delta") or {})
            rest = {name: value for name, value in piece.items() if name != "delta" and value is not None}
            choice = _join(choice, rest)
    choice["message"].setdefault("content", None)
    return {**answer, "choices": [choice]}


def _join(whole: dict[str, Any], piece: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with a piece added: texts and lists are joined, also those of the log-probabilities."""
    joined = dict(whole)
    for name, value in piece.items():
        before: Any = whole.get(name)
        if name in ("role", "finish_reason") or type(before) is not type(value):
            joined[name] = value if value is not None else before
        elif isinstance(value, dict):
            joined[name] = _join(whole[name], value)
        else:
            joined[name] = before + value if isinstance(value, str | list) else value
    return joined


MOST_BYTES = 8_000_000
"""The longest body. 4,000 tokens with their 20 likeliest tokens each, the longest that is ever asked for, are 7 MB."""
PACKING = "gzip"
"""What a server may pack its replies with. Others (brotli, zstd) cannot be unpacked up to a length only."""


class BadBody(Exception):
    """A body that is too long, or that is packed in a way that was not asked for."""


async def read_body(response: aiohttp.ClientResponse, on_chunk: Callable[[bytes], None] | None = None) -> bytes:
    """Return the whole body of a response that its session does not unpack, unpacked. Errors: BadBody.

    `on_chunk` gets each piece as it comes.
    """
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if not on_chunk and (response.content_length or MOST_BYTES) < MOST_BYTES:  # the usual case, in one step
        body = await response.read()
    else:
        body = b"".join([chunk async for chunk in _bounded(response.content, on_chunk)])
    return body if packing in ("", "identity") else _unpack(body, packing)


async def _bounded(stream: aiohttp.StreamReader, on_chunk: Callable[[bytes], None] | None) -> AsyncIterator[bytes]:
    length = 0
    async for chunk in stream.iter_any():
        length += len(chunk)
        if on_chunk:
            on_chunk(chunk)
        if length > MOST_BYTES:
            raise _too_long()
        yield chunk


def _unpack(body: bytes, packing: str) -> bytes:
    if packing != PACKING:
        raise BadBody(f"packed with {packing[:20]!r}, although only {PACKING} was asked for")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)  # 16: with the header of gzip
    try:
        text = unpacking.decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise BadBody(f"no {PACKING}: {error}") from error
    if len(text) > MOST_BYTES:
        raise _too_long()
    if not unpacking.eof:
        raise BadBody(f"no {PACKING}: it breaks off")
    return text


def _too_long() -> BadBody:
    return BadBody(f"too long: more than {MOST_BYTES // 10**6} MB")


SHARED = 0.02
"""The largest part of the probability of answers that may lie on tokens with which several of them begin."""
AROUND = " \t\n\"'`*_([“‘"


class TokenPosition(NamedTuple):
    """One position of a reply: its token, and the likeliest tokens there with their probabilities."""

    token: str
    likely: Mapping[str, float]

    @property
    def is_distribution(self) -> bool:
        return 0 < sum(self.likely.values()) < 1.02


def choice_probabilities(logprobs: Any, answers: Sequence[str], prefix: str = "") -> list[float] | None:
    """Return a share for each allowed answer (not scaled), or None where the likeliest tokens do not determine them.

    They do not when they are missing, when they are no probabilities, when none of them begins an answer, or when more than 2% of
    theirs lies on a beginning that several answers share ("1" of 1 and 10, where a tokenizer has no token for 10 and the reply
    does not go on with it). prefix: how the reply begins before the answer.
    """
    places = positions(logprobs)
    start = _answer_start(places, prefix)
    if start is None or not places[start].is_distribution:
        return None
    shares, shared = _sum_probabilities(places[start:], [answer.lower() for answer in answers])
    return shares if sum(shares) and shared <= SHARED * (sum(shares) + shared) else None


def next_tokens(logprobs: Any) -> Mapping[str, float]:
    """Return the likeliest first tokens of a reply with their probabilities; none where they cannot be read."""
    places = positions(logprobs)
    return places[0].likely if places and places[0].is_distribution else {}


def has_logprobs(logprobs: Any) -> bool:
    """Are these the likeliest tokens of a reply: probabilities, several per position, and the token of the reply too?"""
    places = positions(logprobs)
    several = all(len(place.likely) > 1 and place.is_distribution for place in places)
    return bool(places) and several and places[0].token in places[0].likely


def positions(logprobs: Any) -> list[TokenPosition]:
    """Return the positions of a reply; none where they cannot be read.

    Some servers (llama.cpp) answer completions in the form of a chat, so its fields show the form, not the address.
    """
    try:
        if "content" in logprobs:
            return [
                TokenPosition(
                    str(at["token"]),
                    _shares((alternative["token"], alternative["logprob"]) for alternative in at["top_logprobs"]),
                )
                for at in logprobs["content"]
            ]
        pairs = zip(logprobs["tokens"], logprobs["top_logprobs"], strict=True)
        return [TokenPosition(str(token), _shares(likely.items())) for token, likely in pairs]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return []


def _shares(logprobs: Iterable[tuple[Any, Any]]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for token, logprob in logprobs:
        share = math.exp(float(logprob))
        if not 0 <= share <= 1.001:
            raise ValueError("no probability")
        shares[str(token)] = shares.get(str(token), 0.0) + share
    return shares


def _sum_probabilities(positions: Sequence[TokenPosition], answers: Sequence[str]) -> tuple[list[float], float]:
    """Return a share for each answer, and what lies on beginnings that several answers share."""
    shares, shared, first = [0.0] * len(answers), 0.0, positions[0]
    bare_tokens = {_bare(token) for token in first.likely}
    for token, share in first.likely.items():
        begun = _bare(token)
        if len(begun) == 1 and begun not in answers:  # "I" begins "in favour", and most sentences
            continue
        fits = [place for place, answer in enumerate(answers) if begun and answer.startswith(begun)]
        longer = [place for place in fits if answers[place] != begun and answers[place] not in bare_tokens]
        if len(fits) == 1 or (begun in answers and not longer):
            shares[fits[0] if len(fits) == 1 else answers.index(begun)] += share
        elif fits and begun in answers and _bare(first.token) == begun and len(longer) == 1 and len(positions) > 1:
            continued = _continued(positions[1], answers[longer[0]][len(begun) :])
            shares[answers.index(begun)] += share * (1 - continued)
            shares[longer[0]] += share * continued
        elif fits:
            shared += share
    return shares, shared


def _continued(position: TokenPosition, rest: str) -> float:
    """Return the probability that the answer continues with `rest`: "0" behind "1"."""
    likely = position.likely.items()
    return sum(share for token, share in likely if token and rest.startswith(token.rstrip().lower() or "?"))


def _answer_start(positions: Sequence[TokenPosition], prefix: str) -> int | None:
    """Return where the answer begins: behind the prefix, else at the first token that is more than punctuation."""
    text, prefix = "", " ".join(prefix.lower().split())
    for number, position in enumerate(positions):
        if prefix and " ".join(text.lower().split()).endswith(prefix) and _bare(position.token):
            return number
        text += position.token
    return next((number for number, position in enumerate(positions) if _bare(position.token)), None)


def _bare(token: str) -> str:
    return token.strip(AROUND).lower()
