"""What a model costs: the table in the box, a user's own, and what neither knows."""

from __future__ import annotations

from pathlib import Path

import pytest

import run
from llm.errors import UserError
from llm.limits import Price
from llm.prices import TABLE, price_of, read


def test_a_model_its_snapshots_and_strangers() -> None:
    """A local server's model of the same name costs what its owner says, and nothing is guessed."""
    assert price_of("openai:gpt-4o-mini") == price_of("openai:gpt-4o-mini-2024-07-18") == Price(0.15, 0.6)
    assert price_of("openai:gpt-3.5-turbo-0125") == Price(0.5, 1.5)
    for spec in ("openai:gpt-9", "openai:gpt-4o,base_url=http://127.0.0.1:1/v1", "pocket", "hf:gpt-4o"):
        assert price_of(spec) is None
    assert all(price.completion >= price.prompt > 0 for price in read(TABLE).values())


def test_a_table_of_ones_own_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text("gpt-4o-mini = [1, 2]\nllama3 = [0.0, 0.1]\n")
    assert price_of("openai:gpt-4o-mini", own) == Price(1.0, 2.0)
    assert price_of("openai:llama3,base_url=http://127.0.0.1:1/v1", own) == Price(0.0, 0.1)
    assert price_of("openai:gpt-4o", own) == Price(2.5, 10.0)


@pytest.mark.parametrize("text", ["gpt = [1]", "gpt = [-1, 2]", "gpt = 'free'", "gpt = [true, 1]", "gpt ="])
def test_a_table_that_cannot_be_read_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(UserError, match=r"cannot read the prices in .*bad\.toml"):
        price_of("openai:gpt-4o", tmp_path / "bad.toml")


def test_what_it_will_cost_and_what_it_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The estimate before a run, without a key or a network; the price in the summary after one."""
    small = ["--scenario", "two_way", "--topic", "racism", "--repetitions", "2", "--rounds", "1"]
    assert run.main([*small, "--llm", "openai:gpt-4o-mini", "--dry-run"]) == 0
    assert "at 0.15 and 0.6 per million tokens" in capsys.readouterr().out
    assert run.main([*small, "--llm", "oracle", "--dry-run"]) == 0
    assert "cost" not in capsys.readouterr().out
    assert run.main([*small, "--llm", "oracle", "--price", "2,10", "--out", str(tmp_path / "run")]) == 0
    tokens = [
        int(word.replace(",", "")) for word in _row(tmp_path, "calls").replace("(", "").split() if word[0].isdigit()
    ]
    assert float(_row(tmp_path, "cost").split(",")[0]) == pytest.approx(
        (2 * tokens[1] + 10 * tokens[2]) / 1e6, rel=1e-3
    )


def _row(folder: Path, name: str) -> str:
    lines = (folder / "run" / "summary.md").read_text().splitlines()
    return next(line.split("|")[2].strip() for line in lines if line.startswith(f"| {name} |"))
