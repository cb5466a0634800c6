"""message: a line from somebody who is not in the room, heard by those that it is for.

by and text as in `Saying`, both to be given. A name that somebody in the room has is taken for that person's.
"""

from __future__ import annotations

from dataclasses import dataclass

from parley.model.interventions.base import Saying


@dataclass(frozen=True, kw_only=True)
class Message(Saying):
    """A line from a named sender; see the module's manual page."""
