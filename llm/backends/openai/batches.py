"""Sends requests in batches, which a provider answers within 24 hours at a lower price (`openai:MODEL,batch=yes`).

A batch is a file of requests, one a line, that is uploaded to /files and sent to /batches; its replies are a file too. What a
batch does not answer (its time is over, the provider broke) is a named failure, which is asked again in a further batch.
sent_batches.py remembers the batches, so that a killed run waits for the same ones.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import httpx2
from openai import APIConnectionError, APIStatusError, DefaultHttpxClient, OpenAI, OpenAIError

from parley.llm.backends.openai import payload
from parley.llm.backends.openai.backend import Openai
from parley.llm.backends.openai.payload import LOGPROBS, WHOLE, sanitise
from parley.llm.backends.openai.sent_batches import SUFFIX, SentBatch, SentBatches, checked_id
from parley.llm.backends.openai.transport import HttpAnswer
from parley.llm.errors import Unreachable, UserError
from parley.llm.notices import notify
from parley.llm.request import BATCH, Reply, Request, Wrapper, identity_text
from parley.llm.secrets import hide, hide_in

MOST_LINES, MOST_BYTES = 50_000, 150_000_000
"""The requests of a batch, and the bytes of its file: OpenAI takes 50,000 and 200 MB."""
LONGEST_LINE = 8_000_000
"""Bytes of a line of a reply file."""
FIRST_LOOK, LONGEST_LOOK = 2.0, 60.0
"""Seconds between two questions whether a batch has ended: they grow by half each time."""
ENDED = ("completed", "failed", "expired", "cancelled")
WINDOW: Literal["24h"] = "24h"
MARK = "parley"
"""The name of the mark among what the provider keeps with a batch."""
PAGES = 5
"""Pages of 100 batches in which a batch is looked for that may have been sent."""
NO_LIST = (404, 405, 501)
"""The statuses of a server that cannot list its batches."""
TRIES = 4
UNANSWERED = {"expired": True, "cancelled": False}
"""Whether lines without a reply are asked again, by the end of their batch; those of a completed one are."""
Sleep = Callable[[float], object]


def open_batches(backend: Openai, url: str, secret: str, sleep: Sleep = time.sleep) -> BatchedOpenai:
    """Return a backend that sends the requests of another one in batches. Whole answers take calls that build on each other, so
    closed questions are answered by the likeliest tokens instead.
    """
    if backend.can.closed == WHOLE:
        backend.can = replace(backend.can, closed=LOGPROBS)
    base, _, query = url.partition("?")
    http_client = DefaultHttpxClient(follow_redirects=False)  # prompts go only to the address that the user gave
    client = OpenAI(
        api_key=secret, base_url=base, default_query=dict(parse_qsl(query)), max_retries=TRIES, http_client=http_client
    )
    return BatchedOpenai(backend, client, sleep)


class BatchedOpenai(Wrapper):
    """A model that is asked in batches. All requests of a call are sent at once; it returns when all batches have ended.

    Errors: UserError for a batch that the provider refuses, and when it cannot be reached for `patience` seconds.
    """

    in_flight = 0
    batch_size = MOST_LINES

    def __init__(self, inner: Openai, client: OpenAI, sleep: Sleep):
        super().__init__(inner)
        self.model, self.can, self.served = inner.settings.model, inner.can, inner.served
        self.patience, self.client, self.sleep = inner.settings.patience, client, sleep
        self.says = f"{inner.says}; asked in batches, which may take {WINDOW} each"
        self.sent = SentBatches()

    def keep_beside(self, journal: Path) -> None:
        """Remember batches in a file beside the journal that keeps the replies."""
        path = journal.with_name(f"{journal.name}{SUFFIX}")
        if self.sent.path != path:
            self.sent = SentBatches(path)

    def settle(self) -> None:
        """Forget the batches of which all replies have been returned: the journal has them now."""
        self.sent.finish([batch for batch in self.sent.open if batch.taken == batch.lines])

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the replies, from batches that were sent before if they are in one, else from new ones."""
        refused = {place: reply for place, each in enumerate(requests) if (reply := payload.refuse(each, self.can))}
        names = _line_names(requests, identity_text(self))
        asked = {
            name: request
            for place, (name, request) in enumerate(zip(names, requests, strict=True))
            if place not in refused
        }
        if asked:
            self._find_unsure()
        self._send({name: request for name, request in asked.items() if not self.sent.find(name)})
        found = {name: batch for name in asked if (batch := self.sent.find(name))}
        for batch in self.sent.open[:]:
            if any(batch is each for each in found.values()):
                self._wait(batch)
        replies = {name: self._reply(asked[name], name, batch) for name, batch in found.items()}
        return [refused.get(place) or replies[name] for place, name in enumerate(names)]

    def _send(self, asked: dict[str, Request]) -> None:
        """Send requests by the names of their lines, in as many batches as they need."""
        for chunk in _chunks((name, self._line(name, request)) for name, request in asked.items()):
            names = [name for name, _ in chunk]
            mark = self.sent.begin(names)
            try:
                file = self.client.files.create(
                    file=("requests.jsonl", b"".join(line for _, line in chunk)), purpose="batch"
                )
                created = self.client.with_options(max_retries=0).batches.create(
                    input_file_id=checked_id(file.id),
                    endpoint=self._path(),
                    completion_window=WINDOW,
                    metadata={MARK: mark},
                )
            except APIStatusError as error:
                if error.status_code < 500:
                    self.sent.drop(mark)
                raise _refusal(error, "took no batch") from error
            except OpenAIError as error:
                raise _refusal(error, "took no batch") from error
            batch = self.sent.add(mark, created.id)
            notify(
                f"batch {batch.id}: {len(chunk):,} requests were sent, and the replies may take {WINDOW}. If you "
                "stop with Ctrl-C, the same command continues to wait for them"
            )

    def _find_unsure(self) -> None:
        """Look for batches that a killed run, or a broken connection, may have sent without learning their ids."""
        if not self.sent.unsure:
            return
        try:
            page = self.client.batches.list(limit=100)
            for _ in range(PAGES):
                for batch in page.data:
                    if (mark := (batch.metadata or {}).get(MARK, "")) in self.sent.unsure:
                        self.sent.add(mark, batch.id)
                if not page.has_next_page():
                    break
                page = page.get_next_page()
        except OpenAIError as error:
            if not isinstance(error, APIStatusError) or error.status_code not in NO_LIST:
                raise _refusal(error, "does not list its batches") from error
        for mark in list(self.sent.unsure):
            self.sent.drop(mark)

    def _line(self, name: str, request: Request) -> bytes:
        body = payload.request_body(self.model, request, self.can)
        return payload.encode_body({"custom_id": name, "method": "POST", "url": self._path(), "body": body}) + b"\n"

    def _path(self) -> Any:
        return f"/v1{payload.PATHS[self.can.api]}"

    def _wait(self, batch: SentBatch) -> None:
        """Ask until the batch has ended, and read its replies. Errors: UserError for a batch that was refused as a whole."""
        if batch.answers is not None:
            return
        pause, failing = FIRST_LOOK, 0.0
        while True:
            try:
                state, failing = self.client.batches.retrieve(batch.id), 0.0
                if state.status in ENDED:
                    break
            except (APIConnectionError, APIStatusError) as error:
                if (
                    isinstance(error, APIStatusError)
                    and error.status_code < 500
                    and error.status_code not in payload.PASSING
                ):
                    raise _refusal(error, f"does not know batch {batch.id}", self.sent.path) from error
                if failing > self.patience:
                    raise Unreachable(
                        f"the server has not answered about batch {batch.id} for {failing:,.0f} s: repeat the "
                        "command later, and it continues to wait"
                    ) from error
                failing += pause
            self.sleep(pause)
            pause = min(LONGEST_LOOK, pause * 1.5)
        batch.status = state.status
        if state.status == "failed":
            self.sent.finish([batch])
            why = "; ".join(str(error.message) for error in (state.errors.data if state.errors else None) or ())
            raise UserError(f"the provider refused batch {batch.id}: {sanitise(why) or 'it gives no reason'}"[:400])
        files = [file for file in (state.output_file_id, state.error_file_id) if file]
        batch.answers = {name: line for file in files for name, line in self._lines(checked_id(file))}

    def _lines(self, file: str) -> Iterator[tuple[str, Any]]:
        """Yield the lines of a file of replies with their names. A line that cannot be read is none, and is asked again."""
        try:
            with self.client.files.with_streaming_response.content(file) as response:
                for text in response.iter_lines():
                    try:
                        line: Any = json.loads(text) if len(text) <= LONGEST_LINE else None
                        yield str(line["custom_id"]), line
                    except (ValueError, RecursionError, KeyError, TypeError):
                        continue
        except (OpenAIError, httpx2.HTTPError) as error:
            raise _refusal(error, "does not give the replies of a batch") from error

    def _reply(self, request: Request, name: str, batch: SentBatch) -> Reply:
        batch.taken.add(name)
        line = (batch.answers or {}).get(name)
        response = line.get("response") if line else None
        if isinstance(response, dict) and type(status := response.get("status_code")) is int:
            answer = HttpAnswer(status, {}, json.dumps(response.get("body")).encode())
            reply = hide_in(payload.parse_response(answer, request, self.can, self.served))
            reply.notes = {**reply.notes, BATCH: 1}
            return reply
        why = batch.status if batch.status in UNANSWERED else "no_line"
        error = line.get("error") if line else None
        detail = (
            str(error.get("message") or error.get("code")) if isinstance(error, dict) else f"not in batch {batch.id}"
        )
        return Reply.failed(why, hide(sanitise(detail))[: payload.MOST_DETAIL], UNANSWERED.get(why, True))


def _line_names(requests: Sequence[Request], identity: str) -> list[str]:
    """Return a name for each request, by its key; requests that are the same have numbers behind it."""
    counted: Counter[str] = Counter()
    names = []
    for request in requests:
        key = request.key(identity).hex()
        counted[key] += 1
        names.append(f"{key}-{counted[key]}")
    return names


def _chunks(lines: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Divide lines into batches that the provider takes."""
    chunk, size = list[tuple[str, bytes]](), 0
    for name, line in lines:
        if chunk and (len(chunk) == MOST_LINES or size + len(line) > MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append((name, line))
        size += len(line)
    if chunk:
        yield chunk


def _refusal(error: Exception, what: str, sent: Path | None = None) -> UserError:
    """Return what the user can do about an error of the provider."""
    hint = f", or delete {sent} to send its requests again" if sent else ""
    text = f"the server {what}: {hide(sanitise(str(error)))}"[:400]
    return UserError(f"{text}; check address, key and model{hint}, then repeat the command")
