"""shock: something happens outside, and everybody hears of it ("News: ..."); with `every` the news goes on."""

from __future__ import annotations

from dataclasses import dataclass

from parley.model.interventions.base import Saying


@dataclass(frozen=True, kw_only=True)
class Shock(Saying):
    """A message by nobody in particular."""

    by: str = "News"
