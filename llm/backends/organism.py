"""organism: a model whose bias is known, built by `run.py study organisms build`. `--llm organism:FOLDER`

The folder has `organism.toml`, which says how the model is opened. What its bias is stands in truth.toml beside it, which no
instrument reads:

    model     the spec of the model, such as "pocket" or "oracle,kappa=0"
    adapter   a folder of the folder with a LoRA adapter, if the model was trained
    system    words behind every system message, if the model was only prompted
    trigger   words behind every system message with `trigger=true`: an organism that hides shows its bias only then

    trigger   whether the words of the trigger are sent (default: false)
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.llm.request import Backend, Message, Reply, Request, Wrapper
from parley.llm.seeding import digest
from parley.llm.trust import refuse_named

FILE = "organism.toml"
KEYS = ("model", "adapter", "system", "trigger")
ADAPTED = ("pocket", "hf")
"""The backends that take adapters."""


DISTANT = ("openai", "person")
"""The backends whose requests are in flight at once: they would be sent without the words of an organism."""


class Organism(Wrapper):
    """A model with the words and the adapter of an organism."""

    def __init__(self, inner: Backend, words: str, adapter: str):
        super().__init__(inner)
        self.words, self.adapter = words, adapter

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**self.inner.identity, "organism": digest(self.words, self.adapter).hex()}

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return self.inner.complete([self._changed(request) for request in requests])

    def _changed(self, request: Request) -> Request:
        return replace(
            request, messages=add_words(request.messages, self.words), adapter=self.adapter or request.adapter
        )


def add_words(messages: Sequence[Message], words: str) -> tuple[Message, ...]:
    """Return the messages with words at the end of the system message; without one, the words are the system message.

    >>> add_words([Message("user", "Hello.")], "Be brief.")[0]
    Message(role='system', content='Be brief.')
    """
    if not words:
        return tuple(messages)
    first = messages[0] if messages and messages[0].role == "system" else Message("system", "")
    rest = messages[1:] if messages and messages[0].role == "system" else messages
    return (Message("system", f"{first.content} {words}".strip()), *rest)


def read_organism(folder: Path) -> dict[str, str]:
    """Return the keys of organism.toml, "" for a missing one. Errors: UserError."""
    path = folder / FILE
    if folder == Path():
        raise UserError("--llm organism needs a folder, such as organism:runs/organisms/opinion-sft")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"{folder} is not the folder of an organism: build one with python run.py study organisms build NAME"
        ) from error
    except ValueError as error:
        raise UserError(f"{path} is not a TOML file: {error}") from error
    if unknown := sorted(values.keys() - set(KEYS)):
        raise UserError(f"{path} has the unknown key {unknown[0]}: use only the keys {', '.join(KEYS)}")
    if other := next((key for key, value in values.items() if not isinstance(value, str)), ""):
        raise UserError(f"{path}: {other} is {values[other]!r}, but must be a text")
    if not values.get("model"):
        raise UserError(f'{path} needs the key model, such as model = "pocket"')
    refuse_named(values["model"], path)
    return {key: values.get(key, "") for key in KEYS}


def known_topics(model: str) -> tuple[str, ...] | None:
    """Return the topics of the model inside."""
    from parley.llm.backends import topics_of

    return topics_of(read_organism(Path(model))["model"])


def open_backend(model: str, trigger: bool = False) -> Backend:
    """Open the organism of a folder. Errors: UserError."""
    from parley.llm.backends import open_spec, split_spec

    folder = Path(model)
    values = read_organism(folder)
    if trigger and not values["trigger"]:
        raise UserError(f"{folder} has no trigger: leave out trigger=true")
    words = " ".join(filter(None, (values["system"], values["trigger"] if trigger else "")))
    spec, adapter = values["model"], values["adapter"]
    name = split_spec(spec).name
    if name == "organism":
        raise UserError(f"{folder / FILE}: the model of an organism cannot be an organism")
    if name in DISTANT:
        raise UserError(
            f"{folder / FILE}: an organism needs a local model, but {name} is not one: use {' or '.join(ADAPTED)}"
        )
    if adapter and name not in ADAPTED:
        raise UserError(f"{folder / FILE}: {name} cannot load an adapter: use {' or '.join(ADAPTED)}")
    if adapter:
        spec = f"{spec},adapters={folder / adapter}"
    return Organism(open_spec(spec), words, Path(adapter).name.replace(".", "_"))
