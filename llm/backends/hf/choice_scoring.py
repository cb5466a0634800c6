"""Closed questions: the exact probability of every allowed answer.

An answer's probability is that of its tokens and of the reply ending there (an end token, a full stop or a line break). So "1"
does not take what belongs to "10", and a long answer is not compared with the mere beginning of a reply. The probabilities are
then scaled to sum to 1 over the allowed answers. Their sum before that is kept as `covered`: where it is low, the model was about
to say something else. Where a question says how the answer begins (`Request.answer_prefix`), the answers are scored behind that
beginning, and need not end the reply.

The prompt, and what all answers begin with, goes through the model once. If every answer is one token of its own, nothing more
is read, because no answer can be the beginning of another.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from parley.llm.backends.hf.answer_tokens import AnswerTokens, scored_reply
from parley.llm.backends.hf.loading import Loaded
from parley.llm.backends.hf.prefill import AnsweredRow, PrefilledBatch, PromptRow, ReadBatch


def score_choices(
    loaded: Loaded, rows: Sequence[PromptRow], read_batch: ReadBatch, allowed: AnswerTokens
) -> list[AnsweredRow]:
    """Return the replies to a batch of closed questions with the same allowed answers, in its order.

    The ids of the rows end in `allowed.common`.
    """
    with torch.inference_mode():
        batch = read_batch(loaded, rows)
        prefixes = [batch.prefix(number, []) for number in range(len(rows))]
        if allowed.single:
            shares = batch.logits.float().softmax(dim=-1)[:, allowed.first]
        else:
            shares = _log_probabilities(batch, allowed).exp()
    replies = [
        scored_reply(row.request, len(row.ids), allowed.apart(share))
        for row, share in zip(rows, shares.double().tolist(), strict=True)
    ]
    return list(map(AnsweredRow, replies, prefixes))


def _log_probabilities(batch: PrefilledBatch, allowed: AnswerTokens) -> torch.Tensor:
    """Return the log-probability of each answer (and of the end after it), shape (prompts, answers)."""
    count, answers = len(batch.rows), allowed.rest
    first = batch.logits[:, None].repeat_interleave(len(answers), 0)
    batch.select([number for number in range(count) for _ in answers])
    ids = batch.pad_right(answers * count)
    logits = batch.append(answers * count)
    lengths = torch.tensor([len(tokens) for tokens in answers] * count, device=batch.device)
    before = torch.cat([first, logits[:, : ids.shape[1] - 1]], 1).float().log_softmax(-1)
    padding = torch.arange(ids.shape[1], device=batch.device) >= lengths[:, None]
    scores = before.gather(-1, ids[..., None])[..., 0].masked_fill(padding, 0.0).sum(1)
    if not allowed.begun:
        last = logits[torch.arange(len(ids)), lengths - 1].float().log_softmax(-1)
        scores = scores + last[:, allowed.ends].logsumexp(-1)
    return scores.view(count, len(answers))
