"""join: these agents join before this round. Until then they are absent: from the start, or since they left.

An absent agent keeps its seat and its turns, so the turns of the other agents have the same numbers and seeds as without the
intervention. Its turns are silent and its ratings missing (reason `absent`), without a call to a model. It hears nothing, neither
from the room nor from outside. An agent that joins remembers what it heard before it left. No agent is informed of a join, and at
the start all agents learn the names of all seats. To announce a join, add a message before the same round.

never   no agent joins: the control condition, which `run.py study intervene` sets
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from parley.model.interventions.base import Presence


@dataclass(frozen=True, kw_only=True)
class Join(Presence):
    """Some agents join before this round. Until then their turns are silent and their ratings missing (reason `absent`).

    Parameters
    ----------
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Examples
    --------
    >>> Join(round=2, to=("default",)).kind
    'join'
    """

    SETS: ClassVar = {"absent": False, "late": True}
