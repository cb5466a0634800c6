"""Generates the replies to open questions: a batch at a time, with a random stream for each row.

A row that has finished leaves the batch. Its random numbers come from the seed of its own request, so that its reply does
not depend on the rows around it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from parley.llm.backends.hf.kv_cache import CachedPrefix
from parley.llm.backends.hf.loading import Loaded
from parley.llm.backends.hf.prefill import AnsweredRow, PrefilledBatch, PromptRow, ReadBatch
from parley.llm.backends.hf.token_race import race_keys, waiting_times
from parley.llm.request import ANSWER, Failure, Reply, Usage, answer_line
from parley.llm.thinking import split_thinking

SHRINK = 0.8
"""The batch is made smaller when at most this share of its rows is unfinished."""
STOP_TOKENS = 4
"""One character of a stop string takes at most this many tokens."""


class Sampler:
    """Draws the next token of every row: temperature, top-k, top-p, min-p, and one uniform number for each token of each row.

    `copied` are the forms of names (of the pocket model), of which a row may say one only if its prompt holds one.
    """

    def __init__(self, rows: Sequence[PromptRow], copied: Sequence[Sequence[int]], device: torch.device):
        requests = [row.request for row in rows]
        self.copied = torch.tensor([token for forms in copied for token in forms], dtype=torch.long, device=device)
        barred = [[not any(form in row.ids for form in forms) for forms in copied for _ in forms] for row in rows]
        self.barred = torch.tensor(barred, dtype=torch.bool, device=device)
        self.longest = max(request.sampling.max_tokens for request in requests)
        self._seed([request.seed for request in requests], device)
        self.temperature = torch.tensor([request.sampling.temperature for request in requests], device=device)
        self.top_p = torch.tensor([request.sampling.top_p for request in requests], device=device)
        self.min_p = torch.tensor([request.sampling.min_p for request in requests], device=device)
        self.top_k = torch.tensor([request.sampling.top_k for request in requests], device=device)

    def _seed(self, seeds: Sequence[int], device: torch.device) -> None:
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        uniform = [torch.rand(self.longest, generator=generator, dtype=torch.float64) for generator in generators]
        self.uniform = torch.stack(uniform).to(device)

    def draw(self, logits: torch.Tensor, steps: list[int]) -> list[int]:
        """Return a token for each row from logits (rows, vocabulary); at temperature 0 the most probable one.

        `steps` counts the tokens that each row has said before.
        """
        if len(self.copied):
            logits[:, self.copied] = logits[:, self.copied].masked_fill(self.barred, -torch.inf)
        greedy = logits.argmax(-1)
        if not (self.temperature > 0).any():
            return list(greedy.tolist())
        probabilities = (logits.float() / self.temperature.clamp(min=1e-6)[:, None]).softmax(-1)
        drawn = self._draw(self._nucleus(probabilities), steps)
        return list(torch.where(self.temperature > 0, drawn, greedy).tolist())

    def _draw(self, chances: torch.Tensor, steps: list[int]) -> torch.Tensor:
        cumulative = chances.cumsum(-1, dtype=torch.float64)
        targets = self.uniform[torch.arange(len(steps)), steps][:, None] * cumulative[:, -1:]
        return torch.searchsorted(cumulative, targets, right=True)[:, 0].clamp(max=chances.shape[-1] - 1)

    def select(self, places: list[int]) -> None:
        """Keep only some rows."""
        self.uniform, self.temperature = self.uniform[places], self.temperature[places]
        self.top_p, self.barred = self.top_p[places], self.barred[places]
        self.min_p, self.top_k = self.min_p[places], self.top_k[places]

    def _nucleus(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Keep the most probable tokens that top_k, top_p and min_p allow (always the first)."""
        if self.min_p.any():
            least = self.min_p[:, None] * probabilities.amax(-1, keepdim=True)
            probabilities = probabilities.masked_fill(probabilities < least, 0.0)
        if (self.top_p >= 1).all() and not self.top_k.any():
            return probabilities
        ordered, order = probabilities.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered
        cut = (before >= self.top_p[:, None]) & (self.top_p < 1)[:, None]
        places = torch.arange(ordered.shape[-1], device=ordered.device)
        cut |= (places >= self.top_k[:, None]) & (self.top_k > 0)[:, None]
        dropped = torch.zeros_like(probabilities, dtype=torch.bool).scatter(-1, order, cut)
        return probabilities.masked_fill(dropped, 0.0)


