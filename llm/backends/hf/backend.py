"""Which rows go through the model together: alike in length, few enough for memory.

The backend: sorts requests into open and closed ones, batches them, puts the replies back in order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import torch

from parley.llm.backends.hf.choice_scoring import AllowedAnswer, answer_prefix, score_choices
from parley.llm.backends.hf.generate import generate
from parley.llm.backends.hf.kv_cache import PrefixCache, can_cache
from parley.llm.backends.hf.loading import Loaded
from parley.llm.backends.hf.prefill import AnsweredRow, ColumnBatch, PrefilledBatch, PromptRow, Read, is_batch_invariant
from parley.llm.backends.hf.prompt_lookup import PromptLookup
from parley.llm.backends.hf.prompts import encode, is_plain
from parley.llm.request import Reply, Request, stop_strings

ALIKE = 32
"""Tokens by which rows may differ and still count as alike."""
Row = TypeVar("Row")
Out = TypeVar("Out")


def batches_by_length(rows: Sequence[Row], parts: Callable[[Row], tuple[int, int]], most: int) -> Iterator[list[Row]]:
    """Batches of alike rows, each of at most `most` tokens with padding (a single row may be longer).

    parts: tokens of a row that have to be read, and all others (read before, or to be said); both are padded to the longest. A
    batch ends as well where padding would be more than half of what is read.
    """
    batch: list[Row] = []
    widest, unread = (0, 0), 0
    for row in sorted(rows, key=lambda row: (parts(row)[0] // ALIKE, parts(row)[1])):
        wider = (max(widest[0], parts(row)[0]), max(widest[1], parts(row)[1]))
        padded = wider[0] * (len(batch) + 1) > 2 * (unread + parts(row)[0]) + ALIKE * (len(batch) + 1)
        if batch and (sum(wider) * (len(batch) + 1) > most or padded):
            yield batch
            batch, wider, unread = [], parts(row), 0
        batch.append(row)
        widest, unread = wider, unread + parts(row)[0]
    if batch:
        yield batch


def halve_on_memory_error(batch: Sequence[Row], run: Callable[[Sequence[Row]], list[Out]]) -> list[Out]:
    """Run a batch; one that does not fit into memory is run in two halves. A single row that does not fit is an error."""
    try:
        return run(batch)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if len(batch) == 1 or not _out_of_memory(error):
            raise
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    middle = len(batch) // 2
    return halve_on_memory_error(batch[:middle], run) + halve_on_memory_error(batch[middle:], run)


def _out_of_memory(error: BaseException) -> bool:
    said = str(error).lower()
    return (
        isinstance(error, torch.OutOfMemoryError | MemoryError) or "out of memory" in said or "can't allocate" in said
    )


ANSWER_TOKENS = 16
"""Tokens kept for an allowed answer when the length of a closed question is reckoned."""
Ask = tuple[tuple[str, ...], str]
"""Allowed answers and how they begin; ((), "") for an open question."""
Parts = Callable[[PromptRow], tuple[int, int]]


class Hf:
    """A loaded model as a batch backend.

    `most` is the number of tokens in a batch, padding and reply included; `keep` the bytes for what was read before; `workers`
    the number of batches that run beside each other, each on one core (the adapters of a batch are set on the model itself, so
    that with adapters there is one worker); `draft` the tokens guessed ahead. `same` says where a reply must depend on its
    request alone (`_settle`).
    """

    in_flight = 0

    def __init__(
        self, loaded: Loaded, style: str, exact: bool, most: int, keep: int,
        workers: int = 1, draft: int = 0, same: str = "auto",
    ):  # fmt: skip
        self.loaded, self.style, self.exact, self.most, self.same = loaded, style, exact, most, same
        in_pieces = can_cache(loaded.model)
        self.read: Read = ColumnBatch if in_pieces else PrefilledBatch
        self.prefixes = PrefixCache(keep) if keep and in_pieces else None
        self.drafts = PromptLookup(draft if in_pieces else 0)
        alone = workers == 1 or bool(loaded.adapters)
        self._pool = None if alone else ThreadPoolExecutor(workers, initializer=partial(torch.set_num_threads, 1))
        self._settled = same == "no"

    def _settle(self) -> None:
        """Read each request alone, and keep and guess nothing, where a reply would else depend on what was asked before.

        On a CPU in float32 that is checked on the machine at hand (batch_invariance.py); elsewhere it is taken to be so.
        """
        self._settled, model = True, self.loaded.model
        plainly = model.device.type == "cpu" and model.dtype == torch.float32 and self.loaded.identity["load"] == "full"
        if self.same == "auto" and not plainly:
            return
        check = partial(is_batch_invariant, self.loaded)
        if not (
            plainly and self.read is ColumnBatch and (self._pool.submit(check).result() if self._pool else check())
        ):
            self.most, self.prefixes, self.drafts = 1, None, PromptLookup(0)

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.loaded.identity | {"style": self.style, "closed": "exact" if self.exact else "text"}

    def seedless(self, request: Request) -> bool:
        """At temperature 0 the likeliest token stands, or the likeliest answer."""
        return request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        if requests and not self._settled:
            self._settle()
        replies: dict[int, Reply] = {}
        asked: dict[Ask, list[PromptRow]] = defaultdict(list)
        prompts = encode(requests, self.loaded.tokenizer, self.style)
        goes_on = is_plain(self.loaded.tokenizer, self.style)
        for place, (request, ids) in enumerate(zip(requests, prompts, strict=True)):
            row = PromptRow(place, request, ids, stop=stop_strings(request) if goes_on else request.sampling.stop)
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

    def _open(self, rows: list[PromptRow]) -> dict[int, Reply]:
        return self._run(rows, _said, partial(generate, self.loaded, read=self.read, drafts=self.drafts))

    def _closed(self, rows: list[PromptRow], answers: int) -> dict[int, Reply]:
        """Replies by place to questions with the same answers; unless these are single tokens, each takes a row of the batch.

        Where the answers have too little probability together, the reply is what the model says.
        """
        allowed = AllowedAnswer(rows[0].request, self.loaded.tokenizer, self.style)
        times = 1 if allowed.single else answers

        def parts(row: PromptRow) -> tuple[int, int]:
            return times * row.unread, times * (row.shared + ANSWER_TOKENS)

        ask = partial(score_choices, self.loaded, read=self.read, allowed=allowed)
        replies = self._run([answer_prefix(row, allowed) for row in rows], parts, ask)
        unanswered = [row for row in rows if replies[row.place].text is None]
        for place, reply in self._open(unanswered).items():
            reply.way, reply.covered = replies[place].way, replies[place].covered
            replies[place] = reply
        return replies

    def _run(
        self, rows: list[PromptRow], parts: Parts, ask: Callable[[Sequence[PromptRow]], list[AnsweredRow]]
    ) -> dict[int, Reply]:
        """Replies by place. Batches run beside each other; what was read is kept in their order, whichever is done first."""
        batches = list(batches_by_length([self._found(row) for row in rows], parts, self.most))
        replies: dict[int, Reply] = {}
        said: list[tuple[PromptRow, Sequence[int]]] = []
        run = self._pool.map if self._pool else map
        for batch, found in zip(batches, run(partial(halve_on_memory_error, run=ask), batches), strict=True):
            for row, answered in zip(batch, found, strict=True):
                replies[row.place] = answered.reply
                said.append((row, answered.said))
                if self.prefixes and answered.read:
                    self.prefixes.keep(answered.read, row.kept, row.shared)
        for row, tokens in said:  # when all batches are done: what is guessed must not depend on which was first
            self.drafts.learn(row.ids, tokens)
        return replies

    def _found(self, row: PromptRow) -> PromptRow:
        if self.prefixes is None:
            return row
        kept, shared = self.prefixes.find(row.ids, row.request.adapter)
        return row._replace(kept=kept, shared=shared)

    def _problem(self, row: PromptRow) -> Reply | None:
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


def _said(row: PromptRow) -> tuple[int, int]:
    """Tokens of an open question that have to be read, and all others."""
    return row.unread, row.length - row.unread
