"""Writes requests as JSON, and reads what a server sends back: a reply, or a named failure.

Nothing that a status of 200 claims is believed unchecked. A transient failure in `BUSY` is the server's: it is called again
until its time is up. Other transient failures are the request's: it is repeated a few times. After a failure in `STOP` no call
can succeed, so it ends the run.

The distribution over allowed answers comes from the likeliest tokens at the place where the answer begins.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from parley.llm.backends.openai.pauses import LONG_PAUSE
from parley.llm.backends.openai.transport import HttpAnswer
from parley.llm.budget import UNCOUNTED
from parley.llm.purposes import EMBEDDING
from parley.llm.request import (
    COVERED,
    MOST,
    SERVED,
    SHORTENED,
    Failure,
    Reply,
    Request,
    Usage,
    answer_line,
    fold_system_message,
    plain_text,
    set_choice,
    stop_strings,
)
from parley.llm.secrets import HIDDEN, hide
from parley.llm.thinking import split_thinking

CHAT, COMPLETIONS = "chat", "completions"
EMBEDDINGS = "embeddings"
PATHS = {CHAT: "/chat/completions", COMPLETIONS: "/completions", EMBEDDINGS: "/embeddings"}
LOGPROBS, CHOICE, TEXT = "logprobs", "choice", "text"
"""How a closed question is answered: from the likeliest tokens, from a schema that allows nothing else, or in free text."""
LETTERS, FEWEST_LETTERS = 20, 2000
"""Characters of a text for each token that it may have (a token has 4 on average), and for any text: the rest is cut off."""
MOST_DETAIL = 300
"""Characters of a server's message, and of the name of a model."""
ANSWER_TOKENS = 16
"""Tokens for a closed answer, besides those with which it begins."""
BUSY = frozenset({"busy", "unreachable"})
STOP = frozenset({"not_allowed", "no_such_model", "no_credit", "redirected", LONG_PAUSE})
PASSING = frozenset({408, 409, 425, 429, 502, 503, 504, 529})
"""The statuses of a server that is busy or absent for a moment."""
SHARED = 0.02
"""The most probability that may lie on tokens with which several answers begin."""
AROUND = " \t\n\"'`*_([“‘"
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|maximum (?:context|.{0,20}tokens)|too (?:long|many tokens)|exceeds? .{0,40}token",
    re.I,
)
_FILTERED = re.compile(r"content.?(?:filter|management|policy)|safety (?:system|filter)|moderation", re.I)
_SECRET = re.compile(
    r"\b(?:(?:sk|key|Bearer)[-_]|Bearer )[\w*.-]{6,}|(?<=\bkey )(?=[\w*.-]*[\d*])[\w*.-]{6,}"  # "API key provided" is none
)


@dataclass(frozen=True)
class EndpointAbilities:
    """What an endpoint can do with a model, as the probe found (capabilities.py) or the user said.

    `closed` is the way of closed questions, `top` the number of likeliest tokens per position. `most` is the name of the field
    for the length of a reply. `sampling`: does it take temperature, top_p and stop strings (reasoning models do not)? `seed`:
    does it take a seed? `thinking` is the number of extra tokens for a model that thinks first. `system`: does it take a system
    message? Gemma and similar models do not; the text then begins the first message of the user.
    """

    api: str = CHAT
    closed: str = TEXT
    top: int = 0
    most: str = "max_tokens"
    sampling: bool = True
    seed: bool = True
    thinking: int = 0
    system: bool = True

    def to_identity(self) -> dict[str, Any]:
        """Return the abilities for keys and headers; `system` only where it is false, so that keys of earlier runs hold."""
        fields = asdict(self)
        if self.system:
            del fields["system"]
        return fields


class Capabilities(NamedTuple):
    """Abilities, the server's name for the model, and the tokens that it took for one word (0: not known)."""

    can: EndpointAbilities
    served: str
    probe_tokens: int = 0


def request_body(model: str, request: Request, can: EndpointAbilities) -> dict[str, Any]:
    """Return the fields of a call."""
    if can.api == EMBEDDINGS:
        return {"model": model, "input": request.messages[-1].content}
    sampling = request.sampling
    body: dict[str, Any] = {"model": model, **_prompt(request, can), can.most: sampling.max_tokens + can.thinking}
    if can.sampling:
        # without these fields, some servers use values of their own
        body |= {"temperature": sampling.temperature, "top_p": sampling.top_p}
        if stop := stop_strings(request) if can.api == COMPLETIONS else sampling.stop[:MOST]:
            body["stop"] = list(stop)
    if can.seed:
        body["seed"] = request.seed & 0x7FFFFFFF
    if request.answers and can.closed == CHOICE:
        body["response_format"] = answer_schema(request.answers)
    elif request.answers and can.closed == LOGPROBS and can.api == COMPLETIONS:
        body |= {"logprobs": can.top, can.most: ANSWER_TOKENS + can.thinking}
    elif request.answers and can.closed == LOGPROBS:
        tokens = len(request.answer_prefix.split()) * 2 + ANSWER_TOKENS + can.thinking
        body |= {"logprobs": True, "top_logprobs": can.top, can.most: tokens}
    return body


