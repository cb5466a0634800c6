"""Documents as training rows: tokens, what each of them may see, what each of them should predict and how much it counts.

Several documents share a row. A fork stands behind the chat that it branches from and sees that chat up to the branch and
itself, at the positions it would have if it were asked there: a chat is read once, however many questions are put apart from it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from transformers import PreTrainedTokenizerFast

from parley.llm.backends.oracle.party_files import NO_PARTY
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.pocket.prompt_ids import mask_names, name_tokens
from parley.llm.request import Message
from tools.pocket.corpus.documents import Document, Fork, Line
from tools.pocket.corpus.people import SIDES, TAUGHT
from tools.pocket.tokenizer import LEANS

CAPACITIES = (384, 448, 512, 640, 768, 896, 1024, 1280, 1536)
"""Lengths of rows; a document goes into the shortest row that holds it, together with others."""
OWN, STANCE, HEARD, HEARD_STANCE, ANSWER, AFTER = 1.0, 8.0, 0.3, 6.0, 24.0, 0.25
"""Loss weights: own words, the label in an own stance sentence, others' words, the label in theirs (their persona is not known:
it can only be read off what they say), a survey's answer, the rest of it. A persona is read and not learned."""
LEAD, HEARD_LEAD, LEADING = 3.0, 1.0, 32
"""Loss weights of the first LEADING characters of a sentence that shows a stance or a party, where it is decided which sentence
it will be: of an own one, and of another's behind their stance sentence."""
REACTION = 3.0
"""Loss weight of an own sentence that names another speaker: whether it agrees has to fit what that speaker said."""
ABOUT_SELF = 3.0
"""Loss weight of the words that answer a question about oneself or the debate: most are read off the persona or a line."""
FACT = 10.0
"""Loss weight of what such an answer looks up: the words that the persona says, and the label that is reported of a line."""
ORDER = {"census": 0, "audience": 1, "interview": 1, "lines": 1, "facts": 2, "few_lines": 3}
LAST = 4
"""Kinds of documents that the training begins with, and which of them first; all others come last."""
PARTIES, TOPICS = (*SIDES, NO_PARTY), TAUGHT
UNGRADED = 11.0
_SENTENCE = re.compile(r"[^\s.!?][^.!?]*[.!?]")
_LINE = re.compile(r"^<name\d+>: (.*)$", re.M)
_CLAUSE = "|".join(
    rf"{re.escape(before.removeprefix('I think '))}(?P<label{number}>[a-z]+){re.escape(after)}"
    for number, (before, _, after) in enumerate(banks().topics[slug].stance.partition("{label}") for slug in TAUGHT)
)
_STANCE, _REPORT = re.compile(f"I think (?:{_CLAUSE})"), re.compile(_CLAUSE)


@cache
def _shows() -> frozenset[str]:
    """Sentences that show a stance or a party, as they begin."""
    lines = [
        sentence
        for slug in TAUGHT
        for forms in banks().topics[slug].by_grade.values()
        for form in forms
        for sentence in form
    ]
    lines += [line for party in banks().data("common")["identity"].values() for line in party]
    themes = banks().data("values")["themes"].values()
    lines += [line for theme in themes for party in theme.keys() - {"recognise"} for line in theme[party]]
    return frozenset(line[:LEADING] for line in lines)


def _reported(text: str) -> Iterator[tuple[int, int, float]]:
    """Spans of the labels that a reply reports of a line, and their weights: "Ann said that inflation is a mild problem"."""
    for clause in _REPORT.finditer(text):
        if not text.endswith("I think ", 0, clause.start()):
            yield *clause.span(clause.lastgroup or 0), FACT


