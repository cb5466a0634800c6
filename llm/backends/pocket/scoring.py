"""Closed questions: the exact probability of every allowed answer, as `hf/choice_scoring.py` defines it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parley.llm.backends.hf.answer_tokens import AnswerTokens, scored_reply
from parley.llm.backends.pocket.decode import log_totals
from parley.llm.backends.pocket.layout import BLOCK
from parley.llm.backends.pocket.reader import Reader, Row
from parley.llm.request import Reply


def answers_read(allowed: AnswerTokens) -> list[list[int]]:
    """Return the tokens of each answer after which something has to be known."""
    return [ids[:-1] if allowed.begun else ids for ids in allowed.rest]


def blocks_for(allowed: AnswerTokens) -> int:
    """Return how many blocks the answers of a row need for themselves."""
    return 0 if allowed.single else sum(len(ids) // BLOCK + 2 for ids in answers_read(allowed) if ids)


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
    if allowed.single:
        shares = np.exp(_logarithms(logits, vocabulary)[:, allowed.first])
    else:
        shares = np.exp(_score_whole(reader, vocabulary, rows, logits, allowed))
    for row in rows:
        reader.leave_question(row, tail)
    return [scored_reply(row.request, row.count, share) for row, share in zip(rows, shares.tolist(), strict=True)]


def _logarithms(logits: np.ndarray, vocabulary: int) -> np.ndarray:
    """Return the logarithms of the probabilities of all tokens, float64."""
    totals = np.empty(len(logits))
    log_totals(logits, vocabulary, totals)
    return logits[:, :vocabulary].astype(np.float64) - totals[:, None]


def _score_whole(
    reader: Reader, vocabulary: int, rows: Sequence[Row], logits: np.ndarray, allowed: AnswerTokens
) -> np.ndarray:
    """Return the logarithms of the probabilities of answers (and of the end after each), (rows, answers).

    Each answer is a row that continues a copy of its prompt's last block.
    """
    asked = answers_read(allowed)
    children = [_child(reader, row, ids) for row in rows for ids in asked]
    lines, count = [], 0
    for ids in asked * len(rows):
        lines.append(list(range(count, count + len(ids))))
        count += len(ids)
    after = np.empty((count, reader.width), np.float32)
    some = [number for number, line in enumerate(lines) if line]
    if some:
        reader.read_into([children[number] for number in some], [lines[number] for number in some], after)
    for child in children:
        reader.pool.leave(child.blocks)
    before, behind = _logarithms(logits, vocabulary), _logarithms(after, vocabulary)
    scores = np.zeros((len(rows), len(allowed.rest)))
    for number, line in enumerate(lines):
        row, answer = divmod(number, len(allowed.rest))
        ids = allowed.rest[answer]
        score = before[row, ids[0]]
        for place, token in zip(line, ids[1:], strict=False):
            score += behind[place, token]
        if not allowed.begun:
            score += np.log(np.exp(behind[line[-1], allowed.ends]).sum())
        scores[row, answer] = score
    return scores


def _child(reader: Reader, row: Row, ids: Sequence[int]) -> Row:
    """Return a row with the tokens of a row that was read, and some more. It shares the full blocks."""
    full = row.count // BLOCK
    own = reader.pool.take(-(-(row.count + len(ids)) // BLOCK) - full) if ids else []
    if ids and row.count % BLOCK:
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
