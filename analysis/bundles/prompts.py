"""Every prompt and reply of a run as lines of JSON, to read without Parley."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parley.model.sent_requests import Exchange, sent_requests

PROMPTS = "prompts.jsonl"


def write_prompts(run: Path, path: Path) -> Path:
    """Write one line per call of a run: who was asked what, with which settings, and the raw reply; return the path.

    Errors: UserError where the run has no journal, and where this version of Parley cannot derive its prompts.
    """
    path.write_text("".join(f"{line}\n" for line in prompt_lines(run)), encoding="utf-8")
    return path


def prompt_lines(run: Path) -> Iterator[str]:
    """Yield these lines. `messages` is null where the prompt is not known, `reply` where no model replied."""
    for exchange in sent_requests(run).exchanges:
        yield json.dumps(_line(exchange), ensure_ascii=True, allow_nan=False)


def _line(exchange: Exchange) -> dict[str, Any]:
    call, request, reply = exchange.call, exchange.request, exchange.reply
    sampling = request.sampling if request else None
    return {
        "room": call.room,
        "round": call.round,
        "agent": call.agent,
        "purpose": call.purpose,
        "key": call.key,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages]
        if request
        else None,
        "answers": list(request.answers) if request else None,
        "temperature": sampling.temperature if sampling else None,
        "max_tokens": sampling.max_tokens if sampling else None,
        "seed": request.seed if request else None,
        "reply": reply.text if reply else None,
        "failure": reply.failure.name if reply and reply.failure else None,
    }
