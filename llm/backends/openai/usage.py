"""Reads how many tokens a server counted for a reply, in the forms in which providers report them."""

from __future__ import annotations

from typing import Any

from parley.llm.budget import UNCOUNTED
from parley.llm.request import CACHED, THOUGHT, Usage

CACHE_NAMES = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
"""What DeepSeek, Moonshot and Anthropic call the tokens from the prompt cache, where the details of the prompt lack them."""


def usage_of(usage: Any) -> tuple[Usage, dict[str, int]]:
    """Return the tokens of a call as they are billed, and notes on them.

    Prompt tokens include those from the cache, and completion tokens those of thinking. Most servers count so (OpenAI, DeepSeek,
    vLLM, llama.cpp). Where the sum of all tokens is larger than both counts, thinking was counted apart (Gemini, xAI), or the
    tokens from the cache were (Anthropic). Cached tokens are `prompt_tokens_details.cached_tokens`, or what CACHE_NAMES names.
    """
    prompt, completion = (_count(usage, f"{kind}_tokens") for kind in ("prompt", "completion"))
    if prompt is None or completion is None:
        return Usage(), {UNCOUNTED: 1}
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens") or 0
    cached = cached or next(filter(None, (_count(usage, name) for name in CACHE_NAMES)), 0)
    thinking = _count(usage.get("completion_tokens_details"), "reasoning_tokens") or 0
    whole = _count(usage, "total_tokens")
    apart = max(0, whole - prompt - completion) if whole is not None else thinking if thinking > completion else 0
    if cached > prompt or 0 < apart == cached:
        prompt += cached
    elif thinking in (0, apart):
        thinking, completion = apart, completion + apart
    counts = {CACHED: cached, THOUGHT: thinking}
    return Usage(prompt, completion), {name: count for name, count in counts.items() if count}


def _count(counts: Any, name: str) -> int | None:
    """Return a number of tokens, or None for what cannot be one."""
    count = counts.get(name) if isinstance(counts, dict) else None
    return count if type(count) is int and 0 <= count < 1 << 40 else None