def _telling(
    text: str, start: int, stop: int, label: float, lead: float, always: bool
) -> Iterator[tuple[int, int, float]]:
    """Spans of a line that tell a stance, and their weights: own labels and leads (`always`), or what follows from what.

    Of another's line: a label behind a sentence that goes with it, and the lead of a sentence behind a label.
    """
    labelled = told = always
    for sentence in _SENTENCE.finditer(text, start, stop):
        stance = _STANCE.search(sentence[0])
        if stance:
            begin, end = stance.span(stance.lastgroup or 0)
            if told:
                yield sentence.start() + begin, sentence.start() + end, label
            labelled = True
        elif always and "<name" in sentence[0]:
            yield *sentence.span(), REACTION
        elif sentence[0][:LEADING] in _shows():
            if labelled:
                yield sentence.start(), sentence.start() + LEADING, lead
            told = True


@dataclass
class Encoded:
    """A document's tokens (all lists of one length).

    `segment` 0 is the chat, 1.. its forks; `branch` is the number of chat tokens a token of a fork may see; `weight` is how much
    the prediction *of* this token counts; `other` and `share` are a second right answer and its probability.
    The rest is what the speaker holds and hears, for tools/pocket/probes.py (NaN where there is nothing to know): behind
    a line its grade (UNGRADED for none) and the attitude after it, at a position of the persona its level and topic, behind the
    opening the attitude, where a reply begins the attitude, party and topic (their numbers in PARTIES and TOPICS). `facts`
    are the words of the persona that an answer about oneself looks up.
    """

    ids: list[int] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    segment: list[int] = field(default_factory=list)
    branch: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    other: list[int] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    grade: list[float] = field(default_factory=list)
    attitude: list[float] = field(default_factory=list)
    party: list[float] = field(default_factory=list)
    topic: list[float] = field(default_factory=list)
    order: int = LAST
    facts: frozenset[int] = frozenset()

    def add(self, ids: Sequence[int], weights: Sequence[float], segment: int, branch: int, first: int) -> None:
        self.ids += ids
        self.position += range(first, first + len(ids))
        self.segment += [segment] * len(ids)
        self.branch += [branch] * len(ids)
        self.weight += weights
        self.other += ids
        self.share += [0.0] * len(ids)
        for marks in (self.grade, self.attitude, self.party, self.topic):
            marks += [math.nan] * len(ids)


