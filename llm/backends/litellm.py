"""litellm: models of many providers, through the package litellm. `--llm litellm:PROVIDER/MODEL[,key=value...]`

    base_url   the address, where it is not the provider's own
    key        name of the environment variable that holds the key (PROVIDER_API_KEY)
    closed, thinking, in_flight, rpm, tpm, timeout, attempts, patience   as of `openai`

Needs the extra `[litellm]`. All but the call itself is as with `openai`; litellm leaves out what a provider does not take.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from parley.llm.backends import openai
from parley.llm.backends.openai import CHOICES, EnvironmentVariable
from parley.llm.driver import complete_all
from parley.llm.errors import UserError
from parley.llm.request import Backend, Reply, Request, Wrapper
from parley.llm.trust import Contact, host_of, key_for

MANNER = openai.MANNER - {"client", "batch"}
SHARED = openai.SHARED


def open_backend(
    model: str,
    base_url: str = "",
    key: str = "",
    closed: str = "auto",
    thinking: int = -1,
    in_flight: int = 32,
    rpm: float = 0.0,
    tpm: float = 0.0,
    timeout: float = 120.0,
    attempts: int = 4,
    patience: float = 600.0,
) -> Backend:
    """Open a model and find out what it can do. Errors: UserError without litellm, for a model or a key that is refused."""
    check_options(model, base_url, closed=closed)
    secret = check_reachable(model, base_url, key)
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import loads prices from the network
    try:
        import litellm
    except ImportError as error:
        raise UserError("litellm is not installed: install it with pip install 'parley-debates[litellm]'") from error
    litellm.suppress_debug_info, litellm.telemetry, litellm.drop_params = True, False, True
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message=".*(TypedDict|Pydantic serializer)")  # of litellm's own types

    from parley.llm.backends.openai.backend import EndpointSettings
    from parley.llm.backends.openai.capabilities import open_endpoints
    from parley.llm.backends.openai.transport import CONNECTIONS, Connection, HttpAnswer

    class LitellmConnection(Connection):
        """A connection whose calls go through litellm."""

        async def _request(self, method: str, path: str, body: bytes | None) -> HttpAnswer:
            fields = {name: value for name, value in json.loads(body or b"{}").items() if not name.startswith("stream")}
            where = {"api_base": base_url or None, "api_key": secret or ("none" if base_url else None)}
            try:
                found = await litellm.acompletion(**fields, **where, timeout=self.timeout, num_retries=0, max_retries=0)
            except Exception as error:  # noqa: BLE001  it has a class of error for each status of each provider
                text = json.dumps({"error": {"message": str(getattr(error, "message", error))}})
                headers = getattr(getattr(error, "response", None), "headers", None) or {}
                return HttpAnswer(int(getattr(error, "status_code", 0) or 500), headers, text.encode())
            return HttpAnswer(200, {}, found.model_dump_json().encode())

    CONNECTIONS["litellm"] = LitellmConnection
    url, limits = (
        base_url.rstrip("/") or f"https://{provider_of(model)}",
        (in_flight, rpm, tpm, timeout, attempts, patience),
    )
    settings = EndpointSettings(model, [url], secret or "none", "chat", closed, thinking, *limits, client="litellm")
    return Litellm(open_endpoints(settings))


class Litellm(Wrapper):
    """A model behind litellm."""

    def __init__(self, inner: Any):
        super().__init__(inner)
        self.says = inner.says

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**self.inner.identity, "backend": "litellm"}

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return complete_all(self, requests)


def provider_of(model: str) -> str:
    """Return the name of the provider: `anthropic` of `anthropic/claude-haiku`, and `openai` where none is named."""
    return model.partition("/")[0].lower() if "/" in model else "openai"


def servers(model: str, base_url: str = "", key: str = "", **_: object) -> list[Contact]:
    """Return the server with the variable of its key: the name of the provider stands for its own address."""
    provider = provider_of(model)
    return [Contact(host_of(base_url) if base_url else provider, key or f"{provider.upper()}_API_KEY")]


def check_reachable(model: str, base_url: str = "", key: str = "", **_: object) -> str:
    """Return the key; "" where none is set: litellm finds other credentials itself. Errors: UserError for an unknown server."""
    name = key_for(servers(model, base_url, key)[0])
    return os.environ.get(EnvironmentVariable(name), "").strip() if name else "none"


def check_options(model: str, base_url: str = "", closed: str = "auto", **_: object) -> None:
    """Errors: UserError without a model, for an address with a key, and for another way of closed questions."""
    if not model:
        raise UserError("--llm litellm needs the name of a model, such as litellm:anthropic/MODEL (docs/models.md)")
    openai.check_options(model, base_url or "https://provider")
    if closed not in CHOICES["closed"]:
        raise UserError(f"option closed of litellm is {closed!r}, but must be one of {', '.join(CHOICES['closed'])}")
