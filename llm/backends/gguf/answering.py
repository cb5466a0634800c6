"""Answers one request by calls of the engine: a reply in words, or the distribution over allowed answers.

Writes requests as calls of the engine, and reads what comes back: a reply, a named failure, a table of next tokens.

Every setting that changes a reply is in the call, so that no default of the engine's decides: temperature comes first, then
top_k, top_p and min_p cut what is unlikely.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from parley.llm.answer_tree import answer_lookups
from parley.llm.backends.gguf.engine import Engine
from parley.llm.backends.gguf.speed import SpeedLog
from parley.llm.purposes import EMBEDDING
from parley.llm.request import (
    BEGUN,
    Failure,
    Reply,
    Request,
    Sampling,
    Usage,
    beginning_of,
    label_stops,
    plain_text,
    set_choice,
    stop_strings,
    total,
)
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


@dataclass(frozen=True)
class Answering:
    """How requests are answered. keeps: a prompt may go on from what was read for earlier requests. adapters: their names."""

    engine: Engine
    penalty: float
    is_chat: bool
    keeps: bool
    speed: SpeedLog
    adapters: Sequence[str] = ()

    def reply(self, request: Request) -> Reply:
        """Return the reply to a request, or its named failure."""
        if request.purpose == EMBEDDING:
            return Reply.failed("no_embeddings", "a model of a GGUF file writes, and gives no embeddings here")
        if request.adapter and request.adapter not in self.adapters:
            return Reply.failed("unknown_adapter", f"{request.adapter} is none of {', '.join(self.adapters) or 'none'}")
        if request.answers:
            return self._closed(request)
        reply = self._speech(request)
        ended = reply.failure is not None and reply.failure.name == "empty"
        return self._from_first_word(request, reply) if ended and request.begin else reply

    def _speech(self, request: Request, is_first: bool = True) -> Reply:
        data = self._call(request, speech_call(request, self.penalty, self.is_chat), is_first)
        return read_speech(data, request, self.is_chat)

    def _from_first_word(self, request: Request, empty: Reply) -> Reply:
        """Return the reply of a speaker whose turn ended before its first word: that word is drawn from the tokens with letters.

        Base models often end a line behind the label of a speaker. Without any such token the reply stays empty.
        """
        table = read_table(self._call(request, table_call(request, request.begin, self.is_chat), is_first=False))
        words = (
            {} if isinstance(table, Failure) else {token: share for token, share in table[0].items() if begins(token)}
        )
        if not words:
            return empty
        word = drawn(words, request.sampling, request.seed)
        reply = self._speech(replace(request, begin=request.begin + word), is_first=False)
        if reply.text is None:
            return empty
        reply.text = word + reply.text
        return reply

    def _closed(self, request: Request) -> Reply:
        """Return the reply to a closed question: the distribution over its answers, however little probability they have."""
        usages: list[Usage] = []
        letters = any(len(answer) == 1 and answer.isalpha() for answer in request.answers)
        begun = beginning_of(request)
        lookups = answer_lookups(request.answers, begun, ended=letters and not begun)
        texts = next(lookups)
        while True:
            tables = []
            for text in texts:
                table = read_table(self._call(request, table_call(request, text, self.is_chat), is_first=not usages))
                if isinstance(table, Failure):
                    return Reply(None, table, total(usages))
                tables.append(table[0])
                usages.append(table[1])
            try:
                texts = lookups.send(tables)
            except StopIteration as end:
                shares = end.value.shares
                break
        usage = Usage(usages[0].prompt_tokens, len(usages))
        reply = Reply(None, usage=usage, way="exact", covered=min(sum(shares), 1.0))
        if sum(shares) > 0:
            set_choice(reply, request, shares)
        else:
            reply.failure = Failure("not_covered", "none of the allowed answers is among the likeliest replies")
        return reply

    def _call(self, request: Request, body: Mapping[str, Any], is_first: bool = True) -> Mapping[str, Any]:
        """Return the answer to a call. It may go on from what was read before: within a request always, else if that is kept."""
        ask: Callable[[Mapping[str, Any]], Mapping[str, Any]] = (
            self.engine.chat if self.is_chat else self.engine.complete
        )
        data = ask({**body, "cache_prompt": not is_first or self.keeps, **self._adapters(request)})
        self.speed.add(data, is_first)
        return data

    def _adapters(self, request: Request) -> dict[str, Any]:
        """Return how much of each adapter answers: all of the one that is named, and nothing of the others."""
        scales = [{"id": number, "scale": float(name == request.adapter)} for number, name in enumerate(self.adapters)]
        return {"lora": scales} if scales else {}


def begins(token: str) -> bool:
    """Return whether a token can be the first word of a line.

    >>> begins(" I"), begins("\\n\\nBob"), begins("..."), begins("")
    (True, False, False, False)
    """
    return token.strip(" ")[:1].isalpha()


def drawn(shares: Mapping[str, float], sampling: Sampling, seed: int) -> str:
    """Return one of the tokens, drawn by its share as the sampling says."""
    if not sampling.temperature:
        return max(shares, key=lambda token: shares[token])
    least = sampling.min_p * max(shares.values())
    kept = {token: share ** (1 / sampling.temperature) for token, share in shares.items() if share >= least}
    return random.Random(seed).choices(list(kept), list(kept.values()))[0]
