"""Closed questions: the exact probability of every allowed answer.

An answer's probability is that of its tokens *and of the reply ending there* (an end token, a full stop or a line break), so
that "1" does not take what belongs to "10" and a long answer is not compared with the mere beginning of a reply; the
probabilities are then scaled to sum to 1 over the allowed answers. Before that they must come to half (`COVERED`). A model that
was about to say something else writes its reply, which is read like any text. Where a question says how the answer begins
(`Request.answer_prefix`), the answers are read behind that beginning, and need not end the reply.

The prompt, and what all answers begin with, goes through the model once. Where the answers are one token each, and all
different, that is all: none can be taken for the beginning of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from parley.llm.backends.hf.loading import Loaded
from parley.llm.backends.hf.prefill import AnsweredRow, PrefilledBatch, PromptRow, Read
from parley.llm.backends.hf.prompts import is_plain
from parley.llm.request import COVERED, Reply, Request, Usage, set_choice


class AllowedAnswer:
    """The answers as tokens: `common` is what all of them begin with, `rest` what tells them apart."""

    def __init__(self, request: Request, tokenizer: Any, style: str):
        space = " " if is_plain(tokenizer, style) else ""  # a plain prompt ends in a cue, `Answer:`
        self.begun = bool(request.answer_prefix)
        whole = [_ids(tokenizer, space + request.answer_prefix + answer) for answer in request.answers]
        shared = 0
        while self.begun and all(len(ids) > shared + 1 for ids in whole) and len({ids[shared] for ids in whole}) == 1:
            shared += 1
        self.common, self.rest = whole[0][:shared], [ids[shared:] for ids in whole]

    @property
    def single(self) -> bool:
        """Is every answer told by one token of its own?"""
        first = [ids[0] for ids in self.rest]
        return max(map(len, self.rest)) == 1 and len(set(first)) == len(first)


def score_choices(loaded: Loaded, rows: Sequence[PromptRow], read: Read, allowed: AllowedAnswer) -> list[AnsweredRow]:
    """Replies to a batch of closed questions with the same allowed answers, in its order. The rows' ids hold `common`."""
    with torch.inference_mode():
        batch = read(loaded, rows)
        kept = [batch.read(number, []) for number in range(len(rows))]
        shares = _scores(loaded, batch, allowed).exp() if not allowed.single else _single(batch.logits, allowed)
    replies = [_reply(row, share) for row, share in zip(rows, shares.double().tolist(), strict=True)]
    return list(map(AnsweredRow, replies, kept))


def _single(logits: torch.Tensor, allowed: AllowedAnswer) -> torch.Tensor:
    return logits.float().softmax(dim=-1)[:, [ids[0] for ids in allowed.rest]]


def answer_prefix(row: PromptRow, allowed: AllowedAnswer) -> PromptRow:
    """The row with the common beginning of the answers behind its prompt."""
    return row._replace(ids=row.ids + allowed.common)


def _ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _scores(loaded: Loaded, batch: PrefilledBatch, allowed: AllowedAnswer) -> torch.Tensor:
    """Log-probability of each answer (and the end after it), shape (prompts, answers)."""
    count, answers = len(batch.rows), allowed.rest
    first = batch.logits[:, None].repeat_interleave(len(answers), 0)
    batch.repeat(len(answers))
    logits = batch.say(answers * count)
    ids, _ = batch.next(answers * count)
    lengths = torch.tensor([len(tokens) for tokens in answers] * count, device=batch.device)
    before = torch.cat([first, logits[:, : ids.shape[1] - 1]], 1).float().log_softmax(-1)
    missing = torch.arange(ids.shape[1], device=batch.device) >= lengths[:, None]
    tokens = before.gather(-1, ids[..., None])[..., 0].masked_fill(missing, 0.0).sum(1)
    if allowed.begun:
        return tokens.view(count, len(answers))
    last = logits[torch.arange(len(ids)), lengths - 1].float().log_softmax(-1)
    return (tokens + last[:, _end_tokens(loaded)].logsumexp(-1)).view(count, len(answers))


def _end_tokens(loaded: Loaded) -> list[int]:
    """Tokens after which an answer is over: the model's end tokens, a full stop, a line break."""
    before = _ids(loaded.tokenizer, "5")
    marks = [
        _ids(loaded.tokenizer, f"5{mark}") for mark in (".", "\n")
    ]  # behind an answer: alone, many put a space in front
    return sorted({*loaded.ends, *[ids[-1] for ids in marks if ids[:-1] == before]})


def _reply(row: PromptRow, shares: list[float]) -> Reply:
    """No text (and no failure either) where the answers have too little together: then it is to be written."""
    reply = Reply(None, usage=Usage(len(row.ids), 0), way="text", covered=min(sum(shares), 1.0))
    if sum(shares) >= COVERED:
        reply.way = "exact"
        set_choice(reply, row.request, shares)
    return reply
