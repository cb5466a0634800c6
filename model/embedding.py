"""Asks for the embeddings of what agents remember, once for each text of a room (`relevance=embedding`).

The request has the purpose `embedding`, goes through the journal as any other, and its reply is a list of numbers. It goes to the
model `embedder` (`--llm embedder=SPEC`), or to the model that all agents speak through. A text without an embedding has None: its
relevance is unknown, and recency and importance alone decide.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from parley.agents.memory import Retrieval
from parley.llm.driver import Conversation, ask_all
from parley.llm.errors import UserError
from parley.llm.purposes import EMBEDDING
from parley.llm.request import Message, Reply, Request, Sampling
from parley.model.events import Event
from parley.model.room import RoomState, record_call


def embed_memories(
    room: RoomState, agents: Iterable[int], events: list[Event], questions: Iterable[str] = ()
) -> Conversation[None]:
    """Ask for the embeddings that these agents, and these questions, still lack. Errors: UserError if the model gives none."""
    first: dict[str, int] = {}
    asking = 0
    for agent in agents:
        memory = room.members[agent].memory
        if isinstance(memory, Retrieval) and memory.vectors is not None:
            asking = asking or agent
            for trace in memory.traces:
                first.setdefault(trace.text, agent)
    if asking:
        first |= {question: asking for question in questions if question not in first}
    texts = [text for text in first if text not in room.vectors]
    voice = room.context.embedder
    requests = [
        Request((Message("user", text),), Sampling(0.0, 1), 0, purpose=EMBEDDING, voice=voice) for text in texts
    ]
    replies = yield from ask_all(requests)
    for text, request, reply in zip(texts, requests, replies, strict=True):
        room.vectors[text] = read_vector(reply.text)
        record_call(events, room, first[text], request, reply)
    if any((reply.text and not reply.text.lstrip().startswith("[")) or _refused(reply) for reply in replies):
        raise UserError(
            "the model returns no embeddings: name a model that does, such as --llm "
            "embedder=openai:MODEL,api=embeddings, or set relevance=words"
        )


def _refused(reply: Reply) -> bool:
    """Whether the model is one that cannot embed."""
    return reply.failure is not None and reply.failure.name == "no_embeddings"


def read_vector(text: str | None) -> tuple[float, ...] | None:
    """Return the numbers of a reply such as `[0.1, -0.2]`; None for anything else, and for zeros alone.

    >>> read_vector("[3, 4]")
    (3.0, 4.0)
    >>> read_vector("I think so.") is None
    True
    """
    try:
        values = json.loads(text or "")
    except ValueError:
        return None
    if not isinstance(values, list) or not all(
        isinstance(value, int | float) and math.isfinite(value) for value in values
    ):
        return None
    return tuple(map(float, values)) if any(values) else None
