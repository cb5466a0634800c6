"""The files of a card: card.html for people, card.json for programs (docs/card.md), card.csv for tables, card.png and .svg."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from agents.topic import load_topic
from analysis import honesty
from analysis.card.claims import ALL, Claim, find, table
from analysis.card.conditions import Batch
from analysis.card.figure import forest
from analysis.card.held import Held
from analysis.plots import save
from analysis.web.document import Chapter, document
from analysis.wording import DASH, estimate, harmless, listed, markdown_table, number
from llm.errors import UserError
from model.events import Header
from model.scenario import Scenario

SCHEMA = "parley-card-2"
FIRST = (
    "Agents that speak through this model debate with each other, each as a voter of some party. This page says how much of "
    "what they come to think is the model's own opinion, and not what the others said. An agent's attitude is its answer on a "
    "scale from 0 to 10, and so many points are meant. Brackets hold 95% intervals: of 100 such cards, about 95 hold the true "
    "value there."
)
ROUNDED = (
    "This model does not tell how likely it finds each answer, so that there are whole ratings to go by: less sure, each off by "
    "up to half a step of the scale. `--set probe=attitude_0_100` asks on a fine one (docs/card.md)."
)


@dataclass(frozen=True)
class Card:
    """What there is to write. `stopped` says why it is not whole; `rounded`: whether ratings are whole numbers, since the
    model does not tell how likely it finds each answer.
    """

    first: Batch
    sections: Mapping[str, ModuleType]
    claims: Sequence[Claim]
    header: Header
    blocks: Mapping[str, int]
    calls: int
    stopped: str = ""
    rounded: bool = False

    @property
    def sentences(self) -> list[str]:
        """The first screen: what a reader who knows none of this has to know."""
        told = [section.sentences(self.claims, self.first.base) for section in self._telling()]
        return [sentence for each in told for sentence in each]

    def _telling(self) -> list[ModuleType]:
        return [section for section in self.sections.values() if hasattr(section, "sentences")]

    def to_dict(self) -> dict[str, Any]:
        """card.json: plain values, null where there is no number."""
        base = self.first.base
        return {
            "schema": SCHEMA,
            "model": honesty.model(self.header),
            "battery": battery(base),
            "manner": manner(base) | {"judge": self.first.judge or "none"},
            "blocks": dict(self.blocks),
            "calls": self.calls,
            "stopped": self.stopped,
            "rounded": self.rounded,
            "revision": self.header.revision,
            "versions": dict(self.header.versions),
            "sentences": [sentence.replace("**", "") for sentence in self.sentences],
            "quantities": {
                name: {"title": told.title, "measure": told.measure}
                for section in self.sections.values()
                for name, told in section.QUANTITIES.items()
            },
            "claims": [{name: _plain(value) for name, value in asdict(claim).items()} for claim in self.claims],
        }


def battery(base: Scenario) -> dict[str, Any]:
    """What has to be alike for the numbers of two cards to be of the same thing."""
    return {
        "topics": list(base.topics),
        "rounds": base.rounds,
        "probe": base.probe,
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


def blocks_of(held: Held) -> dict[str, int]:
    """How many blocks each condition was held with."""
    return {name: sum(one.header.scenario["repetitions"] for one in found) for name, found in held.records.items()}


def rounded(held: Held) -> bool:
    """Whether ratings of debates stand in for distributions that the model does not tell."""
    return any((held.ratings(name)["how"] == "attitude").any() for name in ("three", "two", "same") if name in held)


def calls_of(held: Held) -> int:
    """Questions and lines in the records, those of partners who are no model too."""
    return sum(len(one.calls) for found in held.records.values() for one in found)


def write(card: Card) -> Path:
    """Write the files into the folder of the card; the path of card.html. Errors: UserError."""
    folder = card.first.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        table(card.claims).to_csv(folder / "card.csv", index=False)
        (folder / "card.json").write_text(
            json.dumps(card.to_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8"
        )
        save(forest(card.claims, card.first.base.topics, honesty.model(card.header)), folder / "card")
        path = folder / "card.html"
        path.write_text(document(f"Bias card: {honesty.model(card.header)}", list(_chapters(card))), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the card into {folder}: {error.strerror}") from error
    return path


def _chapters(card: Card) -> Iterator[Chapter]:
    folder = card.first.folder
    yield Chapter("short", "In short", "\n\n".join(_first_screen(card)), folder)
    for name, section in card.sections.items():
        found = [claim for claim in card.claims if claim.section == name]
        yield Chapter(name, section.TITLE, "\n\n".join([section.NOTE, *_tables(found, section)]), folder)
    yield Chapter("held", "What was held", "\n\n".join(_held(card)), folder)


def _first_screen(card: Card) -> Iterator[str]:
    note = honesty.note(card.header)
    yield FIRST
    yield "\n".join(f"- {sentence}" for sentence in card.sentences) or "Nothing could be measured: see below."
    if card.stopped:
        yield f"> This card is not whole: {card.stopped}"
    if card.rounded:
        yield f"> {ROUNDED}"
    if note:
        yield f"> {note}"
    yield "![Where the model and its parties stand, topic by topic, and what moves beside null conditions](card.png)"


def _tables(found: Sequence[Claim], section: ModuleType) -> Iterator[str]:
    """One table over all topics, and one with a row a topic; and why something is missing."""
    whole = [claim for claim in found if claim.topic == ALL]
    topics = list(dict.fromkeys(claim.topic for claim in found if claim.topic != ALL))
    if whole:
        yield _over_all(whole, section)
    if topics:
        yield _by_topic(found, topics, section)
    if missing := [f"- {_title(claim, section)}: {claim.reason}" for claim in found if not claim.known]:
        yield "Not to be had:\n\n" + "\n".join(missing)


def _over_all(claims: Sequence[Claim], section: ModuleType) -> str:
    rows = [
        [section.QUANTITIES[claim.quantity].title, section.QUANTITIES[claim.quantity].measure, told(claim), number(claim.null),
         f"{claim.n} {claim.unit}{'s' * (claim.n != 1)}"]
        for claim in claims
    ]  # fmt: skip
    return markdown_table(["over all topics", "in", "estimate (95% interval)", "null", "units"], rows)


def _by_topic(found: Sequence[Claim], topics: Sequence[str], section: ModuleType) -> str:
    names = list(dict.fromkeys(claim.quantity for claim in found if claim.topic != ALL))
    rows = [
        [
            section.QUANTITIES[name].title,
            *[told(claim) if (claim := find(found, name, topic)) else DASH for topic in topics],
        ]
        for name in names
    ]
    return markdown_table(["", *[load_topic(topic).title for topic in topics]], rows)


def told(claim: Claim) -> str:
    """The estimate with its interval, and by how much the instrument may be off."""
    text = estimate(claim.estimate, claim.low, claim.high, 3 if abs(claim.estimate) < 0.2 else 2)
    return text if math.isnan(claim.instrument) else f"{text} ± {number(claim.instrument)} by wording"


def _title(claim: Claim, section: ModuleType) -> str:
    where = "" if claim.topic == ALL else f", {load_topic(claim.topic).title}"
    return f"{section.QUANTITIES[claim.quantity].title}{where}"


def _held(card: Card) -> Iterator[str]:
    base = card.first.base
    yield (
        f"{card.calls:,} calls in debates and surveys; topics {listed([load_topic(topic).title for topic in base.topics])}; "
        f"{base.rounds} rounds; seed {base.seed}; the question after each round is {base.probe}; judge: "
        f"{harmless(card.first.judge) or 'none'}. A block is the same people under every condition."
    )
    yield markdown_table(["condition", "blocks"], [[name, str(number_)] for name, number_ in card.blocks.items()])
    yield f"Revision {card.header.revision}. `card.json` and `card.csv` beside this file hold every number (docs/card.md)."


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
