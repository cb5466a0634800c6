"""unmute: from this round on, muted agents speak again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from parley.model.interventions.base import Switch


@dataclass(frozen=True, kw_only=True)
class Unmute(Switch):
    """From this round on, muted agents speak again.

    Parameters
    ----------
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Examples
    --------
    >>> Unmute(round=3, to=("default",)).kind
    'unmute'
    """

    reaches_absent = True
    SETS: ClassVar = {"muted": False}
