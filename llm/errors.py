"""The errors that a user can correct: one line that says what went wrong and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """An error that the user can correct. Its text is one line that says what went wrong and what to do.

    The command line prints that line and exits with code 2.

    Examples
    --------
    >>> raise UserError("topic must name at least one topic")
    Traceback (most recent call last):
    parley.llm.errors.UserError: topic must name at least one topic
    """


class BudgetSpent(UserError):
    """A limit on calls, tokens or cost is reached. It stops the run; no reply is invented.

    `replies` are the replies already paid for in the batch that hit the limit, in request order.
    """

    def __init__(self, message: str, replies: tuple = ()):
        super().__init__(message)
        self.replies = replies


class Unreachable(UserError):
    """A model is not there, or takes no calls; the next call would fail as well."""


class MissingRecording(UserError):
    """A recording does not hold a call that a replay needs."""


def unknown_name(kind: str, name: str, valid_names: Iterable[str]) -> UserError:
    """Return the error of a misspelt name, with the nearest right ones.

    >>> str(unknown_name("scenario", "thre_way", ["two_way", "three_way"]))
    "unknown scenario 'thre_way': did you mean three_way, two_way?"
    """
    names = sorted(valid_names)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.55) or [
        candidate for candidate in names if name and name in candidate
    ]
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
    return UserError(f"unknown {kind} {name!r}: {hint}")
