"""The page of a card, for people: what is most worth knowing first, in words that need no other page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate
from parley.analysis.card.labels import cell, condition, ends, judge, share, unit, units, value
from parley.analysis.card.sections import Quantity
from parley.analysis.formatting import DASH, format_number, join_phrases, markdown_table
from parley.analysis.html_page import Chapter, document

if TYPE_CHECKING:
    from parley.analysis.card.card import Card

FIRST = (
    "Agents that speak through this model debate in the role of a Republican or a Democrat, or without a party role (the "
    "Default). Each rates the topic in private, from 0 ({low}) to 10 ({high}) points. How far does the model bring them to "
    "an opinion of its own?{size} Brackets hold 95% intervals."
)
CHANCE = (
    "Of 100 intervals about five miss the true value by chance. This page has {intervals}, so about {missed} of them do. Tables "
    "by topic are descriptive."
)
BY_TOPIC = (
    "By topic (descriptive): each interval is by itself. About {missed} of these {intervals} miss the true value by chance, so a "
    "difference on one topic alone shows nothing."
)
WORDS = (
    "**Default**: the agent that is asked, and debates, without a party role.",
    "**Block**: the same agents under every condition; intervals are over blocks unless another unit is named.",
    "**Room**: the agents of one debate; a block has one or two on each topic.",
    "**Line**: what an agent says in one turn; all others in the room hear it.",
    "**Control**: the same rooms without what is measured, such as silence; what happens there is taken off.",
)
ROUNDED = (
    "This model does not tell how likely it finds each answer, so that there are whole ratings to go by: less sure, each off by "
    "up to half a step of the scale. `--set probe=attitude_0_100` asks on a fine one (docs/card.md)."
)
ALT = "Left: ratings of the roles before a debate, topic by topic. Right: movement in each condition and in its control"


def page(card: Card) -> str:
    """card.html: how far it is to be believed, in short, then a list of contents and the sections."""
    lead = Chapter("short", "In short", "\n\n".join(_lead(card)), card.first.folder)
    return document(f"Bias card: {disclaimers.model_label(card.header)}", list(_chapters(card)), lead)


def _lead(card: Card) -> Iterator[str]:
    if note := disclaimers.short_disclaimer(card.header):
        yield f"> {note}"
    yield from (f"> {warning}" for warning in card.warnings)
    if card.stopped:
        yield f"> This card is not whole: {card.stopped}"
    yield "# In short"
    yield _first(card)
    yield "\n".join(f"- {sentence}" for sentence in card.sentences) or "Nothing could be measured: see below."
    yield CHANCE.format(**_chance(card.claims))
    if card.rounded:
        yield f"> {ROUNDED}"
    yield f"![{ALT}](card.png)"
    yield "# Words"
    yield "\n".join(f"- {one}" for one in WORDS)
    yield "Percentages have one decimal, everything else two."


def _chance(claims: Sequence[CardEstimate]) -> dict[str, str]:
    """How many intervals there are, and how many of them miss the true value in the long run."""
    intervals = sum(math.isfinite(one.width) and one.width > 0 for one in claims)
    return {
        "intervals": f"{intervals:,}",
        "missed": f"{0.05 * intervals:.0f}" if intervals > 19 else f"{0.05 * intervals:.1f}",
    }


def _first(card: Card) -> str:
    """What was done, how much of it, and how the numbers are to be read."""
    low, high = ends(card.first.base.subject.topics)
    blocks, topics, rounds = card.blocks.get("three", 0), len(card.first.base.subject.topics), card.first.base.rounds
    held = f" Here: {blocks * topics} debates of three over {rounds} round{'s' * (rounds != 1)} ({_blocks(blocks, topics)}),"
    return FIRST.format(low=low, high=high, size=f"{held} and the same rooms under controls." if blocks else "")


def _blocks(blocks: int, topics: int) -> str:
    return f"{blocks} sets of agents, each in every condition, on {topics} topic{'s' * (topics != 1)}"


def _chapters(card: Card) -> Iterator[Chapter]:
    folder = card.first.folder
    for name, section in card.sections.items():
        found = [claim for claim in card.claims if claim.section == name]
        told = section.result(card.claims, card.first) if hasattr(section, "result") else ""
        text = [
            *([f"**{told}**"] if told else []),
            *_tables(found, section, card.first.base.subject.topics),
            section.NOTE,
        ]
        yield Chapter(name, section.TITLE, "\n\n".join(text), folder)
    yield Chapter("held", "What was run", "\n\n".join(_held(card)), folder)


def _tables(found: Sequence[CardEstimate], section: ModuleType, topics: Sequence[str]) -> Iterator[str]:
    """One table over all topics, and one with a column a topic; what never happened; and why something is missing."""
    known = [claim for claim in found if claim.known]
    never = [claim for claim in known if _never(claim)]
    if whole := [claim for claim in known if claim.topic == ALL and claim not in never]:
        yield _over_all(whole, section.QUANTITIES)
    if each := [claim for claim in known if claim.topic != ALL]:
        yield _by_topic(
            each, [topic for topic in topics if any(one.topic == topic for one in each)], section.QUANTITIES
        )
    if never:
        yield _not_once(never, known, section.QUANTITIES)
    if missing := [f"- {_title(claim, section.QUANTITIES)}: {claim.reason}" for claim in found if not claim.known]:
        yield "Not to be had:\n\n" + "\n".join(missing)


def _over_all(claims: Sequence[CardEstimate], told: Mapping[str, Quantity]) -> str:
    """A row a quantity; the control where any has one."""
    controls = any(math.isfinite(claim.null) for claim in claims)
    rows = [
        [
            told[claim.quantity].title,
            cell(claim, told[claim.quantity]),
            unit(told[claim.quantity]),
            *([value(claim.null, told[claim.quantity])] if controls else []),
            units(claim),
        ]
        for claim in claims
    ]
    heads = ["over all topics", "estimate (95% interval)", "unit", *(["in the control"] if controls else []), "n"]
    return markdown_table(heads, rows)


def _by_topic(found: Sequence[CardEstimate], topics: Sequence[str], told: Mapping[str, Quantity]) -> str:
    """A row a quantity, a column a topic; unit and n stand in the corner where all rows have the same."""
    by_name = {claim.quantity: [one for one in found if one.quantity == claim.quantity] for claim in found}
    notes = {name: f" ({unit(told[name])}; n = {_spanned(claims)})" for name, claims in by_name.items()}
    alike = len(set(notes.values())) == 1
    moved = sorted({format_number(claim.instrument) for claim in found if math.isfinite(claim.instrument)})
    rows = []
    for name in by_name:
        each = [find_estimate(found, name, topic) for topic in topics]
        cells = [cell(one, told[name], len(moved) > 1) if one else DASH for one in each]
        rows.append([told[name].title + ("" if alike else notes[name]), *cells])
    corner = f"by topic{next(iter(notes.values()))}" if alike else "by topic"
    table = markdown_table([corner, *[load_topic(topic).title for topic in topics]], rows)
    counts = _chance(found)
    warned = [BY_TOPIC.format(**counts)] if counts["intervals"] != "0" else []
    return "\n\n".join([table, *warned, *_wordings(moved)])


def _spanned(claims: Sequence[CardEstimate]) -> str:
    """`10 blocks`, `8 to 10 blocks`."""
    least, most = min(claims, key=lambda one: one.n), max(claims, key=lambda one: one.n)
    first = f"{least.n:,}" if least.unit == most.unit else units(least)
    return units(most) if least.n == most.n else f"{first} to {units(most)}"


def _wordings(moved: Sequence[str]) -> Iterator[str]:
    """By how much other wordings of the question move the estimates, once where it is the same for all."""
    if len(moved) == 1:
        yield f"Other wordings of the question move these estimates by {moved[0]} points (SD)."
    elif moved:
        yield "Behind ±: by how many points other wordings of the question move an estimate (SD)."


def _never(claim: CardEstimate) -> bool:
    """A share of turns, ratings or answers of which there was none."""
    return (
        claim.estimate == 0 and abs(claim.low) < 1e-9 < claim.high and claim.unit not in ("block", "person", "wording")
    )


def _not_once(claims: Sequence[CardEstimate], known: Sequence[CardEstimate], told: Mapping[str, Quantity]) -> str:
    """What never happened, where, and how often it may be all the same. Titles tell what from where by a colon."""
    kinds, all_ = _places(claims, told), _places(known, told)
    named = []
    for kind, where in kinds.items():
        everywhere = f"in all {len(where)} conditions" if where == all_[kind] else ", ".join(where)
        named.append(f"{kind} ({everywhere})" if any(where) else kind)
    least, most = (share(of(claim.high for claim in claims)) for of in (min, max))
    limit = f"limit of the 95% interval: {most}" if least == most else f"limits of the 95% intervals: {least} to {most}"
    return f"Not once: {'; '.join(named)}. n = {_spanned(claims)}; upper {limit}."


def _places(claims: Sequence[CardEstimate], told: Mapping[str, Quantity]) -> dict[str, list[str]]:
    """`refused to speak: silence` -> {"refused to speak": ["silence"]}."""
    found: dict[str, list[str]] = {}
    for claim in claims:
        kind, _, where = told[claim.quantity].title.partition(": ")
        found.setdefault(kind, []).append(where)
    return found


def _title(claim: CardEstimate, told: Mapping[str, Quantity]) -> str:
    where = "" if claim.topic == ALL else f", {load_topic(claim.topic).title}"
    return f"{told[claim.quantity].title}{where}"


def _held(card: Card) -> Iterator[str]:
    base = card.first.base
    judged = f"lines and interviews were read by {judge(card.first)}" if card.first.judge else "no judge was named"
    yield (
        f"{card.calls:,} calls in debates and surveys; topics "
        f"{join_phrases([load_topic(topic).title for topic in base.subject.topics])}; "
        f"{base.rounds} rounds; seed {base.seed}; the question after each round is `{base.surveys.probe}`; {judged}."
    )
    rows = [[condition(name), name, str(blocks)] for name, blocks in card.blocks.items()]
    yield markdown_table(["condition", "called in files", "blocks"], rows)
    if note := disclaimers.disclaimer(card.header):
        yield note
    yield f"Revision {card.header.revision}. `card.json` and `card.csv` beside this file hold every number (docs/card.md)."
