"""Exams for what you write yourself: `check_backend`, `check_environment`.

Each takes a name as a command line has it (`coin`, `./coin.py:Coin`), or the thing itself, and raises an AssertionError that says
which promise is broken. The built-in parts pass the same checks.

>>> from parley.testing import check_backend, check_environment
>>> check_backend("oracle")
>>> check_environment("round_table")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["check_backend", "check_environment"]


def check_backend(backend: str | Callable[[], Any]) -> None:
    """Check what journal, retries, budget and resume rely on in a backend.

    Parameters
    ----------
    backend
        A spec, such as `coin` or `./coin.py:Coin,line=Hm`, or a function without arguments that opens the backend anew.

    Raises
    ------
    AssertionError
        With the promise that is broken (`parley.llm.request.Backend`).
    UserError
        Where the spec names nothing.
    """
    from parley.llm import exam
    from parley.llm.backends import open_spec

    _run_checks(exam.CHECKS, (lambda: open_spec(backend)) if isinstance(backend, str) else backend, str(backend))


def check_environment(environment: str | type) -> None:
    """Check what a round relies on in an environment: who speaks, who hears, what is the same every time.

    Parameters
    ----------
    environment
        A name, such as `round_table` or `./mine.py:Mine`, or the dataclass. It is made with its defaults, and with each value of
        its closed choices.

    Raises
    ------
    AssertionError
        With the promise that is broken (`parley.environments.base.Environment`).
    UserError
        Where the name is that of nothing.
    """
    from parley.environments import _exam as exam
    from parley.environments import environment_class

    kind = environment_class(environment) if isinstance(environment, str) else environment
    _run_checks(exam.CHECKS, kind, kind.__name__)


def _run_checks(checks: Sequence[Callable[[Any], None]], subject: Any, name: str) -> None:
    """Every check; the first that fails with its name in front."""
    for check in checks:
        try:
            check(subject)
        except AssertionError as error:
            broken = check.__name__.replace("_", " ")
            raise AssertionError(f"{name}: {broken}{f': {error}' if str(error) else ''}") from error
