"""A registered plan: one file in canonical form, with a hash over all of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.llm.trust import refuse_named
from parley.model.run_folder import make_header, scenario_fields
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, open_models
from parley.studies.claims.claim import Claim, build_claim
from parley.studies.claims.curve import ALPHA, FEWEST_UNITS
from parley.studies.claims.multiverse import ARMS

ROOT = Path(__file__).parents[2]
SOURCES = ("agents", "analysis", "environments", "llm", "model", "studies")
KINDS = (".py", ".toml", ".txt")


def freeze(claim: Claim, models: Sequence[str]) -> dict[str, Any]:
    """Return what the plan rests on, as plain values: scenarios, prompts, data, models, sources, versions.

    scenarios: the fields of each arm, without seed and model. prompts: the digest of each prompt, by arm. models: the identity of
    each model (of local ones with the digest of their weights or sources). sources: a digest of each folder of Parley.
    """
    frozen: dict[str, Any] = {key: {} for key in ("scenarios", "prompts", "data", "models")}
    for spec in models:
        for name, arm in zip(ARMS, claim.arms({**claim.base_settings(), "llm": spec}), strict=True):
            backend = open_models(RunSpec(arm, Path()))
            header = make_header(arm, (), backend)
            frozen["scenarios"][name] = _fields(arm)
            frozen["prompts"][name] = header.prompts
            frozen["data"][name] = header.data
            frozen["models"][spec] = header.model
            versions = header.versions
    sources = {folder: digest_sources(ROOT / folder) for folder in SOURCES}
    return dict(json.loads(json.dumps({**frozen, "sources": sources, "versions": versions})))


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
            if difference := first_difference(registered[key], now[key], inside):
                return difference
        return ""
    return "" if type(registered) is type(now) and registered == now else where


FORM = "parley-registration-1"
UNIT = "seed: people and chance are drawn again; the mean over topics"
KEYS = ("claim", "exclusions", "form", "frozen", "registered", "seed", "stopping", "unit")
SECTIONS: Mapping[str, tuple[str, ...]] = {"exclusions": ("missing_topics",), "stopping": ("level", "looks")}
"""The keys inside of these parts of a plan."""
CASTS = ("circle", "fresh", "drawn")
"""Rules of casting that draw people again under each seed."""


@dataclass(frozen=True)
class Registration:
    """A plan. looks: the number of units at each look, the last one is n. level: of the test at each look, for each model.

    missing: a unit is left out if more than this share of its topics has no number. registered: date and time (UTC).
    """

    claim: Claim
    looks: tuple[int, ...]
    level: float
    missing: float
    seed: int
    registered: datetime
    frozen: Mapping[str, Any]
    code: str

    @property
    def models(self) -> tuple[str, ...]:
        """The eligible models."""
        return self.claim.population.models


def corrected_level(looks: int, models: int) -> float:
    """Return the level of each test, so that all looks and models together are wrong in 5% at most (Bonferroni).

    >>> round(corrected_level(2, 1), 3)
    0.025
    """
    return ALPHA / (looks * models)


def register(claim: Claim, looks: tuple[int, ...], missing: float, seed: int, registered: datetime) -> str:
    """Return the text of a registration. Errors: UserError for a plan that cannot be tested."""
    if not _increase(looks):
        raise UserError(f"--units {','.join(map(str, looks))}: give {FEWEST_UNITS} or more, in increasing order: 10,20")
    for key in ("personas", "societies"):
        if len(getattr(claim.population, key)) > 1:
            raise UserError(f"a registered test has only one design: name one of the {key} in [population]")
    for arm in claim.arms(claim.base_settings()):
        if arm.people.cast not in CASTS:
            raise UserError(f"cast={arm.people.cast} seats the same people under every seed: use {', '.join(CASTS)}")
    plan = {
        "claim": asdict(claim),
        "exclusions": {"missing_topics": missing},
        "form": FORM,
        "frozen": freeze(claim, claim.population.models),
        "registered": registered.isoformat(timespec="seconds"),
        "seed": seed,
        "stopping": {"level": corrected_level(len(looks), len(claim.population.models)), "looks": list(looks)},
        "unit": UNIT,
    }
    return canonical({**plan, "hash": hash_plan(plan)})


def _increase(looks: Sequence[int]) -> bool:
    """Return whether looks can be tested: enough units, in increasing order."""
    return bool(looks) and looks[0] >= FEWEST_UNITS and list(looks) == sorted(set(looks))


def canonical(plan: Mapping[str, Any]) -> str:
    """Return the one text that a plan has: JSON with sorted keys."""
    return json.dumps(plan, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def hash_plan(plan: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a plan without its hash."""
    return hashlib.sha256(canonical({key: plan[key] for key in plan if key != "hash"}).encode()).hexdigest()


def read_registration(path: Path) -> Registration:
    """Read a registration and check that it is as it was registered, and that all it froze is the same now.

    Errors: UserError, one line that names what differs.
    """
    try:
        text = path.read_text(encoding="utf-8")
        plan = json.loads(text)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    if not isinstance(plan, dict) or plan.get("form") != FORM:
        raise UserError(f"{path} is not a registration: write one with python run.py study register CLAIM --units N")
    if set(plan) != {*KEYS, "hash"}:
        raise UserError(f"{path} was changed: its keys differ ({', '.join(sorted(set(plan) ^ {*KEYS, 'hash'}))})")
    if hash_plan(plan) != plan["hash"] or canonical(plan) != text:
        raise UserError(f"{path} was changed after it was registered: its hash or its form differs")
    refuse_named(plan["claim"], path)
    registration = _build(plan, path.name)
    if where := first_difference(plan["frozen"], freeze(registration.claim, registration.models)):
        raise UserError(f"{path.name}: {where} is not as registered: restore it, or register a new plan")
    return registration


def _build(plan: Mapping[str, Any], where: str) -> Registration:
    """Errors: UserError for keys and values that no registration has."""
    for section, keys in SECTIONS.items():
        section_plan = plan[section] if isinstance(plan[section], dict) else {}
        if set(section_plan) != set(keys):
            raise UserError(f"{where} was changed: {section} must have exactly the keys {', '.join(sorted(keys))}")
    try:
        looks, level = tuple(plan["stopping"]["looks"]), float(plan["stopping"]["level"])
        date, missing = datetime.fromisoformat(plan["registered"]), float(plan["exclusions"]["missing_topics"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{where} was changed: {error} in stopping, registered or exclusions") from error
    claim = build_claim(plan["claim"], where)
    whole = all(type(number) is int for number in (*looks, plan["seed"]))
    fits = whole and _increase(looks) and level == corrected_level(len(looks), len(claim.population.models))
    if plan["unit"] != UNIT or not fits or not 0 <= missing <= 1:
        raise UserError(f"{where} was changed: unit, looks, level, seed and exclusions do not fit together")
    return Registration(claim, looks, level, missing, plan["seed"], date, plan["frozen"], str(plan["hash"]))
