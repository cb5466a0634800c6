"""Finds out what an endpoint can do with a model, and opens the backend.

The probe runs once, before the run. A status of 200 is no proof: some servers return 200 and ignore logprobs, a schema or a stop
string, others return 500 for a field that they do not know. So each ability is tried on a question whose reply shows that it was
used.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from parley.llm.backends.openai import answers, pauses, payload
from parley.llm.backends.openai.addresses import most_flying
from parley.llm.backends.openai.backend import EndpointSettings, Loop, Openai
from parley.llm.backends.openai.payload import (
    CHAT,
    CHOICE,
    EMBEDDINGS,
    FEW_TOP,
    FLAGS,
    LOGPROBS,
    MESSAGE,
    WHOLE,
    Capabilities,
    EndpointAbilities,
    sanitise,
)
from parley.llm.backends.openai.transport import (
    CONNECTIONS,
    LONGEST_PAUSE,
    MALFORMED,
    TELL,
    UNREACHABLE,
    Clock,
    Connection,
    Endpoint,
    HttpAnswer,
    NoAnswer,
)
from parley.llm.backends.openai.usage import usage_of
from parley.llm.errors import Unreachable, UserError
from parley.llm.notices import notify
from parley.llm.request import THOUGHT, Message, Reply, Request, Sampling
from parley.llm.secrets import note_address, note_secret

TRIES = 4
"""Calls of one question of the probe."""
TOPS = (1000, FEW_TOP, 5)
"""Numbers of likeliest tokens to ask for: llama.cpp gives any number, most others 20, some 5."""
THINKING = 4000
"""Extra tokens for a model that thinks first, unless the user says otherwise."""
NO_SYSTEM = ("system role", "system message", "system prompt", "role 'system'", 'role "system"', "must alternate")
"""How servers say that a model takes no system message; most of them quote its template."""
NO_SAMPLING = ("temperature", "top_p", "'stop'", '"stop"', "stop is not", "parameter: stop")
DIGITS = tuple("0123456789")
WORD, CUT = "blackbird", 5
"""A word that a weak model repeats, and after how many of its letters it is cut (where tokenizers cut it)."""
HOTTEST, ALIKE = 4, 3
"""The most replies at temperature 2 of which two have to be the same, and the words with which they have to begin alike."""
ANIMALS = ("quagga", "okapi")
"""Words that answer no question about colours, unless a schema allows no other."""


def open_endpoints(settings: EndpointSettings, clock: Clock | None = None) -> Openai:
    """Open the backend. Errors: UserError when an address cannot be used, or two addresses serve different models."""
    note_secret(settings.secret)
    for url in settings.urls:
        note_address(url)
    loop, clock = Loop(), clock or Clock()

    async def connect() -> list[Connection]:
        kind = CONNECTIONS[settings.client]
        return [kind(url, settings.secret, settings.timeout) for url in settings.urls]

    connections = loop.run(connect())
    with ExitStack() as undo:
        undo.callback(loop.close, connections)
        probed = [loop.run(Probe(connection, settings, clock).run()) for connection in connections]
        for connection, capabilities in zip(connections, probed, strict=True):
            if capabilities[:2] != probed[0][:2]:
                raise UserError(
                    f"the servers {connection.url} and {settings.urls[0]} accept different fields for "
                    f"{settings.model}: give only servers with the same set-up"
                )
        undo.pop_all()
    each, endpoints = most_flying(settings.in_flight, len(connections)), []
    for connection in connections:
        slots = loop.run(connection.slots())
        endpoints.append(Endpoint(connection, each, settings.rpm, settings.tpm, clock, slots))
    return Openai(settings, endpoints, probed[0], loop, clock)


@dataclass(frozen=True)
class Probe:
    """The questions that show what an endpoint can do."""

    connection: Connection
    settings: EndpointSettings
    clock: Clock

    async def run(self) -> Capabilities:
        """Return the abilities; `closed` and `thinking` may be set by the user. Errors: UserError, in one line."""
        model, url, closed = self.settings.model, self.connection.url, self.settings.closed
        if self.settings.api == EMBEDDINGS:  # it answers no question, so there is nothing to find out
            return Capabilities(EndpointAbilities(EMBEDDINGS, sampling=False, seed=False), "")
        can, data = await self._usual_fields()
        can = replace(can, continues=await self._continues(can), filters=await self._filters(can))
        wanted = closed in ("auto", LOGPROBS, WHOLE)
        likely, certain = await self._likeliest_tokens(can) if wanted else (can, False)
        whole = likely.closed == LOGPROBS and likely.can_continue and not can.thinking
        if closed == WHOLE and not whole:
            raise UserError(
                f"{url} cannot both continue a begun reply and return token probabilities for {model}: leave out closed=whole"
            )
        if closed == LOGPROBS and likely.closed != LOGPROBS:
            raise UserError(f"{url} returns no token probabilities for {model}: leave out closed=logprobs")
        chosen = replace(likely, top=min(likely.top, FEW_TOP))  # for every token of a reply, more would be megabytes
        if whole and closed != LOGPROBS:
            chosen = replace(likely, closed=WHOLE)
        weak = not certain and not whole
        if weak and closed in ("auto", CHOICE) and can.api == CHAT and await self._keeps_schema(can):
            chosen = await self._with_likeliest(replace(can, closed=CHOICE))
        if closed == CHOICE and chosen.closed != CHOICE:
            raise UserError(f"{url} cannot restrict replies of {model} to a schema: leave out closed=choice")
        if not isinstance(data, dict):
            return Capabilities(chosen, "")
        usage, _ = usage_of(data.get("usage"))
        return Capabilities(chosen, payload.served_name(data), usage.completion_tokens)

    async def _usual_fields(self) -> tuple[EndpointAbilities, Any]:
        """Return the usual fields that the endpoint takes, and its reply to a question with a system message."""
        model, url, thinking = self.settings.model, self.connection.url, self.settings.thinking
        can, free = EndpointAbilities(self.settings.api, thinking=max(thinking, 0)), thinking < 0
        messages = Message("system", "You know the weather."), Message("user", "Is the sky blue? Answer with one word.")
        request = Request(messages, Sampling(0.7, 16, 0.9, ("\n\n\n",)), 1)
        for _ in range(6):
            answer, reply = await self._try(request, can)
            failure = reply.failure
            if answer.status == 200:
                if failure and failure.name == "malformed":
                    raise UserError(f"{url} is not an OpenAI-compatible server ({failure.detail}): check --base-url")
                no_words = failure is not None and failure.name in ("out_of_tokens", "empty")
                thinks = no_words or reply.thinking or reply.notes.get(THOUGHT)
                if thinks and free and not can.thinking:
                    can = replace(can, thinking=THINKING)
                    if no_words:
                        continue
                return can, json.loads(answer.body)
            assert failure is not None
            if failure.name in payload.STOP:
                models = await self._known_models() if answer.status == 404 else ""
                raise UserError(f"{url} refuses {model}: {failure.detail}{models}")
            fewer = _without_refused_field(can, failure.detail.lower(), free)
            if fewer == can:
                raise UserError(f"{url} could not answer a test call to {model}: {failure.detail}")
            can = fewer
        raise UserError(
            f"{url} accepts no form of request that Parley knows for {model}: check the model's name and the server"
        )

    async def _likeliest_tokens(self, can: EndpointAbilities) -> tuple[EndpointAbilities, bool]:
        """Return the abilities with likeliest tokens, if the endpoint gives them, and whether the answers are among them.

        A weak model may know no answer to a question about dogs; then it is enough that the tokens are there. The likeliest
        tokens of a model that thinks first may be those of its thoughts, which is not enough.
        """
        request = _question("How many legs has a dog? Answer with one digit only.", 8, DIGITS)
        for top in TOPS:
            trying = replace(can, closed=LOGPROBS, top=top)
            answer, reply = await self._try(request, trying)
            if reply.way == LOGPROBS:
                return trying, True
            given = answer.status == 200 and answers.has_logprobs(_logprobs(answer))
            if given and not can.thinking:
                return trying, False
        return can, False

    async def _continues(self, can: EndpointAbilities) -> str:
        """Return how the endpoint is asked to continue a message ("" if it begins a new one): it has to end a begun word."""
        if can.api != CHAT or can.thinking:
            return ""
        messages = (Message("user", f"Is the sky full of {WORD}s? Say {WORD} four times."),)
        request = Request(messages, Sampling(0.0, 8), 1, begin=f"{WORD}, {WORD}, {WORD}, {WORD[:CUT]}")
        for way in (MESSAGE, FLAGS):
            answer, reply = await self._try(request, replace(can, continues=way))
            if answer.status == 200 and (reply.text or "").startswith(WORD[CUT:]):
                return way
        return ""

    async def _filters(self, can: EndpointAbilities) -> bool:
        """Return whether the endpoint takes top_k: with top_k=1 two of the hottest replies have to be the same, with other seeds.

        On a busy server rounding depends on what else it reads: replies that begin alike and then differ are asked for again, up
        to HOTTEST in all.
        """
        if not (can.sampling and can.seed) or can.thinking:
            return False
        texts, hot = list[str](), Sampling(2.0, 12, top_k=1)
        for seed in range(1, HOTTEST + 1):
            question = Request((Message("user", "Is the sky the limit? Write a line of a poem."),), hot, seed)
            answer, reply = await self._try(question, replace(can, filters=True))
            text = (reply.text or "").strip()
            if answer.status != 200 or not text:
                return False
            if text in texts:
                return True
            if texts and text.split()[:ALIKE] != texts[0].split()[:ALIKE]:
                return False
            texts.append(text)
        return False

    async def _with_likeliest(self, can: EndpointAbilities) -> EndpointAbilities:
        """Return the abilities with the likeliest tokens of answers to a schema, if the endpoint gives them."""
        trying = replace(can, forced=True, top=FEW_TOP)
        answer, reply = await self._try(_question("Name the colour of grass.", 40, ANIMALS), trying)
        given = reply.way == CHOICE and answers.has_logprobs(_logprobs(answer))
        return trying if given else can

    async def _keeps_schema(self, can: EndpointAbilities) -> bool:
        request = _question("Name the colour of grass.", 40, ANIMALS)
        _, reply = await self._try(request, replace(can, closed=CHOICE))
        return reply.way == CHOICE

    async def _try(self, request: Request, can: EndpointAbilities) -> tuple[HttpAnswer, Reply]:
        """Ask one question. Errors: Unreachable without an answer, which says nothing about what the server can do."""
        url, body = self.connection.url, payload.request_body(self.settings.model, request, can)
        try:
            answer = await self._post(payload.PATHS[can.api], payload.encode_body(body))
        except NoAnswer as error:
            raise Unreachable(
                f"{url} does not answer ({error.name}: {sanitise(str(error))}): check that the server is running "
                "and that the address is right"
            ) from error
        reply = payload.parse_response(answer, request, can)
        if reply.failure and reply.failure.name in payload.BUSY:
            raise Unreachable(f"{url} is still busy ({reply.failure.detail}): run the same command again later")
        return answer, reply

    async def _post(self, path: str, body: bytes) -> HttpAnswer:
        """Send a body, up to TRIES times while the failure is transient.

        An unreachable server is not called again, nor one whose answer is too long. One that breaks (500) is called once more,
        because some break on a field that they do not know.
        """
        for number in range(1, TRIES):
            try:
                answer = await self.connection.post(path, body)
            except NoAnswer as error:
                if error.name in (UNREACHABLE, MALFORMED):
                    raise
                await self.clock.sleep(2.0**number)
                continue
            if answer.status not in payload.PASSING and (answer.status != 500 or number > 1):
                return answer
            await self.clock.sleep(self._pause(answer, number))
        return await self.connection.post(path, body)

    def _pause(self, answer: HttpAnswer, number: int) -> float:
        """Return the seconds to wait for a busy server. Errors: Unreachable for a server that wants a long time."""
        wanted, host = pauses.retry_after(answer), self.connection.host
        if wanted and 0 < self.settings.patience < wanted:
            raise Unreachable(
                f"{host} is busy and asks for a pause of {wanted:,.0f} s: run the same command again after this pause"
            )
        pause = min(wanted or 0.5 * 2.0**number, LONGEST_PAUSE)
        if pause >= TELL:
            notify(f"{host} accepts no calls now, so Parley sends the test call again in {pause:,.0f} s")
        return pause

    async def _known_models(self) -> str:
        """Return the models that the server lists, in words."""
        try:
            data = json.loads((await self.connection.get("/models")).body)
            names = sorted(sanitise(str(model["id"])) for model in data["data"])[:8]
        except (NoAnswer, ValueError, KeyError, TypeError):
            return ""
        return f" (it has {', '.join(names)})" if names else ""


def _without_refused_field(can: EndpointAbilities, refusal: str, free: bool) -> EndpointAbilities:
    """Return fewer abilities, by what the refusal names. `free`: the user has set no tokens for thinking."""
    if "max_completion_tokens" in refusal and can.most == "max_tokens":
        return replace(can, most="max_completion_tokens", thinking=can.thinking or (THINKING if free else 0))
    if any(name in refusal for name in NO_SAMPLING):
        return replace(can, sampling=False)
    if "seed" in refusal:
        return replace(can, seed=False)
    if any(words in refusal for words in NO_SYSTEM):
        return replace(can, system=False)
    return can


def _logprobs(answer: HttpAnswer) -> Any:
    try:
        return json.loads(answer.body)["choices"][0]["logprobs"]
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _question(text: str, tokens: int, answers: tuple[str, ...]) -> Request:
    return Request((Message("user", text),), Sampling(0.0, tokens), 1, answers)
