"""The model's debates compared with humans, measured as by `study human`: both values and the difference, never one score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import NamedTuple

import pandas as pd

from parley.analysis.card.conditions import Batch, three, two
from parley.analysis.card.estimates import NOT_RUN, CardEstimate, difference, find_estimate
from parley.analysis.card.labels import DIFFERENCE, percent, units
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.human import measures
from parley.analysis.human.readers import Source, complete
from parley.analysis.human.rooms import of_run
from parley.analysis.statistics.groups import Result
from parley.analysis.statistics.intervals import FEWEST, too_few
from parley.model.scenario import Scenario

ORDER = 14
TITLE = "Compared with human debates"
NOTE = (
    "The debates of two (for the majority, of three) and the debates of humans are measured by the same "
    "code. The values of humans are not a goal. The humans debated other topics, on scales with fewer "
    "points, where more ratings stay the same. In Salvi et al. 2025, two humans argued for assigned sides "
    "in a debate (agreement 1-5). In the Habermas Machine data (Tessler, Bakker et al. 2024), groups of "
    "about five humans met with a mediator. The correlation with the partner's opinion keeps the agent's "
    "own opinion fixed. This correlation is 0 if agents do not respond to their partners. Intervals are "
    "over blocks, debates and groups. Intervals of a difference treat agents and humans as independent "
    "samples (Zou and Donner 2008). An agent or human without an answer before and after is left out."
)
NEEDS = (two, three)


class Measure(NamedTuple):
    """A measure of both: `condition` has the rooms, `source` the humans. key: of analysis.human.measures."""

    title: str
    measure: str
    condition: str
    source: str
    key: str


PAIRS, GROUPS = "Salvi et al.", "Habermas Machine"
PARTNER = "correlation of change and the partner's opinion, own opinion fixed"
MEASURES = {
    "room_spread": Measure(
        "change of the SD within a room, as a share of the whole scale", "share", "two", PAIRS, "spread"
    ),
    "still": Measure("share that names the same point again", "share", "two", PAIRS, "still"),
    "partner": Measure(PARTNER, "r", "two", PAIRS, "partner"),
    "majority": Measure(
        "share that moves toward the majority minus share that moves away", "share", "three", GROUPS, "majority"
    ),
}
PUBLIC = frozenset(f"{name}_people" for name in MEASURES)
"""Values of humans: two cards have no difference in these."""
QUANTITIES = {
    f"{name}{end}": Quantity(
        f"{measure.title}{whose.format(measure.source)}",
        measure.measure,
        DIFFERENCE if (measure.measure, end) == ("share", "_apart") else "",
    )
    for name, measure in MEASURES.items()
    for end, whose in (("", ", agents"), ("_people", ", humans ({})"), ("_apart", ", agents minus humans"))
}
WATCH = ()
NO_DATA = "no human data given (--data FOLDER)"
ALIKE = "all units have the same value, so there is no interval"


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    return [claim for name in MEASURES for claim in _compared(name, study)]


def _compared(name: str, study: ConditionRecords) -> Iterator[CardEstimate]:
    """Agents, humans, agents minus humans."""
    agents, humans = _agents(name, study), _humans(name, study.people)
    yield from (agents, humans)
    apart = CardEstimate(f"{name}_apart")
    if not (agents.known and humans.known):
        yield replace(apart, reason=humans.reason if agents.known else agents.reason)
        return
    apart = difference(replace(apart, n=agents.n), agents, humans)
    yield replace(apart, reason=agents.reason or humans.reason) if apart.reason else apart


def _agents(name: str, study: ConditionRecords) -> CardEstimate:
    measure = MEASURES[name]
    if measure.condition not in study:
        return CardEstimate(name, reason=NOT_RUN)
    return _estimate(CardEstimate(name), over_blocks(study, measure.condition)[measure.key])


def over_blocks(study: ConditionRecords, condition: str) -> dict[str, Result]:
    """The measures of the rooms of a condition, by key; units are blocks, whose rooms share people."""
    sources = [of_run(tables) for tables in study.records[condition]]
    people, moves = (_batch_groups([getattr(source, name) for source in sources]) for name in ("people", "moves"))
    blocks = study.ratings(condition).drop_duplicates("room").set_index("room")["block"]
    rated, blank = complete(people), Result(condition, "block", 0, "", "")
    change, block = rated["after"] - rated["before"], rated["group"].map(blocks)
    spread = measures.within(rated).eval("after - before")
    return {
        "still": measures.average(blank, measures.stayed_put(change, 0), block),
        "partner": measures.partner_correlation(blank, rated, block),
        "spread": measures.average(blank, spread, spread.index.to_series().map(blocks)),
        "majority": measures.average(blank, moves["moved"], moves["group"].map(blocks)),
    }


def _batch_groups(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The frames of all batches, with groups named as `ConditionRecords` names rooms."""
    named = [frame.assign(group=f"{batch}/" + frame["group"].astype(str)) for batch, frame in enumerate(frames, 1)]
    return pd.concat(named, ignore_index=True)


def _humans(name: str, sources: Sequence[Source] | None) -> CardEstimate:
    """As `run.py study human` measures them: humans whose partner is known, if they have partners."""
    measure, claim = MEASURES[name], CardEstimate(f"{name}_people", unit="group")
    if sources is None:
        return replace(claim, reason=NO_DATA)
    source = next((each for each in sources if each.name == measure.source), None)
    if source is None:
        return replace(claim, reason=f"{measure.source} is not among the human data that were given")
    if measure.source == PAIRS:
        source = replace(source, people=source.people.dropna(subset="partner"), moves=source.moves.iloc[:0])
    table = measures.measure_source(source)
    rows = table[table["condition"] == table["condition"].iloc[-1]]  # of several, all conditions together
    row = rows.set_index("key").loc[measure.key, [column.name for column in fields(Result)]]
    return _estimate(replace(claim, unit=source.unit), Result(**row.to_dict()))


def _estimate(claim: CardEstimate, result: Result) -> CardEstimate:
    """The claim with the measure, or why it is unknown."""
    if result.reason:
        return replace(claim, n=result.n, reason=result.reason)
    ends = {name: getattr(result, name) for name in ("estimate", "low", "high")}
    none = too_few(claim.unit) if result.n < FEWEST else ALIKE
    return replace(claim, **ends, n=result.n, reason="" if math.isfinite(result.low) else none)


def sentences(claims: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For "In short"."""
    agents, humans = find_estimate(claims, "room_spread"), find_estimate(claims, "room_spread_people")
    if agents and humans:
        yield (
            "**Compared with humans.** In debates of two, the spread of ratings within a room changed by "
            f"{percent(agents, True)} of the length of the scale. In {units(humans)} of two humans ({PAIRS}, other "
            f"topics), the spread changed by {percent(humans, True)}."
        )


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    agents, humans = find_estimate(claims, "still"), find_estimate(claims, "still_people")
    if not (agents and humans):
        return ""
    return (
        f"{percent(agents)} of agents and, on a coarser scale, {percent(humans)} of humans named the same point again."
    )
