"""Writes requests as JSON, and reads what a server sends back: a reply, or a named failure.

Nothing that a status of 200 claims is believed unchecked. A transient failure in `BUSY` is the server's: it is called again
until its time is up. Other transient failures are the request's: it is repeated a few times. After a failure in `STOP` no call
can succeed, so it ends the run.

The distribution over allowed answers comes from the likeliest tokens at the place where the answer begins (answers.py), or from
the next tokens behind the beginnings of the answers, where the server continues a message (lookup_body).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from parley.llm.backends.openai.answers import choice_probabilities, next_tokens
from parley.llm.backends.openai.pauses import LONG_PAUSE
from parley.llm.backends.openai.transport import HttpAnswer
from parley.llm.backends.openai.usage import usage_of
from parley.llm.purposes import EMBEDDING
from parley.llm.request import (
    BEGUN,
    MOST,
    SERVED,
    SHORTENED,
    Failure,
    Message,
    Reply,
    Request,
    answer_line,
    beginning_of,
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
WHOLE, LOGPROBS, CHOICE, TEXT = "whole", "logprobs", "choice", "text"
"""How a closed question is answered: whole answers from the next tokens behind their beginnings, from the likeliest tokens of one
reply, from a schema that allows nothing else, or in free text.
"""
MESSAGE, FLAGS = "message", "flags"
"""How a server is asked to continue the last message: by the message alone, or with two more fields (vLLM, SGLang)."""
NO_PENALTIES = {"repeat_penalty": 1.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
"""No penalties for repetitions, in the words of llama.cpp and of vLLM, which read only their own."""
CONTINUE = {"add_generation_prompt": False, "continue_final_message": True}
LETTERS, FEWEST_LETTERS = 20, 2000
"""Characters of a text for each token that it may have (a token has 4 on average), and for any text: the rest is cut off."""
MOST_DETAIL = 300
"""Characters of a server's message, and of the name of a model."""
ANSWER_TOKENS, SCHEMA_TOKENS = 16, 48
"""Tokens for a closed answer, besides those with which it begins, and for one in a schema: servers put line breaks into it."""
FEW_TOP = 20
"""With so few likeliest tokens, or fewer, the beginning of an unlikely phrase may be missing from them."""
IN_SCHEMA = '{"answer": "'
BUSY = frozenset({"busy", "unreachable"})
STOP = frozenset({"not_allowed", "no_such_model", "no_credit", "redirected", LONG_PAUSE})
PASSING = frozenset({408, 409, 425, 429, 502, 503, 504, 529})
"""The statuses of a server that is busy or absent for a moment."""
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_encode_fast, _decode_fast = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode
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
    message? Gemma and similar models do not; the text then begins the first message of the user. `continues`: how it is asked to
    continue the assistant's last message ("": it does not). `forced`: does it give the likeliest tokens with a schema too?
    `filters`: does it take top_k, min_p and penalties? Else those that the server has by itself are in force.
    """

    api: str = CHAT
    closed: str = TEXT
    top: int = 0
    most: str = "max_tokens"
    sampling: bool = True
    seed: bool = True
    thinking: int = 0
    system: bool = True
    continues: str = ""
    forced: bool = False
    filters: bool = False

    def to_identity(self) -> dict[str, Any]:
        """Return the abilities for keys and headers; the last ones only where they are not usual: so earlier keys hold."""
        usual = {"system": True, "continues": "", "forced": False, "filters": False}
        return {name: value for name, value in asdict(self).items() if name not in usual or value != usual[name]}

    @property
    def can_continue(self) -> bool:
        """Whether the model goes on from the beginning of a reply."""
        return bool(self.continues) or self.api == COMPLETIONS


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
    forced = bool(request.answers) and can.closed == CHOICE
    begun = beginning_of(request) if can.can_continue and not forced else ""
    body: dict[str, Any] = {
        "model": model,
        **_prompt(request, can, begun),
        can.most: sampling.max_tokens + can.thinking,
    }
    if can.sampling:
        # without these fields, some servers use values of their own
        body |= {"temperature": sampling.temperature, "top_p": sampling.top_p}
        if stop := stop_strings(request) if can.api == COMPLETIONS else sampling.stop[:MOST]:
            body["stop"] = list(stop)
    if can.filters:
        body |= {"top_k": sampling.top_k, "min_p": sampling.min_p, **NO_PENALTIES}
    if can.seed:
        body["seed"] = request.seed & 0x7FFFFFFF
    if forced:
        longest = max(map(len, request.answers))
        body |= {"response_format": answer_schema(request.answers)}
        body[can.most] = max(sampling.max_tokens, SCHEMA_TOKENS + longest) + can.thinking
        body |= {"logprobs": True, "top_logprobs": can.top} if can.forced else {}
    elif request.answers and can.closed == LOGPROBS and can.api == COMPLETIONS:
        body |= {"logprobs": can.top, can.most: ANSWER_TOKENS + can.thinking}
    elif request.answers and can.closed == LOGPROBS:
        tokens = len(request.answer_prefix.split()) * 2 + ANSWER_TOKENS + can.thinking
        body |= {"logprobs": True, "top_logprobs": can.top, can.most: tokens}
    return body


def lookup_body(model: str, request: Request, text: str, can: EndpointAbilities) -> dict[str, Any]:
    """Return the fields of a call for the next token behind the beginning of a reply. Temperature 1: some servers scale by it."""
    body: dict[str, Any] = {
        "model": model,
        **_prompt(request, can, text),
        can.most: 1,
        "temperature": 1.0,
        "top_p": 1.0,
    }
    if can.seed:
        body["seed"] = request.seed & 0x7FFFFFFF
    return body | ({"logprobs": can.top} if can.api == COMPLETIONS else {"logprobs": True, "top_logprobs": can.top})


def parse_lookup(answer: HttpAnswer, served: str = "") -> Reply:
    """Return a reply whose `answers` are the likeliest next tokens; a named failure where the server gives none.

    A server that samples the end of the reply may give no tokens: then nothing follows.
    """
    if answer.status != 200:
        return failure_from(answer)
    try:
        data = read_body(answer.body)
        choice, (usage, notes) = data["choices"][0], usage_of(data.get("usage"))
        tokens = next_tokens(choice.get("logprobs"))
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        return Reply.failed("malformed", "the likeliest tokens cannot be read", transient=True)
    ended = choice.get("finish_reason") == "stop"
    if not tokens and not ended:
        return Reply.failed("malformed", "the likeliest tokens are missing", transient=True)
    return Reply("", usage=usage, answers=tokens or {"": 1.0}, notes=notes | _changed_model(data, served))


def refuse(request: Request, can: EndpointAbilities) -> Reply | None:
    """Return a named failure for what the endpoint cannot do: embeddings or words, settings that it does not take; else None."""
    if (request.sampling.min_p or request.sampling.top_k) and not can.filters:
        return Reply.failed("not_supported", "the server takes no min_p and top_k: leave these settings out")
    if (request.purpose == EMBEDDING) == (can.api == EMBEDDINGS):
        return None
    return Reply.failed(
        "only_embeddings" if can.api == EMBEDDINGS else "no_embeddings", "set api=embeddings for a model that embeds"
    )


def encode_body(body: dict[str, Any]) -> bytes:
    """Return a body as JSON. Half a pair of surrogates, which UTF-8 does not have, is escaped."""
    try:
        return _encode_fast(body)
    except UnicodeEncodeError:
        return _encode(body).encode()


def read_body(body: bytes) -> Any:
    """Return the values of a body. msgspec is faster than json, but does not take NaN or half a pair of surrogates.

    Errors: ValueError, RecursionError.
    """
    try:
        return _decode_fast(body)
    except (msgspec.MsgspecError, RecursionError):
        return json.loads(body)


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


def _prompt(request: Request, can: EndpointAbilities, begun: str) -> dict[str, Any]:
    """Return the fields that hold the conversation. begun: the beginning of the reply, which the server continues."""
    if can.api == COMPLETIONS:
        return {"prompt": f"{plain_text(request.messages, closed=bool(request.answers))} {begun}".rstrip()}
    messages = [*(request.messages if can.system else fold_system_message(request.messages))]
    if not begun:
        return {"messages": [message._asdict() for message in with_phrases(messages, request)]}
    told = [message._asdict() for message in [*messages, Message("assistant", begun)]]
    return {"messages": told, **(CONTINUE if can.continues == FLAGS else {})}


def with_phrases(messages: Sequence[Message], request: Request) -> list[Message]:
    """Return the messages with the sentence to complete and its possible ends, where the question does not list them.

    A model that goes on from the beginning of the sentence needs no list; others would say it in words of their own.
    """
    last = messages[-1]
    if not request.answer_prefix or all(answer in last.content for answer in request.answers):
        return [*messages]
    listed = f"{last.content}\n\n{request.answer_prefix}[{' / '.join(request.answers)}]"
    return [*messages[:-1], last._replace(content=listed)]


def parse_response(answer: HttpAnswer, request: Request, can: EndpointAbilities, served: str = "") -> Reply:
    """Return the reply to a request, or its named failure. served: the model so far; another one is noted."""
    if answer.status != 200:
        return failure_from(answer)
    try:
        data = read_body(answer.body)
        if isinstance(data, dict) and (error := data.get("error")):  # some gateways put an error into a 200
            code = error.get("code") if isinstance(error, dict) else None
            return failure_from(answer._replace(status=code if isinstance(code, int) and 400 <= code < 600 else 500))
        reply = _reply(data, request, can)
        reply.notes = {**reply.notes, **_changed_model(data, served)}
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
    if can.continues and not text.startswith(" "):  # some servers repeat what the reply begins with
        text = text.removeprefix(beginning_of(request))
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
        if request.begin and can.can_continue:
            reply.notes = {**reply.notes, BEGUN: 1}
        if request.answers:
            _read_answer(reply, choice, request, can)
    return reply


def _read_answer(reply: Reply, choice: Any, request: Request, can: EndpointAbilities) -> None:
    """Put the answer into a closed question's reply: the distribution, else the answer of the schema, else the text."""
    reply.way = TEXT
    if can.closed == LOGPROBS:
        prefix = "" if can.can_continue else request.answer_prefix
        shares = choice_probabilities(choice.get("logprobs"), request.answers, prefix)
        if shares is not None:
            set_choice(reply, request, shares)
            reply.way = LOGPROBS
    elif can.closed == CHOICE:
        try:
            answer = json.loads(reply.text or "")["answer"]
        except (ValueError, KeyError, TypeError):
            return
        if answer in request.answers:
            shares = choice_probabilities(choice.get("logprobs"), request.answers, IN_SCHEMA) if can.forced else None
            if shares is not None:  # what the model would have answered: the text stays what the schema let it say
                set_choice(reply, request, shares)
            reply.text, reply.way = answer, CHOICE


def _changed_model(data: Any, served: str) -> dict[str, int]:
    """Return a note of the model that replied, where it is not the one so far (`served`; "" for none)."""
    if not served or data.get("model") == served or (name := served_name(data)) in ("", served):
        return {}
    return {SERVED + name: 1}


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
            text = "".join(content_part.get("text", "") for content_part in text if isinstance(content_part, dict))
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
