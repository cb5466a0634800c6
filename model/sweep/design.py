"""What cells a sweep has: the full factorial of the varied fields by the seeds; and which sweep a folder holds."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from parley.llm.backends import check_spec, identity_spec
from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.llm.spec import split_pair
from parley.model.agent_factory import AgentClass
from parley.model.custom import AGENT_CLASS, class_names
from parley.model.run_folder import LOCK, scenario_fields
from parley.model.scenario import Scenario, field_name

LABEL, CELLS = "sweep.json", "cells"
LONGEST = 80
"""Characters of a combination's folder; a longer name is cut and ends with its digest."""
MOST = 100_000
"""Seeds, and cells, of one sweep: a folder each."""
NONE = "none"
Varied = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class SweepCell:
    """One run: a combination of values of the varied fields, by their names, and a seed. `agent_class`: as for DebateModel."""

    values: tuple[tuple[str, str], ...]
    combined: Scenario
    seed: int
    agent_class: AgentClass = None

    @property
    def scenario(self) -> Scenario:
        return self.combined.replace(seed=self.seed)

    @property
    def combination(self) -> str:
        """The name of its combination: `rounds=3,frame=debate`."""
        name = ",".join(f"{key}={value}" for key, value in self.values) or "all"
        safe = re.sub(r"[^\w=,.:+-]", "_", name)[:LONGEST]
        return safe if safe == name else f"{safe}-{digest(name).hex()[:8]}"

    @property
    def folder(self) -> str:
        """Its run folder within that of the sweep."""
        return f"{CELLS}/{self.combination}/seed-{self.seed}"


