"""Debates between language-model agents, measured. What a user imports comes from here, loaded when it is first used.

>>> import parley
>>> model = parley.DebateModel("three_way", llm="oracle", topics="racism", repetitions=1, rounds=1)
>>> model.run()
>>> parley.load("runs/a").attitudes  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Agent": ("agents.agent", "DebateAgent"),
    "DebateModel": ("model.debate", "DebateModel"),
    "PopulationModel": ("model.population", "PopulationModel"),
    "Scenario": ("model.scenario", "Scenario"),
    "UserError": ("llm.errors", "UserError"),
    "Run": ("analysis.runs", "Run"),
    "load": ("analysis.runs", "load"),
    "load_preset": ("model.scenario", "load_preset"),
    "run": ("analysis.runs", "run"),
}
"""The public names: the module that defines each, and what it is called there."""

__all__ = ["Agent", "DebateModel", "PopulationModel", "Run", "Scenario", "UserError", "load", "load_preset", "run"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, own = _HOMES[name]
    return getattr(import_module(f"{__name__}.{home}"), own)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
