"""Open questions: a batch is generated together, and every row draws from a generator of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from llm.backends.hf.batches import left_padded
from llm.backends.hf.loading import Loaded
from llm.request import Reply, Request, Usage


class Row(NamedTuple):
    """One request and its prompt's token ids; `place` is its position in the list asked."""

    place: int
    request: Request
    ids: list[int]

    @property
    def length(self) -> int:
        return len(self.ids) + self.request.sampling.max_tokens


class RowSampler(LogitsProcessor):
    """Turns scores (rows, vocabulary) into scores whose argmax is the token drawn: temperature, top-p, Gumbel noise by row."""

    def __init__(self, requests: Sequence[Request], device: torch.device):
        self.generators = [torch.Generator().manual_seed(request.seed) for request in requests]
        self.temperatures = torch.tensor([request.sampling.temperature for request in requests], device=device)[:, None]
        self.top_p = torch.tensor([request.sampling.top_p for request in requests], device=device)[:, None]

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if not (self.temperatures > 0).any():
            return scores
        warm = self._nucleus(scores.float() / self.temperatures.clamp(min=1e-6))
        uniform = torch.stack([torch.rand(scores.shape[-1], generator=generator) for generator in self.generators])
        noise = -torch.log(-torch.log(uniform.clamp_(1e-20, 1 - 1e-7)))
        return torch.where(self.temperatures > 0, warm + noise.to(scores.device), scores.float())

    def _nucleus(self, scores: torch.Tensor) -> torch.Tensor:
        """Keep the most probable tokens until they reach top_p together (always the first)."""
        if (self.top_p >= 1).all():
            return scores
        ordered, order = scores.sort(dim=-1, descending=True)
        before = ordered.softmax(dim=-1).cumsum(dim=-1) - ordered.softmax(dim=-1)
        dropped = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order, before >= self.top_p)
        return scores.masked_fill(dropped, float("-inf"))


class RowStop(StoppingCriteria):
    """Ends a row at its own stop string or its own number of tokens."""

    def __init__(self, rows: Sequence[Row], width: int, tokenizer: Any):
        self.samplings = [row.request.sampling for row in rows]
        self.width, self.tokenizer = width, tokenizer

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor, **_: Any) -> torch.Tensor:
        new = ids[:, self.width :]
        done = [new.shape[1] >= sampling.max_tokens for sampling in self.samplings]
        for number, sampling in enumerate(self.samplings):
            if sampling.stop and not done[number]:
                text = self.tokenizer.decode(new[number])
                done[number] = any(stop in text for stop in sampling.stop)
        return torch.tensor(done, device=ids.device)


def generate(loaded: Loaded, rows: Sequence[Row]) -> list[Reply]:
    """Replies to a batch, in its order."""
    pad = loaded.tokenizer.pad_token_id
    inputs = left_padded([row.ids for row in rows], pad, loaded.model.device)
    width = inputs["input_ids"].shape[1]
    config = GenerationConfig(
        do_sample=False,
        max_new_tokens=max(row.request.sampling.max_tokens for row in rows),
        eos_token_id=sorted(loaded.ends) or None,
        pad_token_id=pad,
    )
    with torch.inference_mode():
        out = loaded.model.generate(
            **inputs,
            generation_config=config,
            logits_processor=LogitsProcessorList([RowSampler([row.request for row in rows], loaded.model.device)]),
            stopping_criteria=StoppingCriteriaList([RowStop(rows, width, loaded.tokenizer)]),
        )
    return [_reply(loaded, row, new) for row, new in zip(rows, out[:, width:].tolist(), strict=True)]


def _reply(loaded: Loaded, row: Row, new: list[int]) -> Reply:
    """The row's text: up to the end token, its own number of tokens and its stop string."""
    new = new[: row.request.sampling.max_tokens]
    while new and new[-1] == loaded.tokenizer.pad_token_id and new[-1] not in loaded.ends:
        new.pop()  # the row ended at a stop string, the batch went on
    ended = next((place for place, token in enumerate(new) if token in loaded.ends), len(new))
    text = loaded.tokenizer.decode(new[:ended], skip_special_tokens=True)
    cuts = [text.find(stop) for stop in row.request.sampling.stop if stop in text]
    usage = Usage(len(row.ids), min(ended + 1, len(new)))
    return Reply(text[: min(cuts)] if cuts else text, usage=usage)
