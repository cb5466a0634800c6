"""Answers one request by calls of the engine: a reply in words, or the distribution over allowed answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from parley.llm.answer_tree import answer_lookups
from parley.llm.backends.gguf.calls import read_speech, read_table, speech_call, table_call
from parley.llm.backends.gguf.engine import Engine
from parley.llm.backends.gguf.speed import SpeedLog
from parley.llm.purposes import EMBEDDING
from parley.llm.request import Failure, Reply, Request, Sampling, Usage, beginning_of, set_choice, total


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
