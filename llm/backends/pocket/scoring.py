"""Closed questions: the exact probability of every allowed answer, as `hf/choice_scoring.py` defines it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parley.llm.backends.pocket.decode import log_totals
from parley.llm.backends.pocket.kernels import BLOCK
from parley.llm.backends.pocket.prompt_ids import ChatTokenizer
from parley.llm.backends.pocket.reader import Reader, Row
from parley.llm.request import COVERED, Reply, Request, Usage, set_choice


class AnswerTokens:
    """The allowed answers as tokens: `common` is what all of them begin with, `rest` what tells them apart.

    `single`: each answer is one token of its own behind `common`. `begun`: the question says how the answer begins, and the
    answer need not end the reply.
    """

    def __init__(self, request: Request, tokenizer: ChatTokenizer, ends: frozenset[int]):
        self.begun = bool(request.answer_prefix)
        answers = [tokenizer.encode(request.answer_prefix + answer) for answer in request.answers]
        shared = 0
        while self.begun and min(map(len, answers)) > shared + 1 and len({ids[shared] for ids in answers}) == 1:
            shared += 1
        self.common, self.rest = answers[0][:shared], [ids[shared:] for ids in answers]
        first = [ids[0] for ids in self.rest]
        self.single = max(map(len, self.rest)) == 1 and len(set(first)) == len(first)
        self.read = [ids[:-1] if self.begun else ids for ids in self.rest]
        """The tokens of each answer after which something has to be known."""
        self.longest = max(map(len, self.rest))
        before = tokenizer.encode("5")  # behind an answer: alone, many tokenizers put a space in front of a mark
        marked = [tokenizer.encode(f"5{mark}") for mark in (".", "\n")]
        self.ends = sorted({*ends, *[ids[-1] for ids in marked if ids[:-1] == before]})

    @property
    def blocks(self) -> int:
        """Blocks that the answers of a row need for themselves."""
        return 0 if self.single else sum(len(ids) // BLOCK + 2 for ids in self.read if ids)


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
        first = [ids[0] for ids in allowed.rest]
        shares = np.exp(_logarithms(logits, vocabulary)[:, first])
    else:
        shares = np.exp(_score_whole(reader, vocabulary, rows, logits, allowed))
    for row in rows:
        reader.leave_question(row, tail)
    return [_reply(row, share) for row, share in zip(rows, shares.tolist(), strict=True)]


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
    children = [_child(reader, row, ids) for row in rows for ids in allowed.read]
    lines, count = [], 0
    for ids in allowed.read * len(rows):
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


def _reply(row: Row, shares: list[float]) -> Reply:
    """Return a reply, which has neither text nor failure where the answers have too little probability together."""
    reply = Reply(None, usage=Usage(row.count, 0), way="text", covered=min(sum(shares), 1.0))
    if sum(shares) >= COVERED:
        reply.way = "exact"
        set_choice(reply, row.request, shares)
    return reply


def begun(row: Row, allowed: AnswerTokens) -> Row:
    """Return the row with what all answers begin with."""
    common = np.array(allowed.common, np.int32).tobytes()
    return Row(row.place, row.request, row.ids + common, row.stop, row.model)
