"""Models of other providers through litellm: the same reader, failures and prices as `openai`, and no key to a server unasked."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from parley.llm.backends import contacts_of, open_spec
from parley.llm.backends.litellm import check_reachable, servers
from parley.llm.errors import UserError
from parley.llm.prices import FREE, Price, load_prices, price_of
from parley.llm.request import CACHED, Usage
from parley.llm.trust import Contact, typed

from .conftest import question
from .loopback import Act, Body, Loopback, echo, problem, said

installed = pytest.mark.skipif(find_spec("litellm") is None, reason="the [litellm] extra is not installed")


def test_without_the_package_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(UserError, match=r"parley-debates\[litellm\]"):
        open_spec("litellm:anthropic/claude")
    with pytest.raises(UserError, match="needs the name of a model"):
        open_spec("litellm")
    with pytest.raises(UserError, match="is 'never', but must be one of"):
        open_spec("litellm:a/b,closed=never")


def test_a_provider_and_its_key_are_named_before_they_are_called() -> None:
    """So data, such as a preset of somebody else, reach no provider, and no key goes to another address."""
    assert servers("anthropic/claude") == [Contact("anthropic", "ANTHROPIC_API_KEY")]
    assert servers("gpt-4o", "http://127.0.0.1:80/v1") == [Contact("127.0.0.1:80", "OPENAI_API_KEY")]
    assert contacts_of("litellm:mistral/small,key=LAB") == [Contact("mistral", "LAB")]
    with typed(["--scenario", "two_way"]), pytest.raises(UserError, match="ANTHROPIC_API_KEY@anthropic"):
        open_spec("litellm:anthropic/claude")


def test_a_server_that_is_trusted_without_a_key_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the one that litellm would find in the environment either."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-1234567890")
    with typed(["--trust", "127.0.0.1:80"]):
        assert check_reachable("openai/m", "http://127.0.0.1:80/v1") == "none"
    assert check_reachable("openai/m", "http://127.0.0.1:80/v1") == "sk-very-secret-1234567890"


def test_no_price_is_no_free_model(tmp_path: Path) -> None:
    """A model of a provider without a listed price was free where a limit on cost was asked for."""
    assert price_of("litellm:openai/gpt-4o") is None
    assert load_prices("litellm:anthropic/claude", {"red": "oracle"}) == {"": None, "red": FREE}
    (tmp_path / "mine.toml").write_text('"anthropic/claude" = [3, 15, 0.3, 0.5]\n')
    assert price_of("litellm:anthropic/claude", tmp_path / "mine.toml") == Price(3.0, 15.0, 0.3, 0.5)


@installed
def test_failures_are_named_and_cached_tokens_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy server is called again; usage and the model's name come through; the key goes where its option says."""
    monkeypatch.setenv("LAB_KEY", "sk-lab-key-123456")

    def plan(body: Body, time: int) -> Act:
        if "sky" in str(body):
            return said("Yes.")
        if "Why?" not in str(body):
            return echo(body, time)
        if time == 1:
            return problem(429)
        answer = json.loads(said("Because.").body)
        usage = {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "total_tokens": 25,
            "prompt_tokens_details": {"cached_tokens": 12},
        }
        return Act(body=json.dumps(answer | {"usage": usage}).encode())

    with Loopback(plan) as server:
        backend = open_spec(f"litellm:openai/echo,base_url={server.url},key=LAB_KEY,closed=text")
        (reply,) = backend.complete([question("Why?")])
        assert server.keys == {"Bearer sk-lab-key-123456"}
    assert (reply.text, reply.usage, reply.notes[CACHED], reply.notes["repeated"]) == ("Because.", Usage(20, 5), 12, 1)
    assert backend.identity["backend"] == "litellm"


@installed
def test_a_refused_key_is_one_line() -> None:
    with Loopback(lambda body, time: problem(401)) as server, pytest.raises(UserError, match="refuses openai/echo"):
        open_spec(f"litellm:openai/echo,base_url={server.url}")
