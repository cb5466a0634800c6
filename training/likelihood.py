"""How likely a local model finds a given reply: the sum of the log-probabilities of its tokens after a chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.functional import cross_entropy

from parley.llm.request import Message
from parley.training.capability.tasks import prompt_text


class Text(NamedTuple):
    """A chat and the reply to it, of which every token counts."""

    messages: tuple[Message, ...]
    reply: str


class Likelihood(NamedTuple):
    """`logp`: nats, summed over the `tokens` of the reply."""

    logp: float
    tokens: int


def likelihoods(texts: Sequence[Text], model: Any, tokenizer: Any, batch: int, ended: bool = False) -> list[Likelihood]:
    """One a text, in their order. `ended`: that the reply ends there (the tokenizer's end token) counts as one token more.

    The reply is tokenized with the chat, so that it is read as it would be written. `batch`: texts that go through together.
    """
    rows = [_tokens(text, tokenizer, ended) for text in texts]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place][0]))
    found: dict[int, Likelihood] = {}
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        sums = _sums([rows[place] for place in places], model)
        found |= {
            place: Likelihood(total, len(rows[place][0]) - rows[place][1])
            for place, total in zip(places, sums, strict=True)
        }
    return [found[place] for place in range(len(rows))]


def lengths(texts: Sequence[Text], tokenizer: Any) -> list[int]:
    """Tokens of chat and reply together, the end among them."""
    return [len(_tokens(text, tokenizer, True)[0]) for text in texts]


def _tokens(text: Text, tokenizer: Any, ended: bool) -> tuple[list[int], int]:
    """Prompt and reply as token ids, and where the reply begins. A chat template brings its own special tokens."""
    asked, special = prompt_text(text.messages, tokenizer), not tokenizer.chat_template
    ids = list(tokenizer(asked + text.reply, add_special_tokens=special)["input_ids"])
    begins = len(tokenizer(asked.rstrip(" "), add_special_tokens=special)["input_ids"])
    return ids + ([tokenizer.eos_token_id] if ended else []), begins


@torch.no_grad()
def _sums(rows: Sequence[tuple[list[int], int]], model: Any) -> list[float]:
    """Log-probability of each reply. Rows are padded behind, where nothing that counts can see it.

    Logits are made from the first reply of the batch on: those of the prompts would be most of the work.
    """
    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in rows], device=model.device)
    labels = torch.tensor([[-100] * first + ids[first:] + [-100] * (width - len(ids)) for ids, first in rows])
    kept = width - min(first for _, first in rows) + 1
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=kept).logits[:, :-1].float()
    nats = cross_entropy(logits.flatten(0, 1), labels[:, 1 - kept :].flatten().to(model.device), reduction="none")
    return [-float(one) for one in nats.view(len(rows), -1).double().sum(1)]
