"""mute: from this round on, the turns of these agents are silent (reason `muted`). They hear and are surveyed as before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from parley.model.interventions.base import Switch


@dataclass(frozen=True, kw_only=True)
class Mute(Switch):
    """From this round on, the turns of some agents are silent (reason `muted`). They hear others and are surveyed as before.

    A silent turn is counted, so the turns of the other agents have the same numbers and seeds as without the intervention.

    Parameters
    ----------
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Examples
    --------
    >>> Mute(round=2, to=("default",)).kind
    'mute'
    """

    reaches_absent = True
    SETS: ClassVar = {"muted": True}