def refuse(request: Request, can: EndpointAbilities) -> Reply | None:
    """Return a named failure for an embedding of a model that writes, and for words of one that embeds; else None."""
    if (request.purpose == EMBEDDING) == (can.api == EMBEDDINGS):
        return None
    return Reply.failed(
        "only_embeddings" if can.api == EMBEDDINGS else "no_embeddings", "set api=embeddings for a model that embeds"
    )


def encode_body(body: dict[str, Any]) -> bytes:
    return _encode(body).encode()


def request_size(request: Request) -> int:
    """Estimate the tokens of a call, for limits per minute: four characters a token, and the longest reply."""
    return sum(len(message.content) for message in request.messages) // 4 + request.sampling.max_tokens


def answer_schema(answers: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a reply that can be nothing but `{"answer": ONE OF THEM}`."""
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
    return {"messages": [message._asdict() for message in messages]}


def parse_response(answer: HttpAnswer, request: Request, can: EndpointAbilities, served: str = "") -> Reply:
    """Return the reply to a request, or its named failure. served: the model so far; another one is noted."""
    if answer.status != 200:
        return failure_from(answer)
    try:
        data = json.loads(answer.body)
        if isinstance(data, dict) and (error := data.get("error")):  # some gateways put an error into a 200
            code = error.get("code") if isinstance(error, dict) else None
            return failure_from(answer._replace(status=code if isinstance(code, int) and 400 <= code < 600 else 500))
        reply = _reply(data, request, can)
        if served and data.get("model") != served and (name := served_name(data)) not in ("", served):
            reply.notes = {**reply.notes, SERVED + name: 1}
        return reply
    except (ValueError, RecursionError, OverflowError):
        return Reply.failed("malformed", "the reply is no JSON", transient=True)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        return Reply.failed("malformed", f"the reply lacks {error}"[:200], transient=True)


def failure_from(answer: HttpAnswer) -> Reply:
    """Name the failure of a status that is not 200."""
    message, code = _error_message(answer.body)
    status, detail = answer.status, f"{answer.status}: {message}"[:MOST_DETAIL]
    too_long = code == "context_length_exceeded" or (status < 500 and _TOO_LONG.search(message)) or status == 413
    if 300 <= status < 400:
        return Reply.failed("redirected", _redirection(answer))
    if (code == "content_filter" or _FILTERED.search(message)) and status in (400, 403, 422):
        return Reply.failed("content_filter", detail)
    if status in (401, 403):
        return Reply.failed("not_allowed", detail)
    if status == 402 or code == "insufficient_quota":
        return Reply.failed("no_credit", detail)
    if status == 404:
        return Reply.failed("no_such_model", detail)
    if status in PASSING:
        return Reply.failed("busy", detail, transient=True)
    if too_long:
        return Reply.failed("context_overflow", detail)
    if status >= 500:
        return Reply.failed("server_error", detail, transient=True)
    return Reply.failed("bad_request", detail)


def sanitise(text: str) -> str:
    """Return a server's text as one line, without what looks like a key or controls a terminal."""
    return _SECRET.sub(HIDDEN, hide("".join(filter(str.isprintable, " ".join(text.split())))))


def _redirection(answer: HttpAnswer) -> str:
    """Return where a server sends its callers, in words: prompts go only to the address that the user gave."""
    there = urlsplit(answer.headers.get("location", ""))
    where = sanitise(there.netloc or there.path)[:100] or "another address"
    return (
        f"{answer.status}: the server sends calls on to {where}, and no redirect is followed; give the right --base-url"
    )


def _error_message(body: bytes) -> tuple[str, str]:
    """Return the text and the code of an error, in any of the shapes that servers use."""
    text = body.decode(errors="replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return sanitise(text), ""
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return sanitise(str(error)), ""
    message = error.get("message") or error.get("detail") or error
    return sanitise(str(message)), str(error.get("code") or error.get("type") or "")


def _reply(data: Any, request: Request, can: EndpointAbilities) -> Reply:
    if can.api == EMBEDDINGS:
        usage, notes = usage_of({"completion_tokens": 0, **(data.get("usage") or {})})
        vector = [round(float(value), 6) for value in data["data"][0]["embedding"]]
        return Reply(json.dumps(vector), usage=usage, notes=notes)
    usage, notes = usage_of(data.get("usage"))
    choice = data["choices"][0]
    text, thinking, lost = _text_and_thinking(choice, request.sampling.max_tokens, can)
    notes |= {SHORTENED: lost} if lost else {}
    if can.api == COMPLETIONS and request.answers:
        text = answer_line(text)
    reply = Reply(None, usage=usage, notes=notes, thinking=thinking)
    reason = choice.get("finish_reason")
    refusal = choice.get("message", {}).get("refusal")
    if reason == "content_filter":
        reply.failure = Failure("content_filter")
    elif refusal:
        reply.failure = Failure("refusal", sanitise(refusal)[:MOST_DETAIL])
    elif not text.strip():
        cut = reason == "length"
        reply.failure = Failure("out_of_tokens" if cut else "empty", sanitise(str(reason))[:MOST_DETAIL], not cut)
    else:
        reply.text = text
        reply.notes = {**notes, "cut": 1} if reason == "length" else notes
        if request.answers:
            _read_answer(reply, choice, request, can)
    return reply


def _read_answer(reply: Reply, choice: Any, request: Request, can: EndpointAbilities) -> None:
    """Put the answer into a closed question's reply: the distribution, else the answer of the schema, else the text."""
    reply.way = TEXT
    if can.closed == LOGPROBS:
        shares = choice_probabilities(choice.get("logprobs"), request, can.api == CHAT)
        if shares is not None:
            set_choice(reply, request, shares)
            reply.way = LOGPROBS
    elif can.closed == CHOICE:
        try:
            answer = json.loads(reply.text or "")["answer"]
        except (ValueError, KeyError, TypeError):
            return
        if answer in request.answers:
            reply.text, reply.way = answer, CHOICE


def served_name(data: Any) -> str:
    """Return the name of the model that a server says has replied; "" where it says none."""
    return sanitise(str(data.get("model") or ""))[:MOST_DETAIL] if isinstance(data, dict) else ""


def _text_and_thinking(choice: Any, tokens: int, can: EndpointAbilities) -> tuple[str, str, int]:
    """Return the visible text of a reply, what the model thought before it, and how many characters were cut off.

    They are cut before anything reads them: a server that does not stop a model may send megabytes of empty lines.
    """
    if can.api == CHAT:
        message = choice["message"]
        text = message.get("content") or ""
        if isinstance(text, list):  # some servers send parts
            text = "".join(part.get("text", "") for part in text if isinstance(part, dict))
        thinking = message.get("reasoning_content") or message.get("reasoning") or ""
    else:
        text, thinking = str(choice["text"] or ""), ""
    text, lost = _cut(text, tokens + can.thinking)
    answer, inline = split_thinking(text)
    answer, more = _cut(answer, tokens)
    thinking, further = _cut(f"{thinking}{inline}", tokens + can.thinking)
    return answer, thinking, lost + more + further


def _cut(text: str, tokens: int) -> tuple[str, int]:
    """Return the beginning of a text that so many tokens may have, and the number of characters behind it."""
    most = max(FEWEST_LETTERS, LETTERS * tokens)
    return text[:most], max(0, len(text) - most)


def usage_of(usage: Any) -> tuple[Usage, dict[str, int]]:
    """Return the tokens of a call, and notes on them."""
    tokens = [_count(usage, f"{kind}_tokens") for kind in ("prompt", "completion")]
    if None in tokens:
        return Usage(), {UNCOUNTED: 1}
    counts = {
        "cached_tokens": _count(usage.get("prompt_tokens_details"), "cached_tokens"),
        "thinking_tokens": _count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    }
    return Usage(tokens[0] or 0, tokens[1] or 0), {name: count for name, count in counts.items() if count}


def _count(counts: Any, name: str) -> int | None:
    """Return a number of tokens, or None for what cannot be one."""
    count = counts.get(name) if isinstance(counts, dict) else None
    return count if type(count) is int and 0 <= count < 1 << 40 else None


class TokenPosition(NamedTuple):
    """One position of a reply: its token, and the likeliest tokens there with their probabilities."""

    token: str
    likely: Mapping[str, float]

    @property
    def is_distribution(self) -> bool:
        return 0 < sum(self.likely.values()) < 1.02


def choice_probabilities(logprobs: Any, request: Request, chat: bool) -> list[float] | None:
    """Return a share for each allowed answer (not scaled), or None where the likeliest tokens do not determine them.

    They do not when they are missing, when they are no probabilities, when the answers have less than half of the probability
    together, or when more than .02 lies on a beginning that several answers share ("1" of 1 and 10, where a tokenizer has no
    token for 10).
    """
    positions = _positions(logprobs, chat)
    start = _answer_start(positions, request.answer_prefix if chat else "")
    if start is None or not positions[start].is_distribution:
        return None
    shares, shared = _sum_probabilities(positions[start:], [answer.lower() for answer in request.answers])
    return shares if sum(shares) >= COVERED and shared <= SHARED else None


def has_logprobs(logprobs: Any, chat: bool) -> bool:
    """Are these the likeliest tokens of a reply: probabilities, several per position, and the token of the reply too?"""
    positions = _positions(logprobs, chat)
    several = all(len(position.likely) > 1 and position.is_distribution for position in positions)
    return bool(positions) and several and positions[0].token in positions[0].likely


def _positions(logprobs: Any, chat: bool) -> list[TokenPosition]:
    """Return the positions of a reply; none where they cannot be read."""
    try:
        if chat:
            return [
                TokenPosition(str(at["token"]), _shares((one["token"], one["logprob"]) for one in at["top_logprobs"]))
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
    known = {_bare(token) for token in first.likely}
    for token, share in first.likely.items():
        begun = _bare(token)
        if len(begun) == 1 and begun not in answers:  # "I" begins "in favour", and most sentences
            continue
        fits = [place for place, answer in enumerate(answers) if begun and answer.startswith(begun)]
        longer = [place for place in fits if answers[place] != begun and answers[place] not in known]
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
