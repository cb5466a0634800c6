"""Open questions: a batch is generated together, every row draws from a generator of its own, finished rows leave the batch.

Where tokens are guessed ahead (prompt_lookup.py), a row's guesses go through the model behind its last token, in one
pass; each token
is then drawn as it would have been without them, and the guesses count for as long as they are what is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from parley.llm.backends.hf.kv_cache import CachedPrefix
from parley.llm.backends.hf.loading import Loaded
from parley.llm.backends.hf.prefill import AnsweredRow, PrefilledBatch, PromptRow, Read
from parley.llm.backends.hf.prompt_lookup import PromptLookup
from parley.llm.request import Reply, Usage

LEAVE = 0.8
"""The batch is made smaller when no more than this share of its rows is still speaking."""


TOKENS = 4
"""A character of a stop string takes so many tokens at most."""


class Draw:
    """Draws the next token of every row: temperature, top-p, and one uniform number for each token of each row.

    Of the `copied` tokens a row says only those in its prompt.
    """

    def __init__(self, rows: Sequence[PromptRow], copied: Sequence[int], device: torch.device):
        requests, self.copied = [row.request for row in rows], torch.tensor(copied, dtype=torch.long, device=device)
        self.barred = torch.tensor([[token not in row.ids for token in copied] for row in rows], device=device)
        most = max(request.sampling.max_tokens for request in requests)
        generators = [torch.Generator().manual_seed(request.seed) for request in requests]
        self.uniform = torch.stack([torch.rand(most, generator=one, dtype=torch.float64) for one in generators]).to(
            device
        )
        self.temperature = torch.tensor([request.sampling.temperature for request in requests], device=device)
        self.top_p = torch.tensor([request.sampling.top_p for request in requests], device=device)

    def __call__(self, logits: torch.Tensor, rows: list[int], steps: list[int]) -> list[int]:
        """The tokens of some rows, each at a step of its own, from logits (rows, vocabulary); the likeliest at temperature 0."""
        temperature = self.temperature[rows]
        if len(self.copied):
            logits[:, self.copied] = logits[:, self.copied].masked_fill(self.barred[rows], -torch.inf)
        if not (temperature > 0).any():
            return list(logits.argmax(-1).tolist())
        shares = (logits.float() / temperature.clamp(min=1e-6)[:, None]).softmax(-1)
        reached = self._nucleus(shares, self.top_p[rows]).cumsum(-1, dtype=torch.float64)
        wanted = self.uniform[rows, steps][:, None] * reached[:, -1:]
        drawn = torch.searchsorted(reached, wanted, right=True)[:, 0].clamp(max=shares.shape[-1] - 1)
        drawn = drawn if (temperature > 0).all() else torch.where(temperature > 0, drawn, logits.argmax(-1))
        return list(drawn.tolist())

    def select(self, numbers: list[int]) -> None:
        self.uniform, self.temperature, self.top_p, self.barred = (
            held[numbers] for held in (self.uniform, self.temperature, self.top_p, self.barred)
        )

    @staticmethod
    def _nucleus(shares: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
        """Keep the most probable tokens until they reach top_p together (always the first; all, where top_p is 1)."""
        if (top_p >= 1).all():
            return shares
        ordered, order = shares.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered
        dropped = torch.zeros_like(shares, dtype=torch.bool).scatter(
            -1, order, (before >= top_p[:, None]) & (top_p < 1)[:, None]
        )
        return shares.masked_fill(dropped, 0.0)


def generate(loaded: Loaded, rows: Sequence[PromptRow], read: Read, drafts: PromptLookup) -> list[AnsweredRow]:
    """Replies to a batch, in its order."""
    with torch.inference_mode():
        said, kept = _say(loaded, read(loaded, rows), drafts)
    return [
        AnsweredRow(_reply(loaded, row, tokens), kept.get(number), tokens)
        for number, (row, tokens) in enumerate(zip(rows, said, strict=True))
    ]


def _say(
    loaded: Loaded, batch: PrefilledBatch, drafts: PromptLookup
) -> tuple[list[list[int]], dict[int, CachedPrefix | None]]:
    """The tokens of each row's reply, its end token included, and what is to be kept of each row."""
    rows = batch.rows
    draw = Draw(rows, loaded.copied, loaded.model.device)
    said: list[list[int]] = [[] for _ in rows]
    speaking = list(range(len(rows)))  # numbers of the rows that are still in the batch
    over: dict[int, CachedPrefix | None] = {}
    drawn = [[token] for token in draw(batch.logits, speaking, [0] * len(rows))]
    while True:
        for place, number in enumerate(speaking):
            for token in drawn[place]:
                if number not in over:
                    said[number].append(token)
                    if _over(loaded, rows[number], said[number]):
                        over[number] = batch.read(place, said[number][:-1])
        if len(over) == len(rows):
            return said, over
        left = [place for place, number in enumerate(speaking) if number not in over]
        if len(left) <= LEAVE * len(speaking):
            batch.select(left)
            draw.select(left)
            speaking = [speaking[place] for place in left]
        guesses = [[] if number in over else _guess(drafts, rows[number], said[number]) for number in speaking]
        logits = batch.say([[said[number][-1], *guess] for number, guess in zip(speaking, guesses, strict=True)])
        drawn = _drawn(draw, logits, guesses, [0 if number in over else len(said[number]) for number in speaking])
        batch.settle(list(map(len, drawn)))


def _guess(drafts: PromptLookup, row: PromptRow, said: list[int]) -> list[int]:
    return drafts.guess(row.ids, said, row.request.sampling.max_tokens - len(said) - 1)


def _drawn(draw: Draw, logits: torch.Tensor, guesses: list[list[int]], steps: list[int]) -> list[list[int]]:
    """Each row's next tokens, from logits (rows, tokens, vocabulary): those that were guessed rightly, and one more."""
    drawn: list[list[int]] = [[] for _ in guesses]
    going = list(range(len(guesses)))
    for ahead in range(logits.shape[1]):
        tokens = draw(logits[going, ahead], going, [steps[place] + ahead for place in going])
        for place, token in zip(going, tokens, strict=True):
            drawn[place].append(token)
        going = [place for place in going if drawn[place] == guesses[place][: ahead + 1]]
        if not going:
            break
    return drawn


def _over(loaded: Loaded, row: PromptRow, said: list[int]) -> bool:
    """Has a row said its end token, all its tokens, or a stop string?"""
    if said[-1] in loaded.ends or len(said) >= row.request.sampling.max_tokens:
        return True
    if not row.stop:
        return False
    lately = loaded.tokenizer.decode(said[-TOKENS * max(map(len, row.stop)) :])
    return any(stop in lately for stop in row.stop)


def _reply(loaded: Loaded, row: PromptRow, said: list[int]) -> Reply:
    """The row's text: up to the end token and its stop string."""
    words = said[:-1] if said[-1] in loaded.ends else said
    text = loaded.tokenizer.decode(words, skip_special_tokens=True)
    cuts = [text.find(stop) for stop in row.stop if stop in text]
    return Reply(text[: min(cuts)] if cuts else text, usage=Usage(len(row.ids), len(said)))
