"""Debates between language-model agents, measured. What a user imports comes from here, loaded when it is first used.

>>> import parley
>>> model = parley.DebateModel("three_way", llm="oracle", topics="racism", repetitions=1, rounds=1)
>>> model.run()
>>> parley.load("runs/a").attitudes  # doctest: +SKIP
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

warnings.filterwarnings(
    "ignore", message="IProgress not found"
)  # of Mesa's import of tqdm in a notebook without ipywidgets

__version__ = "0.1.0"

_HOMES = {
    "Agent": ("agents.agent", "DebateAgent"),
    "AuditCard": ("analysis.audits", "AuditCard"),
    "Backend": ("llm.request", "Backend"),
    "Comparison": ("analysis.comparisons", "Comparison"),
    "DebateModel": ("model.debate", "DebateModel"),
    "FactCheck": ("model.interventions.fact_check", "FactCheck"),
    "Failure": ("llm.request", "Failure"),
    "Intervention": ("model.interventions.base", "Intervention"),
    "Join": ("model.interventions.join", "Join"),
    "Leave": ("model.interventions.leave", "Leave"),
    "Message": ("model.interventions.message", "Message"),
    "Moderator": ("model.interventions.moderator", "Moderator"),
    "Mute": ("model.interventions.mute", "Mute"),
    "PopulationModel": ("model.population", "PopulationModel"),
    "Reply": ("llm.request", "Reply"),
    "Request": ("llm.request", "Request"),
    "Run": ("analysis.runs", "Run"),
    "Scenario": ("model.scenario", "Scenario"),
    "Shock": ("model.interventions.shock", "Shock"),
    "Sweep": ("analysis.sweeps", "Sweep"),
    "UserError": ("llm.errors", "UserError"),
    "audit": ("analysis.audits", "audit"),
    "compare": ("analysis.comparisons", "compare"),
    "load": ("analysis.runs", "load"),
    "load_preset": ("model.scenario", "load_preset"),
    "preset_names": ("model.scenario", "preset_names"),
    "run": ("analysis.runs", "run"),
    "sweep": ("analysis.sweeps", "sweep"),
}
"""The public names: the module that defines each, and what it is called there."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, own = _HOMES[name]
    return getattr(import_module(f"{__name__}.{home}"), own)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
