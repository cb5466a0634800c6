"""The engine: llama.cpp in this process, through the wheel xllamacpp.

llama.cpp opens a port of its own. Only this machine can reach it, and only with a key that nothing writes down.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from parley.llm.errors import UserError

PACKAGE = "xllamacpp"
OR_ADAPTER = "; or an adapter was trained on a model of another size"
SILENT = -1
"""The verbosity at which llama.cpp prints nothing."""


class EngineSettings(NamedTuple):
    """How the engine runs: `context` tokens for each of `slots` requests at the same time, MiB to keep what was read, and
    the files of adapters, of which each call names the one that answers."""

    path: Path
    threads: int
    context: int
    slots: int
    keep: int
    adapters: tuple[Path, ...] = ()


class Engine(Protocol):
    """What the backend needs: a call as a dictionary in OpenAI's form, answered in that form. Any thread may call."""

    version: str
    """The version of the engine, which is part of the identity of a model."""

    def chat(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer `messages` of a chat. A last message of the assistant is continued, and its text begins the reply."""

    def complete(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Continue the text `prompt`; the reply does not repeat it."""


class LlamaCpp:
    """llama.cpp in this process."""

    def __init__(self, settings: EngineSettings):
        """Load the weights. Errors: UserError when the package is not installed, or the file cannot be loaded."""
        try:
            import xllamacpp
        except ImportError as error:
            raise UserError(
                "gguf needs a package that is not installed: pip install xllamacpp, or pip install -e '.[gguf]' (docs/models.md)"
            ) from error
        self.version = version(PACKAGE)
        params = xllamacpp.CommonParams()
        params.model.path = str(settings.path)
        params.hostnames, params.port, params.api_keys, params.ui = ["127.0.0.1"], 0, [secrets.token_urlsafe(32)], False
        params.n_parallel, params.n_ctx, params.kv_unified = settings.slots, settings.context * settings.slots, True
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
        params.cache_ram_mib, params.warmup, params.verbosity = settings.keep, False, SILENT
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(file)) for file in settings.adapters]
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise UserError(
                f"{settings.path.name} cannot be loaded: the file is damaged, its kind of model is newer than {PACKAGE} "
                f"{self.version}, or it does not fit into memory{OR_ADAPTER if settings.adapters else ''}"
            ) from error

    def chat(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = self._server.handle_chat_completions(dict(body))
        return reply

    def complete(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = self._server.handle_completions(dict(body))
        return reply
