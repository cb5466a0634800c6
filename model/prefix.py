"""How much of a prompt was sent before: what a server with a prompt cache (vLLM, SGLang, the OpenAI API) need not read again.

Counted in characters and for each agent by itself: the beginning that a prompt has in common with what the agent sent last. An
own reply counts as sent once it has been generated. What agents have in common with each other is not counted, so that a server
may find more; a server that forgets finds less.
"""

from __future__ import annotations

from parley.llm.request import Message, Reply, Request


def as_text(request: Request) -> str:
    """A prompt in the order in which a server reads it."""
    return "".join(map(_part, request.messages))


def with_reply(text: str, reply: Reply) -> str:
    return text + _part(Message("assistant", reply.text)) if reply.text else text


def common(one: str, other: str) -> int:
    """Length of the common beginning, by halving. `common("abcd", "abxd")` is 2."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _part(message: Message) -> str:
    return f"\n<{message.role}>\n{message.content}"
