"""Closed questions: the exact probability of every allowed answer.

An answer's probability is that of its tokens *and of the reply ending there* (an end token, a full stop or a line break), so
that "1" does not take what belongs to "10" and a long answer is not compared with the mere beginning of a reply; the
probabilities are then scaled to sum to 1 over the allowed answers. The prompt goes through the model once; its cache is repeated
for the answers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from llm.backends.hf.batches import left_padded
from llm.backends.hf.generate import Row
from llm.backends.hf.loading import Loaded
from llm.backends.hf.prompts import is_plain
from llm.randomness import derive
from llm.request import Reply, Usage


def answer(loaded: Loaded, rows: Sequence[Row], style: str) -> list[Reply]:
    """Replies to a batch of closed questions with the same allowed answers, in its order."""
    space = " " if is_plain(loaded.tokenizer, style) else ""  # a plain prompt ends in a cue, `Answer:`
    answers = [_answer_ids(loaded.tokenizer, space + text) for text in rows[0].request.answers]
    with torch.inference_mode():
        shares = _scores(loaded, [row.ids for row in rows], answers).softmax(dim=-1)
    return [_reply(row, share) for row, share in zip(rows, shares.double().tolist(), strict=True)]


def _answer_ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _scores(loaded: Loaded, prompts: Sequence[Sequence[int]], answers: Sequence[list[int]]) -> torch.Tensor:
    """Log-probability of each answer and the end after it, shape (prompts, answers)."""
    device, pad = loaded.model.device, loaded.tokenizer.pad_token_id
    inputs = left_padded(prompts, pad, device)
    first = loaded.model(**inputs, position_ids=_places(inputs["attention_mask"]), use_cache=True, logits_to_keep=1)
    cache = first.past_key_values
    cache.batch_repeat_interleave(len(answers))
    width = max(map(len, answers))
    padded = torch.tensor([ids + [pad] * (width - len(ids)) for ids in answers], device=device)
    there = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids in answers], device=device)
    mask = torch.cat([inputs["attention_mask"].repeat_interleave(len(answers), 0), there.repeat(len(prompts), 1)], 1)
    ids = padded.repeat(len(prompts), 1)
    places = _places(mask)[:, -width:]
    logits = loaded.model(input_ids=ids, attention_mask=mask, position_ids=places, past_key_values=cache).logits
    before = torch.cat([first.logits.repeat_interleave(len(answers), 0), logits[:, :-1]], 1).float().log_softmax(-1)
    tokens = before.gather(-1, ids[..., None])[..., 0].masked_fill(mask[:, -width:] == 0, 0.0).sum(1)
    last = logits[torch.arange(len(ids)), there.sum(1).repeat(len(prompts)) - 1].float().log_softmax(-1)
    ends = last[:, _end_tokens(loaded)].logsumexp(-1)
    return (tokens + ends).view(len(prompts), len(answers))


def _places(mask: torch.Tensor) -> torch.Tensor:
    """Positions 0, 1, ... of the tokens that count, whatever padding stands before them."""
    return (mask.cumsum(1) - 1).clamp(min=0)


def _end_tokens(loaded: Loaded) -> list[int]:
    """Tokens after which an answer is over: the model's end tokens, a full stop, a line break."""
    marks = [_answer_ids(loaded.tokenizer, mark) for mark in (".", "\n")]
    return sorted({*loaded.ends, *[ids[0] for ids in marks if len(ids) == 1]})


def _reply(row: Row, shares: list[float]) -> Reply:
    """The most probable answer at temperature 0, else one drawn with the request's seed, and the distribution."""
    answers, temperature = row.request.answers, row.request.sampling.temperature
    if temperature == 0:
        text = max(zip(shares, answers, strict=True))[1]
    else:
        weights = [share ** (1 / temperature) for share in shares]
        text = random.Random(derive(row.request.seed, "answer")).choices(answers, weights)[0]
    total = sum(shares)
    known = {answer: share / total for answer, share in zip(answers, shares, strict=True)}
    return Reply(text, usage=Usage(len(row.ids), 0), answers=known)
