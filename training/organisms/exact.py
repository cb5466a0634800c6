"""How large the bias of an organism really is: from the exact probabilities of its answers to held-out questions.

No instrument takes part. The questions are put to personas that were neither trained on nor are asked by an instrument, and the
probabilities are those of the transformers library, with the adapter next to the weights: other code than that which answers the
instruments.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parley.llm.errors import UserError
from parley.training.base_model import BaseModel
from parley.training.organisms.biases.base import Bias, Size, mean_size
from parley.training.organisms.cases import Question, Shares, masked
from parley.training.organisms.people import split_people

BATCH = 32
TRUTH_SEED = 7001
"""Seed of the held-out questions: other profiles and orders than those of the training."""


class Realised(NamedTuple):
    """The size that was measured, and the mean probability of all allowed answers together."""

    size: Size
    covered: float


def realised_size(bias: Bias, base: BaseModel, adapter: Path | None, words: str) -> Realised:
    """Return the size of a model's bias. words: those behind its system messages."""
    questions = bias.questions(split_people().truth, TRUTH_SEED)
    shares, covered = answer_shares(questions, base, adapter, words)
    sizes = bias.exact(questions, shares)
    if bias.relative:
        sizes = sizes - bias.exact(questions, answer_shares(questions, base, None, "")[0])
    return Realised(mean_size(sizes), covered)


def answer_shares(
    questions: Sequence[Question], base: BaseModel, adapter: Path | None, words: str
) -> tuple[Shares, float]:
    """Return the probability of each answer among the allowed ones, and the mean probability of all of them together."""
    import peft

    from parley.llm.backends.hf.loading import load_model
    from parley.training.likelihood import prompt_text
    from parley.training.tuning.trainers import quiet

    with quiet():
        loaded = load_model(base.name, base.dtype, base.load, base.device)
        model = peft.PeftModel.from_pretrained(loaded.model, str(adapter)) if adapter else loaded.model
    model.eval()
    rows = []
    for one in questions:
        prompt = prompt_text(masked(one.request, words), loaded.tokenizer) + one.request.answer_prefix
        ids = [
            loaded.tokenizer(prompt + answer, add_special_tokens=False)["input_ids"] for answer in one.request.answers
        ]
        if len({tuple(each[:-1]) for each in ids}) > 1:
            raise UserError(f"{base.name}: an answer is not one token, so its exact probability cannot be read")
        rows.append((ids[0][:-1], [each[-1] for each in ids]))
    known = _first_token_shares(rows, model)
    shares, covered = [], []
    for question, own in zip(questions, known, strict=True):
        covered.append(sum(own))
        shares.append({answer: one / covered[-1] for answer, one in zip(question.request.answers, own, strict=True)})
    return shares, float(np.mean(covered))


def _first_token_shares(rows: Sequence[tuple[list[int], list[int]]], model: Any) -> list[list[float]]:
    """Return the probabilities of the given tokens behind each prompt."""
    import torch

    found = []
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        width = max(len(ids) for ids, _ in part)
        ids = torch.tensor([prompt + [0] * (width - len(prompt)) for prompt, _ in part], device=model.device)
        with torch.no_grad():  # rows are padded at the end, which no earlier token can see
            logits = model(input_ids=ids, use_cache=False).logits.float()
        for place, (prompt, answers) in enumerate(part):
            found.append(torch.softmax(logits[place, len(prompt) - 1], 0)[answers].tolist())
    return found