def parse_vary(pairs: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """`["rounds=3,5", "topics=racism,abortion;gun_violence"]` as values by field; where there is a `;` it alone divides,
    an empty part is a value too, and one at the end is none: `["interventions=;shock round=2 text=Rain."]` is without and with.

    Errors: UserError on what cannot be read, and on a field or a value that comes twice.
    """
    varied: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, text = split_pair(pair, f"--vary {pair}")
        key, values = field_name(name), _divided(text)
        if not any(values):
            raise UserError(f"--vary {pair}: write it as key=value,value or key=value;value")
        if key in varied or len(set(values)) < len(values):
            raise UserError(f"--vary {pair}: {'the field' if key in varied else 'a value'} comes twice")
        varied[key] = values
    return varied


def _divided(text: str) -> tuple[str, ...]:
    if ";" not in text:
        return tuple([part.strip() for part in text.split(",") if part.strip()])
    parts = [part.strip() for part in text.split(";")]
    return tuple(parts if parts[-1] else parts[:-1])


def parse_seeds(text: str) -> tuple[int, ...]:
    """`0:20` is 0 to 19, `3,5,8` are these. Errors: UserError."""
    first, colon, end = text.partition(":")
    parts = [first, end] if colon else text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise UserError(f"--seeds {text}: write FIRST:END (0:20 is 0 to 19) or seeds with commas")
    wanted = range(int(first), int(end)) if colon else [int(part) for part in parts]
    if (count := wanted.stop - wanted.start if isinstance(wanted, range) else len(wanted)) > MOST:
        raise UserError(f"--seeds {text}: {count:,} seeds are too many for one sweep; give {MOST:,} at most")
    seeds = tuple(wanted)
    if not seeds or len(set(seeds)) < len(seeds):
        raise UserError(f"--seeds {text}: {'a seed comes twice' if seeds else 'there is no seed in it'}")
    return seeds


def sweep_cells(
    base: Scenario, varied: Varied, seeds: Sequence[int], agent_class: AgentClass = None
) -> list[SweepCell]:
    """Every combination by every seed; the last field varies fastest, seeds within. Errors: UserError on one that cannot be."""
    if (count := math.prod(map(len, varied.values())) * len(seeds)) > MOST:
        raise UserError(f"a sweep of {count:,} cells is too large: vary less, or fewer seeds; {MOST:,} cells at most")
    found = [_combined(base, dict(zip(varied, chosen, strict=True))) for chosen in product(*varied.values())]
    alike = Counter(scenario.digest() for _, scenario in found)
    for values, scenario in found:
        if alike[scenario.digest()] > 1:
            raise UserError(f"--vary: {_settings_text(values)} is the same run as another combination")
    made = [SweepCell(values, scenario, seed, agent_class) for values, scenario in found for seed in seeds]
    if len({cell.folder for cell in made}) < len(made):
        raise UserError(
            "--vary: two values differ only in how a model is asked (its address, its limits), not in the model"
        )
    return made


def _combined(base: Scenario, chosen: Mapping[str, str]) -> tuple[tuple[tuple[str, str], ...], Scenario]:
    """The names of the values and the scenario with them."""
    settings: dict[str, Any] = dict(chosen)
    if "llms" in chosen:  # one PARTY=SPEC, whose options may have commas
        settings["llms"] = (chosen["llms"],) if chosen["llms"] else ()
    try:
        scenario = base.with_settings(settings)
        for spec in (scenario.models.llm, *scenario.llm_by_party.values()):
            check_spec(spec)
    except UserError as error:
        raise UserError(f"--vary {_settings_text(tuple(chosen.items()))}: {error}") from error
    return tuple((key, _named(key, value)) for key, value in chosen.items()), scenario


def _named(key: str, value: str) -> str:
    """A model is called by what it is, not by how it is asked; an empty value none."""
    if not value:
        return NONE
    if key == "llms":
        party, _, spec = value.partition("=")
        return f"{party}={identity_spec(spec)}"
    return identity_spec(value) if key == "llm" else value


def _settings_text(values: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"{key}={value}" for key, value in values)


def check_sweep_manifest(folder: Path, made: Sequence[SweepCell]) -> None:
    """Label a folder, which is locked; in an old one the sweep must be the same, but may have more seeds. Errors: UserError."""
    label, mine = folder / LABEL, _contents(made)
    temporary = label.with_suffix(".tmp")
    if label.exists():
        theirs = _read(label)
        if set(theirs["combinations"]) != set(mine["combinations"]):
            raise UserError(f"{folder} holds a sweep over other fields or values; give another --out")
        if theirs["combinations"] != mine["combinations"]:
            raise UserError(f"{folder} holds a sweep of another scenario or with other settings; give another --out")
        if not set(theirs["seeds"]) <= set(mine["seeds"]):
            raise UserError(
                f"{folder} holds a sweep with seeds that are not among these: give them too, or another --out"
            )
    elif {path.name for path in folder.iterdir()} - {LOCK, temporary.name}:
        raise UserError(f"{folder} is not empty and holds no sweep; give another --out")
    try:
        temporary.write_text(json.dumps(mine, indent=1) + "\n", encoding="utf-8")
        temporary.replace(label)
    except OSError as error:
        raise UserError(f"cannot write {label}: {error.strerror}") from error


def _contents(made: Sequence[SweepCell]) -> dict[str, Any]:
    """Digests of the combinations by name, and the seeds."""
    combinations = {cell.combination: cell for cell in made}
    digests = {name: _digest(cell) for name, cell in combinations.items()}
    return {"combinations": digests, "seeds": sorted({cell.seed for cell in made})}


def _digest(cell: SweepCell) -> str:
    """The digest of a combination, whatever the seed."""
    classes = class_names(cell.agent_class, cell.combined)
    own = {AGENT_CLASS: classes} if classes else {}
    return digest(json.dumps({**scenario_fields(cell.combined), "seed": 0, **own}, sort_keys=True)).hex()


def _read(label: Path) -> dict[str, Any]:
    try:
        found = json.loads(label.read_text(encoding="utf-8"))
        return {"combinations": dict(found["combinations"]), "seeds": list(found["seeds"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read {label}: {error}") from error
