"""Open questions: a batch is generated together, every row draws from a generator of its own, finished rows leave the batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from llm.backends.hf.cache import Kept
from llm.backends.hf.loading import Loaded
from llm.backends.hf.prefill import Answered, Batch, Row
from llm.request import Reply, Request, Usage

LEAVE = 0.8
"""The batch is made smaller when no more than this share of its rows is still speaking."""


class Draw:
    """Draws the next token of every row: temperature, top-p, and one uniform number for each token of each row."""

    def __init__(self, requests: Sequence[Request], device: torch.device):
        most = max(request.sampling.max_tokens for request in requests)
        generators = [torch.Generator().manual_seed(request.seed) for request in requests]
        self.uniform = torch.stack([torch.rand(most, generator=one, dtype=torch.float64) for one in generators]).to(
            device
        )
        self.temperature = torch.tensor([request.sampling.temperature for request in requests], device=device)
        self.top_p = torch.tensor([request.sampling.top_p for request in requests], device=device)

    def __call__(self, logits: torch.Tensor, step: int) -> torch.Tensor:
        """Tokens (rows,) from logits (rows, vocabulary); the likeliest one at temperature 0."""
        likeliest = logits.argmax(-1)
        if not (self.temperature > 0).any():
            return likeliest
        shares = (logits.float() / self.temperature.clamp(min=1e-6)[:, None]).softmax(-1)
        shares = self._nucleus(shares).double()
        reached = shares.cumsum(-1)
        drawn = (reached <= self.uniform[:, step, None] * reached[:, -1:]).sum(-1).clamp(max=shares.shape[-1] - 1)
        return torch.where(self.temperature > 0, drawn, likeliest)

    def select(self, numbers: list[int]) -> None:
        self.uniform, self.temperature, self.top_p = (
            held[numbers] for held in (self.uniform, self.temperature, self.top_p)
        )

    def _nucleus(self, shares: torch.Tensor) -> torch.Tensor:
        """Keep the most probable tokens until they reach top_p together (always the first)."""
        if (self.top_p >= 1).all():
            return shares
        ordered, order = shares.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered
        dropped = torch.zeros_like(shares, dtype=torch.bool).scatter(-1, order, before >= self.top_p[:, None])
        return shares.masked_fill(dropped, 0.0)


def generate(loaded: Loaded, rows: Sequence[Row], keep: bool) -> list[Answered]:
    """Replies to a batch, in its order."""
    with torch.inference_mode():
        said, read = _say(loaded, rows, keep)
    return [
        Answered(_reply(loaded, row, tokens), read.get(number))
        for number, (row, tokens) in enumerate(zip(rows, said, strict=True))
    ]


def _say(loaded: Loaded, rows: Sequence[Row], keep: bool) -> tuple[list[list[int]], dict[int, Kept | None]]:
    """The tokens of each row's reply, its end token included, and what is to be kept of each row."""
    batch, draw = Batch(loaded, rows, keep), Draw([row.request for row in rows], loaded.model.device)
    said: list[list[int]] = [[] for _ in rows]
    speaking = list(range(len(rows)))  # numbers of the rows that are still in the batch
    over: dict[int, Kept | None] = {}
    logits = batch.logits
    for step in range(max(row.request.sampling.max_tokens for row in rows)):
        tokens = draw(logits, step)
        for place, (number, token) in enumerate(zip(speaking, tokens.tolist(), strict=True)):
            if number in over:
                continue
            said[number].append(token)
            if _over(loaded, rows[number], said[number]):
                over[number] = batch.read(place, said[number][:-1])
        if len(over) == len(rows):
            break
        left = [place for place, number in enumerate(speaking) if number not in over]
        if len(left) <= LEAVE * len(speaking):
            batch.select(left)
            draw.select(left)
            speaking, tokens = [speaking[place] for place in left], tokens[left]
        logits = batch.say(tokens)
    return said, over


def _over(loaded: Loaded, row: Row, said: list[int]) -> bool:
    """Has a row said its end token, all its tokens, or a stop string?"""
    sampling = row.request.sampling
    if said[-1] in loaded.ends or len(said) >= sampling.max_tokens:
        return True
    return bool(sampling.stop) and any(stop in loaded.tokenizer.decode(said) for stop in sampling.stop)


def _reply(loaded: Loaded, row: Row, said: list[int]) -> Reply:
    """The row's text: up to the end token and its stop string."""
    words = said[:-1] if said[-1] in loaded.ends else said
    text = loaded.tokenizer.decode(words, skip_special_tokens=True)
    cuts = [text.find(stop) for stop in row.request.sampling.stop if stop in text]
    return Reply(text[: min(cuts)] if cuts else text, usage=Usage(len(row.ids), len(said)))
