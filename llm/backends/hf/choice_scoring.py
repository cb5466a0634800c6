"""Closed questions: the exact probability of every allowed answer.

An answer's probability is that of a reply that begins with it, and with no longer answer: "1" does not take what belongs to "10".
The probabilities are then scaled to sum to 1 over the allowed answers. Their sum before that is kept as `covered`: where it is
low, the model was about to say something else. Where a question says how the answer begins (`Request.answer_prefix`), the answers
are scored behind that beginning.

The prompt, and what all answers begin with, goes through the model once. Then the tokens behind which an answer goes on are read,
all in one pass: of the numbers from 0 to 10, "1" alone, and nothing if every answer is one token.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from parley.llm.backends.hf.answer_tokens import AnswerTokens, scored_reply
from parley.llm.backends.hf.loading import Loaded
from parley.llm.backends.hf.prefill import AnsweredRow, PromptRow, ReadBatch


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
