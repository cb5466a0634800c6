"""What is held in which order, and until when: a study that yields conditions and takes their records."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from parley.analysis.card import records
from parley.analysis.card.conditions import LINES, Batch
from parley.analysis.card.estimates import CardEstimate
from parley.analysis.card.interviews import BatchInterviews
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import SPAN
from parley.model.scenario import Scenario

Sections = Mapping[str, ModuleType]


class ProtocolStep(NamedTuple):
    """A condition to hold, and where."""

    condition: str
    scenario: Scenario
    folder: Path


def run_protocol(
    first: Batch, sections: Sections, batches: int = 1, tight: float | None = None
) -> Generator[ProtocolStep | BatchInterviews, Any, ConditionRecords]:
    """Yields condition after condition of batch after batch, is sent their tables, returns what was held.

    Where there is a judge, what is asked outside of debates comes last in a batch, and its answers are sent (a data frame).

    After each batch a section whose watched intervals are tight is done (see `tight_enough`); the others are held again, with
    other people, `batches` times at most. Stopping goes by width alone, never by what an estimate is or whether it differs from
    0.
    """
    held, going = ConditionRecords(), dict(sections)
    for number in range(1, batches + 1):
        batch = replace(first, number=number)
        for step in protocol_steps(batch, going):
            tables = yield step
            held.add(step.condition, tables)
            if step.condition == "three":
                records.write_yoked_lines(tables, step.folder / LINES)
        for kind in step_interviews(batch, going):
            held.hear(kind, (yield BatchInterviews(kind, batch, held.records["three"][-1])))
        going = {
            name: section
            for name, section in going.items()
            if tight is None or not tight_enough(section, held, first, tight)
        }
        if not going:
            break
    return held


def protocol_steps(batch: Batch, sections: Sections) -> list[ProtocolStep]:
    """The conditions that the sections want of a batch, each once."""
    wanted = {
        name: scenario
        for section in sections.values()
        for need in section.NEEDS
        for name, scenario in need(batch).items()
    }
    return [ProtocolStep(name, scenario, batch.place / name.replace(" ", "-")) for name, scenario in wanted.items()]


def step_interviews(batch: Batch, sections: Sections) -> list[str]:
    """The kinds of question that the sections want put outside of debates, each once; none without a judge."""
    wanted = [kind for section in sections.values() for kind in getattr(section, "OUTSIDE", ())]
    return list(dict.fromkeys(wanted)) if batch.judge else []


def tight_enough(section: ModuleType, held: ConditionRecords, first: Batch, tight: float) -> bool:
    """Whether half of every watched interval is at most `tight` of the range of its measure (10 points, a whole share); a section
    that watches none is done after a batch.
    """
    if not section.WATCH:
        return True
    watched = [claim for claim in section.claims(held, first.base) if claim.quantity in section.WATCH]
    spans = [SPAN[section.QUANTITIES[claim.quantity].measure] for claim in watched]
    return bool(watched) and all(claim.width <= tight * span for claim, span in zip(watched, spans, strict=True))


def card_estimates(held: ConditionRecords, first: Batch, sections: Sections) -> list[CardEstimate]:
    """The claims of all sections; of one whose first conditions were not held, that it was not."""
    found: list[CardEstimate] = []
    for name, section in sections.items():
        missing = [one for one in section.NEEDS[0](first) if one not in held]
        found += section.claims(held, first.base) if not missing else _not_held(name, section)
    return found


def _not_held(name: str, section: ModuleType) -> Sequence[CardEstimate]:
    return [CardEstimate(name, quantity, "all", reason="not held") for quantity in section.QUANTITIES]
