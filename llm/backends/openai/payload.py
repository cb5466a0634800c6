"""Requests as the JSON that an endpoint takes.

What a server said, as a reply or a named failure. Nothing that a 200 claims is believed unchecked.

Failures that may pass (`transient`) are told apart by what to do about them: those in `BUSY` are the server's (it is asked again
until its time is up), others this request's (a few times). After those in `STOP` no call can go well: they end the run.

The distribution over allowed answers, from the likeliest tokens at the place where the answer begins.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from parley.llm.backends.openai.transport import HttpAnswer
from parley.llm.budget import UNCOUNTED
from parley.llm.request import (
    COVERED,
    MOST,
    Failure,
    Message,
    Reply,
    Request,
    Usage,
    plain_text,
    set_choice,
    stop_strings,
)

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
        asked |= _closed_fields(request, can)
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


def _closed_fields(request: Request, can: EndpointAbilities) -> dict[str, Any]:
    if can.closed == CHOICE:
        return {"response_format": answer_schema(request.answers)}
    if can.closed == TEXT:
        return {}
    if can.api == COMPLETIONS:
        return {"logprobs": can.top, can.most: ASIDE + can.thinking}
    most = len(request.answer_prefix.split()) * 2 + ASIDE + can.thinking
    return {"logprobs": True, "top_logprobs": can.top, can.most: most}


BUSY = frozenset({"busy", "unreachable"})
STOP = frozenset({"not_allowed", "no_such_model", "no_credit"})
PASSING = frozenset({408, 409, 425, 429, 502, 503, 504, 529})
"""The statuses of a server that is busy or not there for a moment."""
_THOUGHT = re.compile(r"^\s*(?:<think(?:ing)?>)?(.*?)</think(?:ing)?>|^\s*<think(?:ing)?>(.*)", re.S)
_TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|maximum (?:context|.{0,20}tokens)|too (?:long|many tokens)|exceeds? .{0,40}token",
    re.I,
)
_FILTERED = re.compile(r"content.?(?:filter|management|policy)|safety (?:system|filter)|moderation", re.I)
_SECRET = re.compile(
    r"\b(?:(?:sk|key|Bearer)[-_]|Bearer )[\w*.-]{6,}|(?<=\bkey )(?=[\w*.-]*[\d*])[\w*.-]{6,}"  # "API key provided" is none
)


def parse_response(answer: HttpAnswer, request: Request, can: EndpointAbilities) -> Reply:
    """The reply to a request."""
    if answer.status != 200:
        return failure_from(answer)
    try:
        told = json.loads(answer.body)
        if isinstance(told, dict) and told.get("error"):  # some gateways put an error into a 200
            return failure_from(answer._replace(status=_code(told["error"])))
        return _reply(told, request, can)
    except (ValueError, RecursionError, OverflowError):
        return Reply.failed("malformed", "the reply is no JSON", transient=True)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        return Reply.failed("malformed", f"the reply lacks {error}"[:200], transient=True)


def failure_from(answer: HttpAnswer) -> Reply:
    """A status that is not 200, by its name."""
    said, code = _message(answer.body)
    status, detail = answer.status, f"{answer.status}: {said}"[:300]
    filtered = code == "content_filter" or bool(_FILTERED.search(said))
    if filtered and status in (400, 403, 422):
        return Reply.failed("content_filter", detail)
    if status in (401, 403):
        return Reply.failed("not_allowed", detail)
    if status == 402 or code == "insufficient_quota":
        return Reply.failed("no_credit", detail)
    if status == 404:
        return Reply.failed("no_such_model", detail)
    if status in PASSING:
        return Reply.failed("busy", detail, transient=True)
    if code == "context_length_exceeded" or (status < 500 and _TOO_LONG.search(said)) or status == 413:
        return Reply.failed("context_overflow", detail)
    if status >= 500:
        return Reply.failed("server_error", detail, transient=True)
    return Reply.failed("bad_request", detail)


def retry_after(answer: HttpAnswer) -> float | None:
    """Seconds that the server wants to be left alone, where it says so."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, min(600.0, float(answer.headers.get(name, "")) / unit))
        except ValueError:
            continue
    return None


