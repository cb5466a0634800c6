"""Repeats lines from other rooms: each line is one that a speaker of the same party said there on the same topic.

`--llm green=yoked:FILE` makes it a partner that reacts to nothing: the null condition for its hearers. A line is drawn, by the
request's seed, from those that came equally late in their room. It has no opinions of its own.

FILE is JSON, a list with an entry for each speaker: topic (words of the opening), party, names (of all in the room), said (its
lines in order). A room whose names all occur in the opening is the hearer's own room, and none of its lines are used.
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


class Speaker(NamedTuple):
    """A speaker of another room, with its lines."""

    topic: str
    party: str
    names: tuple[str, ...]
    said: tuple[str, ...]


class Yoked:
    """The party of a request is the first word of its voice."""

    in_flight = 0

    def __init__(self, speakers: Sequence[Speaker]):
        self._speakers = tuple(speakers)
        self._others: dict[tuple[str, str], list[Speaker]] = {}

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
        opening = next((content for role, content in request.messages if role == "user"), "").split("\n\n")[0]
        key = opening, request.voice.partition(" ")[0]
        if key not in self._others:
            self._others[key] = self._find_others(*key)
        turn = sum(message.role == "assistant" for message in request.messages)
        lines = [speaker.said[turn] for speaker in self._others[key] if turn < len(speaker.said)]
        if not lines:
            return Reply.failed("no_line", "no agent of this party spoke as late on this topic in another room")
        text = stream(request.seed, "line").choice(lines)
        return Reply(text, usage=Usage(0, text.count(" ") + 1))

    def _find_others(self, opening: str, party: str) -> list[Speaker]:
        """Return the speakers of a party on the topic of an opening, from rooms with other people than those it names."""
        words = _words(opening)
        named = [speaker.topic for speaker in self._speakers if _words(speaker.topic) in words]
        topic = max(named, key=len, default=None)
        return [
            speaker
            for speaker in self._speakers
            if (speaker.topic, speaker.party) == (topic, party)
            and not all(_words(name) in words for name in speaker.names)
        ]


def _words(text: str) -> str:
    """Return the words of a text, each between two spaces."""
    return " ".join(["", *re.findall(r"\w+", text), ""])


def open_backend(model: str) -> Backend:
    """Open `--llm PARTY=yoked:FILE`. Errors: UserError when the file is missing or not of this form."""
    try:
        entries = json.loads(Path(model).read_text(encoding="utf-8"))
        return Yoked(
            [Speaker(each["topic"], each["party"], tuple(each["names"]), tuple(each["said"])) for each in entries]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        file = model or "one without a name"
        raise UserError(f"--llm yoked needs a file of recorded replies, and {file} cannot be read: {error}") from error
