"""openai: any OpenAI-compatible endpoint. `--llm openai:MODEL[,base_url=URL][,key=value...]`, or `--base-url URL`

    base_url   the address; several addresses, joined by +, share the load, and each conversation stays with one (default:
               $OPENAI_BASE_URL, else the OpenAI API)
    key        name of the environment variable that holds the key (OPENAI_API_KEY)
    api        chat, completions (one plain text, as for gpt-3.5-turbo-instruct), or embeddings (a model that embeds texts)
    closed     how closed questions are answered: auto (the best way that the probe finds), whole (whole answers from the next
               tokens behind their beginnings, where the server continues a begun reply: a distribution), logprobs (from the
               likeliest tokens of one reply), choice (a schema that allows nothing else), text (free text, then read)
    once       yes: the same question at temperature 0 is sent once in a run, as if the server had one reply to it (no); see
               studies/archetypes/README.md
    thinking   extra tokens for a model that thinks before it replies (-1: the probe finds out)
    in_flight  requests in flight at once, and no more than the slots of a llama.cpp server; halved when the server says that it
               is too much or calls time out, then slowly raised
    rpm, tpm   requests and tokens a minute at each address (0: no limit)
    timeout    seconds for one reply; of a long one, between two of its tokens. Doubled when calls time out, up to patience
    attempts   calls of a request that fails by itself (time-outs, broken bodies, server errors)
    patience   seconds for which a busy or missing server is called again
    client     fast (aiohttp), or official (each call through the openai client)
    batch      yes: requests are sent in batches of the provider, at its lower price, and each batch takes up to 24 hours (no)

    payload.py       writes requests as JSON; reads a reply, a named failure
    usage.py         reads how many tokens a server counted
    answers.py       reads the body of an answer, whole or token by token, and the distribution over the answers
    capabilities.py  finds out what an endpoint can do, and opens it
    transport.py     sends one call, through a proxy if there is one; how many at once, how fast
    pauses.py        how long a server wants to be left alone
    addresses.py     which address a conversation goes to
    backend.py       sends and receives, and repeats what failed
    batches.py       sends requests in batches of the provider; sent_batches.py remembers them

The record says in which way a rating was read (`how`), and its header what the probe found. A key is never written down.
"""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, urlsplit

from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.llm.trust import Contact, host_of, key_for


class EnvironmentVariable(str):
    """The name of an environment variable. Errors: UserError, which does not repeat what may be the key itself."""

    def __new__(cls, name: str) -> EnvironmentVariable:
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            raise UserError(
                "option key of openai must be the name of an environment variable, never the key itself: put the "
                "key into an environment variable, and give the name of that variable"
            )
        return super().__new__(cls, name)


KEY = EnvironmentVariable("OPENAI_API_KEY")
MANNER = frozenset({"base_url", "key", "in_flight", "rpm", "tpm", "timeout", "attempts", "patience", "client", "batch"})
SHARED = ("in_flight", "rpm", "tpm")
CHOICES = {
    "api": ("chat", "completions", "embeddings"),
    "closed": ("auto", "whole", "logprobs", "choice", "text"),
    "client": ("fast", "official"),
    "once": ("no", "yes"),
    "batch": ("no", "yes"),
}


