"""fact_check: a correction, heard by those that it is for. The text is given; nothing is looked up."""

from __future__ import annotations

from dataclasses import dataclass

from model.interventions.base import Saying


@dataclass(frozen=True, kw_only=True)
class FactCheck(Saying):
    """A message by "Fact Check"."""

    by: str = "Fact Check"
