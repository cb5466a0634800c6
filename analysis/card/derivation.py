"""The design of a card as a file, and the card made again from it and from the records of its conditions, without a model.

`audit.json` in the folder of a card says which sections, conditions and batches it is made of. The judge's scores and the
interviews come out of the replies in their journals.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.card import card
from parley.analysis.card.conditions import Batch
from parley.analysis.card.interviews import INTERVIEWS, VERDICTS, BatchInterviews, InterviewBench
from parley.analysis.card.protocol import Sections, card_estimates
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import sections
from parley.analysis.tables import load
from parley.llm.backends.replay import Replay
from parley.llm.errors import UserError
from parley.llm.journal import read_identity
from parley.model.scenario import scenario_from_dict
from parley.model.scenario_run import JOURNAL

DESIGN = "audit.json"
JOURNALS = {INTERVIEWS: JOURNAL, VERDICTS: "verdicts.sqlite"}
NAME = re.compile(r"\w[\w -]*")


def make_card(first: Batch, chosen: Sections, records: ConditionRecords, stopped: str) -> card.Card:
    """Return the card of what was run. stopped: why the audit stopped early ("": it did not)."""
    header = next(iter(records.records.values()))[0].header
    estimates = card_estimates(records, first, chosen)
    counted = card.blocks_of(records), card.calls_of(records)
    return card.Card(first, chosen, estimates, header, *counted, stopped, card.rounded(records))


def write_design(first: Batch, chosen: Sections, records: ConditionRecords, stopped: str) -> Path:
    """Write audit.json into the folder of a card."""
    design = {
        "base": first.base.to_dict(),
        "judge": first.judge,
        "sections": list(chosen),
        "stopped": stopped,
        "people": records.people is not None,
        "conditions": {name: len(batches) for name, batches in records.records.items()},
        "outside": {kind: len(batches) for kind, batches in records.answers.items()},
    }
    path = first.folder / DESIGN
    path.write_text(json.dumps(design, indent=1) + "\n", encoding="utf-8")
    return path


def read_design(folder: Path) -> dict[str, Any]:
    """Return audit.json. Errors: UserError where it is no design of a card."""
    try:
        design = json.loads((folder / DESIGN).read_text(encoding="utf-8"))
        names = [*design["conditions"], *design["outside"]]
        counts = [*design["conditions"].values(), *design["outside"].values()]
        known = all(NAME.fullmatch(name) for name in names) and all(0 < int(count) < 1000 for count in counts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{folder / DESIGN} is no design of a card: {error!r}") from error
    if not known or not design["conditions"]:
        raise UserError(f"{folder / DESIGN} is no design of a card: a condition has an odd name or count")
    return dict(design)


def condition_folders(folder: Path, design: Mapping[str, Any]) -> list[Path]:
    """Return the folders of the records of a card, batch by batch."""
    return [
        folder / f"batch-{number}" / name.replace(" ", "-")
        for name, batches in design["conditions"].items()
        for number in range(1, int(batches) + 1)
    ]


def derive_card(folder: Path, out: Path) -> Iterator[str]:
    """Make the card of a folder again in the folder `out`; yield which answers outside of debates do not come out of replies.

    Errors: UserError where it cannot be made without a model.
    """
    design = read_design(folder)
    if design["people"]:
        raise UserError("the human data of --data are not in the folder")
    chosen = sections(design["sections"])
    first = Batch(scenario_from_dict(design["base"]), out, judge=str(design["judge"]))
    records = ConditionRecords()
    for name, batches in design["conditions"].items():
        for number in range(1, int(batches) + 1):
            records.add(name, load(folder / f"batch-{number}" / name.replace(" ", "-")))
    for kind, batches in design["outside"].items():
        for number in range(1, int(batches) + 1):
            batch = replace(first, number=number)
            step = BatchInterviews(kind, batch, records.tables["three"][number - 1])
            yield from _derive_answers(step, folder / f"batch-{number}", records)
    card.write(make_card(first, chosen, records, str(design["stopped"])))


def _derive_answers(step: BatchInterviews, place: Path, records: ConditionRecords) -> Iterator[str]:
    """Add the answers of a kind from the replies in its journal; yield the file whose content they are not."""
    kept, journal = place / step.condition, place / step.condition / JOURNALS[step.condition]
    step.folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(journal, step.folder / journal.name)
    answers = step.run(InterviewBench(_opener(step, place, journal), lambda title, total: nullcontext(_ignore)))
    records.add_answers(step.condition, answers)
    for path in sorted([*step.folder.glob("*.csv"), *step.folder.glob("*.parquet")]):
        if not _is_same(kept / path.name, path):
            yield f"{step.batch.place.name}/{step.condition}/{path.name}"


def _is_same(one: Path, other: Path) -> bool:
    """Return whether a file is there with the same bytes, or the same table."""
    if not one.exists() or one.read_bytes() == other.read_bytes():
        return one.exists()
    try:
        return one.suffix == ".parquet" and bool(pd.read_parquet(one).equals(pd.read_parquet(other)))
    except (OSError, ValueError):  # no Parquet at all
        return False


def _opener(step: BatchInterviews, place: Path, journal: Path) -> Callable[[str], Replay]:
    """Return what opens a recording: the audited model has the identity of its debates, the judge that of the journal."""

    def opened(spec: str) -> Replay:
        own = spec == step.batch.scenario.models.llm
        return Replay(journal, read_identity(place / "three" / JOURNAL) if own else None)

    return opened


def _ignore(steps: int) -> None:
    """Show no progress."""


def card_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder that come out of its records, by name: the card, its tables and its figures."""
    return {path.name: path for path in folder.glob("*.*") if path.stem in ("card", "dials") and path.is_file()}
