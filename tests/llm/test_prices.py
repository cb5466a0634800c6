"""What a model costs: the table in the box, a user's own, and what neither knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each

import run
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.llm.prices import FREE, TABLE, Account, Price, cost_by_model, dollars, load_prices, price_of, read_prices
from parley.llm.request import Usage

from .loopback import Loopback, echo


def test_a_model_its_snapshots_and_strangers() -> None:
    """A local server's model of the same name costs what its owner says, and nothing is guessed."""
    assert price_of("openai:gpt-4o-mini") == price_of("openai:gpt-4o-mini-2024-07-18") == Price(0.15, 0.6, 0.075, 0.5)
    assert price_of("openai:gpt-3.5-turbo-0125") == Price(0.5, 1.5, 0.5, 0.5)
    for spec in ("openai:gpt-9", "openai:gpt-4o,base_url=http://127.0.0.1:1/v1", "pocket", "hf:gpt-4o"):
        assert price_of(spec) is None
    assert all(price.completion >= price.prompt > 0 for price in read_prices(TABLE).values())


def test_another_address_in_the_environment_is_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on cost at the prices of the OpenAI API would be of somebody else's bill."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert price_of("openai:gpt-4o-mini") is None
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert price_of("openai:gpt-4o-mini") == Price(0.15, 0.6, 0.075, 0.5)


def test_a_table_of_ones_own_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text("gpt-4o-mini = [1, 2]\nllama3 = [0.0, 0.1]\n")
    assert price_of("openai:gpt-4o-mini", own) == Price(1.0, 2.0)
    assert price_of("openai:llama3,base_url=http://127.0.0.1:1/v1", own) == Price(0.0, 0.1)
    assert price_of("openai:gpt-4o", own) == Price(2.5, 10.0, 1.25, 0.5)


@check_each("text", ["gpt = [1]", "gpt = [-1, 2]", "gpt = 'free'", "gpt = [true, 1]", "gpt ="])
def test_a_table_that_cannot_be_read_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(UserError, match=r"cannot read the prices in .*bad\.toml"):
        price_of("openai:gpt-4o", tmp_path / "bad.toml")


def test_each_party_pays_for_its_own_model(tmp_path: Path) -> None:
    """A local model is free; a price that was given is that of the one model behind an endpoint, and is not spread over two."""
    own = tmp_path / "mine.toml"
    own.write_text("llama3 = [0.0, 0.1]\n")
    parties = {"republican": "openai:gpt-4o", "democrat": "openai:llama3,base_url=http://127.0.0.1:1/v1"}
    known = {"": FREE, "republican": Price(2.5, 10.0, 1.25, 0.5)}
    assert load_prices("pocket", parties) == {**known, "democrat": None}
    assert load_prices("pocket", parties, own) == {**known, "democrat": Price(0.0, 0.1)}
    assert load_prices("pocket", {"republican": "openai:gpt-9"}, given=Price(1, 2)) == {
        "": FREE,
        "republican": Price(1, 2),
    }
    with pytest.raises(UserError, match="--prices FILE"):
        load_prices("pocket", parties, own, Price(1, 2))


def test_a_bill_names_what_it_does_not_know() -> None:
    used = {Account(): Usage(9, 9), Account("red"): Usage(2_000_000, 100_000), Account("blue"): Usage(1, 1)}
    told = cost_by_model(used, {"": FREE, "red": Price(1.0, 10.0), "blue": None})
    assert told == "$3.00 (red $3.00, at $1 and $10 per million tokens in and out; no price is known for blue)"
    assert (
        cost_by_model({Account(): Usage(1_000_000, 0)}, {"": Price(0.25, 1)})
        == "$0.25, at $0.25 and $1 per million tokens in and out"
    )
    assert (
        cost_by_model({Account(): Usage(1_000_000, 0)}, {"": FREE}) == cost_by_model({Account(): Usage(1, 1)}, {}) == ""
    )


@pytest.mark.thorough
def test_what_parties_with_models_of_their_own_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Estimate, limit and summary count the tokens of each model at its own price; a later sitting counts the earlier ones'."""
    mine = tmp_path / "mine.toml"
    mine.write_text("gpt-9 = [0, 1000]\n")
    small = ["--scenario", "two_way", "--topic", "racism", "--repetitions", "2", "--rounds", "1", "--llm", "oracle"]
    paid = [*small, "--llm", "republican=openai:gpt-9", "--prices", str(mine), "--max-cost", "1"]
    assert run.main([*paid, "--dry-run"]) == 0
    assert "(Republican " in capsys.readouterr().out
    assert run.main([*small, "--llm", "republican=openai:gpt-8", "--max-cost", "1"]) == 2
    assert "no price is known for openai:gpt-8" in capsys.readouterr().err
    with Loopback(echo) as server:
        asked = [*paid[:-2], "--base-url", server.url, "--out", str(tmp_path / "run"), "--keep-going"]
        assert run.main([*asked, "--max-cost", "0.02"]) == 2
        assert "--max-cost 0.02 is spent" in capsys.readouterr().err
        assert run.main([*asked, "--max-cost", "0.02"]) == 2, "the next sitting counts what this one spent"
        assert run.main([*asked, "--max-cost", "1"]) == 0
    tables = load(tmp_path / "run")
    paid_for = tables.calls.merge(tables.agents, on="agent").query("party == 'republican'")
    told = _row(tmp_path, "cost")
    assert told.endswith("at $0 and $1000 per million tokens in and out)")
    assert told.split()[0] == dollars(0.005 * len(paid_for))


def test_what_it_will_cost_and_what_it_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The estimate before a run, without a key or a network; the price in the summary after one."""
    small = ["--scenario", "two_way", "--topic", "racism", "--repetitions", "2", "--rounds", "1"]
    assert run.main([*small, "--llm", "openai:gpt-4o-mini", "--dry-run"]) == 0
    assert "at $0.15 and $0.6 per million tokens" in capsys.readouterr().out
    assert run.main([*small, "--llm", "oracle", "--dry-run"]) == 0
    assert "cost" not in capsys.readouterr().out
    assert run.main([*small, "--llm", "oracle", "--price", "2,10", "--out", str(tmp_path / "run")]) == 0
    tokens = [
        int(word.replace(",", "")) for word in _row(tmp_path, "calls").replace("(", "").split() if word[0].isdigit()
    ]
    assert _row(tmp_path, "cost").split(",")[0] == dollars((2 * tokens[1] + 10 * tokens[2]) / 1e6)


def _row(folder: Path, name: str) -> str:
    lines = (folder / "run" / "summary.md").read_text().splitlines()
    return next(line.split("|")[2].strip() for line in lines if line.startswith(f"| {name} |"))
