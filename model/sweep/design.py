"""The cells of a sweep (every combination of the varied fields, with every seed), and the label of its folder."""

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
from parley.model.files import UNWRITTEN, write_whole
from parley.model.model_shares import called_models
from parley.model.run_folder import LOCK, QUALIFIED, scenario_fields
from parley.model.scenario import Scenario, field_name
from parley.model.validation import check_scenario

LABEL, CELLS = "sweep.json", "cells"
LONGEST = 80
"""Number of characters of a combination's folder. A longer name is cut, and its digest is appended."""
MOST = 100_000
"""Largest number of seeds, and of cells, of one sweep. Each cell has a folder."""
NONE = "none"
Varied = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class SweepCell:
    """One run: a combination of values of the varied fields, and a seed. `agent_class`: as for DebateModel."""

    values: tuple[tuple[str, str], ...]
    combined: Scenario
    seed: int
    agent_class: AgentClass = None

    @property
    def scenario(self) -> Scenario:
        return self.combined.replace(seed=self.seed)

    @property
    def combination(self) -> str:
        """The name of the combination: `rounds=3,frame=debate`."""
        name = ",".join(f"{key}={value}" for key, value in self.values) or "all"
        safe = re.sub(r"[^\w=,.:+-]", "_", name)[:LONGEST]
        return safe if safe == name else f"{safe}-{digest(name).hex()[:8]}"

    @property
    def folder(self) -> str:
        """The run folder of the cell, in the folder of the sweep."""
        return f"{CELLS}/{self.combination}/seed-{self.seed}"


