"""The exam of a backend: what `parley.llm.request.Backend` promises. Each check takes a function that opens the backend anew.

`parley.testing.check_backend` runs them all.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import getsourcefile, isfunction
from pathlib import Path
from types import FrameType

from parley.llm.request import Backend, Message, Reply, Request, Sampling, identity_text

Open = Callable[[], Backend]

_OPENING = "This is a debate about gun violence. You are Ann; the others are Bob and Eve. Speak in at most 50 words."
_RATE = (
    "Privately, and apart from the debate: how severe is the problem of gun violence? Answer with one number from 0 to 10, "
    "where 0 means not a problem and 10 means an extremely severe problem. Answer with the number only."
)
_PERSONAS = ("You are Ann, a Republican.", "You are Ann, a Democrat.", "You are Ann.")
_ODD = ("", " ", "{slot}", "Zoë\u0000\n\n🙂 ‮", "Ann: " * 50, "Rate from 1 to", "?")


def questions() -> list[Request]:
    """Speeches, ratings (greedy and drawn), summaries, choices that nobody knows and texts that make no sense."""
    asked = []
    for seed, persona in enumerate(_PERSONAS):
        head = (Message("system", persona), Message("user", f"{_OPENING}\n\nComplete your next reply."))
        talk = (
            *head,
            Message("assistant", "I worry."),
            Message("user", "Bob: It is no problem.\n\nComplete your next reply."),
        )
        rate = (*talk[:-1], Message("user", f"Bob: It is no problem.\n\n{_RATE}"))
        points = tuple(str(point) for point in range(11))
        asked += [Request(head, Sampling(), seed + again) for again in (10, 20)]
        asked += [Request(talk, Sampling(stop=("\n",)), seed), Request(talk, Sampling(0.0), seed)]
        asked += [Request(rate, Sampling(t, 8), seed, points, "survey") for t in (0.0, 0.7)]
        asked.append(Request(rate, Sampling(), seed, ("0", "1"), "survey"))
    asked += [Request((Message("user", text),), Sampling(), 7) for text in _ODD]
    return asked


def gives_one_reply_per_request_in_order(open_backend: Open) -> None:
    backend, asked = open_backend(), questions()
    replies = _ask(backend, asked, len(asked))
    assert len(replies) == len(asked)
    assert all(type(reply) is Reply for reply in replies)
    assert _ask(backend, asked[::-1], len(asked)) == replies[::-1]


def answers_no_questions_with_no_replies(open_backend: Open) -> None:
    assert open_backend().complete([]) == []


def takes_a_thousand_requests_at_once(open_backend: Open) -> None:
    closed = [request for request in questions() if request.answers]
    asked = [closed[number % len(closed)] for number in range(1000)]
    backend = open_backend()
    first = _ask(backend, closed, len(closed))
    assert backend.complete(asked) == [first[number % len(closed)] for number in range(1000)]


def gives_text_or_a_named_failure_never_both(open_backend: Open) -> None:
    for reply in _ask(open_backend(), questions(), 8):
        assert (reply.text is None) != (reply.failure is None)
        assert reply.failure is None or reply.failure.name.isidentifier(), (
            "a failure has a short stable word for a name"
        )
        assert all(type(count) is int and count >= 0 for count in (*reply.usage, *reply.notes.values()))


def gives_the_same_replies_to_the_same_requests(open_backend: Open) -> None:
    first = open_backend()
    replies = _ask(first, questions(), 8)
    assert _ask(first, questions(), 8) == replies, "a backend remembers nobody"
    assert _ask(open_backend(), questions(), 8) == replies


def means_it_when_the_seed_does_not_matter(open_backend: Open) -> None:
    backend = open_backend()
    asked = [request for request in questions() if backend.seedless(request)]
    others = [replace(request, seed=request.seed + 1000) for request in asked]
    assert _ask(backend, asked, 8) == _ask(backend, others, 8)
    drawn = [request for request in questions() if request.sampling.temperature > 0]
    assert not any(backend.seedless(request) for request in drawn)


def does_not_care_how_requests_are_batched(open_backend: Open) -> None:
    asked = questions()
    whole = _ask(open_backend(), asked, len(asked))
    assert all(_ask(open_backend(), asked, size) == whole for size in (1, 5))


def gives_answer_shares_that_cover_the_answers_and_sum_to_one(open_backend: Open) -> None:
    asked = questions()
    for request, reply in zip(asked, _ask(open_backend(), asked, len(asked)), strict=True):
        if reply.answers is not None:
            assert list(reply.answers) == list(request.answers)
            assert all(0 <= share <= 1 for share in reply.answers.values())
            assert math.isclose(sum(reply.answers.values()), 1, abs_tol=1e-6)


def gives_replies_that_a_journal_can_keep(open_backend: Open) -> None:
    for reply in _ask(open_backend(), questions(), 8):
        assert Reply.from_json(reply.to_json()) == reply
        json.dumps(json.loads(reply.to_json()), allow_nan=False)


def leaves_the_requests_as_they_were(open_backend: Open) -> None:
    asked = questions()
    _ask(open_backend(), asked, len(asked))
    assert [request.key("") for request in asked] == [request.key("") for request in questions()]


def has_a_stable_identity_in_json_without_paths(open_backend: Open) -> None:
    first, second = open_backend(), open_backend()
    before = identity_text(first)
    assert json.loads(before) == dict(first.identity), "what the journal keeps is what the header says"
    json.dumps(dict(first.identity), allow_nan=False)
    assert first.identity, "nothing names this model"
    _ask(first, questions(), 8)
    assert identity_text(first) == before == identity_text(second)
    paths = (str(Path.home()), str(Path.cwd()), "file:")
    for text in _texts(first.identity):
        assert not text.startswith(("/", "~", ".")), "a path"
        assert not any(path in text for path in paths), "a path"


def is_none_the_worse_for_an_interrupt(open_backend: Open) -> None:
    """Ctrl-C at any moment: nothing hangs, and what is asked next, of this backend or a new one, is answered as ever.

    A network backend that was interrupted has replies on their way to nobody, so that only one opened anew is asked.
    """
    asked = questions()
    whole = _ask(open_backend(), asked, len(asked))
    for call in (1, 10, 100, 1000):
        backend = open_backend()
        with interrupted_at(call, backend):
            backend.complete(asked[::-1])
        assert _ask(open_backend() if backend.in_flight else backend, asked, len(asked)) == whole


@contextmanager
def interrupted_at(call: int, backend: Backend) -> Iterator[None]:
    """KeyboardInterrupt in the so-manieth call of a function of ours or of the backend's own file, if it comes to that."""
    calls, own = itertools.count(1), getsourcefile(type(backend))

    def interrupt(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and (file == own or "/llm/" in file) and file != __file__ and next(calls) == call:
            raise KeyboardInterrupt

    sys.setprofile(interrupt)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)


def says_how_many_requests_it_keeps_in_flight(open_backend: Open) -> None:
    backend = open_backend()
    assert type(backend.in_flight) is int
    assert backend.in_flight >= 0


def _ask(backend: Backend, asked: Sequence[Request], size: int) -> list[Reply]:
    size = 1 if backend.in_flight else size
    return [
        reply for start in range(0, len(asked), size) for reply in backend.complete(list(asked[start : start + size]))
    ]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from (str(key), *_texts(inner))
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


CHECKS = [thing for thing in list(globals().values()) if isfunction(thing) and "open_backend" in thing.__annotations__]