class RaceSampler(Sampler):
    """Draws tokens of a model of the pocket kind, in a race, and within what its own files allow (`Loaded`)."""

    def __init__(self, rows: Sequence[PromptRow], loaded: Loaded):
        super().__init__(rows, loaded.copied, loaded.model.device)
        self.suppressed, self.min_p = list(loaded.suppressed), self.min_p.clamp(min=loaded.min_p)

    def _seed(self, seeds: Sequence[int], device: torch.device) -> None:
        self.uniform = torch.from_numpy(np.stack([race_keys(seed, self.longest) for seed in seeds]).astype(np.int64))

    def draw(self, logits: torch.Tensor, steps: list[int]) -> list[int]:
        logits[:, self.suppressed] = -torch.inf
        return super().draw(logits, steps)

    def _draw(self, chances: torch.Tensor, steps: list[int]) -> torch.Tensor:
        keys = self.uniform[torch.arange(len(steps)), steps].numpy().astype(np.uint32)
        times = torch.from_numpy(waiting_times(keys, chances.shape[-1])).to(chances.device)
        return (times / chances.double()).argmin(-1)


def generate(loaded: Loaded, rows: Sequence[PromptRow], read_batch: ReadBatch) -> list[AnsweredRow]:
    """Return the replies to a batch, in its order."""
    with torch.inference_mode():
        replies, prefixes = _generate_tokens(loaded, read_batch(loaded, rows))
    return [
        AnsweredRow(_reply(loaded, row, tokens), prefixes[number])
        for number, (row, tokens) in enumerate(zip(rows, replies, strict=True))
    ]


def _generate_tokens(loaded: Loaded, batch: PrefilledBatch) -> tuple[list[list[int]], dict[int, CachedPrefix | None]]:
    """Return the tokens of each row's reply, its end token included, and by row number what the cache can keep of it."""
    rows, logits = batch.rows, batch.logits
    sampler = RaceSampler(rows, loaded) if loaded.races else Sampler(rows, loaded.copied, loaded.model.device)
    replies: list[list[int]] = [[] for _ in rows]
    prefixes: dict[int, CachedPrefix | None] = {}  # of the rows that have finished
    active = list(range(len(rows)))  # the rows in the batch
    while True:
        tokens = sampler.draw(logits, [0 if number in prefixes else len(replies[number]) for number in active])
        for place, (number, token) in enumerate(zip(active, tokens, strict=True)):
            if number not in prefixes:
                replies[number].append(token)
                if _is_finished(loaded, rows[number], replies[number]):
                    prefixes[number] = batch.prefix(place, replies[number][:-1])
        if len(prefixes) == len(rows):
            return replies, prefixes
        unfinished = [place for place, number in enumerate(active) if number not in prefixes]
        if len(unfinished) <= SHRINK * len(active):
            batch.select(unfinished)
            sampler.select(unfinished)
            active = [active[place] for place in unfinished]
        logits = batch.append([replies[number][-1:] for number in active])[:, 0]


def _is_finished(loaded: Loaded, row: PromptRow, tokens: list[int]) -> bool:
    """Does a reply end here: at an end token, at its most tokens, or behind a stop string?"""
    if tokens[-1] in loaded.ends or len(tokens) >= row.request.sampling.max_tokens:
        return True
    if not row.stop:
        return False
    latest = loaded.tokenizer.decode(tokens[-STOP_TOKENS * max(map(len, row.stop)) :])
    return any(stop in latest for stop in row.stop)


def _reply(loaded: Loaded, row: PromptRow, tokens: list[int]) -> Reply:
    """Return the text of a row up to its end token and its stop string, without the thoughts before it."""
    ended = tokens[-1] in loaded.ends
    for skipped in (False, True):  # the marks of thoughts are special tokens of some models
        text = loaded.tokenizer.decode(tokens[:-1] if ended else tokens, skip_special_tokens=skipped)
        cuts = [text.find(stop) for stop in row.stop if stop in text]
        answer, thinking = split_thinking(text[: min(cuts)] if cuts else text)
        if thinking:
            break
    usage = Usage(len(row.ids), len(tokens))
    if thinking and not answer and not ended:
        failure = Failure("out_of_tokens", "the thoughts before the answer did not end: allow more --set max_tokens")
        return Reply(None, usage=usage, thinking=thinking, failure=failure)
    completes = f"\n{ANSWER}" in row.stop  # of closed questions alone
    return Reply(answer_line(answer) if completes else answer, usage=usage, thinking=thinking)
