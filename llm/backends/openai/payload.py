"""Requests as the JSON that an endpoint takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from parley.llm.request import MOST, Message, Request, plain_text, stop_strings

CHAT, COMPLETIONS = "chat", "completions"
PATHS = {CHAT: "/chat/completions", COMPLETIONS: "/completions"}
LOGPROBS, CHOICE, TEXT = "logprobs", "choice", "text"
"""How a closed question is answered: from the likeliest tokens, from a schema that allows nothing else, or in free text."""
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
ASIDE = 16
"""Tokens that a closed answer may take beside what it begins with."""


@dataclass(frozen=True)
class EndpointAbilities:
    """What an endpoint does with a model, as the probe found it (capabilities.py) or the user said.

    `closed` is the way of closed questions and `top` the number of likeliest tokens told; `most` the name of the field for the
    length of a reply; `sampling` whether temperature, top_p and stop strings are taken (reasoning models: not), `seed` whether a
    seed is; `thinking` the tokens allowed beside the reply for a model that thinks first; `system` whether a system message is
    taken (by Gemma and its like it is not; its text then begins the first message of the user).
    """

    api: str = CHAT
    closed: str = TEXT
    top: int = 0
    most: str = "max_tokens"
    sampling: bool = True
    seed: bool = True
    thinking: int = 0
    system: bool = True

    def told(self) -> dict[str, Any]:
        """As they go into keys and headers; `system` only where it is not taken, so that the keys of earlier runs hold."""
        found = asdict(self)
        return found if not self.system else {name: value for name, value in found.items() if name != "system"}


def request_body(model: str, request: Request, can: EndpointAbilities) -> dict[str, Any]:
    """The fields of a call."""
    sampling = request.sampling
    asked: dict[str, Any] = {"model": model, **_prompt(request, can), can.most: sampling.max_tokens + can.thinking}
    if can.sampling:
        asked |= {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
        }  # left out, some servers use one of their own
        if ends := stop_strings(request) if can.api == COMPLETIONS else sampling.stop[:MOST]:
            asked["stop"] = list(ends)
    if can.seed:
        asked["seed"] = request.seed & 0x7FFFFFFF
    if request.answers:
        asked |= _closed(request, can)
    return asked


def encode_body(asked: dict[str, Any]) -> bytes:
    return _encode(asked).encode()


def request_size(request: Request) -> int:
    """About how many tokens a call takes, for limits on tokens a minute: four characters a token, and the longest reply."""
    return sum(len(message.content) for message in request.messages) // 4 + request.sampling.max_tokens


def answer_schema(answers: tuple[str, ...]) -> dict[str, Any]:
    """A reply that can be nothing but `{"answer": ONE OF THEM}`."""
    shape = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(answers)}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": shape}}


def _prompt(request: Request, can: EndpointAbilities) -> dict[str, Any]:
    if can.api == COMPLETIONS:
        text = plain_text(request.messages, closed=bool(request.answers))
        return {"prompt": f"{text} {request.answer_prefix}".rstrip() if request.answers else text}
    messages = request.messages if can.system else fold_system_message(request.messages)
    return {"messages": [{"role": message.role, "content": message.content} for message in messages]}


def fold_system_message(messages: Sequence[Message]) -> list[Message]:
    """The same without a system message: its text begins the first message, which is the user's.

    >>> fold_system_message([Message("system", "You are Ann."), Message("user", "Why?")])
    [Message(role='user', content='You are Ann.\\n\\nWhy?')]
    """
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if not system:
        return rest
    if rest and rest[0].role == "user":
        return [Message("user", f"{system}\n\n{rest[0].content}"), *rest[1:]]
    return [Message("user", system), *rest]


def _closed(request: Request, can: EndpointAbilities) -> dict[str, Any]:
    if can.closed == CHOICE:
        return {"response_format": answer_schema(request.answers)}
    if can.closed == TEXT:
        return {}
    if can.api == COMPLETIONS:
        return {"logprobs": can.top, can.most: ASIDE + can.thinking}
    most = len(request.answer_prefix.split()) * 2 + ASIDE + can.thinking
    return {"logprobs": True, "top_logprobs": can.top, can.most: most}