class Encoder:
    """Turns documents into `Encoded` ones."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast):
        self.tokenizer = tokenizer
        self.role = {role: tokenizer.convert_tokens_to_ids(f"<|{role}|>") for role in ("system", "user", "assistant")}
        self.begin = {lean: tokenizer.convert_tokens_to_ids(token) for lean, token in LEANS.items()}
        self.end, self.paragraph = tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("\n\n")

    def encode(self, document: Document) -> Encoded:
        """The document; one that is too long for a row loses its first forks."""
        encoded = self._encoded(document)
        while len(encoded.ids) > CAPACITIES[-1] and document.forks:
            document = replace(document, forks=document.forks[1:])
            encoded = self._encoded(document)
        return encoded

    def _encoded(self, document: Document) -> Encoded:
        fork_questions = [Message("user", fork.question) for fork in document.forks]
        names = name_tokens([*document.messages, *fork_questions])
        messages = mask_names(document.messages, names)
        out = Encoded(order=ORDER.get(document.kind, LAST), facts=self._facts(messages))
        out.add([self.begin[document.lean]], [0.0], 0, 0, 0)
        starts, reply_number, lines = [], 0, iter(document.heard)
        for message in messages:
            starts.append(len(out.ids))
            is_shown = reply_number >= document.hidden
            answering = document.kind == "self" and not document.forks
            plain = 0.0 if reply_number < document.learn_from else ABOUT_SELF if answering else OWN
            ids, weights, ends = self._message(message, plain, out.facts if answering else frozenset())
            out.add(ids, weights, 0, 0, len(out.ids))
            if message.role == "assistant":
                self._mark_reply(out, starts[-1], document, reply_number if is_shown else None)
                if reply_number < len(document.topics) and reply_number >= document.learn_from:
                    self._mark_stance(
                        out, starts[-1], ids, document.topics[reply_number], document.attitudes[reply_number]
                    )
                reply_number += 1
            elif message.role == "user":
                self._mark_lines(out, starts[-1], ends, lines, is_shown)
                self._mark_opening(out, starts[-1], message, document)
            else:
                self._mark_persona(out, starts[-1], message.content)
        chat = list(out.ids)
        starts.append(len(chat))
        replies = mask_names([Message("assistant", fork.reply) for fork in document.forks], names)
        questions = mask_names(fork_questions, names)
        for number, (fork, question, reply) in enumerate(zip(document.forks, questions, replies, strict=True), 1):
            asked_here = replace(fork, reply=reply.content)
            self._fork(out, chat, starts[fork.kept], asked_here, question, number, document)
        return out

    def _facts(self, messages: Sequence[Message]) -> frozenset[int]:
        """Return the words of a persona that are no words of the answers' own."""
        told = [message.content for message in messages if message.role == "system"]
        words = {word for text in told for word in self.tokenizer(text)["input_ids"]}
        return frozenset(words - self._forms())

    @cache  # noqa: B019
    def _forms(self) -> frozenset[int]:
        """Return the words of the answers about oneself, in all their forms."""
        bank = banks().data("self")
        lists = [forms for kind in bank.values() for name, forms in kind.items() if name not in ("recognise", "slots")]
        texts = [form for forms in lists for form in forms]
        return frozenset(word for text in texts for word in self.tokenizer(text)["input_ids"])

    def _mark_persona(self, out: Encoded, at: int, text: str) -> None:
        """Mark each position that a persona states, at the full stop behind it, with its level and topic."""
        begins = [begin for begin, _ in self.tokenizer(text, return_offsets_mapping=True)["offset_mapping"]]
        levels = banks().data("parameters")["levels"]
        for sentence in _SENTENCE.finditer(text):
            slug = banks().recognised(sentence[0])
            level = next((level for phrase, level in levels.items() if phrase in sentence[0]), None)
            if slug and level is not None:
                place = at + bisect_left(begins, sentence.end())  # behind the token of the role
                out.grade[place], out.topic[place] = level, TOPICS.index(slug)

    def _mark_opening(self, out: Encoded, at: int, message: Message, document: Document) -> None:
        """Mark the end of the first paragraph of a debate with the attitude before any line."""
        topic = next((topic for topic in (*document.topics, *(fork.topic for fork in document.forks)) if topic), "")
        if "Speak only for yourself" in message.content and topic in document.starts:
            place = next(
                (place for place in range(at, len(out.ids)) if out.ids[place] == self.paragraph), len(out.ids) - 1
            )
            out.attitude[place] = document.starts[topic]

    def _mark_reply(self, out: Encoded, at: int, document: Document, reply_number: int | None) -> None:
        """Mark where an own reply begins with what is held there."""
        if reply_number is None:
            return
        if document.party:
            out.party[at] = PARTIES.index(document.party)
        if reply_number < len(document.topics) and document.topics[reply_number]:
            out.topic[at] = TOPICS.index(document.topics[reply_number])
            attitude = document.attitudes[reply_number]
            out.attitude[at] = math.nan if attitude is None else attitude

    def _mark_stance(self, out: Encoded, at: int, ids: Sequence[int], topic: str, attitude: float | None) -> None:
        """Give an own stance sentence its two likely labels, in place of the one that was drawn."""
        if attitude is None:
            return
        labels = self._labels(topic)
        low = min(int(attitude), 9)
        shares = {labels[low]: low + 1 - attitude, labels[low + 1]: attitude - low}
        for place, token in enumerate(ids):
            if token in shares and out.weight[at + place] == STANCE:
                other = labels[low + 1] if token == labels[low] else labels[low]
                out.other[at + place], out.share[at + place] = other, shares[other]

    def _mark_lines(self, out: Encoded, at: int, ends: Sequence[int], lines: Iterator[Line], is_shown: bool) -> None:
        for end in ends:
            line = next(lines, None)
            if line is None:
                return
            out.grade[at + end] = UNGRADED if line.grade is None else line.grade
            if is_shown and line.attitude is not None:
                out.attitude[at + end] = line.attitude

    @cache  # noqa: B019
    def _labels(self, slug: str) -> list[int]:
        return [self.tokenizer(label)["input_ids"][0] for label in banks().topics[slug].labels]

    def _message(
        self, message: Message, plain: float, facts: frozenset[int] = frozenset()
    ) -> tuple[list[int], list[float], list[int]]:
        """Return the ids of a message, their weights, and the places of the tokens behind the lines in it.

        Only there, at the line break or the end of the message, is it clear that a line is over. `plain` is the weight of an own
        reply's plain words; 0: the reply is not learned. `facts` are words that such a reply looks up in the persona.
        """
        tokens = self.tokenizer(message.content, return_offsets_mapping=True)
        ids, weights = list(tokens["input_ids"]), [0.0] * len(tokens["input_ids"])
        spans: list[tuple[int, int, float]] = []
        lines = list(_LINE.finditer(message.content)) if message.role == "user" else []
        if lines:
            for line in lines:
                spans += [
                    (*line.span(1), HEARD),
                    *_telling(message.content, *line.span(1), HEARD_STANCE, HEARD_LEAD, False),
                ]
        elif message.role == "assistant" and plain:
            spans = [
                (0, len(message.content), plain),
                *_telling(message.content, 0, len(message.content), STANCE, LEAD, True),
                *(_reported(message.content) if plain == ABOUT_SELF else ()),
            ]
        begins, ends = ([pair[end] for pair in tokens["offset_mapping"]] for end in (0, 1))
        for start, stop, weight in spans:
            first, last = bisect_right(ends, start), bisect_left(begins, stop)
            weights[first:last] = [weight] * (last - first)
        weights = [FACT if weight and token in facts else weight for token, weight in zip(ids, weights, strict=True)]
        closing = plain if message.role == "assistant" else 0.0
        places = [1 + bisect_left(begins, line.end(1)) for line in lines]  # behind the token of the role
        return [self.role[message.role], *ids, self.end], [0.0, *weights, closing], places

    def _fork(
        self, out: Encoded, chat: list[int], start: int, fork: Fork, question: Message, number: int, document: Document
    ) -> None:
        """What differs from the chat, from the first different token on, and the answer."""
        question_ids, _, ends = self._message(question, 0.0)
        same = 0
        while same < len(question_ids) and start + same < len(chat) and question_ids[same] == chat[start + same]:
            same += 1
        branch = start + same
        ids = [*question_ids[same:], self.role["assistant"]]
        out.add(ids, [0.0] * len(ids), number, branch, branch)
        self._mark_fork(out, len(out.ids) - len(ids) - same, same, ends, fork, document)
        first = branch + len(ids)
        if not fork.answers:
            looked_up = document.kind in ("self", "facts", "few_lines")
            reply, weights, _ = self._message(
                Message("assistant", fork.reply), *((ABOUT_SELF, out.facts) if looked_up else (OWN,))
            )
            out.add(reply[1:], weights[1:], number, branch, first)
            self._mark_stance(out, len(out.ids) - len(reply) + 1, reply[1:], fork.topic, fork.attitude)
            return
        tokens = self.tokenizer(fork.reply, return_offsets_mapping=True)
        reply = list(tokens["input_ids"])
        stance = _STANCE.search(fork.reply)
        begin = stance.start(stance.lastgroup or 0) if stance else 0
        place, other, share = self._answer(
            fork, reply, bisect_right([end for _, end in tokens["offset_mapping"]], begin)
        )
        out.add([*reply, self.end], [AFTER] * (len(reply) + 1), number, branch, first)
        at = len(out.ids) - len(reply) - 1 + place
        out.weight[at], out.other[at], out.share[at] = ANSWER, other, share

    def _mark_fork(
        self, out: Encoded, first: int, same: int, ends: Sequence[int], fork: Fork, document: Document
    ) -> None:
        """Mark the end of a question, and of the lines in it that the chat does not hold, with what is held there."""
        at = len(out.ids) - 1
        if document.party:
            out.party[at] = PARTIES.index(document.party)
        if fork.topic:
            out.topic[at] = TOPICS.index(fork.topic)
        if fork.attitude is not None:
            out.attitude[at] = fork.attitude
        if len(ends) == len(fork.heard):
            for end, line in zip(ends, fork.heard, strict=True):
                if end >= same:
                    self._mark_lines(out, first, [end], iter([line]), True)

    def _answer(self, fork: Fork, reply: list[int], start: int) -> tuple[int, int, float]:
        """Where the answer stands in the reply, from `start` on (a word before it may be a label as well: "a fair chance").

        Then the token of the other likely answer, and that one's probability.
        """
        tokens = {self.tokenizer(answer)["input_ids"][0]: share for answer, share in fork.answers.items()}
        place = next(place for place in range(start, len(reply)) if reply[place] in tokens)
        rest = [(token, share) for token, share in tokens.items() if token != reply[place]]
        return (place, *rest[0]) if rest else (place, reply[place], 0.0)


