"""What an agent remembers of a conversation, as the chat messages that it is sent.

Its own replies are assistant messages; all lines heard between two of them are one user message that ends with the
instruction. With whole memory, the messages of one turn are a prefix of the messages of the next.

`Retrieval` chooses memories by recency, importance and relevance (Park et al. 2023, "Generative Agents", section on the
memory stream): each is scaled to 0-1 over all memories, and they are summed with equal weights; recency decays by .995
per step. Departures: a step is a line said (theirs an hour of their world), counted from when it was said (theirs from
when it was last retrieved: here asking leaves no trace); relevance is the cosine of word weights (theirs of
embeddings); the model is asked for importance only if a scenario says so, otherwise it is novelty.
"""

from __future__ import annotations

import copy
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from parley.agents.language import ENGLISH, Language
from parley.llm.errors import UserError
from parley.llm.request import Message

DECAY = 0.995
LEAST, MOST = 1.0, 10.0
"""Ends of the scale of importance."""
DIGITS = 6
"""The most digits of a number of lines to remember."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


LINES, INSIGHTS = "lines", "insights"
"""Parts that `Memory.without` leaves out."""
Line = tuple[str | None, str]
"""(None, own reply) or (name, line of another agent), without the instruction."""


@dataclass(slots=True)
class Trace:
    """One memory: `name` said `text` (None: the agent itself). `time` counts the lines up to it.

    `importance` is None if it is still to be asked, or could not be read. `insight`: the agent concluded it, no one
    said it. `sources` are the memories that an insight cites, `number` counts the insights of the agent from 1.
    """

    name: str | None
    text: str
    time: int
    importance: float | None
    insight: bool = False
    number: int = 0
    sources: tuple[Trace, ...] = ()

    @property
    def depth(self) -> int | None:
        """0 for a line, for an insight 1 more than the deepest memory that it cites; None where that is unknown.

        >>> line = Trace("Bob", "Trees help.", 1, 5.0)
        >>> Trace(None, "Bob likes trees.", 2, 10.0, True, 1, (line,)).depth
        1
        """
        if not self.insight:
            return 0
        depths = [source.depth for source in self.sources]
        known_depths = [depth for depth in depths if depth is not None]
        return 1 + max(known_depths) if known_depths and len(known_depths) == len(depths) else None


def top_memories(
    traces: Sequence[Trace], query: str, now: int, count: int, relevant: Sequence[float | None] | None = None
) -> list[Trace]:
    """Return the `count` memories that score highest, in their order in time; of equal ones the later."""
    scores = memory_scores(traces, query, now, relevant)
    ranked = sorted(range(len(traces)), key=lambda place: (scores[place], place), reverse=True)
    return [traces[place] for place in sorted(ranked[:count])]


Vector = tuple[float, ...]


def vector_relevance(query: Sequence[Vector | None], vectors: Sequence[Vector | None]) -> list[float | None]:
    """Return the cosine of each embedding with the mean of those of the query, all of length 1; None where one is unknown.

    >>> vector_relevance([(1.0, 0.0), (0.0, 1.0)], [(2.0, 2.0), (0.0, -1.0), None])
    [1.0, -0.71, None]
    """
    unit_vectors = [_unit(vector) for vector in query if vector is not None]
    if not unit_vectors:
        return [None] * len(vectors)
    mean = _unit(tuple(sum(parts) for parts in zip(*unit_vectors, strict=True)))
    return [
        None if vector is None else round(sum(a * b for a, b in zip(mean, _unit(vector), strict=True)), 2)
        for vector in vectors
    ]


def _unit(vector: Vector) -> Vector:
    length = math.hypot(*vector)
    return tuple(value / length for value in vector) if length else vector


def memory_scores(
    traces: Sequence[Trace], query: str, now: int, relevant: Sequence[float | None] | None = None
) -> list[float]:
    """Return for each memory the mean of its recency, importance and relevance, as far as they are known, each scaled
    to 0-1.

    relevant: the relevance of each; by default that of its words to the query.
    """
    columns: list[list[float | None]] = [
        [DECAY ** (now - trace.time) for trace in traces],
        [trace.importance for trace in traces],
        [*(relevance(query, [trace.text for trace in traces]) if relevant is None else relevant)],
    ]
    rows = [[value for value in row if value is not None] for row in zip(*map(min_max, columns), strict=True)]
    return [sum(row) / len(row) for row in rows]


def min_max(values: Sequence[float | None]) -> list[float | None]:
    """Scale values to 0-1 between the lowest and the highest; all 0 if they are equal. None stays None.

    >>> min_max([1.0, 4.0, None, 5.0])
    [0.0, 0.75, None, 1.0]
    """
    present = [value for value in values if value is not None]
    low, span = (min(present), max(present) - min(present)) if present else (0.0, 0.0)
    return [None if value is None else (value - low) / span if span else 0.0 for value in values]


def relevance(query: str, texts: Sequence[str]) -> list[float]:
    """Return the cosine of the word weights of each text with those of the query, 0-1.

    The weight of a word is its count times ln((1 + n) / (1 + number of texts with it)) + 1.

    >>> [round(cosine, 2) for cosine in relevance("more trains", ["trains", "buses"])]
    [0.56, 0.0]
    """
    counts = [Counter(words(text)) for text in texts]
    spread = Counter(word for count in counts for word in count)

    def weights(count: Mapping[str, int]) -> dict[str, float]:
        return {word: number * (math.log((1 + len(texts)) / (1 + spread[word])) + 1) for word, number in count.items()}

    def cosine(first: Mapping[str, float], other: Mapping[str, float]) -> float:
        product = sum(weight * other[word] for word, weight in first.items() if word in other)
        return product / (math.hypot(*first.values()) * math.hypot(*other.values())) if product else 0.0

    query_weights = weights(Counter(words(query)))
    return [cosine(query_weights, weights(count)) for count in counts]


def novelty(text: str, known_words: set[str]) -> float:
    """Return importance by how much of a text is new: from 1 (every word was said before) to 10 (none was).

    >>> novelty("More trains, more buses!", {"more"})
    7.0
    """
    text_words = set(words(text))
    return LEAST + (MOST - LEAST) * len(text_words - known_words) / len(text_words) if text_words else LEAST


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.lower())


class Memory:
    """Whole memory: everything that was said since the start.

    `opening` is the first paragraph of the first user message (what this is, who takes part), `names` all speakers
    heard so far.
    """

    def __init__(self, opening: str):
        self.opening = opening
        self.names: frozenset[str] = frozenset()
        self.first_heard: tuple[str, str] | None = None
        self.first_said: str | None = None
        self._sent: list[Message] = []
        self._heard: list[str] = []

    @property
    def empty(self) -> bool:
        """Whether nothing was said yet."""
        return not self._sent and not self._heard

    def hear(self, name: str, text: str) -> None:
        """Keep a line that another agent said."""
        if name not in self.names:
            self.names |= {name}
        self.first_heard = self.first_heard or (name, text)
        self._keep(name, text)

    def _keep(self, name: str | None, text: str) -> None:
        self._heard.append(_labelled(name, text))

    def enter(self, opening: str, new_part: str) -> None:
        """Go on in another place. new_part: the sentence that announces it, where something was said before."""
        if self.empty:
            self.opening = opening
        else:
            self._heard = [_paragraphs("", self._heard, f"{new_part} {opening}") + "\n"]

    def messages(self, instruction: str, query: str = "") -> tuple[Message, ...]:
        """Return all that is remembered, and the instruction last. Asking leaves no trace.

        query: what memories are retrieved for, if it is not the instruction.
        """
        return (*self._sent, self._next(instruction))

    def spoke(self, instruction: str, text: str) -> None:
        """Keep the agent's own reply to an instruction."""
        self.first_said = self.first_said or text
        self._keep_own(instruction, text)

    def retrieved(self, query: str) -> list[Trace]:
        """Return the older memories that are in the messages besides the latest lines."""
        return []

    @property
    def insights(self) -> list[Trace]:
        """The insights of the latest reflection."""
        return []

    def without(self, left_out: str) -> Memory:
        """Return a memory that lacks all LINES (it has nothing but the opening) or the INSIGHTS. This one does not change."""
        return Memory(self.opening) if left_out == LINES else self

    def _keep_own(self, instruction: str, text: str) -> None:
        self._sent += (self._next(instruction), Message("assistant", text))
        self._heard = []

    def _next(self, instruction: str) -> Message:
        return Message("user", _paragraphs("" if self._sent else self.opening, self._heard, instruction))

    @property
    def overflows(self) -> bool:
        """Whether lines will be forgotten that have to be summarised first."""
        return False

    def overflow(self) -> tuple[Message, ...]:
        """Return the lines to summarise."""
        return ()


