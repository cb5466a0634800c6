"""Open questions: writes the replies to a batch of rows that were read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parley.llm.backends.hf.token_race import race_keys
from parley.llm.backends.pocket.decode import write_replies
from parley.llm.backends.pocket.prompt_ids import ChatTokenizer
from parley.llm.backends.pocket.reader import Reader, Row, tables
from parley.llm.backends.pocket.weights import Definition
from parley.llm.request import Reply, Usage

STOP_TOKENS = 4
"""One character of a stop string takes at most this many tokens."""


class Writing:
    """The replies to a batch, as far as they are written."""

    def __init__(self, reader: Reader, definition: Definition, tokenizer: ChatTokenizer, rows: Sequence[Row]):
        self.reader, self.definition, self.tokenizer, self.rows = reader, definition, tokenizer, rows
        samplings = [row.request.sampling for row in rows]
        most = max(sampling.max_tokens for sampling in samplings)
        self.logits = reader.read(rows)
        self.tables, self.positions = tables(rows), np.array([row.count for row in rows], np.int32)
        self.said, self.counts = np.zeros((len(rows), most), np.int32), np.zeros(len(rows), np.int32)
        self.limits = np.array([sampling.max_tokens for sampling in samplings], np.int32)
        self.done = np.zeros(len(rows), np.bool_)
        self.temperatures = np.array([sampling.temperature for sampling in samplings], np.float32)
        self.top_ps = np.array([sampling.top_p for sampling in samplings], np.float64)
        self.min_ps = np.array([max(sampling.min_p, definition.min_p) for sampling in samplings], np.float64)
        self.keys = np.stack([race_keys(row.request.seed, most) for row in rows])
        self.barred = self._barred()
        self.ends = np.array(sorted(definition.ends), np.int32)

    def _barred(self) -> np.ndarray:
        """Return the tokens that each row may not say, -1 for none, (rows, tokens)."""
        forms = np.array(self.definition.copied, np.int32).reshape(len(self.definition.copied), -1)
        never, count = np.array(self.definition.suppressed, np.int32), forms.size
        barred = np.full((len(self.rows), count + len(never)), -1, np.int32)
        for number, row in enumerate(self.rows):
            held = np.isin(forms, row.tokens).any(1, keepdims=True)
            barred[number, :count] = np.where(held, -1, forms).ravel()
        barred[:, count:] = never
        return barred

    def write(self) -> list[Reply]:
        """Write all replies to their end, and give the rows' blocks back."""
        plain = [number for number, row in enumerate(self.rows) if not row.stop]
        stopped = [number for number, row in enumerate(self.rows) if row.stop]
        for numbers, steps in ((plain, self.said.shape[1]), (stopped, 1)):
            if numbers:
                sizes = [int(self.limits[number]) for number in numbers]
                self.reader.spread(numbers, sizes, lambda part, steps=steps: self._write_part(part, steps))  # type: ignore[misc]
        return [self._reply(number, row) for number, row in enumerate(self.rows)]

    def _write_part(self, numbers: Sequence[int], steps: int) -> None:
        """Write the replies of some rows, so many tokens at a time, and look for stop strings in between."""
        weights = self.reader.models[self.rows[0].model]
        arrays = [self.tables, self.positions, self.logits, self.said, self.counts, self.limits, self.done]
        table, positions, logits, said, counts, limits, done = (array[numbers] for array in arrays)
        settings = [array[numbers] for array in (self.temperatures, self.top_ps, self.keys, self.barred)]
        min_ps, blocks = self.min_ps[numbers], self.reader.pool.blocks
        while not done.all():
            write_replies(
                weights,
                blocks,
                table,
                positions,
                logits,
                said,
                counts,
                limits,
                done,
                *settings,
                min_ps,
                self.ends,
                steps,
            )
            for number, row in enumerate(numbers):
                stop = self.rows[row].stop
                if stop and not done[number]:
                    latest = said[number, : counts[number]][-STOP_TOKENS * max(map(len, stop)) :]
                    text = self.tokenizer.decode_whole(latest.tolist())
                    done[number] = any(mark in text for mark in stop)
        self.said[numbers], self.counts[numbers] = said, counts

    def _reply(self, number: int, row: Row) -> Reply:
        """Return the text of a row up to its end token and its stop string."""
        tokens, count = self.said[number, : self.counts[number]].tolist(), row.count
        self.reader.leave(row, tokens[:-1])
        text = self.tokenizer.decode(tokens[:-1] if tokens[-1] in self.definition.ends else tokens)
        cuts = [text.find(stop) for stop in row.stop if stop in text]
        return Reply(text[: min(cuts)] if cuts else text, usage=Usage(count, len(tokens)))
