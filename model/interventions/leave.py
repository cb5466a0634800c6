"""leave: these agents are absent from this round on (see join.py for what absent means).

never   no agent leaves: the control condition
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from parley.model.interventions.base import Presence


@dataclass(frozen=True, kw_only=True)
class Leave(Presence):
    """Some agents are absent from this round on: their turns are silent and their ratings missing (reason `absent`).

    Parameters
    ----------
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Examples
    --------
    >>> Leave(round=3, to=("default",)).kind
    'leave'
    """

    SETS: ClassVar = {"absent": True}
