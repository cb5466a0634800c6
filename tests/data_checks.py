"""Data checks: one test for many data, whose failure names every datum that fails."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

Check = Callable[..., None]
Ids = Callable[[Any], object] | Iterable[str] | None
LONGEST = 300
"""Characters of a datum, and of what is wrong with it, in the list of failures."""


def check_each(names: str | Sequence[str], data: Iterable[Any], ids: Ids = None) -> Callable[[Check], Check]:
    """Check every datum in one test; arguments are those of `pytest.mark.parametrize`, which makes a test of each.

    The loop goes on after a failure. At its end one AssertionError lists every datum that failed and why; the first failure is
    its cause, so that its traceback is shown. A check that takes `tmp_path`, `monkeypatch` or `capsys` gets a fresh one for
    every datum. Two `check_each` on one check are all combinations. A datum that skips is a failure: only whole tests skip.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [_values(datum, len(keys)) for datum in data]
    labels = _labels(rows, ids)

    def decorate(check: Check) -> Check:
        @functools.wraps(check)
        def test(**fixtures: Any) -> None:
            assert rows, "there is no datum to check"
            failures: list[tuple[str, BaseException]] = []
            for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
                try:
                    with _fresh(fixtures, number) as own:
                        check(**dict(zip(keys, row, strict=True)), **own)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001  raised again below
                    failures.append((label, error))
            if failures:
                told = "".join(f"\n- {label}: {_reason(error)}" for label, error in failures)
                raise AssertionError(f"{len(failures)} of {len(rows)} data fail:{told}") from failures[0][1]

        signature = inspect.signature(check)
        left = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        test.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]  what pytest reads fixtures from
        return test

    return decorate


def _values(datum: Any, count: int) -> tuple[Any, ...]:
    """The values of one datum, one for each name."""
    values = datum if count > 1 else (datum,)
    assert len(values) == count, f"{datum!r} is not {count} values"
    return tuple(values)


def _labels(rows: list[tuple[Any, ...]], ids: Ids) -> list[str]:
    """What each datum is called in a failure: its id, or its values."""
    if callable(ids):
        return [", ".join(str(ids(value)) for value in row) for row in rows]
    if ids is not None:
        given = list(ids)
        assert len(given) == len(rows), "as many ids as data"
        return given
    return [", ".join(map(repr, row))[:LONGEST] for row in rows]


def _reason(error: BaseException) -> str:
    """Why a datum failed; whole where the failure is itself a list of data."""
    text = f"{type(error).__name__}: {error}"
    return text.replace("\n", "\n  ") if " data fail:\n" in text else " ".join(text.split())[:LONGEST]


@contextlib.contextmanager
def _fresh(fixtures: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The fixtures as a test of its own would get them: an empty folder, nothing patched, nothing printed yet."""
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = fixtures["tmp_path"] / f"datum{number}"
        own["tmp_path"].mkdir()
    if "capsys" in own:
        own["capsys"].readouterr()
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in own:
            own["monkeypatch"] = patch
        yield own
