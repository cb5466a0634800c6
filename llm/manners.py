"""How chat models say an answer: in bold after a greeting, in a sentence, as JSON, after thinking aloud.

The oracle says its answers so on demand (`--llm oracle,manner=sentence`), and `chatter` always. The answer is the same, so what
is lost is the fault of a reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

Manner = Callable[[str], str]
THOUGHT = "<think>Should I say 0, A, no or nothing? I think not.</think>\n\n"
CLOSED: Mapping[str, Manner] = {
    "bold": lambda answer: f"Sure! Here's my answer:\n\n**{answer}**",
    "reason": lambda answer: f"{answer}\n\nThis fits who I am, and what I have heard.",
    "sentence": lambda answer: f"I would say {answer}.",
    "json": lambda answer: (
        f'```json\n{{"answer": {json.dumps(answer, ensure_ascii=False)}, "reason": "It fits me."}}\n```'
    ),
    "boxed": lambda answer: f"Let me weigh this.\n\nThe final answer is $\\boxed{{{answer}}}$.",
    "final": lambda answer: f"There is something to be said for each of them.\n\n**Final answer:** {answer}",
    "quote": lambda answer: f'"{answer}"',
    "preamble": lambda answer: f"Sure, {answer}",
    "think": lambda answer: f"{THOUGHT}{answer}",
}
"""What is said for an answer to a closed question, and for a ranking."""
FREE: Mapping[str, Manner] = {
    "quote": lambda text: f'"{text}"',
    "preamble": lambda text: f"Sure! Here is my reply:\n\n{text}",
    "think": lambda text: f"{THOUGHT}{text}",
}
"""The same for any other text; in the other manners it stays as it is."""


def said(text: str, manner: str, closed: bool) -> str:
    """Return what is said for an answer (closed), or for another text.

    >>> said("no", "sentence", True), said("Taxes are fair.", "sentence", False)
    ('I would say no.', 'Taxes are fair.')
    """
    say = (CLOSED if closed else FREE).get(manner)
    return say(text) if say else text
