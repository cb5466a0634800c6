"""A plan in words, with what it will cost and how long it will take, where that is known; before anything is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from parley.llm.backends import scripted, split_spec
from parley.llm.errors import UserError
from parley.llm.journal import rate_in, read_identity, thoughts_in
from parley.llm.limits import Price
from parley.llm.prices import Prices, bill
from parley.llm.request import NOTHING, Usage, total
from parley.model import attendance
from parley.model.interventions import spec
from parley.model.plan import Plan, plan, varies
from parley.model.scenario import Scenario
from parley.model.seating import tables
from parley.model.titles import heading

RUNS = Path("runs")
LATEST = 50
"""Run folders that are looked through for a measured rate, the latest first."""
HOUR, MINUTE = 3600, 60


def lines(scenario: Scenario, prices: Prices) -> Iterator[str]:
    """The plan for a person."""
    made = plan(scenario)
    yield f"{scenario.name}: {heading(scenario)}"
    yield (
        f"  {made.rooms:,} rooms, {made.agents:,} agents; {_subjects(scenario)}, "
        f"repetitions {scenario.repetitions}, rounds {scenario.rounds}"
    )
    yield f"  {attendance.told(attendance.planned(scenario), attendance.cast_of(scenario))}"
    more = f", and {made.others:,} of mediators, checkers and the questionnaire" if made.others > 0 else ""
    about = "about " if varies(scenario) else ""
    more += f", and {made.notes:,} notes to themselves" if made.notes else ""
    yield (
        f"  {about}{made.calls:,} calls to {scenario.llm}: {about}{made.replies:,} replies and {made.ratings:,} ratings{more} "
        f"({_again(scenario, made)}{_fewer(scenario)})"
    )
    if any(table.weights for table in tables(replace(scenario, repetitions=1))):
        yield "  the weights of the graph's links are recorded; no rule of a network goes by them"
    if unpaid := made.unpaid(scenario):
        yield f"  {unpaid:,} of these calls go to scripted partners, which are no model and cost nothing"
    for one in scenario.interventions:
        yield f"  before round {one.round}: {spec(one)}"
    yield from cost([(scenario, 1)], [prices])
    yield time([scenario], made.calls)


def cost(runs: Sequence[tuple[Scenario, int]], prices: Sequence[Prices]) -> Iterator[str]:
    """Tokens and money of some scenarios, each held so many times, at the prices of each; and what of it is not known."""
    used, most, known = dict[str, Usage](), dict[str, Usage](), dict[str, Price | None]()
    for (scenario, times), priced in zip(runs, prices, strict=True):
        named = _named(scenario)
        for found, made in ((used, plan(scenario)), (most, plan(scenario, full=True))):
            for voice, usage in made.tokens.items():
                if not (voice and scripted(named[voice])):
                    found[named[voice]] = total([found.get(named[voice], NOTHING), *[usage] * times])
        known |= {named[voice]: price for voice, price in priced.items()}
    about, bound = total(used.values()), total(most.values())
    yield (
        f"  about {_rounded(about.prompt_tokens)} tokens in and {_rounded(about.completion_tokens)} out (estimated from words); "
        f"at most about {_rounded(bound.prompt_tokens)} and {_rounded(bound.completion_tokens)} (max_tokens)"
    )
    if money := bill(used, known, 2):
        highest = sum(price.of(most[name]) for name in most if (price := known.get(name)))
        yield f"  cost about {money}; at most about {highest:.2g}"
    for name in used:
        if name in known and known[name] is None:
            yield f"  no price is known for {name}: give --price IN,OUT (per million tokens), or a table with --prices FILE"
    for name in [name for name in used if split_spec(name)[0] == "openai"]:
        yield from _thoughts(name, sum(plan(scenario).calls * times for scenario, times in runs), known.get(name))


def _thoughts(name: str, calls: int, price: Price | None) -> Iterator[str]:
    """What a model may think before it answers, which nobody hears and somebody pays: by its latest run, or at most."""
    from parley.llm.backends.openai.probe import THINKING

    journal = _latest(name)
    measured = thoughts_in(journal) if journal else None
    if measured == 0:
        return
    each = float(THINKING) if measured is None else measured
    tokens = round(each * calls)
    told = f"{_rounded(tokens)} tokens out ({each:,.0f} a call)"
    told += f", a cost of {price.of(Usage(0, tokens)):.2g}" if price else ""
    if journal and measured:
        yield f"  and about {told}, for what {name} thinks before it answers, as in {journal.parent}"
    else:
        yield f"  and, if {name} thinks before it answers, at most {told}; its first run says how many"


def time(scenarios: Sequence[Scenario], calls: int) -> str:
    """How long so many calls take, by the latest run folder of the same model; where there is none, that it is not known."""
    specs = {scenario.llm for scenario in scenarios} | {one for each in scenarios for one in each.own_llms().values()}
    asked = [one for one in specs if not scripted(one)]
    found = measured(asked[0]) if len(asked) == 1 else None
    if found is None:
        return "  time not known: no run of this model is in runs/; the first one says its calls a second"
    rate, folder = found
    return f"  time about {duration(calls / rate)} ({rate:,.3g} calls a second, as in {folder})"


def measured(spec: str) -> tuple[float, Path] | None:
    """Calls a second of a model in the latest of the run folders, and that folder; None where it was not asked."""
    journal = _latest(spec)
    return (rate, journal.parent) if journal and (rate := rate_in(journal)) else None


def _latest(spec: str) -> Path | None:
    """The journal of the latest of the run folders in which a model was asked often enough to tell its rate."""
    name, model, _ = split_spec(spec)
    journals = sorted(RUNS.glob("*/journal.sqlite"), key=lambda path: path.stat().st_mtime, reverse=True)
    for journal in journals[:LATEST]:
        try:
            identity = read_identity(journal)
            if (identity.get("backend"), identity.get("model") or "") == (name, model.rsplit("/", 1)[-1]) and rate_in(
                journal
            ):
                return journal
        except (UserError, json.JSONDecodeError):
            continue
    return None


def duration(seconds: float) -> str:
    """In words, one unit.

    >>> duration(40), duration(200), duration(7000)
    ('40 s', '3 min', '1.9 h')
    """
    if seconds < 1.5 * MINUTE:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 1.5 * HOUR else f"{seconds / HOUR:.1f} h"


def _again(scenario: Scenario, made: Plan) -> str:
    """How many more there are where ratings have to be asked again."""
    more = made.ratings * (scenario.asks - 1)
    return f"up to {more:,} more where ratings have to be asked again" if more else "no rating is asked twice"


def _named(scenario: Scenario) -> Mapping[str, str]:
    """What each voice is called: by its model."""
    return {"": bare(scenario.llm)} | {voice: bare(one) for voice, one in scenario.own_llms().items()}


def bare(spec: str) -> str:
    """Backend and model without options: `openai:gpt-4o`."""
    return spec.split(",")[0]


def _fewer(scenario: Scenario) -> str:
    return f"; fewer, as {scenario.archetypes} of a kind answer for the others" if scenario.archetypes else ""


def _subjects(scenario: Scenario) -> str:
    if scenario.questions:
        return f"questions {len(scenario.pool())}, episodes {scenario.episodes}"
    return f"topics {len(scenario.topics)}"


def _rounded(tokens: int) -> str:
    """Two digits: 4,630,453 is 4,600,000."""
    return f"{float(f'{tokens:.2g}'):,.0f}"
