"""The backend: sorts requests into open and closed questions, reads them in batches, and returns the replies in order.

A batch holds prompts of similar length, and as many as fit into memory.

Closed questions: the exact probability of every allowed answer.

An answer's probability is that of a reply that begins with it, and with no longer answer: "1" does not take what belongs to "10".
The probabilities are then scaled to sum to 1 over the allowed answers. Their sum before that is kept as `covered`: where it is
low, the model was about to say something else. Where a question says how the answer begins (`Request.answer_prefix`), the answers
are scored behind that beginning.

The prompt, and what all answers begin with, goes through the model once. Then the tokens behind which an answer goes on are read,
all in one pass: of the numbers from 0 to 10, "1" alone, and nothing if every answer is one token.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch

from parley.llm.backends.hf.answer_tokens import AnswerTokens, encode, encode_text, is_plain, scored_reply
from parley.llm.backends.hf.generate import generate
from parley.llm.backends.hf.kv_cache import PrefixCache, can_cache
from parley.llm.backends.hf.loading import Loaded
from parley.llm.backends.hf.prefill import (
    AnsweredRow,
    ColumnBatch,
    PrefilledBatch,
    PromptRow,
    ReadBatch,
    is_batch_invariant,
)
from parley.llm.backends.hf.same_sums import same_sums
from parley.llm.purposes import EMBEDDING
from parley.llm.request import BEGUN, Reply, Request, Usage, label_stops, stop_strings

SIMILAR = 32
"""Rows whose lengths differ by fewer tokens count as equally long."""
Row = TypeVar("Row")
Result = TypeVar("Result")


class Hf:
    """A loaded model as a batch backend.

    A batch has at most `most` tokens, padding and replies included. `keep` is the number of bytes for what was read before.
    `workers` batches run at the same time, each on one core; with adapters one worker runs, because the adapters of a batch are
    set on the model itself. `same` says where a reply must depend on its request alone (`_ensure_same_replies`).
    """

    in_flight = 0

    def __init__(
        self, loaded: Loaded, style: str, exact: bool, most: int, keep: int, workers: int = 1, same: str = "auto"
    ):
        self.loaded, self.style, self.exact, self.most, self.same = loaded, style, exact, most, same
        in_pieces = can_cache(loaded.model)
        self.read_batch: ReadBatch = ColumnBatch if in_pieces else PrefilledBatch
        self.prefixes = PrefixCache(keep) if keep and in_pieces else None
        one_worker = workers == 1 or bool(loaded.adapters)
        self._pool = None if one_worker else ThreadPoolExecutor(workers, initializer=partial(torch.set_num_threads, 1))
        self._checked = same == "no"

    def _ensure_same_replies(self) -> None:
        """Read each request alone, with no cache, where a reply would otherwise depend on earlier requests.

        On a CPU in float32 this is checked on this machine; elsewhere a reply is taken to depend on them.
        """
        model = self.loaded.model
        exact = model.device.type == "cpu" and model.dtype == torch.float32 and self.loaded.identity["load"] == "full"
        if exact or self.same != "auto":
            check = partial(same_sums, self.loaded, is_batch_invariant)
            certain = exact and self.read_batch is ColumnBatch
            if not (certain and (self._pool.submit(check).result() if self._pool else check())):
                self.most, self.prefixes = 1, None
        self._checked = True  # last: an interrupted check leaves the model as it was, and is done again

    @property
    def says(self) -> str:
        """How requests are read, in words; this checks it."""
        if not self._checked:
            self._ensure_same_replies()
        name, alone = self.loaded.identity["model"], self.most == 1
        batches = (
            "requests are read one by one, so that no reply depends on another"
            if alone
            else "requests are read in batches"
        )
        return f"{name}: {batches}{', which is slow (same=no reads batches)' if alone else ''}"

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.loaded.identity | {"style": self.style, "closed": "exact" if self.exact else "text"}

    def seedless(self, request: Request) -> bool:
        """At temperature 0 the reply is the most probable token or answer, whatever the seed."""
        return request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        if texts := [request for request in requests if request.purpose == EMBEDDING]:
            vectors = iter([embed(self.loaded, request) for request in texts])
            others = iter(self.complete([request for request in requests if request.purpose != EMBEDDING]))
            return [next(vectors if request.purpose == EMBEDDING else others) for request in requests]
        if requests and not self._checked:
            self._ensure_same_replies()
        if self.loaded.races:  # a model of the pocket kind never read a label before its own words
            requests = [replace(request, begin="") for request in requests]
        replies: dict[int, Reply] = {}
        groups: dict[tuple[tuple[str, ...], str, str], list[PromptRow]] = defaultdict(list)
        prompts = encode(requests, self.loaded.tokenizer, self.style)
        plain = is_plain(self.loaded.tokenizer, self.style)
        for place, (request, ids) in enumerate(zip(requests, prompts, strict=True)):
            if request.begin:
                ids = ids + encode_text(self.loaded.tokenizer, f" {request.begin}" if plain else request.begin)
            stop = stop_strings(request) if plain else (*request.sampling.stop, *label_stops(request))
            row = PromptRow(place, request, ids, stop=stop)
            if problem := self._problem(row):
                replies[place] = problem
            else:
                closed = (request.answers, request.answer_prefix, request.begin)
                groups[closed if self.exact and request.answers else ((), "", "")].append(row)
        for (answers, *_), rows in sorted(groups.items()):
            replies |= self._closed(rows) if answers else self._open(rows)
        for place, request in enumerate(requests):
            if request.begin:
                replies[place].notes = {**replies[place].notes, BEGUN: 1}
        return [replies[place] for place in range(len(requests))]

    def _open(self, rows: list[PromptRow]) -> dict[int, Reply]:
        def size(row: PromptRow) -> tuple[int, int]:
            return row.unread, row.length - row.unread

        return self._run(rows, size, partial(generate, self.loaded, read_batch=self.read_batch))

    def _closed(self, rows: list[PromptRow]) -> dict[int, Reply]:
        """Return replies by place to questions with the same answers."""
        tokenizer = self.loaded.tokenizer
        cue = rows[0].request.begin or is_plain(tokenizer, self.style)  # a plain prompt ends in one, `Answer:`
        allowed = AnswerTokens(rows[0].request, partial(encode_text, tokenizer), " " if cue else "")

        def size(row: PromptRow) -> tuple[int, int]:
            return row.unread, row.shared + len(allowed.tree.tokens)

        begun = [row._replace(ids=row.ids + allowed.common) for row in rows]
        score = partial(score_choices, self.loaded, read_batch=self.read_batch, allowed=allowed)
        return self._run(begun, size, score)

    def _run(
        self,
        rows: list[PromptRow],
        size: Callable[[PromptRow], tuple[int, int]],
        answer: Callable[[Sequence[PromptRow]], list[AnsweredRow]],
    ) -> dict[int, Reply]:
        """Return replies by place. Batches run at the same time, but what they read is kept in their order."""
        if self.prefixes:
            prefixes = [self.prefixes.find(row.ids, row.request.adapter) for row in rows]
            rows = [
                row._replace(prefix=prefix, shared=shared) for row, (prefix, shared) in zip(rows, prefixes, strict=True)
            ]
        batches = list(batches_by_length(rows, size, self.most))
        replies: dict[int, Reply] = {}
        run = self._pool.map if self._pool else map
        for batch, answered in zip(batches, run(partial(halve_on_memory_error, run=answer), batches), strict=True):
            for row, (reply, prefix) in zip(batch, answered, strict=True):
                replies[row.place] = reply
                if self.prefixes and prefix:
                    self.prefixes.keep(prefix, row.prefix, row.shared)
        return replies

    def _problem(self, row: PromptRow) -> Reply | None:
        adapters, adapter, context = self.loaded.adapters, row.request.adapter, self.loaded.context
        if adapter and adapter not in adapters:
            return Reply.failed("unknown_adapter", f"{adapter} is none of {', '.join(adapters) or 'none'}")
        if row.length <= context:
            return None
        length = f"{len(row.ids)} tokens and a reply of {row.request.sampling.max_tokens}"
        return Reply.failed("context_overflow", f"{length} exceed the context of {context} (--set memory=last:12 fits)")


def batches_by_length(rows: Sequence[Row], size: Callable[[Row], tuple[int, int]], most: int) -> Iterator[list[Row]]:
    """Yield batches of rows of similar length, each of at most `most` tokens with padding (a single row may be longer).

    `size` returns the tokens of a row that have to be read, and all others (cached, or to be generated). Both are padded to the
    longest row. A batch also ends where padding would be more than half of what is read.
    """
    batch: list[Row] = []
    widest, unread = (0, 0), 0
    for row in sorted(rows, key=lambda row: (size(row)[0] // SIMILAR, size(row)[1])):
        wider = (max(widest[0], size(row)[0]), max(widest[1], size(row)[1]))
        padded = wider[0] * (len(batch) + 1) > 2 * (unread + size(row)[0]) + SIMILAR * (len(batch) + 1)
        if batch and (sum(wider) * (len(batch) + 1) > most or padded):
            yield batch
            batch, wider, unread = [], size(row), 0
        batch.append(row)
        widest, unread = wider, unread + size(row)[0]
    if batch:
        yield batch


def halve_on_memory_error(batch: Sequence[Row], run: Callable[[Sequence[Row]], list[Result]]) -> list[Result]:
    """Run a batch; one that does not fit into memory is run in two halves. A single row that does not fit is an error."""
    try:
        return run(batch)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if len(batch) == 1 or not _is_out_of_memory(error):
            raise
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    middle = len(batch) // 2
    return halve_on_memory_error(batch[:middle], run) + halve_on_memory_error(batch[middle:], run)


def _is_out_of_memory(error: BaseException) -> bool:
    message = str(error).lower()
    named = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return named or "out of memory" in message or "can't allocate" in message


def score_choices(
    loaded: Loaded, rows: Sequence[PromptRow], read_batch: ReadBatch, allowed: AnswerTokens
) -> list[AnsweredRow]:
    """Return the replies to a batch of closed questions with the same allowed answers, in its order.

    The ids of the rows end in `allowed.common`.
    """
    with torch.inference_mode():
        batch = read_batch(loaded, rows)
        prefixes = [batch.prefix(number, []) for number in range(len(rows))]
        logits = batch.logits[:, None]
        if allowed.tree.tokens:
            logits = torch.cat([logits, batch.append_tree(allowed.tree)], 1)
        logs = logits.float().log_softmax(-1)

    def chosen(nodes: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        picked: np.ndarray = logs[:, torch.from_numpy(nodes), torch.from_numpy(tokens)].double().cpu().numpy()
        return picked

    shares = allowed.shares(chosen).tolist()
    replies = [scored_reply(row.request, len(row.ids), share) for row, share in zip(rows, shares, strict=True)]
    return list(map(AnsweredRow, replies, prefixes))


DIGITS = 6


def embed(loaded: Loaded, request: Request) -> Reply:
    """Return the embedding of the last message, as a JSON list of numbers. A text that is too long is not cut: it fails."""
    if not (ids := encode_text(loaded.tokenizer, request.messages[-1].content)):
        return Reply.failed("empty", "the text has no tokens")
    if len(ids) > loaded.context:
        return Reply.failed("context_overflow", f"the text has {len(ids)} tokens, and the model takes {loaded.context}")
    with torch.inference_mode():
        tokens = torch.tensor([ids], device=loaded.model.device)
        states = loaded.model(input_ids=tokens, output_hidden_states=True, use_cache=False).hidden_states[-1]
    mean = states[0].float().mean(dim=0)
    return Reply(json.dumps([round(value, DIGITS) for value in mean.tolist()]), usage=Usage(len(ids), 0))
