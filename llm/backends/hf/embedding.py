"""Embeddings of texts by a causal model: the mean of its last hidden states over the tokens of a text, one text at a time."""

from __future__ import annotations

import json

import torch

from parley.llm.backends.hf.loading import Loaded
from parley.llm.backends.hf.prompts import encode_text
from parley.llm.request import Reply, Request, Usage

DIGITS = 6


def embed(loaded: Loaded, request: Request) -> Reply:
    """Return the embedding of the last message, as a JSON list of numbers. A text that is too long is not cut: it fails."""
    ids = encode_text(loaded.tokenizer, request.messages[-1].content)
    if not ids:
        return Reply.failed("empty", "the text has no tokens")
    if len(ids) > loaded.context:
        return Reply.failed("context_overflow", f"the text has {len(ids)} tokens, and the model takes {loaded.context}")
    with torch.inference_mode():
        tokens = torch.tensor([ids], device=loaded.model.device)
        states = loaded.model(input_ids=tokens, output_hidden_states=True, use_cache=False).hidden_states[-1]
    mean = states[0].float().mean(dim=0)
    return Reply(json.dumps([round(value, DIGITS) for value in mean.tolist()]), usage=Usage(len(ids), 0))
