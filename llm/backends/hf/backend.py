"""The backend: sorts requests into open and closed ones, batches them, puts the replies back in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch

from llm.backends.hf.batches import by_length, halving
from llm.backends.hf.cache import Prefixes, can_keep
from llm.backends.hf.closed import Allowed, answer, begun
from llm.backends.hf.drafts import Drafts
from llm.backends.hf.generate import generate
from llm.backends.hf.loading import Loaded
from llm.backends.hf.prefill import Answered, Row
from llm.backends.hf.prompts import encode
from llm.request import Reply, Request

ANSWER_TOKENS = 16
"""Tokens kept for an allowed answer when the length of a closed question is reckoned."""
Ask = tuple[tuple[str, ...], str]
"""Allowed answers and how they begin; ((), "") for an open question."""
Parts = Callable[[Row], tuple[int, int]]


class Hf:
    """A loaded model as a batch backend.

    `most` is the number of tokens in a batch, padding and reply included; `keep` the bytes for what was read before; `workers`
    the number of batches that run beside each other, each on one core (the adapters of a batch are set on the model itself, so
    that with adapters there is one worker); `draft` the tokens guessed ahead.
    """

    in_flight = 0

    def __init__(self, loaded: Loaded, style: str, exact: bool, most: int, keep: int, workers: int = 1, draft: int = 0):
        self.loaded, self.style, self.exact, self.most = loaded, style, exact, most
        self.prefixes = Prefixes(keep) if keep and can_keep(loaded.model) else None
        self.drafts = Drafts(draft if can_keep(loaded.model) else 0)
        alone = workers == 1 or bool(loaded.adapters)
        self._pool = None if alone else ThreadPoolExecutor(workers, initializer=partial(torch.set_num_threads, 1))

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.loaded.identity | {"style": self.style, "closed": "exact" if self.exact else "text"}

    def seedless(self, request: Request) -> bool:
        """At temperature 0 the likeliest token stands, or the likeliest answer."""
        return request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies: dict[int, Reply] = {}
        asked: dict[Ask, list[Row]] = defaultdict(list)
        prompts = encode(requests, self.loaded.tokenizer, self.style)
        for place, (request, ids) in enumerate(zip(requests, prompts, strict=True)):
            row = Row(place, request, ids)
            problem = self._problem(row)
            if problem:
                replies[place] = problem
            else:
                asked[self._ask(request)].append(row)
        for (answers, _), rows in sorted(asked.items()):
            replies |= self._closed(rows, len(answers)) if answers else self._open(rows)
        return [replies[place] for place in range(len(requests))]

    def _ask(self, request: Request) -> Ask:
        return (request.answers, request.answer_prefix) if self.exact else ((), "")

    def _open(self, rows: list[Row]) -> dict[int, Reply]:
        return self._run(
            rows, _said, partial(generate, self.loaded, keep=self.prefixes is not None, drafts=self.drafts)
        )

    def _closed(self, rows: list[Row], answers: int) -> dict[int, Reply]:
        """Replies by place to questions with the same answers; unless these are single tokens, each takes a row of the batch."""
        allowed = Allowed(rows[0].request, self.loaded.tokenizer, self.style)
        times = 1 if allowed.single else answers

        def parts(row: Row) -> tuple[int, int]:
            return times * row.unread, times * (row.shared + ANSWER_TOKENS)

        ask = partial(answer, self.loaded, keep=self.prefixes is not None, allowed=allowed)
        return self._run([begun(row, allowed) for row in rows], parts, ask)

    def _run(self, rows: list[Row], parts: Parts, ask: Callable[[Sequence[Row]], list[Answered]]) -> dict[int, Reply]:
        """Replies by place. Batches run beside each other; what was read is kept in their order, whichever is done first."""
        batches = list(by_length([self._found(row) for row in rows], parts, self.most))
        replies: dict[int, Reply] = {}
        said: list[tuple[Row, Sequence[int]]] = []
        run = self._pool.map if self._pool and len(batches) > 1 else map
        for batch, found in zip(batches, run(partial(halving, run=ask), batches), strict=True):
            for row, answered in zip(batch, found, strict=True):
                replies[row.place] = answered.reply
                said.append((row, answered.said))
                if self.prefixes and answered.read:
                    self.prefixes.keep(answered.read, row.kept, row.shared)
        for row, tokens in said:  # when all batches are done: what is guessed must not depend on which was first
            self.drafts.learn(row.ids, tokens)
        return replies

    def _found(self, row: Row) -> Row:
        if self.prefixes is None:
            return row
        kept, shared = self.prefixes.find(row.ids, row.request.adapter)
        return row._replace(kept=kept, shared=shared)

    def _problem(self, row: Row) -> Reply | None:
        if row.request.adapter and row.request.adapter not in self.loaded.adapters:
            return Reply.failed(
                "unknown_adapter", f"{row.request.adapter} is none of {', '.join(self.loaded.adapters) or 'none'}"
            )
        if row.length <= self.loaded.context:
            return None
        asked = f"{len(row.ids)} tokens and a reply of {row.request.sampling.max_tokens}"
        return Reply.failed(
            "context_overflow", f"{asked} exceed the context of {self.loaded.context} (--set memory=last:12 fits)"
        )


def _said(row: Row) -> tuple[int, int]:
    """Tokens of an open question that have to be read, and all others."""
    return row.unread, row.length - row.unread