@dataclass
class Row:
    """Arrays of one length (the row's capacity); `document` is 0 for padding. `order`: of all its documents (ORDER)."""

    ids: np.ndarray
    position: np.ndarray
    document: np.ndarray
    segment: np.ndarray
    branch: np.ndarray
    weight: np.ndarray
    other: np.ndarray
    share: np.ndarray
    grade: np.ndarray
    attitude: np.ndarray
    party: np.ndarray
    topic: np.ndarray
    order: int


def pack(encoded: Iterable[Encoded], pad: int) -> Iterator[Row]:
    """Rows of documents: the longest first, each into the fullest row that has room, those of one order together.

    Errors: ValueError for a document longer than the longest row.
    """
    every = list(encoded)
    for order in sorted({document.order for document in every}):
        yield from _packed(
            sorted(
                [document for document in every if document.order == order], key=lambda document: -len(document.ids)
            ),
            pad,
        )


def _packed(documents: list[Encoded], pad: int) -> Iterator[Row]:
    rows: list[tuple[int, list[Encoded]]] = []
    free: list[tuple[int, int]] = []  # room left and number of the row, in order
    for document in documents:
        length = len(document.ids)
        place = bisect_left(free, (length, 0))
        if place < len(free):
            room, number = free.pop(place)
            rows[number][1].append(document)
        else:
            capacity = next((size for size in CAPACITIES if length <= size), None)
            if capacity is None:
                raise ValueError(f"a document of {length} tokens is longer than the longest row, {CAPACITIES[-1]}")
            room, number = capacity, len(rows)
            rows.append((capacity, [document]))
        insort(free, (room - length, number))
    for capacity, held in rows:
        yield _row(held, capacity, pad)


