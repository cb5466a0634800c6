"""The backend: sorts requests into open and closed ones, batches them, puts the replies back in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from llm.backends.hf.batches import by_length, halving
from llm.backends.hf.closed import answer
from llm.backends.hf.generate import Row, generate
from llm.backends.hf.loading import Loaded
from llm.backends.hf.prompts import encode
from llm.request import Reply, Request

ANSWER_TOKENS = 16
"""Tokens kept for an allowed answer when the length of a closed question is reckoned."""


class Hf:
    """A loaded model as a batch backend. `most` is the number of tokens in a batch, padding and reply included."""

    in_flight = 0

    def __init__(self, loaded: Loaded, style: str, exact: bool, most: int):
        self.loaded, self.style, self.exact, self.most = loaded, style, exact, most

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.loaded.identity | {"style": self.style, "closed": "exact" if self.exact else "text"}

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        rows = [
            Row(place, request, encode(request, self.loaded.tokenizer, self.style))
            for place, request in enumerate(requests)
        ]
        replies: dict[int, Reply] = {row.place: self._too_long(row) for row in rows if row.length > self.loaded.context}
        fitting = [row for row in rows if row.place not in replies]
        for answers, group in groupby(sorted(fitting, key=self._answers), key=self._answers):
            replies |= self._run(list(group), len(answers))
        return [replies[place] for place in range(len(requests))]

    def _answers(self, row: Row) -> tuple[str, ...]:
        return row.request.answers if self.exact else ()

    def _run(self, rows: list[Row], answers: int) -> dict[int, Reply]:
        """Replies by place. `answers` is the number of allowed answers; each of them takes a row of the batch."""
        ask = partial(answer, self.loaded, style=self.style) if answers else partial(generate, self.loaded)
        replies: dict[int, Reply] = {}
        for batch in by_length(rows, partial(_tokens, answers=answers), self.most):
            replies |= {row.place: reply for row, reply in zip(batch, halving(batch, ask), strict=True)}
        return replies

    def _too_long(self, row: Row) -> Reply:
        asked = f"{len(row.ids)} tokens and a reply of {row.request.sampling.max_tokens}"
        said = f"{asked} exceed the context of {self.loaded.context}"
        return Reply.failed("context_overflow", said)


def _tokens(row: Row, answers: int) -> int:
    return answers * (len(row.ids) + ANSWER_TOKENS) if answers else row.length
