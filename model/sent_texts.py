"""How much of a prompt repeats what its agent sent before, and what of earlier prompts has to be kept for that.

A server with a prompt cache (vLLM, SGLang, the OpenAI API) need not process a repeated beginning again. Text that two agents have
in common is not counted, but it is kept once: the prompts of people who heard the same line share it.
"""

from __future__ import annotations

from collections.abc import Sequence

from parley.llm.request import Message, Reply, Request

FEWEST_LINES = 4096
"""Different lines that are looked up before the older ones are left out of the search; in a large room four for each agent."""
LINES_PER_AGENT = 2


class SentTexts:
    """The last prompt and reply of each agent of a room, as lines. `size` is the number of agents."""

    def __init__(self, size: int = 0):
        self._most = max(FEWEST_LINES, LINES_PER_AGENT * size)
        self._sent: dict[int, tuple[str, ...]] = {}
        self._recent: dict[str, str] = {}
        self._older: dict[str, str] = {}

    def replace(self, agent: int, request: Request, reply: Reply) -> tuple[int, int]:
        """Keep a prompt with its reply as the last one of an agent.

        Return the characters of the prompt, and how many of them repeat the beginning of the prompt and reply before it.

        >>> from parley.llm.request import Sampling
        >>> sent, settings = SentTexts(), Sampling()
        >>> sent.replace(1, Request((Message("user", "Go on."),), settings, 1), Reply("I go."))
        (14, 0)
        >>> sent.replace(1, Request((Message("user", "Go back."),), settings, 1), Reply("I stop."))
        (16, 11)
        """
        lines = request_lines(request)
        length = text_length(lines)
        if reply.text:
            lines += message_lines(Message("assistant", reply.text))
        repeated = min(length, shared_beginning(lines, self._sent.get(agent, ())))
        self._sent[agent] = tuple(map(self._shared, lines))
        return length, repeated

    def _shared(self, line: str) -> str:
        """Return the line itself, or an equal one that is kept already."""
        if (known := self._recent.get(line)) is None:
            known = self._recent[line] = self._older.get(line, line)
            if len(self._recent) >= self._most:
                self._older, self._recent = self._recent, {}
        return known


def request_lines(request: Request) -> list[str]:
    """Return the lines of a prompt, in the order in which a server reads it; the first one is empty."""
    return ["", *(line for message in request.messages for line in message_lines(message))]


def message_lines(message: Message) -> list[str]:
    """Return the lines of a message: its role, then its text. A text of one line is the text itself, and no copy."""
    return [f"<{message.role}>", *message.content.split("\n")]


def text_length(lines: Sequence[str]) -> int:
    """Return the characters of a text that is split into lines."""
    return sum(map(len, lines)) + max(0, len(lines) - 1)


def shared_beginning(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the common beginning of two texts that are split into lines.

    >>> shared_beginning(["You are Ann.", "Go."], ["You are Ann.", "Give."])
    14
    """
    common = 0
    for line, other in zip(first, second, strict=False):
        if line != other:
            return common + shared_prefix(line, other)
        common += len(line) + 1
    return max(0, common - 1)


def shared_prefix(first: str, second: str) -> int:
    """Return the length of the common beginning, by bisection. `shared_prefix("abcd", "abxd")` is 2."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