class NoMemory(Memory):
    """Nothing: another worker asks the agent."""

    def hear(self, name: str, text: str) -> None:
        return None


class LastLines(Memory):
    """The last `size` lines, including own ones; older lines are forgotten. `forgets`: whether older lines are not kept."""

    forgets: ClassVar[bool] = True

    def __init__(self, opening: str, size: int):
        super().__init__(opening)
        self.size = size
        self._lines: list[Line] = []

    @property
    def empty(self) -> bool:
        return not self._lines

    def _keep(self, name: str | None, text: str) -> None:
        self._lines.append(_line(name, text))
        if self.forgets and len(self._lines) > self.size:
            del self._lines[0]

    def _keep_own(self, instruction: str, text: str) -> None:
        self._keep(None, text)

    def enter(self, opening: str, new_part: str) -> None:
        self.opening = opening  # the older lines follow it

    def messages(self, instruction: str, query: str = "") -> tuple[Message, ...]:
        return _chat(self._lines, self.opening, instruction)


class Summary(LastLines):
    """The last `size` lines or more in full, and a summary, written by the model, of what came before."""

    forgets = False

    def __init__(self, opening: str, size: int, language: Language):
        super().__init__(opening, size)
        self.header, self.summary = language.prompt("summary_header").text, ""

    def messages(self, instruction: str, query: str = "") -> tuple[Message, ...]:
        return _chat(self._lines, self._start(), instruction)

    @property
    def overflows(self) -> bool:
        """Whether there are twice `size` lines."""
        return len(self._lines) >= 2 * self.size

    def overflow(self) -> tuple[Message, ...]:
        """Return the older half."""
        return _chat(self._lines[: -self.size], self._start(), "")

    def absorb(self, summary: str) -> None:
        """Replace the older lines by their summary."""
        self.summary, self._lines = summary, self._lines[-self.size :]

    def _start(self) -> str:
        return f"{self.opening}\n\n{self.header}\n{self.summary}" if self.summary else self.opening


