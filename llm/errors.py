"""The errors that a person can cause or mend: one line that says what was wrong and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can put right. Its text is one line that says what was wrong and what to do.

    The command line prints that line and exits with code 2.

    Examples
    --------
    >>> raise UserError("topics must name at least one topic")
    Traceback (most recent call last):
    parley.llm.errors.UserError: topics must name at least one topic
    """


class BudgetSpent(UserError):
    """A limit on calls or tokens is used up. It stops the run; nothing is answered in its place.

    `replies` are the replies already paid for in the batch that hit the limit, in request order.
    """

    def __init__(self, message: str, replies: tuple = ()):
        super().__init__(message)
        self.replies = replies


class Unreachable(UserError):
    """A model is not there, or takes no calls: whoever asks it next will hear the same."""


class MissingRecording(UserError):
    """A replay was asked for a call that the recording does not hold."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """A misspelt name, with the nearest right ones.

    >>> str(unknown_name("scenario", "thre_way", ["two_way", "three_way"]))
    "unknown scenario 'thre_way': did you mean three_way, two_way?"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [
        known for known in names if known.startswith(name)
    ]
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
    return UserError(f"unknown {kind} {name!r}: {hint}")
