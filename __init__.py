"""Debates between LLM agents, measured. The public names of Parley; each is loaded when it is first used.

>>> import parley
>>> model = parley.DebateModel("three_way", llm="oracle", topic="racism", repetitions=1, rounds=1)
>>> model.run()
>>> parley.load("runs/a").attitudes  # doctest: +SKIP
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

# Mesa imports tqdm, which warns in a notebook without ipywidgets
warnings.filterwarnings("ignore", message="IProgress not found")

__version__ = "0.2.0"

_HOMES = {
    "agents.agent": "DebateAgent",
    "analysis.audits": "AuditCard audit",
    "analysis.branches": "branch",
    "analysis.comparisons": "Comparison compare",
    "analysis.runs": "Run load run",
    "analysis.sweeps": "Sweep sweep",
    "llm.errors": "UserError",
    "llm.request": "Backend Failure Reply Request",
    "llm.trust": "trust",
    "model.debate": "DebateModel",
    "model.interventions.base": "Intervention",
    "model.interventions.fact_check": "FactCheck",
    "model.interventions.join": "Join",
    "model.interventions.leave": "Leave",
    "model.interventions.message": "Message",
    "model.interventions.moderator": "Moderator",
    "model.interventions.mute": "Mute",
    "model.interventions.shock": "Shock",
    "model.population": "PopulationModel",
    "model.scenario": "Scenario load_preset preset_names",
}
"""The modules that define the public names."""
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES["Agent"] = _MODULES.pop("DebateAgent")

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, "DebateAgent" if name == "Agent" else name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