def sanitise(text: str) -> str:
    """A server's words as one line without what looks like a key, or tells a terminal to do something."""
    return _SECRET.sub("(secret)", "".join(filter(str.isprintable, " ".join(text.split()))))


def _reply(told: Any, request: Request, can: EndpointAbilities) -> Reply:
    usage, notes = usage_of(told.get("usage"))
    choice = told["choices"][0]
    text, thinking = _words(choice, can)
    reply = Reply(None, usage=usage, notes=notes, thinking=thinking)
    reason = choice.get("finish_reason")
    if reason == "content_filter":
        return _failed(reply, "content_filter")
    if choice.get("message", {}).get("refusal"):
        return _failed(reply, "refusal", sanitise(choice["message"]["refusal"]))
    if not text.strip():
        return _failed(
            reply, "out_of_tokens" if reason == "length" else "empty", sanitise(str(reason)), reason != "length"
        )
    reply.text = text
    if reason == "length":
        reply.notes = {**notes, "cut": 1}
    return _closed_reply(reply, choice, request, can) if request.answers else reply


def _closed_reply(reply: Reply, choice: Any, request: Request, can: EndpointAbilities) -> Reply:
    """A closed question's reply: the distribution where the server gave one, else the answer of the schema, else the text."""
    if can.closed == LOGPROBS:
        found = choice_probabilities(choice.get("logprobs"), request, can.api == CHAT)
        if found is not None:
            set_choice(reply, request, found)
            reply.way = LOGPROBS
            return reply
    if can.closed == CHOICE and reply.text is not None:
        try:
            chosen = json.loads(reply.text)["answer"]
        except (ValueError, KeyError, TypeError):
            chosen = None
        if chosen in request.answers:
            reply.text, reply.way = chosen, CHOICE
            return reply
    reply.way = "text"
    return reply


def _words(choice: Any, can: EndpointAbilities) -> tuple[str, str]:
    """What is visible of a reply, and what the model thought before it."""
    if can.api != CHAT:
        return str(choice["text"] or ""), ""
    message = choice["message"]
    text = message.get("content") or ""
    if isinstance(text, list):  # some servers send parts
        text = "".join(part.get("text", "") for part in text if isinstance(part, dict))
    thought = message.get("reasoning_content") or message.get("reasoning") or ""
    inline = _THOUGHT.match(text)
    if inline:
        return text[inline.end() :].lstrip(), f"{thought}{(inline[1] or inline[2] or '').strip()}"
    return str(text), str(thought)


def usage_of(told: Any) -> tuple[Usage, dict[str, int]]:
    """Tokens, and what else is told of them."""
    if not isinstance(told, dict) or None in (
        tokens := [_count(told.get(f"{kind}_tokens")) for kind in ("prompt", "completion")]
    ):
        return Usage(), {UNCOUNTED: 1}
    notes = {}
    for name, group, field in (
        ("cached_tokens", "prompt_tokens_details", "cached_tokens"),
        ("thinking_tokens", "completion_tokens_details", "reasoning_tokens"),
    ):
        details = told.get(group)
        if count := _count(details.get(field)) if isinstance(details, dict) else None:
            notes[name] = count
    return Usage(tokens[0] or 0, tokens[1] or 0), notes


def _count(told: Any) -> int | None:
    """A number of tokens, or None for what can be none."""
    return told if type(told) is int and 0 <= told < 1 << 40 else None


def _failed(reply: Reply, name: str, detail: str = "", transient: bool = False) -> Reply:
    reply.text, reply.failure = None, Failure(name, detail, transient)
    return reply


def _code(error: Any) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _message(body: bytes) -> tuple[str, str]:
    """The words and the code of an error, in any of the shapes that servers use."""
    text = body.decode(errors="replace")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return sanitise(text), ""
    inner = told.get("error", told) if isinstance(told, dict) else told
    if not isinstance(inner, dict):
        return sanitise(str(inner)), ""
    return sanitise(str(inner.get("message") or inner.get("detail") or inner)), str(
        inner.get("code") or inner.get("type") or ""
    )