class Retrieval(LastLines):
    """The last `size` lines in full, and the `size` most fitting memories of what came before, including own insights.

    `importance`: novelty, or asked (then the model rates it). After every `reflect` lines (0: never) it is time for
    insights. `vectors` are the embeddings of texts, if relevance goes by them (None: by words).
    """

    forgets = False

    def __init__(self, opening: str, size: int, language: Language, importance: str = "novelty", reflect: int = 0):
        super().__init__(opening, size)
        self.importance, self.reflect, self.language = importance, reflect, language
        self.header = language.prompt("retrieval_header").text
        self.traces: list[Trace] = []
        self.vectors: Mapping[str, Vector | None] | None = None
        self.unweighed: list[Trace] = []
        self._known: set[str] = set()
        self._reflected = 0

    def _keep(self, name: str | None, text: str) -> None:
        super()._keep(name, text)
        asks_importance = self.importance == "asked"
        trace = Trace(name, text, len(self._lines), None if asks_importance else novelty(text, self._known))
        self.traces.append(trace)
        self.unweighed += [trace] if asks_importance else []
        self._known.update(words(text))

    def messages(self, instruction: str, query: str = "") -> tuple[Message, ...]:
        recent, top = self._lines[-self.size :], self.retrieved(query or instruction)
        recalled = "\n".join([self.header, *[memory_line(trace, self.language) for trace in top]]) if top else ""
        return _chat(recent, _paragraphs(self.opening, [], recalled), instruction)

    def retrieved(self, query: str) -> list[Trace]:
        recent = self._lines[-self.size :]
        older = [trace for trace in self.traces if trace.insight or trace.time <= len(self._lines) - len(recent)]
        return self._top(older, [*[text for _, text in recent], query])

    def _top(self, older: Sequence[Trace], query: Sequence[str]) -> list[Trace]:
        """Return the memories that fit some texts best: by their words, or by their embeddings if there are `vectors`."""
        relevant = None
        if self.vectors is not None:
            wanted = [self.vectors.get(text) for text in query]
            relevant = vector_relevance(wanted, [self.vectors.get(trace.text) for trace in older])
        return top_memories(older, "\n".join(query), len(self._lines), self.size, relevant)

    @property
    def insights(self) -> list[Trace]:
        return [trace for trace in self.traces if trace.insight and trace.time == self._reflected]

    def without(self, left_out: str) -> Memory:
        if left_out != INSIGHTS:
            return super().without(left_out)
        rest = copy.copy(self)
        rest.traces = [trace for trace in self.traces if not trace.insight]
        return rest

    @property
    def reflects(self) -> bool:
        """Whether `reflect` lines were said since the last insights."""
        return 0 < self.reflect <= len(self._lines) - self._reflected

    def recent(self, instruction: str) -> tuple[Message, ...]:
        """Return what was said since the last insights, and the instruction last."""
        return _chat(self._lines[self._reflected :], self.opening, instruction)

    def evidence(self) -> list[Trace]:
        """Return what new insights may cite: the `size` most fitting older memories, then all lines since the last insights."""
        new = [trace for trace in self.traces if not trace.insight and trace.time > self._reflected]
        older = [trace for trace in self.traces if trace.insight or trace.time <= self._reflected]
        return [*self._top(older, [trace.text for trace in new]), *new]

    def conclude(self, insights: Sequence[tuple[str, Sequence[Trace]]]) -> None:
        """Keep insights, each with the memories that it cites, as memories of the highest importance. The next ones are due
        after `reflect` more lines.
        """
        now, insight_count = len(self._lines), sum(trace.insight for trace in self.traces)
        for number, (text, sources) in enumerate(insights, insight_count + 1):
            self.traces.append(Trace(None, text, now, MOST, True, number, tuple(sources)))
        self._reflected = now


