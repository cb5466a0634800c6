"""The questions that wait for people, and what they answered. One thread asks; the threads of a page or a terminal answer.

A seat is named by the `voice` of its requests. A person is `here`, `away` (no sign for `wait` seconds while a question waited) or
has `left` by choice. While a person is away or has left, every question to the seat fails at once with that word as its reason.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parley.llm.purposes import CONSENT
from parley.llm.request import Reply, Request

HERE, AWAY, LEFT = "here", "away", "left"
GONE = (AWAY, LEFT)
TRIES = 3
"""How often an answer that is empty or unreadable is asked for again before it is missing."""
LONGEST = 4000
"""Characters of an answer."""
HINTS = {
    "blank": "The answer is empty. Please write something.",
    "unreadable": "This is none of the possible answers. Please give one of them: {answers}.",
    "too_long": f"The answer is too long. Please write at most {LONGEST:,} characters.",
}


@dataclass(frozen=True)
class Question:
    """A question that waits. `text`: what the person has not read yet. `answers`: all possible answers; empty for free text."""

    number: int
    seat: str
    text: str
    answers: tuple[str, ...]
    purpose: str
    request: Request
    since: float


class Desk:
    """Questions and answers by seat. Every method may be called from any thread."""

    def __init__(self, wait: float, clock: Callable[[], float] = time.monotonic):
        self.wait, self.clock = wait, clock
        self.changed = threading.Condition()
        self.served = True
        self._open: dict[int, Question] = {}
        self._landed: list[tuple[Request, Reply]] = []
        self._state: defaultdict[str, str] = defaultdict(lambda: HERE)
        self._sign: dict[str, float] = {}
        self._tries = Counter[int]()
        self._read: defaultdict[str, set[str]] = defaultdict(set)
        self._past: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        self._asked = 0

    def put(self, requests: Sequence[Request]) -> None:
        """Let requests wait for their people; those to an empty seat fail at once."""
        with self.changed:
            for request in requests:
                if (state := self._state[request.voice]) in GONE:
                    self._landed.append((request, _missing(state)))
                    continue
                self._asked += 1
                text = self._unread(request)
                about = request.voice, text, request.answers, request.purpose, request, self.clock()
                self._open[self._asked] = Question(self._asked, *about)
            self.changed.notify_all()

    def take(self) -> list[tuple[Request, Reply]]:
        """Return what has been answered, or has failed, since the last call."""
        with self.changed:
            self._expire()
            landed, self._landed = self._landed, []
            return landed

    def wait_for_answer(self, seconds: float) -> None:
        """Wait until an answer can be taken, for at most so long."""
        with self.changed:
            self.changed.wait_for(lambda: bool(self._landed), seconds)

    def patience(self) -> float | None:
        """Return the seconds until the next person counts as away; None if no question has a limit."""
        with self.changed:
            due = [self._due(question) for question in self._open.values() if question.purpose != CONSENT]
            return max(0.0, min(due) - self.clock()) if due else None

    def questions(self, seat: str) -> list[Question]:
        """Return the questions that wait for a seat, the oldest first."""
        with self.changed:
            return [question for question in self._open.values() if question.seat == seat]

    def waiting(self) -> list[Question]:
        """Return all questions that wait, the oldest first."""
        with self.changed:
            return list(self._open.values())

    def past(self, seat: str) -> list[tuple[str, str]]:
        """Return the questions and answers of a seat since the program began."""
        with self.changed:
            return list(self._past[seat])

    def state(self, seat: str) -> str:
        """Return `here`, `away` or `left`."""
        with self.changed:
            return self._state[seat]

    def answer(self, seat: str, number: int, text: str) -> str:
        """Answer a question of one's own seat. Return "" if it is answered, else what to do, in a sentence.

        After TRIES answers that are empty or unreadable the answer is missing, with that reason.
        """
        with self.changed:
            question = self._open.get(number)
            if question is None or question.seat != seat:
                return "This question does not wait for an answer any more."
            self._sign[seat] = self.clock()
            value, reason = read_answer(question.request, text)
            if value is None:
                self._tries[number] += 1
                if self._tries[number] < TRIES:
                    return HINTS[reason].format(answers="; ".join(question.answers))
            self._land(question, Reply(value) if value is not None else _missing(reason))
            self._past[seat].append((question.text, value if value is not None else f"({reason})"))
            return ""

    def touch(self, seat: str) -> None:
        """Note a sign of life, such as a key that is pressed."""
        with self.changed:
            self._sign[seat] = self.clock()

    def leave(self, seat: str, state: str = LEFT) -> None:
        """Leave the seat: what waits for it, and what comes, fails with this reason until the person is back."""
        with self.changed:
            self._state[seat] = state
            for question in [question for question in self._open.values() if question.seat == seat]:
                self._land(question, _missing(state))

    def come_back(self, seat: str) -> None:
        """Take the seat again: the next question waits for the person."""
        with self.changed:
            self._state[seat], self._sign[seat] = HERE, self.clock()
            self.changed.notify_all()

    def _unread(self, request: Request) -> str:
        """Return the parts of a prompt that this seat has not read, with its last part. The persona's own text is left out."""
        read, parts = self._read[request.voice], list[str]()
        for message in request.messages:
            if message.role == "user":
                parts += message.content.split("\n\n")
        whole = request.messages[-1].content.split("\n\n") if request.purpose == CONSENT else parts[-1:]
        new = [paragraph for paragraph in parts[: len(parts) - len(whole)] if paragraph not in read]
        read.update(parts)
        return plain("\n\n".join([*new, *whole]))

    def _due(self, question: Question) -> float:
        return max(question.since, self._sign.get(question.seat, question.since)) + self.wait

    def _expire(self) -> None:
        now = self.clock()
        late = [
            question for question in self._open.values() if question.purpose != CONSENT and self._due(question) <= now
        ]
        for seat in {question.seat for question in late}:
            self.leave(seat, AWAY)

    def _land(self, question: Question, reply: Reply) -> None:
        del self._open[question.number]
        self._landed.append((question.request, reply))
        self.changed.notify_all()


def read_answer(request: Request, text: str) -> tuple[str | None, str]:
    """Return the answer, or None and the reason: blank, unreadable, too_long.

    A closed question takes one of its answers in any case of letters, or the number of an answer in the list.

    >>> from parley.llm.request import Message, Sampling
    >>> item = Request((Message("user", "Where?"),), Sampling(), 1, ("town", "country"))
    >>> read_answer(item, " Town "), read_answer(item, "2"), read_answer(item, "sea"), read_answer(item, " ")
    (('town', ''), ('country', ''), (None, 'unreadable'), (None, 'blank'))
    """
    if not (given := plain(text).strip()):
        return None, "blank"
    if len(given) > LONGEST:
        return None, "too_long"
    if not request.answers:
        return given, ""
    answers = {answer.casefold(): answer for answer in request.answers}
    if not any(answer.isdecimal() for answer in request.answers):
        answers |= {str(number): answer for number, answer in enumerate(request.answers, 1)}
    answer = answers.get(" ".join(given.split()).casefold())
    return (answer, "") if answer is not None else (None, "unreadable")


def plain(text: str) -> str:
    """Return a text without control characters, such as escapes of a terminal; line breaks stay."""
    return "".join(character for character in text if character.isprintable() or character == "\n")


def _missing(reason: str) -> Reply:
    return Reply.failed(reason, "the person gave no answer that can be used")
