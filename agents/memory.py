"""Which memories come to mind: by recency, importance and relevance.

Source: Park et al. 2023, "Generative Agents", section on the memory stream: each of the three scaled to 0-1 over all
memories, and summed with equal weights; recency decays by .995 a step. Departures: a step is a line said (theirs an
hour of their world), counted from when it was said (theirs from when it was last retrieved: here asking leaves no
trace); relevance is the cosine of word weights (theirs of embeddings); importance is asked of the model only where a
scenario says so, else it is novelty.

What an agent remembers of a conversation, as the chat messages it is sent.

Own replies are assistant messages; all lines heard between two own replies are one user message that ends with the
instruction. With whole memory this is append-only: what is sent at one turn is a prefix of what is sent at the next.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass

from parley.llm.errors import UserError
from parley.llm.request import Message

DECAY = 0.995
LEAST, MOST = 1.0, 10.0
"""Ends of the scale of importance."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(slots=True)
class Trace:
    """One memory. `name` said it (None: oneself), `time` counts the lines up to it; `insight`: concluded, not heard.

    `importance` is None where it is to be asked, or could not be read.
    """

    name: str | None
    text: str
    time: int
    importance: float | None
    insight: bool = False


def top_memories(traces: Sequence[Trace], query: str, now: int, count: int) -> list[Trace]:
    """The `count` memories that score highest, in their order in time; of equals the later."""
    totals = memory_scores(traces, query, now)
    ranked = sorted(range(len(traces)), key=lambda one: (totals[one], one), reverse=True)
    return [traces[one] for one in sorted(ranked[:count])]


def memory_scores(traces: Sequence[Trace], query: str, now: int) -> list[float]:
    """Recency, importance and relevance of each memory, scaled to 0-1: their mean over those that are known."""
    columns: list[list[float | None]] = [
        [DECAY ** (now - trace.time) for trace in traces],
        [trace.importance for trace in traces],
        [*relevance(query, [trace.text for trace in traces])],
    ]
    parts = [[one for one in row if one is not None] for row in zip(*map(min_max, columns), strict=True)]
    return [sum(row) / len(row) for row in parts]


def min_max(values: Sequence[float | None]) -> list[float | None]:
    """To 0-1 between the least and the most of them; all 0 where they are equal. None stays None.

    >>> min_max([1.0, 4.0, None, 5.0])
    [0.0, 0.75, None, 1.0]
    """
    known = [value for value in values if value is not None]
    low, span = (min(known), max(known) - min(known)) if known else (0.0, 0.0)
    return [None if value is None else (value - low) / span if span else 0.0 for value in values]


def relevance(query: str, texts: Sequence[str]) -> list[float]:
    """Cosine of the word weights of each text with those of the query, 0-1: count times ln((1 + n) / (1 + texts with
    it)) + 1.

    >>> [round(one, 2) for one in relevance("more trains", ["trains", "buses"])]
    [0.58, 0.0]
    """
    counts = [Counter(words(text)) for text in texts]
    spread = Counter(word for count in counts for word in count)

    def weighted(count: Mapping[str, int]) -> dict[str, float]:
        return {word: many * (math.log((1 + len(texts)) / (1 + spread[word])) + 1) for word, many in count.items()}

    asked = weighted(Counter(words(query)))
    return [_cosine(asked, weighted(count)) for count in counts]


def novelty(text: str, known: set[str]) -> float:
    """Importance by how much is new: from 1 (every word was said before) to 10 (none was).

    >>> novelty("More trains, more buses!", {"more"})
    7.0
    """
    said = set(words(text))
    return LEAST + (MOST - LEAST) * len(said - known) / len(said) if said else LEAST


def words(text: str) -> list[str]:
    """Its words in small letters."""
    return _WORD.findall(text.lower())


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = sum(weight * other[word] for word, weight in one.items() if word in other)
    lengths = math.hypot(*one.values()) * math.hypot(*other.values())
    return product / lengths if product else 0.0


Line = tuple[str | None, str]
"""(None, own reply) or (name, line of another); the instruction is not kept."""


class Memory:
    """Whole memory: everything that was said since the start.

    `opening` is the first paragraph of the first user message (what this is, who is there), `names` all who were heard.
    """

    def __init__(self, opening: str):
        self.opening = opening
        self.names: frozenset[str] = frozenset()
        self._sent: list[Message] = []
        self._heard: list[str] = []

    @property
    def empty(self) -> bool:
        """True until anything was said by anybody."""
        return not self._sent and not self._heard

    def hear(self, name: str, text: str) -> None:
        """Keep a line said by somebody else."""
        if name not in self.names:
            self.names |= {name}
        self._keep(name, text)

    def _keep(self, name: str, text: str) -> None:
        self._heard.append(f"{name}: {text}")

    def messages(self, instruction: str) -> tuple[Message, ...]:
        """All that is remembered, and the instruction last. Asking leaves no trace."""
        return (*self._sent, self._next(instruction))

    def spoke(self, instruction: str, text: str) -> None:
        """Keep an own reply to the instruction."""
        self._sent += (self._next(instruction), Message("assistant", text))
        self._heard = []

    def _next(self, instruction: str) -> Message:
        return Message("user", _block("" if self._sent else self.opening, self._heard, instruction))

    @property
    def overflows(self) -> bool:
        """True when something is about to be forgotten that wants a summary first."""
        return False

    def overflow(self) -> tuple[Message, ...]:
        """What is about to be forgotten and wants a summary first."""
        return ()


