"""What a registration freezes besides its plan: scenarios, prompts, data, models, sources and packages, and what differs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parley.analysis.claims.claim import Claim
from parley.analysis.claims.multiverse import ARMS
from parley.llm.seeding import digest
from parley.model.run_folder import make_header, scenario_fields
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, open_models

ROOT = Path(__file__).parents[2]
SOURCES = ("agents", "analysis", "environments", "llm", "model")
KINDS = (".py", ".toml", ".txt")


def freeze(claim: Claim, models: Sequence[str]) -> dict[str, Any]:
    """Return what the plan rests on, as plain values: scenarios, prompts, data, models, sources, versions.

    scenarios: the fields of each arm, without seed and model. prompts: the digest of each prompt, by arm. models: the identity of
    each model (of local ones with the digest of their weights or sources). sources: a digest of each folder of Parley.
    """
    found: dict[str, Any] = {key: {} for key in ("scenarios", "prompts", "data", "models")}
    for spec in models:
        for name, arm in zip(ARMS, claim.arms({**claim.base_settings(), "llm": spec}), strict=True):
            backend = open_models(RunSpec(arm, Path()))
            header = make_header(arm, (), backend)
            found["scenarios"][name] = _fields(arm)
            found["prompts"][name] = header.prompts
            found["data"][name] = header.data
            found["models"][spec] = header.model
            versions = header.versions
    sources = {folder: digest_sources(ROOT / folder) for folder in SOURCES}
    return dict(json.loads(json.dumps({**found, "sources": sources, "versions": versions})))


def _fields(arm: Scenario) -> dict[str, Any]:
    return {key: value for key, value in scenario_fields(arm).items() if key not in ("seed", "llm", "repetitions")}


def digest_sources(folder: Path) -> str:
    """Return a digest of the program files and texts below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in KINDS and path.is_file())
    return digest([(path.relative_to(folder).as_posix(), path.read_bytes().hex()) for path in files]).hex()


def first_difference(registered: Any, now: Any, where: str = "") -> str:
    """Return the name of the first value that differs, such as `prompts.first.debate`; empty if none does.

    >>> first_difference({"prompts": {"a": "1", "b": "2"}}, {"prompts": {"a": "1", "b": "3"}})
    'prompts.b'
    """
    if isinstance(registered, Mapping) and isinstance(now, Mapping):
        for key in sorted({*registered, *now}):
            inside = f"{where}.{key}" if where else str(key)
            if key not in registered or key not in now:
                return inside
            if found := first_difference(registered[key], now[key], inside):
                return found
        return ""
    return "" if type(registered) is type(now) and registered == now else where
