"""The design of a claim as a file, and its report made again from it and from the records of its runs, without a model.

`claim.json` in the folder of a claim has the claim, the numbers of specifications and of groups of people, and the seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from parley.analysis.bundles.studies import StudyFolder
from parley.analysis.outcomes import RoomMeasure
from parley.llm.errors import UserError
from parley.llm.trust import refuse_named
from parley.model.run_folder import LOCK
from parley.model.sweep.design import LABEL
from parley.studies.claims.audit import audit_claim
from parley.studies.claims.claim import build_claim
from parley.studies.claims.multiverse import Multiverse
from parley.studies.claims.report import write_claim

DESIGN = "claim.json"
NUMBERS = ("specifications", "repetitions", "seed")
MOST = 10_000
"""Specifications, and groups of people, that a design has at most."""


def write_design(multiverse: Multiverse, folder: Path) -> Path:
    """Write claim.json into the folder of a claim; return its path."""
    numbers = multiverse.size, multiverse.repetitions, multiverse.seed
    design = {"claim": asdict(multiverse.claim), **dict(zip(NUMBERS, numbers, strict=True))}
    path = folder / DESIGN
    path.write_text(json.dumps(design, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read_values(folder: Path) -> dict[str, Any]:
    """Return claim.json as it is written; nothing of it is loaded. Errors: UserError where it is no design of a claim."""
    try:
        design = json.loads((folder / DESIGN).read_text(encoding="utf-8"))
        size, repetitions, seed = (design[name] for name in NUMBERS)
        fits = isinstance(design["claim"], dict) and all(type(number) is int for number in (size, repetitions, seed))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{folder / DESIGN} is not the design of a claim: {error!r}") from error
    if not fits or not (0 < size <= MOST and 0 < repetitions <= MOST and seed >= 0):
        raise UserError(f"{folder / DESIGN} is not the design of a claim: a number or the claim is not possible")
    return dict(design)


def read_design(folder: Path) -> Multiverse:
    """Return the specifications of claim.json. Errors: UserError."""
    values = read_values(folder)
    refuse_named(values, folder / DESIGN, servers=False)
    return Multiverse(build_claim(values["claim"], DESIGN), *(values[name] for name in NUMBERS))


def record_folders(folder: Path, multiverse: Multiverse | None = None) -> list[Path]:
    """Return the run folders of both arms of each specification, in the order of its cells. multiverse: of `read_design`."""
    return [folder / cell.folder for cell in (multiverse or read_design(folder)).cells()]


def derive_claim(folder: Path, out: Path) -> Iterator[str]:
    """Make the report of a folder again in the folder `out`. Yields nothing: all of it comes out of the records."""
    multiverse = read_design(folder)
    measure = RoomMeasure(multiverse.claim.measure)
    rooms = {place: measure(path) for place, path in enumerate(record_folders(folder, multiverse))}
    write_claim(audit_claim(multiverse, multiverse.differences(rooms)), out, checked=folder)
    yield from ()


def claim_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder that come out of its records, by name: the pages, the tables and the figure."""
    return {path.name: path for path in folder.glob("*.*") if path.is_file() and path.name not in (DESIGN, LABEL, LOCK)}


FOLDER = StudyFolder(
    DESIGN,
    "claim",
    read_values,
    lambda folder: f"Claim: {read_values(folder)['claim']['claim']}",
    record_folders,
    lambda folder: False,  # a claim has a report only if all its runs are finished
    derive_claim,
    claim_files,
)