@lru_cache(maxsize=1)
def _line(name: str | None, text: str) -> Line:
    """Return a line to remember. All who hear it hear it one after the other: they share it."""
    return name, text


@lru_cache(maxsize=1)
def _labelled(name: str | None, text: str) -> str:
    """Return a line with its speaker in front, shared as `_line` is."""
    return f"{name}: {text}"


def _chat(lines: Iterable[Line], opening: str, instruction: str) -> tuple[Message, ...]:
    """Return lines as messages, with the opening in the first and the instruction in the last."""
    messages: list[Message] = []
    heard: list[str] = []
    for name, text in lines:
        if name is not None:
            heard.append(f"{name}: {text}")
        elif messages and not heard:  # no one spoke in between: no empty user message
            messages[-1] = Message("assistant", f"{messages[-1].content}\n{text}")
        else:
            user = Message("user", _paragraphs("" if messages else opening, heard, ""))
            messages += [user, Message("assistant", text)]
            heard = []
    return (*messages, Message("user", _paragraphs("" if messages else opening, heard, instruction)))


def _paragraphs(opening: str, heard: Sequence[str], instruction: str) -> str:
    return "\n\n".join(filter(None, (opening, "\n".join(heard).rstrip("\n"), instruction)))


def memory_line(trace: Trace, language: Language) -> str:
    """Return a memory as a line that cannot be taken for a line said now."""
    if trace.name is not None and not trace.insight:
        return f"{trace.name}: {trace.text}"
    return language.fill("concluded" if trace.insight else "said", text=trace.text)


def make_memory(
    kind: str, opening: str, language: Language = ENGLISH, importance: str = "novelty", reflect: int = 0
) -> Memory:
    """Make a memory: `whole`, `last:K`, `summary:K` or `retrieve:K`. Errors: UserError on any other kind."""
    name, _, size = kind.partition(":")
    if kind == "whole":
        return Memory(opening)
    if name not in ("last", "summary", "retrieve") or not size.isdecimal() or len(size) > DIGITS or not int(size):
        raise UserError(
            f"unknown memory {kind!r}: write whole, last:K, summary:K or retrieve:K, where K is a number of lines "
            f"with at most {DIGITS} digits, such as last:12"
        )
    if name == "retrieve":
        return Retrieval(opening, int(size), language, importance, reflect)
    return LastLines(opening, int(size)) if name == "last" else Summary(opening, int(size), language)
