"""Reports on debates in which nothing happens: the lines of each, and whether a line claims something.

The speaker is the oracle without influence and without pull (`SPEAKER`): ratings and statements vary by chance around what
each person's text says, and nothing that is said changes anything. A line is a place where a report can claim something: a
cell with an interval, a P value, a verdict. What people's texts make true (where a party leans, the gap between parties) is no
line. control.py counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from parley.analysis.tables import Tables
    from parley.model.scenario import Scenario

SPEAKER = "oracle,kappa=0,mu=0"
ALPHA = 0.05
Claims = Iterator[tuple[str, bool]]


def run_preset(folder: Path, preset: str, seed: int, **settings: Any) -> Path:
    """Run a preset on the control into a folder; the folder."""
    from parley.model.scenario import load_preset
    from parley.model.scenario_run import RunSpec, run_scenario

    run_scenario(RunSpec(load_preset(preset).with_settings({"llm": SPEAKER, "seed": seed} | settings), folder))
    return folder


def claims(frame: pd.DataFrame, name: str, called: str) -> Claims:
    """A line a row: whether its interval leaves out 0. A row that says why it has none is a line without a claim."""
    for low, high in zip(frame[f"{name}_low"], frame[f"{name}_high"], strict=True):
        yield called, bool(low > 0 or high < 0)


def summary(seed: int, rooms: int, folder: Path) -> Claims:
    """The headlines of summary.md on the paper's three-way debate and four topics."""
    from parley.analysis.metrics import drift, first_cycle, polarisation
    from parley.analysis.tables import load

    tables = load(run_preset(folder, "three_way", seed, repetitions=rooms, rounds=3))
    yield from claims(drift.compute(tables), "drift", "drift toward the Default")
    shares = first_cycle.compute(tables)
    yield from (("change to share out", share == share) for share in shares["share"])
    last = polarisation.compute(tables).groupby(["topic", "group"]).tail(1)
    yield from claims(last, "change", "change of variance")


def intervention(seed: int, rooms: int, folder: Path) -> Claims:
    """The headline of `intervene` and its placebo: a moderator whom no agent can hear."""
    from parley.analysis.commands.runs import hold_all
    from parley.analysis.studies.intervention import estimate_rows
    from parley.analysis.studies.intervention import intervention as study
    from parley.model.scenario import load_preset

    given = {"llm": SPEAKER, "seed": seed, "repetitions": rooms, "rounds": 5, "topic": "racism,climate_change"}
    base = load_preset("intervention").with_settings(given)
    result = hold_all(study(base, placebo=True), ["without", "placebo", "with"], folder, ())
    for effects in (result.effects, *(contrast_rows for _, contrast_rows in result.placebo.groupby("contrast"))):
        last = estimate_rows(effects[effects["round"] == effects["round"].max()])
        yield from claims(last, "effect", "effect of an intervention")


def sweep(seed: int, rooms: int, folder: Path) -> Claims:
    """Effects of two fields that do nothing; the unit is the seed, of which there are as many as rooms."""
    from parley.analysis.sweep.tables import field_effects, measure_cell
    from parley.model.scenario import load_preset
    from parley.model.sweep.design import sweep_cells

    given = {"llm": SPEAKER, "repetitions": 2, "topic": "racism,climate_change"}
    base = load_preset("three_way").with_settings(given)
    fields = {"rounds": ("1", "2"), "words": ("20", "40")}
    cells = sweep_cells(base, fields, range(seed * rooms, (seed + 1) * rooms))
    done = {}
    for place, cell in enumerate(cells):
        values = dict(cell.values)
        done[place] = measure_cell(
            run_preset(
                folder / str(place), "three_way", cell.seed, repetitions=2, topic="racism,climate_change", **values
            )
        )
    effects = field_effects(cells, done)
    for name in ("change", "difference"):
        yield from claims(effects.dropna(subset=name), name, f"{name} by a field of a sweep")


NOTHING = (
        "kappa", "mu", "lost", "mu_empty", "kappa_first", "kappa_second", "mu_first", "mu_second", "closed_apart",
        "three_alone", "three_empty", "three_shuffled", "two_alone", "same_alone", "same_copy", "asymmetry", "foretold",
        "unforeseen", "echo_alone", "echo_mixed", "echo_default", "opener_once", "opener", "closing",
        "reversed", "shuffled", "conversation", "gender_before", "gender_moved", "room_spread", "partner",
)  # fmt: skip
"""Quantities of a bias card that are 0 where nothing is planted.

Not here: `collapse`, `collapse_alone` (the speaker's chance at each line heard adds to the spread: 1.05 and .05 at 20 blocks) and
`majority` (whole points: an agent at 8.4 says 8 before the debate and 8 or 9 after it, .13 at 20 blocks). They are not 0 there.
"""


