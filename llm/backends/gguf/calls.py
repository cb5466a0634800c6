"""Writes requests as calls of the engine, and reads what comes back: a reply, a named failure, a table of next tokens.

Every setting that changes a reply is in the call, so that no default of the engine's decides: temperature comes first, then
top_k, top_p and min_p cut what is unlikely.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from parley.llm.request import BEGUN, Failure, Reply, Request, Usage, label_stops, plain_text, stop_strings
from parley.llm.thinking import split_thinking

CUT = "cut"
TOP = 1000
"""The likeliest next tokens that a table lists."""
SAMPLERS = ("penalties", "temperature", "top_k", "top_p", "min_p")
OFF = {
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "xtc_probability": 0.0,
    "typical_p": 1.0,
}
"""What llama.cpp could also do to the probabilities of tokens, switched off."""
FULL_STOP = [[".", 100.0]]
"""What llama.cpp writes behind a table: it gives none where it writes a part of a letter. The table itself has no bias."""
TOO_LONG = "exceed_context_size_error"
SPECIAL = re.compile(r"<[|/]?\w+\|?>")
"""Tokens that end a turn, in the table of next tokens: the reply ends there."""


def speech_call(request: Request, penalty: float, is_chat: bool) -> dict[str, Any]:
    """Return the call for a reply to an open question. penalty: of repeated tokens; 1 for none."""
    sampling = request.sampling
    return _prompt(request, request.begin, is_chat) | {
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repeat_penalty": penalty,
        "samplers": list(SAMPLERS),
        "seed": request.seed & 0x7FFFFFFF,
        "stop": [*sampling.stop, *label_stops(request)] if is_chat else list(stop_strings(request)),
        **OFF,
    }


def table_call(request: Request, begun: str, is_chat: bool) -> dict[str, Any]:
    """Return the call for the next tokens behind the beginning of a reply."""
    likeliest = {"logprobs": True, "top_logprobs": TOP} if is_chat else {"n_probs": TOP}
    return _prompt(request, begun, is_chat) | {
        "max_tokens": 1,
        "temperature": 0.0,
        "logit_bias": FULL_STOP,
        **likeliest,
    }


def _prompt(request: Request, begun: str, is_chat: bool) -> dict[str, Any]:
    if not is_chat:
        text = plain_text(request.messages, closed=bool(request.answers))
        return {"prompt": text + (begun if not begun or begun[0].isspace() else f" {begun}")}
    messages = [message._asdict() for message in request.messages]
    if begun:
        messages.append({"role": "assistant", "content": begun})
    return {"messages": messages, "chat_template_kwargs": {"enable_thinking": False}, "reasoning_format": "none"}


def read_speech(data: Mapping[str, Any], request: Request, is_chat: bool) -> Reply:
    """Return the reply to an open question, or its named failure."""
    if failure := _failure(data):
        return Reply(None, failure)
    choice = data["choices"][0]
    text = str((choice["message"].get("content") if is_chat else choice["text"]) or "")
    notes = {BEGUN: 1} if request.begin and (text.startswith(request.begin) or not is_chat) else {}
    answer, thinking = split_thinking(text.removeprefix(request.begin) if is_chat else text)
    reply = Reply(None, usage=_usage(data), notes=notes, thinking=thinking)
    is_cut = choice.get("finish_reason") == "length"
    if answer.strip():
        reply.text, reply.notes = answer, {**notes, CUT: 1} if is_cut else notes
    elif is_cut:
        detail = "the thoughts before the answer did not end: allow more --set max_tokens"
        reply.failure = Failure("out_of_tokens", detail if thinking else "the reply has only white space")
    else:
        reply.failure = Failure("empty", "the model ended its reply before its first word")
    return reply


def read_table(data: Mapping[str, Any]) -> tuple[dict[str, float], Usage] | Failure:
    """Return the probabilities of the next tokens and the tokens that were read, or why there are none."""
    if failure := _failure(data):
        return failure
    table: dict[str, float] = {}
    listed = (data["choices"][0].get("logprobs") or {}).get("content")
    if not listed:
        return Failure("no_probabilities", "llama.cpp gave no next tokens")
    for entry in listed[0]["top_logprobs"]:
        token = "" if SPECIAL.fullmatch(entry["token"]) else entry["token"]
        table[token] = table.get(token, 0.0) + math.exp(min(entry["logprob"], 0.0))
    return table, _usage(data)


def _failure(data: Mapping[str, Any]) -> Failure | None:
    error = data.get("error")
    if not error:
        return None
    message = str(error.get("message", error))
    if error.get("type") == TOO_LONG:
        return Failure("context_overflow", f"{message} (--set memory=last:12 fits, or a larger context=)")
    return Failure("engine_error", message)


def _usage(data: Mapping[str, Any]) -> Usage:
    usage = data.get("usage") or {}
    return Usage(int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0)))
