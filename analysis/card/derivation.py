"""The design of a card as a file, and the card made again from it and from the records of its conditions, without a model.

`audit.json` in the folder of a card says which sections, conditions and batches it is made of, and the same of its remedies. The
judge's scores and the interviews come out of the replies in their journals.
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

from parley.analysis.card import card, remedies
from parley.analysis.card.conditions import Batch
from parley.analysis.card.interviews import INTERVIEWS, VERDICTS, BatchInterviews, InterviewBench
from parley.analysis.card.protocol import Sections, card_estimates
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.remedies import Remedies, Remedy
from parley.analysis.card.sections import sections
from parley.analysis.qualify.kept import FILE as QUALIFIED
from parley.analysis.tables import load
from parley.llm.backends.replay import Replay
from parley.llm.errors import UserError
from parley.llm.journal import read_identity
from parley.model.files import JOURNAL
from parley.model.scenario import scenario_from_dict

DESIGN = "audit.json"
JOURNALS = {INTERVIEWS: JOURNAL, VERDICTS: "verdicts.sqlite"}
NAME = re.compile(r"\w[\w -]*")


def make_card(first: Batch, chosen: Sections, records: ConditionRecords, stopped: str) -> card.Card:
    """Return the card of what was run. stopped: why the audit stopped early ("": it did not)."""
    header = next(iter(records.records.values()))[0].header
    estimates = card_estimates(records, first, chosen)
    counted = card.blocks_of(records), card.calls_of(records)
    return card.Card(first, chosen, estimates, header, *counted, stopped, card.rounded(records), card.cautions(records))


def write_design(
    first: Batch, chosen: Sections, records: ConditionRecords, stopped: str, tried: Remedies | None = None
) -> Path:
    """Write audit.json into the folder of a card. tried: the remedies that were measured."""
    design = {
        "base": first.base.to_dict(),
        "judge": first.judge,
        "sections": list(chosen),
        "stopped": stopped,
        "people": records.people is not None,
        **_counted(records),
    }
    if tried:
        measured = [remedy._asdict() | _counted(remedy_records) for remedy, remedy_records in tried.measured]
        design["remedies"] = {"stopped": tried.stopped, "plain": _counted(tried.plain), "measured": measured}
    path = first.folder / DESIGN
    path.write_text(json.dumps(design, indent=1) + "\n", encoding="utf-8")
    return path


def begin_design(first: Batch, chosen: Sections) -> None:
    """Mark a new folder as that of an audit, before its first condition has ended."""
    if not (first.folder / DESIGN).exists():
        write_design(first, chosen, ConditionRecords(), "it has not ended")


def _counted(records: ConditionRecords) -> dict[str, dict[str, int]]:
    """Return how many batches each condition and each kind of question outside of debates has."""
    return {
        "conditions": {name: len(batches) for name, batches in records.records.items()},
        "outside": {kind: len(batches) for kind, batches in records.answers.items()},
    }


def read_design(folder: Path) -> dict[str, Any]:
    """Return audit.json. Errors: UserError where it is no design of a card."""
    try:
        design = json.loads((folder / DESIGN).read_text(encoding="utf-8"))
        all_known = all(_is_known(design_part) for _, design_part in _parts(folder, design))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{folder / DESIGN} is not the design of a bias card: {error!r}") from error
    if not all_known or not design["conditions"]:
        why = "a condition has an odd name or count" if design["conditions"] else "no condition of the audit has ended"
        raise UserError(f"{folder / DESIGN} is not the design of a bias card: {why}")
    return dict(design)


def _is_known(design_part: Mapping[str, Any]) -> bool:
    """Return whether all names and counts of a part of a design are possible ones."""
    counts = [*design_part["conditions"].items(), *design_part["outside"].items(), (design_part.get("name", "card"), 1)]
    return all(NAME.fullmatch(name) and 0 < int(count) < 1000 for name, count in counts)


def _parts(folder: Path, design: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the folder and the counts of the card, of what its remedies are compared with, and of each remedy."""
    yield folder, design
    if tried := design.get("remedies"):
        yield folder, tried["plain"]
        yield from ((folder / remedies.FOLDER / remedy["name"], remedy) for remedy in tried["measured"])


def condition_folders(folder: Path, design: Mapping[str, Any]) -> list[Path]:
    """Return the folders of the records of a card and of its remedies, batch by batch."""
    named_folders = (
        named_folder for place, design_part in _parts(folder, design) for named_folder in _folders(place, design_part)
    )
    return list(dict.fromkeys(path for _, path in named_folders))


