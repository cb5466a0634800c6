"""Stand-ins that tests share."""

from __future__ import annotations

import hashlib

from llm.request import Request


def opinionated(request: Request) -> str:
    """Words and ratings that depend on all that was sent and on the seed, and on nothing else."""
    told = hashlib.sha256(repr((request.messages, request.seed)).encode()).digest()
    if request.answers:
        return request.answers[told[0] % len(request.answers)]
    return f"I have thought about it, and my point number {told[0]} is about case {told[1]}."
