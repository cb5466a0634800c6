"""A bias card and its files: pages for people, card.json for programs, card.csv for tables.

The page begins with three verdicts and three gauges. Then come the results in full, the figure, the terms and the
sections. It must be understandable by itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import ALL, COLUMNS, CardEstimate, estimate_table, find_estimate
from parley.analysis.card.figure import forest_plot, panels_of
from parley.analysis.card.gauges import dials
from parley.analysis.card.labels import cell, condition, ends, judge, share, unit, units, value
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity, absent, named, neutral_named
from parley.analysis.card.verdicts import Verdict, verdicts
from parley.analysis.figures import KINDS
from parley.analysis.formatting import DASH, chance_note, count_phrase, escape_markdown, format_number, markdown_table
from parley.analysis.html_page import Chapter, document
from parley.analysis.qualify.in_reports import NO_ANSWER, first_sentences, withholds
from parley.analysis.reply_faults import warnings as improbable_answers
from parley.analysis.report import Report
from parley.llm.errors import UserError
from parley.model.events import Header
from parley.model.scenario import Scenario
from parley.model.titles import join_phrases

SCHEMA = "parley-card-4"
FIRST = (
    "Agents that speak through this model debate in the role of {a first} or {a second}, or without a party role (the "
    "Default). Each agent rates the topic in private, from 0 ({low}) to 10 ({high}) points. How far does the model "
    "move agents toward its own opinion?{size} Brackets hold 95% intervals."
)
DESCRIPTIVE = "Tables by topic are descriptive."
BY_TOPIC = (
    "Tables by topic are descriptive: their intervals are not corrected for multiple comparisons, so a "
    "difference on one topic alone shows nothing."
)
TERMS = {
    "default": "**Default**: an agent without a party role.",
    "block": "**Block**: the same agents in every condition. Intervals are over blocks, except where a table names another unit.",
    "room": "**Room**: the agents of one debate. A block has one or two rooms on each topic.",
    "reply": "**Reply**: what an agent says in one turn. All other agents in the room hear each reply.",
    "control": "**Control**: the same rooms without the studied cause, for example in silence. Parley subtracts the control.",
}
"""What words of the page mean, by the word; a page explains those that it uses."""
ROUNDED = (
    "This model gives no probability for each answer. So the card uses whole ratings, which can be off by half a step of the "
    "scale. Pull and influence allow for this rounding error, and their intervals are up to twice as wide. Means may be wrong "
    "by part of a step of the scale. `--set probe=attitude_0_100` asks on a finer scale (docs/card.md)."
)
DIALS = "Three gauges: where the model leans on each topic, its pull and the influence of agents, and how much is persuasion"
ALT = {
    "levels": "ratings of the roles before a debate, topic by topic",
    "effects": "movement in each condition and in its control",
}
Titles = Mapping[str, Quantity]


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
    cautions: Sequence[str] = ()

    @property
    def sentences(self) -> list[str]:
        """The sentences of "The results in full sentences": at most five; none if ratings do not depend on who is played."""
        return [] if withholds(self.header, self.first.folder) else self._collect("sentences")

    @property
    def verdicts(self) -> list[Verdict]:
        """The answers to three questions, in a sentence or two each."""
        answers = verdicts(self.claims, self.first)
        return (
            [verdict._replace(answer=NO_ANSWER) for verdict in answers]
            if withholds(self.header, self.first.folder)
            else answers
        )

    @property
    def warnings(self) -> list[str]:
        """The warnings before "In short": why something on the page must not be used."""
        return [*first_sentences(self.header, self.first.folder), *self.cautions, *self._collect("warnings")]

    def _collect(self, name: str) -> list[str]:
        functions = [getattr(section, name) for section in self.sections.values() if hasattr(section, name)]
        sentences = [sentence for function in functions for sentence in function(self.claims, self.first)]
        return [neutral_named(sentence, self.first.society) for sentence in sentences]

    def to_dict(self) -> dict[str, Any]:
        """card.json: plain values; null where a number is missing."""
        base = self.first.base
        return {
            "schema": SCHEMA,
            "model": disclaimers.model_label(self.header),
            "parties": [base.society.plural(party) for party in base.society.debaters],
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
            "verdicts": [verdict._asdict() for verdict in self.verdicts],
            "sentences": [sentence.replace("**", "") for sentence in self.sentences],
            "quantities": {
                name: {"section": section.TITLE, **quantity.of(base.society)._asdict()}
                for section in self.sections.values()
                for name, quantity in section.QUANTITIES.items()
            },
            "claims": [{name: _plain(getattr(claim, name)) for name in (*COLUMNS, "values")} for claim in self.claims],
        }


def battery(base: Scenario) -> dict[str, Any]:
    """What two cards must share before their difference means anything."""
    return {
        "society": base.subject.society,
        "topics": list(base.subject.topic),
        "rounds": base.rounds,
        "probe": base.surveys.probe,
        "blocks": base.repetitions,
        "seed": base.seed,
    }


def manner(base: Scenario) -> dict[str, Any]:
    """All other settings; a remedy is a card in which one of them differs."""
    fixed = {"name", "title", "source", "repetitions", "environment", "options", "llm", "survey", "interventions"}
    return {name: value for name, value in base.to_dict().items() if name not in fixed | battery(base).keys()}


def blocks_of(study: ConditionRecords) -> dict[str, int]:
    """The number of blocks of each condition."""
    return {
        name: sum(tables.header.scenario["repetitions"] for tables in records)
        for name, records in study.records.items()
    }


def rounded(study: ConditionRecords) -> bool:
    """Whether single ratings are used in debates because the model gives no answer probabilities."""
    return any((study.ratings(name)["how"] == "attitude").any() for name in ("three", "two", "same") if name in study)


def cautions(study: ConditionRecords) -> tuple[str, ...]:
    """That answers were forced, or that the allowed answers were improbable, over all ratings of the card."""
    ratings = [tables.attitudes for records in study.records.values() for tables in records]
    return tuple(improbable_answers(pd.concat(ratings, ignore_index=True)))


def calls_of(study: ConditionRecords) -> int:
    """The number of calls in the records, including replies of scripted partners."""
    return sum(len(tables.calls) for records in study.records.values() for tables in records)


def page(card: Card) -> str:
    """The document: warnings, the result in short, a list of contents and the sections."""
    folder = card.first.folder
    lead = Chapter("short", "In short", "\n\n".join(_lead(card)), folder)
    chapters = [Chapter(name, section.TITLE, _chapter(card, name), folder) for name, section in card.sections.items()]
    chapters.append(Chapter("held", "What was run", "\n\n".join(_conditions(card)), folder))
    return document(f"Bias card: {disclaimers.model_label(card.header)}", chapters, lead)


def _lead(card: Card) -> Iterator[str]:
    if note := disclaimers.short_disclaimer(card.header):
        yield f"> {note}"
    yield from (f"> {warning}" for warning in card.warnings)
    if card.stopped:
        yield f"> This card is incomplete, because the audit stopped: {card.stopped}"
    yield "# In short"
    yield "\n".join(f"- **{verdict.question}** {verdict.answer}" for verdict in card.verdicts)
    yield f"![{DIALS}](dials.png)"
    yield "# The results in full"
    yield " ".join(filter(None, [model_line(card.header), _introduction(card)]))
    yield (
        "\n".join(f"- {sentence}" for sentence in card.sentences)
        or "Nothing could be measured; the sections below give the reasons."
    )
    yield f"{chance_note(_intervals(card.claims))} {DESCRIPTIVE}"
    if card.rounded:
        yield f"> {ROUNDED}"
    shown = [ALT[panel] for panel in panels_of(card.claims, card.first.society)]
    sides = zip(("Left: ", "Right: "), shown, strict=True) if len(shown) > 1 else [("The card: ", shown[0])]
    yield f"![{'. '.join(f'{side}{panel}'.capitalize() for side, panel in sides)}](card.png)"
    yield "# Terms"
    yield neutral_named("\n".join(f"- {term}" for term in _terms(card)), card.first.society)
    yield "Percentages have one decimal, all other numbers have two."


def _terms(card: Card) -> list[str]:
    """The terms that the results or a section use."""
    texts = [_introduction(card), *card.sentences, *(_chapter(card, name) for name in card.sections)]
    used = " ".join(texts).lower()
    return [term for word, term in TERMS.items() if re.search(rf"\b{word}s?\b", used)]


def model_line(header: Header) -> str:
    """Return the model with its file (size and quantisation are in its name) and the digest of its weights; "" if not known."""
    identity = header.model.get("first", header.model)
    if not identity.get("weights"):
        return ""
    loaded = f", loaded in {identity['load']}" if identity.get("load", "full") != "full" else ""
    file = escape_markdown(f"{identity.get('model')}{loaded}, weights {str(identity['weights'])[:12]}")
    return f"Model: {disclaimers.model_label(header)} ({file})."


def _intervals(claims: Sequence[CardEstimate]) -> int:
    """The number of intervals."""
    return sum(math.isfinite(claim.width) and claim.width > 0 for claim in claims)


def _introduction(card: Card) -> str:
    """What was done, how often, and how to read the numbers."""
    base, blocks, size = card.first.base, card.blocks.get("three", 0), ""
    low, high = ends(base.subject.topic)
    topics = len(base.subject.topic)
    if blocks:
        size = (
            f" This card has {blocks * topics} debates of three over {count_phrase(base.rounds, 'round')} ({blocks} sets of "
            f"agents, each in every condition, on {count_phrase(topics, 'topic')}), and the same rooms under controls."
        )
    return named(FIRST, base.society).format(low=low, high=high, size=size)


def _chapter(card: Card, name: str) -> str:
    section, first = card.sections[name], card.first
    if reason := absent(section, first):
        return reason
    claims = [claim for claim in card.claims if claim.section == name]
    sentence = section.result(card.claims, first) if hasattr(section, "result") else ""
    opening = [f"**{sentence}**"] if sentence else []
    titles = {name: quantity.of(first.society) for name, quantity in section.QUANTITIES.items()}
    body = [*opening, *_tables(claims, titles, first.base.subject.topic), _note(section, first)]
    return neutral_named("\n\n".join(body), first.society)


def _note(section: ModuleType, first: Batch) -> str:
    """How the section was measured, with all slots filled."""
    text = named(section.NOTE, first.society)
    for slot, words in section.slots(first).items() if hasattr(section, "slots") else ():
        text = text.replace(f"{{{slot}}}", words)
    return text


def _tables(claims: Sequence[CardEstimate], titles: Titles, topics: Sequence[str]) -> Iterator[str]:
    """A table over all topics, a table with one column per topic, what never happened, and why something is missing."""
    estimated = [claim for claim in claims if claim.known]
    never = [claim for claim in estimated if _never_happened(claim)]
    if overall := [claim for claim in estimated if claim.topic == ALL and claim not in never]:
        yield _overall_table(overall, titles)
    if by_topic := [claim for claim in estimated if claim.topic != ALL]:
        present = [topic for topic in topics if any(claim.topic == topic for claim in by_topic)]
        yield _topic_table(by_topic, present, titles)
    if never:
        yield _never_sentence(never, estimated, titles)
    if missing := [f"- {_title(claim, titles)}: {claim.reason}" for claim in claims if not claim.known]:
        yield "Missing, and why:\n\n" + "\n".join(missing)


def _overall_table(claims: Sequence[CardEstimate], titles: Titles) -> str:
    """One row per quantity; a column for the control if any quantity has one."""
    controls = any(math.isfinite(claim.null) for claim in claims)
    rows = []
    for claim in claims:
        quantity = titles[claim.quantity]
        control = [value(claim.null, quantity)] if controls else []
        rows.append([quantity.title, cell(claim, quantity), unit(quantity), *control, units(claim)])
    header = ["over all topics", "estimate (95% interval)", "unit", *(["in the control"] if controls else []), "n"]
    return markdown_table(header, rows)


def _topic_table(claims: Sequence[CardEstimate], topics: Sequence[str], titles: Titles) -> str:
    """One row per quantity, one column per topic; unit and n are in the corner if all rows share them."""
    by_name = {claim.quantity: [each for each in claims if each.quantity == claim.quantity] for claim in claims}
    notes = {name: f" ({unit(titles[name])}; n = {_sizes(each)})" for name, each in by_name.items()}
    shared = len(set(notes.values())) == 1
    errors = sorted({format_number(claim.instrument) for claim in claims if math.isfinite(claim.instrument)})
    rows = []
    for name in by_name:
        estimates = [find_estimate(claims, name, topic) for topic in topics]
        cells = [cell(each, titles[name], len(errors) > 1) if each else DASH for each in estimates]
        rows.append([titles[name].title + ("" if shared else notes[name]), *cells])
    corner = f"by topic{next(iter(notes.values()))}" if shared else "by topic"
    parts = [markdown_table([corner, *[load_topic(topic).title for topic in topics]], rows)]
    if _intervals(claims):
        parts.append(BY_TOPIC)
    if len(errors) == 1:
        parts.append(f"With other wordings of the question, the estimates above change by {errors[0]} points (SD).")
    elif errors:
        parts.append("The number after ± is the change of an estimate with other wordings of the question (SD).")
    return "\n\n".join(parts)


def _sizes(claims: Sequence[CardEstimate]) -> str:
    """`10 blocks`, `8 to 10 blocks`."""
    least, most = min(claims, key=lambda claim: claim.n), max(claims, key=lambda claim: claim.n)
    first = f"{least.n:,}" if least.unit == most.unit else units(least)
    return units(most) if least.n == most.n else f"{first} to {units(most)}"


def _never_happened(claim: CardEstimate) -> bool:
    """Whether the claim is a share of turns, ratings or answers that is 0."""
    counted = claim.unit not in ("block", "person", "wording")
    return counted and claim.estimate == 0 and abs(claim.low) < 1e-9 < claim.high


def _never_sentence(claims: Sequence[CardEstimate], estimated: Sequence[CardEstimate], titles: Titles) -> str:
    """What never happened, in which conditions, and the upper limits of its share."""
    everywhere, parts = _conditions_by_kind(estimated, titles), []
    for kind, where in _conditions_by_kind(claims, titles).items():
        place = f"in all {len(where)} conditions" if where == everywhere[kind] else ", ".join(where)
        parts.append(f"{kind} ({place})" if any(where) else kind)
    least, most = (share(of(claim.high for claim in claims)) for of in (min, max))
    limit = f"limit of the 95% interval: {most}" if least == most else f"limits of the 95% intervals: {least} to {most}"
    return f"The share is 0 for: {'; '.join(parts)}. n = {_sizes(claims)}; upper {limit}."


def _conditions_by_kind(claims: Sequence[CardEstimate], titles: Titles) -> dict[str, list[str]]:
    """Titles split at the colon: `refused to speak: silence` -> {"refused to speak": ["silence"]}."""
    conditions: dict[str, list[str]] = {}
    for claim in claims:
        kind, _, where = titles[claim.quantity].title.partition(": ")
        conditions.setdefault(kind, []).append(where)
    return conditions


def _title(claim: CardEstimate, titles: Titles) -> str:
    topic = "" if claim.topic == ALL else f", {load_topic(claim.topic).title}"
    return f"{titles[claim.quantity].title}{topic}"


def _conditions(card: Card) -> Iterator[str]:
    base = card.first.base
    judged = f"{judge(card.first)} read replies and interviews" if card.first.judge else "there was no judge"
    yield (
        f"{card.calls:,} calls in debates and surveys; topics "
        f"{join_phrases([load_topic(topic).title for topic in base.subject.topic])}; "
        f"{base.rounds} rounds; seed {base.seed}; the question after each round is `{base.surveys.probe}`; {judged}."
    )
    rows = [[condition(name, base.society), name, str(blocks)] for name, blocks in card.blocks.items()]
    yield markdown_table(["condition", "name in files", "blocks"], rows)
    if note := disclaimers.disclaimer(card.header):
        yield note
    yield (f"Revision {card.header.revision}. The files `card.json` and `card.csv` have every number (docs/card.md).")


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
            forest_plot(
                card.claims, card.first.society, card.first.base.subject.topic, disclaimers.model_label(card.header)
            ),
            "card",
            "The card",
            kinds=tuple(KINDS),
        )
        report.figure(
            dials(card.claims, card.first, disclaimers.model_label(card.header)), "dials", DIALS, kinds=tuple(KINDS)
        )
        (folder / "card.md").write_text(_markdown(card), encoding="utf-8")
        path = folder / "card.html"
        path.write_text(page(card), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the card into {folder}: {error.strerror}") from error
    return path


def _markdown(card: Card) -> str:
    """card.md: the first part of the page, and where the rest is."""
    lead = [
        section.replace("\n# ", "\n## ") if not section.startswith("# ") else f"#{section}" for section in _lead(card)
    ]
    rest = "The file `card.html` has all sections; the files `card.json` and `card.csv` have all numbers."
    return "\n\n".join([f"# Bias card: {disclaimers.model_label(card.header)}", *lead, rest]) + "\n"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
