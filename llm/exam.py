"""The exam of a backend: checks what `parley.llm.request.Backend` promises.

Each check takes a function that opens the backend anew.
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
_PERSONAS = ("You are Ann, a nurse.", "You are Ann, a farmer.", "You are Ann.")
_ODD = ("", " ", "{slot}", "Zoë\u0000\n\n🙂 ‮", "Ann: " * 50, "Rate from 1 to", "?")


def questions() -> list[Request]:
    """Return speeches, ratings (greedy and drawn), odd choices and texts without meaning."""
    requests = []
    points = tuple(str(point) for point in range(11))
    for seed, persona in enumerate(_PERSONAS):
        head = (Message("system", persona), Message("user", f"{_OPENING}\n\nComplete your next reply."))
        own_line, line = Message("assistant", "I worry."), "Bob: It is no problem."
        talk = (*head, own_line, Message("user", f"{line}\n\nComplete your next reply."))
        rate = (*head, own_line, Message("user", f"{line}\n\n{_RATE}"))
        requests += [
            Request(head, Sampling(), seed + 10),
            Request(head, Sampling(), seed + 20),
            Request(talk, Sampling(stop=("\n",)), seed),
            Request(talk, Sampling(0.0), seed),
            Request(rate, Sampling(0.0, 8), seed, points, "survey"),
            Request(rate, Sampling(0.7, 8), seed, points, "survey"),
            Request(rate, Sampling(), seed, ("0", "1"), "survey"),
        ]
    return requests + [Request((Message("user", text),), Sampling(), 7) for text in _ODD]


def gives_one_reply_per_request_in_order(open_backend: Open) -> None:
    backend, requests = open_backend(), questions()
    replies = _complete(backend, len(requests), requests)
    assert len(replies) == len(requests)
    assert all(type(reply) is Reply for reply in replies)
    assert _complete(backend, len(requests), requests[::-1]) == replies[::-1]


def answers_no_questions_with_no_replies(open_backend: Open) -> None:
    assert open_backend().complete([]) == []


def takes_a_thousand_requests_at_once(open_backend: Open) -> None:
    closed = [request for request in questions() if request.answers]
    backend = open_backend()
    first = _complete(backend, len(closed), closed)
    thousand = list(itertools.islice(itertools.cycle(closed), 1000))
    assert backend.complete(thousand) == list(itertools.islice(itertools.cycle(first), 1000))


def gives_text_or_a_named_failure_never_both(open_backend: Open) -> None:
    for reply in _complete(open_backend()):
        assert (reply.text is None) != (reply.failure is None)
        assert reply.failure is None or reply.failure.name.isidentifier(), (
            "the name of a failure is a short stable word"
        )
        assert all(type(count) is int and count >= 0 for count in (*reply.usage, *reply.notes.values()))


def gives_the_same_replies_to_the_same_requests(open_backend: Open) -> None:
    first = open_backend()
    replies = _complete(first)
    assert _complete(first) == replies, "a backend does not remember earlier requests"
    assert _complete(open_backend()) == replies


def means_it_when_the_seed_does_not_matter(open_backend: Open) -> None:
    backend = open_backend()
    seedless = [request for request in questions() if backend.seedless(request)]
    others = [replace(request, seed=request.seed + 1000) for request in seedless]
    assert _complete(backend, 8, seedless) == _complete(backend, 8, others)
    assert all(request.sampling.temperature == 0 for request in seedless)


def does_not_care_how_requests_are_batched(open_backend: Open) -> None:
    whole = _complete(open_backend(), len(questions()))
    assert all(_complete(open_backend(), size) == whole for size in (1, 5))


def gives_answer_shares_that_cover_the_answers_and_sum_to_one(open_backend: Open) -> None:
    for request, reply in zip(questions(), _complete(open_backend(), len(questions())), strict=True):
        if reply.answers is not None:
            assert list(reply.answers) == list(request.answers)
            assert all(0 <= share <= 1 for share in reply.answers.values())
            assert math.isclose(sum(reply.answers.values()), 1, abs_tol=1e-6)


def gives_replies_that_a_journal_can_keep(open_backend: Open) -> None:
    for reply in _complete(open_backend()):
        assert Reply.from_json(reply.to_json()) == reply
        json.dumps(json.loads(reply.to_json()), allow_nan=False)


def leaves_the_requests_as_they_were(open_backend: Open) -> None:
    requests = questions()
    _complete(open_backend(), len(requests), requests)
    assert [request.key("") for request in requests] == [request.key("") for request in questions()]


def has_a_stable_identity_in_json_without_paths(open_backend: Open) -> None:
    first, second = open_backend(), open_backend()
    before = identity_text(first)
    assert json.loads(before) == dict(first.identity), "the identity in the journal is that in the header"
    json.dumps(dict(first.identity), allow_nan=False)
    assert first.identity, "the identity is empty"
    _complete(first)
    assert identity_text(first) == before == identity_text(second)
    paths = (str(Path.home()), str(Path.cwd()), "file:")
    for text in _texts(first.identity):
        assert not text.startswith(("/", "~", ".")), "a path"
        assert not any(path in text for path in paths), "a path"


def is_none_the_worse_for_an_interrupt(open_backend: Open) -> None:
    """After Ctrl-C at any moment nothing hangs, and this backend or a new one gives the usual replies.

    A network backend that was interrupted still has requests in flight, so only a new one is used then.
    """
    requests = questions()
    whole = _complete(open_backend(), len(requests))
    for call in (1, 10, 100, 1000):
        backend = open_backend()
        with interrupted_at(call, backend):
            backend.complete(requests[::-1])
        assert _complete(open_backend() if backend.in_flight else backend, len(requests)) == whole


@contextmanager
def interrupted_at(call: int, backend: Backend) -> Iterator[None]:
    """Raise KeyboardInterrupt in the n-th call of a function of ours or of the backend's own file, if there are so many."""
    calls, backend_file = itertools.count(1), getsourcefile(type(backend))

    def interrupt(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and (file == backend_file or "/llm/" in file) and file != __file__ and next(calls) == call:
            raise KeyboardInterrupt

    sys.setprofile(interrupt)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)


def says_how_many_requests_it_keeps_in_flight(open_backend: Open) -> None:
    in_flight = open_backend().in_flight
    assert type(in_flight) is int
    assert in_flight >= 0


def _complete(backend: Backend, size: int = 8, requests: Sequence[Request] | None = None) -> list[Reply]:
    """Return the replies to requests (all `questions`), asked `size` at a time."""
    requests = questions() if requests is None else requests
    size = 1 if backend.in_flight else size
    batches = [list(requests[start : start + size]) for start in range(0, len(requests), size)]
    return [reply for batch in batches for reply in backend.complete(batch)]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*map(str, value), *value.values()])
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


CHECKS = [thing for thing in list(globals().values()) if isfunction(thing) and "open_backend" in thing.__annotations__]