def _row(held: list[Encoded], capacity: int, pad: int) -> Row:
    def joined(name: str, fill: float, kind: type) -> np.ndarray:
        values = [value for document in held for value in getattr(document, name)]
        return np.array(values + [fill] * (capacity - len(values)), dtype=kind)

    number = np.repeat(np.arange(1, len(held) + 1), [len(document.ids) for document in held])
    return Row(
        joined("ids", pad, np.int16),
        joined("position", 0, np.int16),
        np.pad(number, (0, capacity - len(number))).astype(np.int16),
        joined("segment", 0, np.int16),
        joined("branch", 0, np.int16),
        joined("weight", 0, np.float16),
        joined("other", pad, np.int16),
        joined("share", 0, np.float16),
        joined("grade", math.nan, np.float16),
        joined("attitude", math.nan, np.float16),
        joined("party", math.nan, np.float16),
        joined("topic", math.nan, np.float16),
        held[0].order,
    )


def visible(document: np.ndarray, segment: np.ndarray, branch: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Which tokens (last axis) each token (last axis but one) sees, for rows stacked along the first axis.

    Earlier ones of its own segment, and for a fork those of its chat before the branch. Padding sees itself alone.
    """
    size = document.shape[1]
    earlier = np.tri(size, dtype=bool)
    same = document[:, :, None] == document[:, None, :]
    same_segment = segment[:, :, None] == segment[:, None, :]
    chat = (segment[:, None, :] == 0) & (position[:, None, :] < branch[:, :, None])
    seen: np.ndarray = earlier & same & (same_segment | chat)
    return seen | np.eye(size, dtype=bool)
