"""An engine as that of llama.cpp without a model: a function says which words may come next."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

NextTokens = Callable[[str, str], Mapping[str, float]]
"""Takes the prompt as one text and the reply so far; returns the next tokens with their probabilities, "" for the end."""


class FakeEngine:
    """Answers calls as llama.cpp does. `calls` are the bodies that it was sent; the prompt may have `context` words."""

    version = "fake"

    def __init__(self, next_tokens: NextTokens, context: int = 10_000):
        self._next_tokens, self._context = next_tokens, context
        self.calls: list[Mapping[str, Any]] = []

    def chat(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        messages = list(body["messages"])
        begun = messages.pop()["content"] if messages[-1]["role"] == "assistant" else ""
        prompt = "\n".join(f"{message['role']}: {message['content']}" for message in messages)
        return self._answer(
            body, prompt, begun, lambda text: {"message": {"role": "assistant", "content": begun + text}}
        )

    def complete(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._answer(body, body["prompt"], "", lambda text: {"text": text})

    def _answer(
        self, body: Mapping[str, Any], prompt: str, begun: str, choice: Callable[[str], dict[str, Any]]
    ) -> Mapping[str, Any]:
        self.calls.append(body)
        words = len(prompt.split())
        if words > self._context:
            message = f"request ({words} tokens) exceeds the available context size ({self._context} tokens)"
            return {"error": {"code": 400, "message": message, "type": "exceed_context_size_error"}}
        text, count, reason = "", 0, "length"
        table = self._next_tokens(prompt, begun)
        first, draw = table, random.Random(body.get("seed", 0))
        while count < body["max_tokens"]:
            token = self._drawn(table, body["temperature"], draw)
            count += 1
            if not token or any(stop in text + token for stop in body.get("stop", ())):
                reason = "stop"
                break
            text += token
            table = self._next_tokens(prompt, begun + text)
        usage = {"prompt_tokens": words, "completion_tokens": count}
        return {"choices": [choice(text) | {"finish_reason": reason, "logprobs": _listed(first)}], "usage": usage}

    @staticmethod
    def _drawn(table: Mapping[str, float], temperature: float, draw: random.Random) -> str:
        if temperature == 0:
            return max(table, key=lambda token: table[token])
        return draw.choices(list(table), [share ** (1 / temperature) for share in table.values()])[0]


def _listed(table: Mapping[str, float]) -> Mapping[str, Any]:
    """Return a table in the form of likeliest tokens; the end of the reply is a special token."""
    likeliest = [
        {"token": token or "<|im_end|>", "logprob": math.log(share)} for token, share in table.items() if share > 0
    ]
    return {"content": [{"top_logprobs": likeliest}]}