def _folders(place: Path, design_part: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """Yield each condition of a part of a design with its folder, batch by batch."""
    for name, batches in design_part["conditions"].items():
        for number in range(1, int(batches) + 1):
            yield name, place / f"batch-{number}" / name.replace(" ", "-")


def derive_card(folder: Path, out: Path) -> Iterator[str]:
    """Make the card of a folder and the page of its remedies again in the folder `out`.

    Yield which answers outside of debates do not come out of replies. Errors: UserError where it takes a model.
    """
    design = read_design(folder)
    if design["people"]:
        raise UserError("the human data given with --data are not in the folder")
    if (folder / QUALIFIED).exists():  # the card begins with it
        shutil.copy(folder / QUALIFIED, out / QUALIFIED)
    chosen = sections(design["sections"])
    first = Batch(scenario_from_dict(design["base"], folder / DESIGN), out, judge=str(design["judge"]))
    records = ConditionRecords()
    yield from _derive_records(first, folder, design, records)
    card.write(make_card(first, chosen, records, str(design["stopped"])))
    if design.get("remedies"):
        yield from _derive_remedies(first, folder, design["remedies"], records)


def _derive_remedies(first: Batch, folder: Path, design: Mapping[str, Any], records: ConditionRecords) -> Iterator[str]:
    """Make the page of remedies again; yield the same as `derive_card`. records: of the card."""
    plain, measured = records, []
    if design["plain"] != _counted(records):
        plain = ConditionRecords()
        yield from _derive_records(first, folder, design["plain"], plain)
    for remedy_design in design["measured"]:
        remedy, records = (
            Remedy(remedy_design["name"], remedy_design["title"], remedy_design["settings"]),
            ConditionRecords(),
        )
        yield from _derive_records(remedy.batch(first), folder / remedies.FOLDER / remedy.name, remedy_design, records)
        measured.append((remedy, records))
    remedies.write(first, Remedies(plain, measured, str(design["stopped"])))


def _derive_records(first: Batch, place: Path, design: Mapping[str, Any], records: ConditionRecords) -> Iterator[str]:
    """Add the records and the answers outside of debates of a part of a design; yield the same as `derive_card`."""
    for name, path in _folders(place, design):
        records.add(name, load(path))
    for kind, batches in design["outside"].items():
        for number in range(1, int(batches) + 1):
            batch = replace(first, number=number)
            step = BatchInterviews(kind, batch, records.tables["three"][number - 1])
            yield from _derive_answers(step, place / f"batch-{number}", records)


def _derive_answers(step: BatchInterviews, place: Path, records: ConditionRecords) -> Iterator[str]:
    """Add the answers of a kind from the replies in its journal; yield the file whose content they are not."""
    kept, journal = place / step.condition, place / step.condition / JOURNALS[step.condition]
    step.folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(journal, step.folder / journal.name)
    answers = step.run(InterviewBench(_opener(step, place, journal), lambda title, total: nullcontext(_ignore)))
    records.add_answers(step.condition, answers)
    for path in sorted([*step.folder.glob("*.csv"), *step.folder.glob("*.parquet")]):
        if not is_same(kept / path.name, path):
            yield f"{step.batch.place.name}/{step.condition}/{path.name}"


def is_same(file: Path, other: Path) -> bool:
    """Return whether a file is there with the same bytes, or the same table in other bytes (Parquet)."""
    if not file.exists() or file.read_bytes() == other.read_bytes():
        return file.exists()
    try:
        return file.suffix == ".parquet" and bool(pd.read_parquet(file).equals(pd.read_parquet(other)))
    except (OSError, ValueError):  # no Parquet at all
        return False


def _opener(step: BatchInterviews, place: Path, journal: Path) -> Callable[[str], Replay]:
    """Return what opens a recording: the audited model has the identity of its debates, the judge that of the journal."""

    def opened(spec: str) -> Replay:
        is_audited = spec == step.batch.scenario.models.llm
        return Replay(journal, read_identity(place / "three" / JOURNAL) if is_audited else None)

    return opened


def _ignore(steps: int) -> None:
    """Show no progress."""


def card_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder that come out of its records, by name: the card, its tables and its figures."""
    return {
        path.name: path for path in folder.glob("*.*") if path.stem in ("card", "dials", "remedies") and path.is_file()
    }