UNTOLD = 0.02
"""The most that may lie on tokens with which several answers begin."""
AROUND = " \t\n\"'`*_([“‘"


class TokenPosition(NamedTuple):
    """One place of a reply: the token that stands there, and what might have stood there, with probabilities."""

    token: str
    likely: Mapping[str, float]


def choice_probabilities(told: Any, request: Request, chat: bool) -> list[float] | None:
    """A share for each allowed answer (not scaled), or None where the likeliest tokens do not tell.

    They do not when there are none, when they are no probabilities, when the answers have less than half of them together, or
    when more than .02 lies on a beginning that several answers share ("1" of 1 and 10, where a tokenizer has no token for 10).
    """
    places = _places(told, chat)
    start = _start(places, "" if not chat else request.answer_prefix)
    if start is None or not 0 < sum(places[start].likely.values()) < 1.02:
        return None
    found, untold = _sum_probabilities(places, start, [answer.lower() for answer in request.answers])
    return found if sum(found) >= COVERED and untold <= UNTOLD else None


def has_logprobs(told: Any, chat: bool) -> bool:
    """Are these the likeliest tokens of a reply, whatever it says: probabilities, several at a place, and what was said?"""
    places = _places(told, chat)
    whole = [place for place in places if len(place.likely) > 1 and sum(place.likely.values()) < 1.02]
    return bool(places) and len(whole) == len(places) and places[0].token in places[0].likely


def _places(told: Any, chat: bool) -> list[TokenPosition]:
    """None at all where they cannot be read."""
    try:
        return _chat(told) if chat else _legacy(told)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return []


def _sum_probabilities(
    places: Sequence[TokenPosition], start: int, answers: Sequence[str]
) -> tuple[list[float], float]:
    """A share for each answer, and what lies on beginnings that several share."""
    found, untold, here = [0.0] * len(answers), 0.0, places[start]
    known = {_bare(token) for token in here.likely}
    for token, share in here.likely.items():
        begun = _bare(token)
        fits = [place for place, answer in enumerate(answers) if begun and answer.startswith(begun)]
        longer = [place for place in fits if answers[place] != begun and answers[place] not in known]
        if len(begun) == 1 and begun not in answers:  # "I" begins "in favour", and most sentences
            continue
        if len(fits) == 1 or (begun in answers and not longer):
            found[fits[0] if len(fits) == 1 else answers.index(begun)] += share
        elif fits and begun in answers and _bare(here.token) == begun and len(longer) == 1 and start + 1 < len(places):
            more = _continued(places[start + 1], answers[longer[0]][len(begun) :])
            found[answers.index(begun)] += share * (1 - more)
            found[longer[0]] += share * more
        elif fits:
            untold += share
    return found, untold


def _continued(place: TokenPosition, rest: str) -> float:
    """How probable it is that the answer goes on: "0" behind "1"."""
    return sum(
        share for token, share in place.likely.items() if token and rest.startswith(token.rstrip().lower() or "?")
    )


def _start(places: Sequence[TokenPosition], prefix: str) -> int | None:
    """Where the answer begins: behind the prefix, if the reply has it, else at the first token that is more than punctuation."""
    said, wanted = "", " ".join(prefix.lower().split())
    for number, place in enumerate(places):
        if wanted and " ".join(said.lower().split()).endswith(wanted) and _bare(place.token):
            return number
        said += place.token
    return next((number for number, place in enumerate(places) if _bare(place.token)), None)


def _bare(token: str) -> str:
    return token.strip(AROUND).lower()


def _chat(told: Any) -> list[TokenPosition]:
    return [
        TokenPosition(str(at["token"]), _shares((one["token"], one["logprob"]) for one in at["top_logprobs"]))
        for at in told["content"]
    ]


def _legacy(told: Any) -> list[TokenPosition]:
    return [
        TokenPosition(str(token), _shares(likely.items()))
        for token, likely in zip(told["tokens"], told["top_logprobs"], strict=True)
    ]


def _shares(logs: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    for token, log in logs:
        share = math.exp(float(log))
        if not 0 <= share <= 1.001:
            raise ValueError("no probability")
        found[str(token)] = found.get(str(token), 0.0) + share
    return found
