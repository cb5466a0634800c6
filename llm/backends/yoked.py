"""Says what was said elsewhere: each line is one that somebody of the same party said in another room on the same topic.

`--llm democrat=yoked:FILE` seats it as a partner that answers nobody: the null condition of whoever listens. The line is drawn
from those that came as late in their room, by the request's seed. It has no opinions of its own.

FILE is JSON, a list with an entry a speaker: topic (words of the opening), party, names (of all in the room), said (its lines in
order). A room in which everybody bears a name of the opening is the listener's own, and nothing is taken from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parley.llm.errors import UserError
from parley.llm.request import Backend, Reply, Request, Usage
from parley.llm.seeding import digest, stream

_WORDS = re.compile(r"\w+")


class Speaker(NamedTuple):
    """Whose lines may be borrowed."""

    topic: str
    party: str
    names: tuple[str, ...]
    said: tuple[str, ...]


class Yoked:
    """The party of a request is the first word of its voice."""

    in_flight = 0

    def __init__(self, speakers: Sequence[Speaker]):
        self._speakers = tuple(speakers)
        self._known: dict[tuple[str, str], tuple[Speaker, ...]] = {}

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "lines", "lines": digest(self._speakers).hex()}

    def seedless(self, request: Request) -> bool:
        return False

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        if request.answers or request.purpose != "speech":
            return Reply.failed("unscripted", "lines of others are no answer to a question")
        opening = "".join([one.content for one in request.messages if one.role == "user"][:1]).split("\n\n")[0]
        turn = sum([message.role == "assistant" for message in request.messages])
        known = [
            one.said[turn] for one in self._others(opening, request.voice.partition(" ")[0]) if turn < len(one.said)
        ]
        if not known:
            return Reply.failed("no_line", "nobody of this party spoke as late on this topic in another room")
        text = stream(request.seed, "line").choice(known)
        return Reply(text, usage=Usage(0, text.count(" ") + 1))

    def _others(self, opening: str, party: str) -> tuple[Speaker, ...]:
        """Those of a party who spoke on what an opening names, in other rooms than the one whose people it names."""
        if (opening, party) not in self._known:
            words = " ".join(["", *_WORDS.findall(opening), ""])
            topic = max([one.topic for one in self._speakers if _in(one.topic, words)], key=len, default=None)
            alike = [one for one in self._speakers if (one.topic, one.party) == (topic, party)]
            self._known[opening, party] = tuple([one for one in alike if not _all_in(one.names, words)])
        return self._known[opening, party]


def _in(text: str, words: str) -> bool:
    return " ".join(["", *_WORDS.findall(text), ""]) in words


def _all_in(names: Sequence[str], words: str) -> bool:
    return not [name for name in names if not _in(name, words)]


def open_backend(model: str) -> Backend:
    """`--llm PARTY=yoked:FILE`. Errors: UserError when the file is missing or not of this form."""
    try:
        found = json.loads(Path(model).read_text(encoding="utf-8"))
        return Yoked([Speaker(one["topic"], one["party"], tuple(one["names"]), tuple(one["said"])) for one in found])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"--llm yoked needs a file of lines: cannot read {model or 'one without a name'}: {error}"
        ) from error