class _Lines(Memory):
    """Keeps lines; what becomes of older ones is its own affair."""

    def __init__(self, opening: str, lines: MutableSequence[Line]):
        super().__init__(opening)
        self._lines = lines

    @property
    def empty(self) -> bool:
        return not self._lines

    def _keep(self, name: str, text: str) -> None:
        self._lines.append((name, text))

    def spoke(self, instruction: str, text: str) -> None:
        self._lines.append((None, text))


class LastLines(_Lines):
    """The last `size` lines, own ones included; older ones are forgotten."""

    def __init__(self, opening: str, size: int):
        super().__init__(opening, deque(maxlen=size))

    def messages(self, instruction: str) -> tuple[Message, ...]:
        return _chat(self._lines, self.opening, instruction)


class Summary(_Lines):
    """The last `size` lines in full and a summary, written by the model, of what came before."""

    def __init__(self, opening: str, size: int, header: str):
        super().__init__(opening, [])
        self.size, self.header, self.summary = size, header, ""

    def messages(self, instruction: str) -> tuple[Message, ...]:
        return _chat(self._lines, self._start(), instruction)

    @property
    def overflows(self) -> bool:
        """True once twice `size` lines have gathered."""
        return len(self._lines) >= 2 * self.size

    def overflow(self) -> tuple[Message, ...]:
        """The older half."""
        return _chat(self._lines[: -self.size], self._start(), "")

    def absorb(self, summary: str) -> None:
        """Keep the summary in place of the lines it stands for."""
        self.summary, self._lines = summary, self._lines[-self.size :]

    def _start(self) -> str:
        return f"{self.opening}\n\n{self.header}\n{self.summary}" if self.summary else self.opening


class Retrieval(_Lines):
    """The last `size` lines in full, and of what came before, own insights among it, the `size` memories that come to
    mind.

    `importance`: novelty, or asked (then `weigh` gives it). After every `reflect` lines (0: never) it wants to reflect.
    """

    def __init__(self, opening: str, size: int, header: str, importance: str = "novelty", reflect: int = 0):
        super().__init__(opening, [])
        self.size, self.header, self.importance, self.reflect = size, header, importance, reflect
        self.traces: list[Trace] = []
        self.unweighed: list[Trace] = []
        self._known: set[str] = set()
        self._reflected = 0

    def _keep(self, name: str, text: str) -> None:
        self._remember(name, text)

    def spoke(self, instruction: str, text: str) -> None:
        self._remember(None, text)

    def _remember(self, name: str | None, text: str) -> None:
        self._lines.append((name, text))
        asked = self.importance == "asked"
        trace = Trace(name, text, len(self._lines), None if asked else novelty(text, self._known))
        self.traces.append(trace)
        self.unweighed += [trace] if asked else []
        self._known.update(words(text))

    def messages(self, instruction: str) -> tuple[Message, ...]:
        short = self._lines[-self.size :]
        older = [trace for trace in self.traces if trace.insight or trace.time <= len(self._lines) - len(short)]
        query = "\n".join([*[text for _, text in short], instruction])
        found = top_memories(older, query, len(self._lines), self.size)
        recalled = "\n".join([self.header, *map(_recalled, found)]) if found else ""
        return _chat(short, "\n\n".join(filter(None, [self.opening, recalled])), instruction)

    @property
    def reflects(self) -> bool:
        """True once `reflect` lines were said since the last time."""
        return 0 < self.reflect <= len(self._lines) - self._reflected

    def recent(self, instruction: str) -> tuple[Message, ...]:
        """What was said since it last reflected, and the instruction last."""
        return _chat(self._lines[self._reflected :], self.opening, instruction)

    def conclude(self, insights: Sequence[str]) -> None:
        """Keep insights as memories of the highest importance; even none ends the wish to reflect."""
        self.traces += [Trace(None, text, len(self._lines), MOST, insight=True) for text in insights]
        self._reflected = len(self._lines)


def _chat(lines: Iterable[Line], opening: str, instruction: str) -> tuple[Message, ...]:
    """Lines as messages, the opening in the first and the instruction in the last."""
    out: list[Message] = []
    heard: list[str] = []
    for name, text in lines:
        if name is not None:
            heard.append(f"{name}: {text}")
        elif out and not heard:  # nobody spoke in between: no empty user message
            out[-1] = Message("assistant", f"{out[-1].content}\n{text}")
        else:
            out += [Message("user", _block("" if out else opening, heard, "")), Message("assistant", text)]
            heard = []
    return (*out, Message("user", _block("" if out else opening, heard, instruction)))


def _block(opening: str, heard: Sequence[str], instruction: str) -> str:
    return "\n\n".join(filter(None, (opening, "\n".join(heard), instruction)))


def _recalled(trace: Trace) -> str:
    """A memory as one line that nobody can take for a line said now by another."""
    if trace.insight:
        return f'You concluded, "{trace.text}"'
    return f'You said, "{trace.text}"' if trace.name is None else f"{trace.name}: {trace.text}"


def make_memory(kind: str, opening: str, header: str, importance: str = "novelty", reflect: int = 0) -> Memory:
    """`whole`, `last:K`, `summary:K` or `retrieve:K`. Errors: UserError on anything else."""
    name, _, size = kind.partition(":")
    if kind == "whole":
        return Memory(opening)
    if name not in ("last", "summary", "retrieve") or not size.isdecimal() or not int(size):
        raise UserError(f"memory {kind!r} is none of whole, last:K, summary:K, retrieve:K (K lines, such as last:12)")
    if name == "retrieve":
        return Retrieval(opening, int(size), header, importance, reflect)
    return LastLines(opening, int(size)) if name == "last" else Summary(opening, int(size), header)


def header_of(kind: str) -> str:
    """The prompt that stands over what such a memory adds to the lines."""
    return "retrieval_header" if kind.startswith("retrieve") else "summary_header"
