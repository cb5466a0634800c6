"""Reads an answer that comes token by token (server-sent events), and puts it together as if it had come at once.

So a call is known to be under way: it is given up when no token has come for some time, not when the whole reply takes long.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp

from parley.llm.backends.openai.body import BadBody, read_body

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
