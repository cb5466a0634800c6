"""none: links stay."""

from __future__ import annotations

from dataclasses import dataclass

from parley.environments._society import Pairs, Society


@dataclass(frozen=True)
class Nothing:
    """No options."""

    by_attitude = False

    def changes(self, society: Society, round_: int) -> tuple[Pairs, Pairs]:
        return (), ()
