"""The model's debates beside people's, by the measures of `run.py human`: both values and their distance, never one score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from parley.analysis.bootstrap import FEWEST, too_few
from parley.analysis.card.conditions import Batch, three, two
from parley.analysis.card.estimates import ALL, CardEstimate, difference, find_estimate
from parley.analysis.card.labels import DIFFERENCE, percent, units
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.human.measures import (
    average,
    change_correlation,
    measure_source,
    shuffled_partner_null,
    stayed_put,
    within,
)
from parley.analysis.human.readers import Source, complete
from parley.analysis.human.rooms import of_run
from parley.analysis.statistics.results import Result
from parley.model.scenario import Scenario

SECTION = "human_benchmark"
ORDER = 14
TITLE = "Compared with human debates"
NOTE = (
    "The debates of two (for the majority, of three) and what humans did, by the same code. What humans did is no goal: they "
    "debated other topics on scales with fewer points, on which more of them stay where they are. Salvi et al. 2025: two "
    "humans in each debate, who argued for sides given to them, agreement 1-5. Habermas Machine (Tessler, Bakker et al. "
    "2024): groups of about five humans with a mediator. Shuffled partners show how much of the correlation there is without "
    "hearing anybody; it is taken off as a known number. Intervals are over blocks, debates and groups; those of "
    "a difference take agents and humans for independent samples (Zou and Donner 2008). Who has no answer before and after is "
    "left out."
)
NEEDS = (two, three)


class Measure(NamedTuple):
    """`condition` holds the rooms, `source` the humans; `keys` are those of analysis.human.measures (a null is taken off)."""

    title: str
    measure: str
    condition: str
    source: str
    keys: tuple[str, ...]


PAIRS, GROUPS = "Salvi et al.", "Habermas Machine"
MEASURES = {
    "room_spread": Measure("change of the SD within a room, of the whole scale", "share", "two", PAIRS, ("spread",)),
    "still": Measure("share that names the same point again", "share", "two", PAIRS, ("still",)),
    "distance": Measure(
        "correlation of change and distance to the partner, minus that with shuffled partners",
        "r",
        "two",
        PAIRS,
        ("distance", "shuffled"),
    ),
    "majority": Measure(
        "share that moves toward the majority minus share that moves away", "share", "three", GROUPS, ("majority",)
    ),
}
PUBLIC = frozenset(f"{name}_people" for name in MEASURES)
"""What people did: of two cards no difference."""
QUANTITIES = {
    f"{name}{end}": Quantity(
        f"{told.title}{whose.format(told.source)}",
        told.measure,
        DIFFERENCE if (told.measure, end) == ("share", "_apart") else "",
    )
    for name, told in MEASURES.items()
    for end, whose in (("", ", agents"), ("_people", ", humans ({})"), ("_apart", ", agents minus humans"))
}
WATCH = ()
NO_DATA = "no human data given (--data FOLDER)"
ALIKE = "all units are alike: no interval"


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    return [one for name in MEASURES for one in _beside(name, held)]


def _beside(name: str, held: ConditionRecords) -> Iterator[CardEstimate]:
    ours, theirs = _model(name, held), _people(name, held.people)
    yield from (ours, theirs, _apart(CardEstimate(SECTION, f"{name}_apart", ALL, n=ours.n), ours, theirs))


def _model(name: str, held: ConditionRecords) -> CardEstimate:
    told, begun = MEASURES[name], CardEstimate(SECTION, name, ALL)
    if told.condition not in held:
        return replace(begun, reason="not held")
    return _claim(begun, over_blocks(held, told.condition), told.keys)


def over_blocks(held: ConditionRecords, condition: str) -> dict[str, Result]:
    """The measures of the rooms of a condition, by key; units are blocks, whose rooms share people."""
    sources = [of_run(tables) for tables in held.records[condition]]
    people, moves = (_apart_by_batch([getattr(one, name) for one in sources]) for name in ("people", "moves"))
    blocks = held.ratings(condition).drop_duplicates("room").set_index("room")["block"]
    known, blank = complete(people), Result(condition, "block", 0, "", "")
    change, block = known["after"] - known["before"], known["group"].map(blocks)
    spread = within(known).eval("after - before")
    return {
        "still": average(blank, stayed_put(change, 0), block),
        "distance": change_correlation(blank, change, known["partner"] - known["before"], block),
        "shuffled": shuffled_partner_null(blank, known),
        "spread": average(blank, spread, spread.index.to_series().map(blocks)),
        "majority": average(blank, moves["moved"], moves["group"].map(blocks)),
    }


def _apart_by_batch(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Groups named as `ConditionRecords` names rooms."""
    named = [frame.assign(group=f"{batch}/" + frame["group"].astype(str)) for batch, frame in enumerate(frames, 1)]
    return pd.concat(named, ignore_index=True)


def _people(name: str, given: Sequence[Source] | None) -> CardEstimate:
    """As `run.py human` measures them: of people whose partner is known where there are partners."""
    told, begun = MEASURES[name], CardEstimate(SECTION, f"{name}_people", ALL, unit="group")
    if given is None:
        return replace(begun, reason=NO_DATA)
    source = next((one for one in given if one.name == told.source), None)
    if source is None:
        return replace(begun, reason=f"{told.source} is not among the human data that were given")
    if told.source == PAIRS:
        source = replace(source, people=source.people.dropna(subset="partner"), moves=source.moves.iloc[:0])
    found = measure_source(source)
    rows = found[found["condition"] == found["condition"].iloc[-1]].set_index("key")  # all conditions, where several
    results = {str(key): Result(**row) for key, row in rows[list(Result.__dataclass_fields__)].to_dict("index").items()}
    return _claim(replace(begun, unit=source.unit), results, told.keys)


def _claim(begun: CardEstimate, results: dict[str, Result], keys: Sequence[str]) -> CardEstimate:
    """The first of the measures, less the second, its null, where there is one."""
    found, null = results[keys[0]], results[keys[1]].estimate if len(keys) > 1 else math.nan
    if reason := next((results[key].reason for key in keys if results[key].reason), ""):
        return replace(begun, n=found.n, reason=reason)
    off = 0.0 if math.isnan(null) else null
    ends = {name: getattr(found, name) - off for name in ("estimate", "low", "high")}
    none = too_few(begun.unit) if found.n < FEWEST else ALIKE
    return replace(begun, **ends, null=null, n=found.n, reason="" if math.isfinite(found.low) else none)


def _apart(begun: CardEstimate, ours: CardEstimate, theirs: CardEstimate) -> CardEstimate:
    if not (ours.known and theirs.known):
        return replace(begun, n=0, reason=ours.reason if not ours.known else theirs.reason)
    found = difference(begun, ours, theirs)
    return replace(found, reason=ours.reason or theirs.reason) if found.reason else found


def sentences(found: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For the first screen."""
    ours, theirs = find_estimate(found, "room_spread"), find_estimate(found, "room_spread_people")
    if ours and theirs:
        yield (
            f"**Compared with humans.** In debates of two the spread of ratings within a room changed by {percent(ours, True)} "
            f"of the length of the scale; in {units(theirs)} of two humans ({PAIRS}, other topics) by {percent(theirs, True)}."
        )


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    ours, theirs = find_estimate(found, "still"), find_estimate(found, "still_people")
    if not (ours and theirs):
        return ""
    return f"{percent(ours)} of agents named the same point again; {percent(theirs)} of humans did, on a scale with fewer points."