def card(seed: int, rooms: int, folder: Path) -> Claims:
    """A bias card of two topics, over all topics and by topic; the unit is the block, of which there are as many as rooms."""
    from audit_coverage import TOPICS, base_of, driven

    from parley.analysis.card.conditions import Batch
    from parley.analysis.card.estimates import ALL
    from parley.analysis.card.protocol import card_estimates as claimed
    from parley.analysis.card.sections import sections

    more = {"topic": TOPICS, "repetitions": rooms, "rounds": 3, "seed": seed}
    first, chosen = Batch(base_of({"kappa": 0.0, "mu": 0.0}, more), folder), sections()
    for claim in claimed(driven(first, chosen), first, chosen):
        if claim.quantity in NOTHING and claim.known and claim.low == claim.low:
            where = "over all topics" if claim.topic == ALL else "by topic"
            yield f"{claim.quantity} {where}", bool(claim.low > 0 or claim.high < 0)


EXPERIMENTS = ("closing", "orders", "gender", "echo")
ROWS = ("question", "contrasts", "drifts", "first_speaker", "sharing")
"""The tables of a structured report that have a p; those after them describe, and are not made here."""


def structured(seed: int, rooms: int, folder: Path, experiments: tuple[str, ...] = EXPERIMENTS) -> Claims:
    """The rows of the reports on structured debates, with other people for every seed: P values before their correction.

    "answer": whether the first sentences claim anything, which go by corrected P values. Runs are in memory, and neither a
    page nor a figure is made.
    """
    from contextlib import nullcontext

    from parley.agents.persona_variants import write_twins
    from parley.agents.society import DEFAULT, load_society
    from parley.analysis.scores.report import parties_of
    from parley.analysis.scores.reversion import echo_chambers, gradients
    from parley.analysis.scores.ucl import compare
    from parley.analysis.statement_judge import Judging
    from parley.llm.backends import open_spec
    from parley.model.scenario import load_preset
    from parley.studies.structured.experiments import PRESET, experiment, run_experiment
    from parley.studies.structured.report import compared, tables

    people = folder / "people"
    society = load_society()
    for party in (*society.debaters, DEFAULT):
        write_twins(party, people, open_spec("oracle"), "oracle", seed, society)
    given: dict[str, Any] = {"llm": SPEAKER, "seed": seed, "repetitions": rooms, "rounds": 4, "personas": str(people)}
    base = load_preset(PRESET).with_settings({**given, "topic": "gun_violence", "survey": "ends"})
    for name in experiments:
        chosen = experiment(name, [SPEAKER], society)
        silent = lambda *_: nullcontext(lambda done: None)  # noqa: E731
        results = in_memory(run_experiment(chosen, base, folder / name, "oracle", Judging(), silent))
        for table, frame in takewhile(lambda made: made[0] in ROWS, tables(results, chosen)):
            yield from ((f"{name}: {table}", p < ALPHA) for p in frame["p"].dropna())
            if table in ("question", "first_speaker") and frame["p"].notna().any():
                yield f"{name}: answer", bool((frame["p_holm"] < ALPHA).any())
        by_run = compare(results.scores, False, compared(chosen), people=results.people)
        yield from ((f"{name}: conditions", p < ALPHA) for p in by_run["p"].dropna())
        yield from claims(gradients(results.scores), "slope", f"{name}: slopes")
        partisans = {agent: of for agent, of in parties_of(results.scores, results.people).items() if of != DEFAULT}
        formed = echo_chambers(results.scores, partisans)["formed"].dropna()
        yield from ((f"{name}: echo chamber", bool(has_formed)) for has_formed in formed)


def in_memory(study: Generator[Scenario, Tables, Any]) -> Any:
    """Run the scenarios of a study without a file, and return what it returns."""
    from audit_coverage import held as run_in_memory

    scenario = next(study)
    while True:
        try:
            scenario = study.send(run_in_memory(scenario))
        except StopIteration as done:
            return done.value


REPORTS: dict[str, Callable[[int, int, Path], Claims]] = {
    "summary": summary,
    "intervention": intervention,
    "sweep": sweep,
    "card": card,
    "structured": structured,
}