def parse_vary(pairs: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Read `["rounds=3,5", "topic=racism,abortion;gun_violence"]` as values by field, divided by commas or by semicolons.

    With semicolons an empty part is a value too, except at the end: `["interventions=;shock round=2 text=Rain."]` is without and
    with the shock. Errors: UserError on an entry that cannot be read, and on a field or a value that comes twice.
    """
    varied: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, text = split_pair(pair, f"--vary {pair}")
        key, values = field_name(name), _split_values(text)
        if not any(values):
            raise UserError(f"--vary {pair} does not have the form KEY=VALUE,VALUE. Example: --vary rounds=2,5")
        if key in varied or len(set(values)) < len(values):
            raise UserError(
                f"--vary {pair}: {'the field' if key in varied else 'a value'} is given twice: leave out one"
            )
        varied[key] = values
    return varied


def _split_values(text: str) -> tuple[str, ...]:
    if ";" not in text:
        return tuple([value.strip() for value in text.split(",") if value.strip()])
    parts = [value.strip() for value in text.split(";")]
    return tuple(parts if parts[-1] else parts[:-1])


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read seeds: `0:20` is 0 to 19, `3,5,8` is a list. Errors: UserError."""
    first, colon, end = text.partition(":")
    parts = [first, end] if colon else text.split(",")
    if not all(seed_text.strip().isdecimal() for seed_text in parts):
        raise UserError(f"--seeds {text}: write FIRST:END (0:20 is 0 to 19) or seeds between commas, as in 3,5,8")
    wanted = range(int(first), int(end)) if colon else [int(seed_text) for seed_text in parts]
    if (count := wanted.stop - wanted.start if isinstance(wanted, range) else len(wanted)) > MOST:
        raise UserError(f"--seeds {text} has {count:,} seeds, but a sweep can have at most {MOST:,}: give fewer seeds")
    seeds = tuple(wanted)
    if not seeds or len(set(seeds)) < len(seeds):
        raise UserError(
            f"--seeds {text}: "
            f"{'a seed is given twice' if seeds else 'this range has no seed: END must be larger than FIRST'}"
        )
    return seeds


def sweep_cells(
    base: Scenario, varied: Varied, seeds: Sequence[int], agent_class: AgentClass = None
) -> list[SweepCell]:
    """Return every combination with every seed. Seeds vary fastest, then the last field. Errors: UserError on a wrong value.

    base: the fields of all cells, which need not fit together before the varied ones are set.
    """
    if (count := math.prod(map(len, varied.values())) * len(seeds)) > MOST:
        raise UserError(
            f"a sweep of {count:,} cells is too large (maximum {MOST:,}): give fewer values with --vary, or fewer seeds"
        )
    combinations = [_combine(base, dict(zip(varied, chosen, strict=True))) for chosen in product(*varied.values())]
    counts = Counter(scenario.digest() for _, scenario in combinations)
    for values, scenario in combinations:
        if counts[scenario.digest()] > 1:
            raise UserError(
                f"--vary: {_settings_text(values)} gives the same run as another combination: leave out the repeated value"
            )
    cells = [SweepCell(values, scenario, seed, agent_class) for values, scenario in combinations for seed in seeds]
    if len({cell.folder for cell in cells}) < len(cells):
        raise UserError(
            "--vary: two values give the same run, because they name the same model and differ only in its address "
            "or limits: leave out one of the two"
        )
    return cells


def parse_part(text: str, count: int) -> range:
    """Read a part of a sweep of `count` cells, as the places of its cells. Together the parts have every cell once.

    Parts take turns, so that each has cells of every combination. Errors: UserError.

    >>> parse_part("2/3", 10), parse_part("1/1", 10)
    (range(1, 10, 3), range(0, 10))
    """
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise UserError(f"--part {text} does not have the form PART/PARTS. Example: 3/10 for the third of ten parts")
    if int(parts) > count:
        raise UserError(f"--part {text}: the sweep has {count:,} cells, so it can have at most {count:,} parts")
    return range(int(part) - 1, count, int(parts))


def _combine(base: Scenario, chosen: Mapping[str, str]) -> tuple[tuple[tuple[str, str], ...], Scenario]:
    """The names of the chosen values, and the scenario with these values."""
    settings: dict[str, Any] = dict(chosen)
    if "llms" in chosen:  # one PARTY=SPEC, whose options may have commas
        settings["llms"] = (chosen["llms"],) if chosen["llms"] else ()
    if not chosen:
        check_scenario(base)
    try:
        scenario = base.with_settings(settings)
        for spec in called_models(scenario):
            check_spec(spec)
    except UserError as error:
        raise UserError(f"--vary {_settings_text(tuple(chosen.items()))}: {error}") from error
    return tuple((key, _value_name(key, value)) for key, value in chosen.items()), scenario


def _value_name(key: str, value: str) -> str:
    """The name of a value: of a model what it is and not how it is reached; `none` for an empty value."""
    if not value:
        return NONE
    if key == "llms":
        party, _, spec = value.partition("=")
        return f"{party}={identity_spec(spec)}"
    return identity_spec(value) if key == "llm" else value


def _settings_text(values: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"{key}={value}" for key, value in values)


def check_sweep_manifest(folder: Path, cells: Sequence[SweepCell]) -> None:
    """Label a locked folder. An old one must hold the same sweep, with the same seeds or fewer. Errors: UserError."""
    check_sweep_folder(folder)
    label = folder / LABEL
    combinations = {cell.combination: cell for cell in cells}
    mine = {
        "combinations": {name: _digest(cell) for name, cell in combinations.items()},
        "seeds": sorted({cell.seed for cell in cells}),
    }
    if label.exists():
        theirs = _read(label)
        if set(theirs["combinations"]) != set(mine["combinations"]):
            raise UserError(f"{folder} already has a sweep over other fields or values: give another --out")
        if theirs["combinations"] != mine["combinations"]:
            raise UserError(
                f"{folder} already has a sweep of another scenario or with other settings: give another --out"
            )
        if not set(theirs["seeds"]) <= set(mine["seeds"]):
            raise UserError(
                f"{folder} already has a sweep with more seeds: give all of these seeds with --seeds, or "
                "give another --out"
            )
    write_whole(label, json.dumps(mine, indent=1) + "\n")


def check_sweep_folder(folder: Path) -> None:
    """Errors: UserError for a folder that holds something else than a sweep."""
    names = {path.name for path in folder.iterdir()}
    if LABEL not in names and names - {LOCK, f"{LABEL}{UNWRITTEN}", *QUALIFIED}:
        raise UserError(f"{folder} is not empty and is not the folder of a sweep: give another --out")


def _digest(cell: SweepCell) -> str:
    """The digest of a combination, the same for all seeds."""
    classes = class_names(cell.agent_class, cell.combined)
    class_fields = {AGENT_CLASS: classes} if classes else {}
    return digest(json.dumps({**scenario_fields(cell.combined), "seed": 0, **class_fields}, sort_keys=True)).hex()


def _read(label: Path) -> dict[str, Any]:
    try:
        contents = json.loads(label.read_text(encoding="utf-8"))
        return {"combinations": dict(contents["combinations"]), "seeds": list(contents["seeds"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read {label}: {error}") from error
