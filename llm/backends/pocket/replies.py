"""Open questions: writes the replies to a batch of rows that were read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parley.llm.backends.hf.answer_tokens import AnswerTokens, TokenTree, scored_reply
from parley.llm.backends.hf.token_race import race_keys
from parley.llm.backends.pocket.decode import log_totals, write_replies
from parley.llm.backends.pocket.layout import BLOCK
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
                self.reader.spread(numbers, sizes, lambda batch, steps=steps: self._write_part(batch, steps))  # type: ignore[misc]
        return [self._reply(number, row) for number, row in enumerate(self.rows)]

    def _write_part(self, numbers: Sequence[int], steps: int) -> None:
        """Write the replies of some rows, so many tokens at a time, and look for stop strings in between."""
        weights = self.reader.models[self.rows[0].model]
        arrays = [self.tables, self.positions, self.logits, self.said, self.counts, self.limits, self.done]
        table, positions, logits, reply_tokens, counts, limits, done = (array[numbers] for array in arrays)
        settings = [array[numbers] for array in (self.temperatures, self.top_ps, self.keys, self.barred)]
        min_ps, blocks = self.min_ps[numbers], self.reader.pool.blocks
        while not done.all():
            write_replies(
                weights,
                blocks,
                table,
                positions,
                logits,
                reply_tokens,
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
                    latest = reply_tokens[number, : counts[number]][-STOP_TOKENS * max(map(len, stop)) :]
                    text = self.tokenizer.decode_whole(latest.tolist())
                    done[number] = any(mark in text for mark in stop)
        self.said[numbers], self.counts[numbers] = reply_tokens, counts

    def _reply(self, number: int, row: Row) -> Reply:
        """Return the text of a row up to its end token and its stop string."""
        tokens, count = self.said[number, : self.counts[number]].tolist(), row.count
        self.reader.leave(row, tokens[:-1])
        text = self.tokenizer.decode(tokens[:-1] if tokens[-1] in self.definition.ends else tokens)
        cuts = [text.find(stop) for stop in row.stop if stop in text]
        return Reply(text[: min(cuts)] if cuts else text, usage=Usage(count, len(tokens)))


def blocks_for(allowed: AnswerTokens) -> int:
    """Return how many blocks the answers of a row need for themselves."""
    return sum(len(path) // BLOCK + 2 for path in allowed.tree.paths())


def common_tail(rows: Sequence[Row]) -> int:
    """Return the number of tokens in which all prompts end: the question, where several chats are asked the same one."""
    first, common = rows[0].tokens, rows[0].count if len(rows) > 1 else 0
    for row in rows[1:]:
        common = min(common, row.count)
        differing = np.flatnonzero(first[len(first) - common :] != row.tokens[row.count - common :])
        common = common - 1 - int(differing[-1]) if len(differing) else common
    return common


def score_answers(
    reader: Reader, vocabulary: int, rows: Sequence[Row], allowed: AnswerTokens, tail: int = 0
) -> list[Reply]:
    """Return the replies to rows that end in `allowed.common`. Text and failure are missing where answers are improbable.

    What was read of the last `tail` tokens is not kept.
    """
    logits = reader.read(rows)
    logs = _logarithms(logits, vocabulary)[:, None]
    if allowed.tree.tokens:
        logs = np.concatenate([logs, _read_tree(reader, vocabulary, rows, allowed.tree)], axis=1)
    shares = allowed.shares(lambda nodes, tokens: logs[:, nodes, tokens])
    for row in rows:
        reader.leave_question(row, tail)
    return [scored_reply(row.request, row.count, share) for row, share in zip(rows, shares.tolist(), strict=True)]


def _logarithms(logits: np.ndarray, vocabulary: int) -> np.ndarray:
    """Return the logarithms of the probabilities of all tokens, float64."""
    totals = np.empty(len(logits))
    log_totals(logits, vocabulary, totals)
    return logits[:, :vocabulary].astype(np.float64) - totals[:, None]


def _read_tree(reader: Reader, vocabulary: int, rows: Sequence[Row], tree: TokenTree) -> np.ndarray:
    """Return the logarithms of the probabilities of all tokens behind each node of a tree, (rows, nodes, tokens).

    Each path of the tree is a row that continues a copy of its prompt's last block.
    """
    paths = tree.paths()
    children = [_child(reader, row, [tree.tokens[node] for node in path]) for row in rows for path in paths]
    nodes = [node for path in paths for node in path]
    ends = np.cumsum([len(path) for path in paths] * len(rows)).tolist()
    lines = [list(range(start, end)) for start, end in zip([0, *ends], ends, strict=False)]
    after = np.empty((len(nodes) * len(rows), reader.width), np.float32)
    reader.read_into(children, lines, after)
    for child in children:
        reader.pool.leave(child.blocks)
    places = [nodes.index(node) for node in range(len(tree.tokens))]
    return _logarithms(after, vocabulary).reshape(len(rows), len(nodes), vocabulary)[:, places]


def _child(reader: Reader, row: Row, ids: Sequence[int]) -> Row:
    """Return a row with the tokens of a row that was read, and some more. It shares the full blocks."""
    full = row.count // BLOCK
    new_blocks = reader.pool.take(-(-(row.count + len(ids)) // BLOCK) - full)
    if row.count % BLOCK:
        for array in reader.pool.blocks:
            array[:, :, :, new_blocks[0]] = array[:, :, :, row.blocks[full]]
    child = Row(row.place, row.request, row.ids + np.array(ids, np.int32).tobytes(), model=row.model)
    child.blocks, child.read = row.blocks[:full] + new_blocks, row.count
    reader.pool.use(child.blocks[:full])
    return child


def begun(row: Row, allowed: AnswerTokens) -> Row:
    """Return the row with what all answers begin with."""
    common = np.array(allowed.common, np.int32).tobytes()
    return Row(row.place, row.request, row.ids + common, row.stop, row.model)
