"""Replays the journal of an earlier run. A call that the journal lacks is an error, never a guess."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parley.llm.errors import MissingRecording, UserError
from parley.llm.journal import journal_errors, query, read_identity
from parley.llm.request import Backend, Reply, Request


class Replay:
    """Answers from a recording, under the identity of the recorded model, so that the keys are the same.

    identity: of the model, where the recording holds several (default: that of the recording).
    """

    def __init__(self, path: Path, identity: Mapping[str, Any] | None = None):
        self._identity = read_identity(path) if identity is None else identity
        self._text = json.dumps(self._identity, sort_keys=True)
        self._replies = dict(query(path, "SELECT key, reply FROM outcomes ORDER BY key, attempt"))
        self._path = path

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity

    @property
    def in_flight(self) -> int:
        return 0

    def seedless(self, request: Request) -> bool:
        """Was it so for the recorded model? Then the reply is under a key without a seed."""
        return request.sampling.temperature == 0 and request.key(self._text, seedless=True) in self._replies

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def reply_to(self, key: str) -> Reply | None:
        """Return the reply under a digest, as the record of a run has it; None where the recording has none."""
        line = self._replies.get(bytes.fromhex(key))
        return None if line is None else self._read(line)

    def _reply(self, request: Request) -> Reply:
        if (line := self._replies.get(request.key(self._text, self.seedless(request)))) is None:
            raise MissingRecording(
                f"the recording {self._path} lacks a {request.purpose} call, because it was made with another "
                "scenario, seed, prompt or model"
            )
        return self._read(line)

    def _read(self, line: str) -> Reply:
        with journal_errors(self._path):
            return Reply.from_json(line)


def open_backend(model: str) -> Backend:
    """`--llm replay:RUN`: RUN is a run folder or its journal.sqlite."""
    if not model:
        raise UserError("--llm replay needs the folder of a run, such as --llm replay:runs/a")
    path = Path(model)
    return Replay(path / "journal.sqlite" if path.is_dir() else path)
