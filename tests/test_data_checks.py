"""The loop over data protects what it loops over: nothing is left out, and nothing that fails is swallowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each


def test_every_datum_that_fails_is_named_and_no_other() -> None:
    seen = []

    @check_each("value, least", [(1, 2), (2, 2), (3, 9)])
    def check(value: int, least: int) -> None:
        seen.append(value)
        assert value >= least

    with pytest.raises(AssertionError) as failure:
        check()
    assert seen == [1, 2, 3]
    told = str(failure.value).splitlines()
    assert [line.split(":")[0] for line in told] == ["2 of 3 data fail", "- 1, 2", "- 3, 9"]
    assert "assert 3 >= 9" in told[2]
    assert isinstance(failure.value.__cause__, AssertionError)


@pytest.mark.parametrize("break_it", [lambda: int("x"), lambda: pytest.fail("no"), lambda: pytest.skip("no")])
def test_an_error_and_a_skip_are_failures_too(break_it: object) -> None:
    @check_each("value", ["a"], ids=lambda value: f"the letter {value}")
    def check(value: str) -> None:
        break_it()  # type: ignore[operator]

    with pytest.raises(AssertionError, match="1 of 1 data fail:\n- the letter a: "):
        check()


def test_no_data_is_a_failure() -> None:
    """A list that became empty would otherwise protect nothing in silence."""

    @check_each("value", [])
    def check(value: str) -> None: ...

    with pytest.raises(AssertionError, match="no datum"):
        check()


def test_two_loops_are_all_combinations() -> None:
    @check_each("one", "ab", ids=["A", "B"])
    @check_each("other", "xy")
    def check(one: str, other: str) -> None:
        assert one + other != "bx"

    with pytest.raises(AssertionError, match=r"1 of 2 data fail:\n- B: .*\n  - 'x': "):
        check()


@check_each("time", [1, 2])
def test_fixtures_are_fresh_for_every_datum(
    time: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What one datum wrote, patched or printed is not there for the next."""
    assert list(tmp_path.iterdir()) == []
    assert not hasattr(pytest, "patched")
    assert capsys.readouterr().out == ""
    (tmp_path / "file").touch()
    monkeypatch.setattr(pytest, "patched", True, raising=False)
    print("said")  # noqa: T201
