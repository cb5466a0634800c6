"""Closed questions: the exact probability of every allowed answer, as `hf/choice_scoring.py` defines it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parley.llm.backends.hf.answer_tokens import AnswerTokens, TokenTree, scored_reply
from parley.llm.backends.pocket.decode import log_totals
from parley.llm.backends.pocket.layout import BLOCK
from parley.llm.backends.pocket.reader import Reader, Row
from parley.llm.request import Reply


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
    own = reader.pool.take(-(-(row.count + len(ids)) // BLOCK) - full)
    if row.count % BLOCK:
        for part in reader.pool.blocks:
            part[:, :, :, own[0]] = part[:, :, :, row.blocks[full]]
    child = Row(row.place, row.request, row.ids + np.array(ids, np.int32).tobytes(), model=row.model)
    child.blocks, child.read = row.blocks[:full] + own, row.count
    reader.pool.use(child.blocks[:full])
    return child


def begun(row: Row, allowed: AnswerTokens) -> Row:
    """Return the row with what all answers begin with."""
    common = np.array(allowed.common, np.int32).tobytes()
    return Row(row.place, row.request, row.ids + common, row.stop, row.model)