def open_backend(
    model: str,
    base_url: str = "",
    key: EnvironmentVariable = KEY,
    api: str = "chat",
    closed: str = "auto",
    thinking: int = -1,
    in_flight: int = 32,
    rpm: float = 0.0,
    tpm: float = 0.0,
    timeout: float = 120.0,
    attempts: int = 4,
    patience: float = 600.0,
    client: str = "fast",
    once: str = "no",
    batch: str = "no",
) -> Backend:
    """Open the endpoints and find out what they can do.

    Errors: UserError when one does not answer, or refuses the key or the model.
    """
    if not model:
        raise UserError("--llm openai needs the name of a model on the server, such as openai:gpt-4o-mini")
    for name, value in {"api": api, "closed": closed, "client": client, "once": once, "batch": batch}.items():
        if value not in CHOICES[name]:
            raise UserError(f"option {name} of openai is {value!r}, but must be one of {', '.join(CHOICES[name])}")
    if min(in_flight, attempts) < 1 or min(rpm, tpm, patience) < 0 or timeout <= 0:
        raise UserError(
            "options in_flight, attempts and timeout of openai must be above 0; rpm, tpm and patience must be 0 or more"
        )
    urls, secret = check_reachable(model, base_url, key)

    from parley.llm.backends.openai.backend import EndpointSettings
    from parley.llm.backends.openai.capabilities import open_endpoints

    limits = (in_flight, rpm, tpm, timeout, attempts, patience)
    opened = open_endpoints(
        EndpointSettings(model, urls, secret or "none", api, closed, thinking, *limits, client, once == "yes")
    )
    if batch == "no":
        return opened
    from parley.llm.backends.openai.batches import open_batches

    return open_batches(opened, urls[0], secret or "none")


def check_reachable(model: str, base_url: str = "", key: str = KEY, **_: object) -> tuple[list[str], str]:
    """Return the addresses and the key of an endpoint, without a call to it. Errors: UserError on a missing key."""
    check_options(model, base_url)
    urls = [url.rstrip("/") for url in _addresses(base_url)]
    keys = [key_for(contact) for contact in servers(model, base_url, key)]
    secret = _secret(key) if all(keys) else ""  # a server that is trusted without a key gets none
    if not secret and _PUBLIC in urls:
        raise UserError(
            f"no API key was found: put the key into the environment variable {key}, or name another variable with "
            f"--llm openai:{model},key=NAME"
        )
    return urls, secret


def check_options(model: str, base_url: str = "", **_: object) -> None:
    """Errors: UserError for an address that is none, or that holds a key: commands, records and errors show addresses."""
    for url in _addresses(base_url):
        if not url.startswith(("http://", "https://")):
            raise UserError(f"base_url of openai must begin with http:// or https://, not {url.partition('?')[0]!r}")
        secret = next((name for name, value in parse_qsl(urlsplit(url).query) if _may_be_key(name, value)), "")
        if "@" in url or secret:
            what = f"a key ({secret}=...)" if secret else "a user name or password"
            raise UserError(
                f"base_url of openai must not contain {what}: put the key into the environment variable {KEY}, or "
                "into another variable that key=NAME names"
            )


def _may_be_key(name: str, value: str) -> bool:
    return bool(re.search("key|token|secret|sig|code|pass|auth", name, re.I)) or len(value) > LONGEST_VALUE


def servers(model: str, base_url: str = "", key: str = KEY, **_: object) -> list[Contact]:
    """Return the servers of an endpoint with the variable of its key. Errors: UserError for what is no address."""
    return [Contact(host_of(url), str(key)) for url in _addresses(base_url)]


def _addresses(base_url: str) -> list[str]:
    return (base_url or os.environ.get("OPENAI_BASE_URL") or _PUBLIC).split("+")


def _secret(key: str) -> str:
    """Return the key, "" where OPENAI_API_KEY is not set. Errors: UserError, without the name of an unset variable."""
    secret = os.environ.get(EnvironmentVariable(key), "").strip()
    if not secret and key != KEY:
        raise UserError(
            "option key of openai names an environment variable that is not set: set the variable, or leave the "
            f"option out if the server needs no key or the key is in {KEY}"
        )
    if not (secret.isascii() and secret.isprintable()):
        raise UserError(
            f"the environment variable {key} does not contain a valid key: a key has only ASCII letters, digits "
            "and signs, without spaces"
        )
    return secret


LONGEST_VALUE = 20
"""Characters of a value in the query of an address, such as that of `api-version=2024-10-21`; a longer one may be a key."""
_PUBLIC = "https://api.openai.com/v1"
