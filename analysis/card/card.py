"""The files of a card: card.html for people, card.json for programs (docs/card.md), card.csv for tables, card.png and .svg."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from parley.analysis import disclaimers
from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import CardEstimate, estimate_table
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
    """What there is to write. `stopped` says why it is not whole; `rounded`: whether ratings are whole numbers, since the
    model does not tell how likely it finds each answer.
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
        """What a reader who knows none of this has to know first: five at most."""
        return self._all("sentences")

    @property
    def warnings(self) -> list[str]:
        """What has to be known before that: why something on the page is not to be used."""
        return self._all("warnings")

    def _all(self, name: str) -> list[str]:
        telling = [getattr(section, name) for section in self.sections.values() if hasattr(section, name)]
        return [sentence for tell in telling for sentence in tell(self.claims, self.first)]

    def to_dict(self) -> dict[str, Any]:
        """card.json: plain values, null where there is no number."""
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
                name: {"section": section.TITLE, "title": told.title, "measure": told.measure, "unit": told.unit}
                for section in self.sections.values()
                for name, told in section.QUANTITIES.items()
            },
            "claims": [{name: _plain(value) for name, value in asdict(claim).items()} for claim in self.claims],
        }


def battery(base: Scenario) -> dict[str, Any]:
    """What has to be alike for the numbers of two cards to be of the same thing."""
    return {
        "topics": list(base.subject.topics),
        "rounds": base.rounds,
        "probe": base.surveys.probe,
        "blocks": base.repetitions,
        "seed": base.seed,
    }


def manner(base: Scenario) -> dict[str, Any]:
    """Everything else that is set and may make a difference: a remedy is a card with something else here."""
    told = base.to_dict()
    left = {
        *battery(base),
        "name",
        "title",
        "source",
        "repetitions",
        "environment",
        "options",
        "llm",
        "survey",
        "interventions",
    }
    return {name: value for name, value in told.items() if name not in left}


def blocks_of(held: ConditionRecords) -> dict[str, int]:
    """How many blocks each condition was held with."""
    return {name: sum(one.header.scenario["repetitions"] for one in found) for name, found in held.records.items()}


def rounded(held: ConditionRecords) -> bool:
    """Whether ratings of debates stand in for distributions that the model does not tell."""
    return any((held.ratings(name)["how"] == "attitude").any() for name in ("three", "two", "same") if name in held)


def calls_of(held: ConditionRecords) -> int:
    """Questions and lines in the records, those of partners who are no model too."""
    return sum(len(one.calls) for found in held.records.values() for one in found)


def write(card: Card) -> Path:
    """Write the files into the folder of the card; the path of card.html. Errors: UserError."""
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
