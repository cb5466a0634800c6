"""The models that a server lists, for a user who is choosing one."""

from __future__ import annotations

import json

from parley.llm.backends.openai import KEY, check_reachable
from parley.llm.backends.openai.backend import Loop
from parley.llm.backends.openai.payload import sanitise
from parley.llm.backends.openai.transport import Connection, NoAnswer
from parley.llm.errors import UserError
from parley.llm.secrets import note_address, note_secret

PATIENCE = 10.0
"""Seconds to wait for the list."""


def list_models(base_url: str, key: str = KEY) -> list[str]:
    """Return the names of the models of a server, sorted. Errors: UserError where it does not answer or gives no list.

    base_url: the address, `http://127.0.0.1:11434/v1`. key: the environment variable that holds the key.
    """
    (url, *_), secret = check_reachable("", base_url, key)
    note_secret(secret)
    note_address(url)
    loop = Loop()

    async def ask() -> tuple[int, bytes]:
        connection = Connection(url, secret or "none", PATIENCE)
        try:
            answer = await connection.get("/models")
        finally:
            await connection.close()
        return answer.status, answer.body

    try:
        status, body = loop.run(ask())
    except NoAnswer as error:
        raise UserError(
            f"{url} does not answer ({error.name}): check that the server runs at this address, which often ends in /v1"
        ) from error
    finally:
        loop.close([])
    if status in (401, 403):
        raise UserError(f"{url} refuses the key: put a valid key into the environment variable {key}")
    return model_names(url, status, body)


def model_names(url: str, status: int, body: bytes) -> list[str]:
    """Return the names of the models in a server's answer, sorted. Errors: UserError where it lists none."""
    try:
        names = sorted(sanitise(str(model["id"])) for model in json.loads(body)["data"])
    except (ValueError, KeyError, TypeError) as error:
        hint = "" if url.endswith("/v1") else f"; try {url}/v1"
        raise UserError(f"{url} returns no list of models (status {status}): check the address{hint}") from error
    if not names:
        raise UserError(f"{url} has no model: load one on the server, then test again")
    return names
