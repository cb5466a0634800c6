"""A card and its files: card.html for people, card.json for programs (docs/card.md), card.csv for tables, card.png and .svg."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from parley.analysis import disclaimers
from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import COLUMNS, CardEstimate, estimate_table
from parley.analysis.card.figure import forest_plot
from parley.analysis.card.page import page
from parley.analysis.card.records import ConditionRecords
from parley.analysis.report import Report
from parley.llm.errors import UserError
from parley.model.events import Header
from parley.model.scenario import Scenario

SCHEMA = "parley-card-3"


@dataclass(frozen=True)
class Card:
    """What is written.

    stopped: why the card is incomplete ("": it is not). rounded: whether ratings are whole numbers, because the model gives no
    answer probabilities.
    """

    first: Batch
    sections: Mapping[str, ModuleType]
    claims: Sequence[CardEstimate]
    header: Header
    blocks: Mapping[str, int]
    calls: int
    stopped: str = ""
    rounded: bool = False

    @property
    def sentences(self) -> list[str]:
        """The sentences of "In short": at most five."""
        return self._collect("sentences")

    @property
    def warnings(self) -> list[str]:
        """The warnings before "In short": why something on the page must not be used."""
        return self._collect("warnings")

    def _collect(self, name: str) -> list[str]:
        functions = [getattr(section, name) for section in self.sections.values() if hasattr(section, name)]
        return [sentence for function in functions for sentence in function(self.claims, self.first)]

    def to_dict(self) -> dict[str, Any]:
        """card.json: plain values; null where a number is missing."""
        base = self.first.base
        return {
            "schema": SCHEMA,
            "model": disclaimers.model_label(self.header),
            "note": disclaimers.short_disclaimer(self.header),
            "battery": battery(base),
            "manner": manner(base) | {"judge": self.first.judge or "none"},
            "blocks": dict(self.blocks),
            "calls": self.calls,
            "stopped": self.stopped,
            "rounded": self.rounded,
            "revision": self.header.revision,
            "versions": dict(self.header.versions),
            "warnings": [warning.replace("**", "") for warning in self.warnings],
            "sentences": [sentence.replace("**", "") for sentence in self.sentences],
            "quantities": {
                name: {"section": section.TITLE, **quantity._asdict()}
                for section in self.sections.values()
                for name, quantity in section.QUANTITIES.items()
            },
            "claims": [{name: _plain(getattr(claim, name)) for name in (*COLUMNS, "values")} for claim in self.claims],
        }


def battery(base: Scenario) -> dict[str, Any]:
    """What two cards must share before their difference means anything."""
    return {
        "topics": list(base.subject.topics),
        "rounds": base.rounds,
        "probe": base.surveys.probe,
        "blocks": base.repetitions,
        "seed": base.seed,
    }


def manner(base: Scenario) -> dict[str, Any]:
    """All other settings; a remedy is a card in which one of them differs."""
    fixed = {"name", "title", "source", "repetitions", "environment", "options", "llm", "survey", "interventions"}
    return {name: value for name, value in base.to_dict().items() if name not in fixed | battery(base).keys()}


def blocks_of(held: ConditionRecords) -> dict[str, int]:
    """The number of blocks of each condition."""
    return {
        name: sum(tables.header.scenario["repetitions"] for tables in records) for name, records in held.records.items()
    }


def rounded(held: ConditionRecords) -> bool:
    """Whether single ratings are used in debates because the model gives no answer probabilities."""
    return any((held.ratings(name)["how"] == "attitude").any() for name in ("three", "two", "same") if name in held)


def calls_of(held: ConditionRecords) -> int:
    """The number of calls in the records, including lines of scripted partners."""
    return sum(len(tables.calls) for records in held.records.values() for tables in records)


def write(card: Card) -> Path:
    """Write the files into the folder of the card; return the path of card.html. Errors: UserError."""
    folder = card.first.folder
    try:
        report = Report(folder, "card")
        report.data(card=estimate_table(card.claims))
        (folder / "card.json").write_text(
            json.dumps(card.to_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8"
        )
        report.figure(
            forest_plot(card.claims, card.first.base.subject.topics, disclaimers.model_label(card.header)),
            "card",
            "The card",
        )
        path = folder / "card.html"
        path.write_text(page(card), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the card into {folder}: {error.strerror}") from error
    return path


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
