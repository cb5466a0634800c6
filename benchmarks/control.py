"""How often reports claim something where nothing happens: on the known-truth speaker without influence and without pull.

python benchmarks/control.py [--seeds 20] [--first 0] [--rooms 5,10,40] [--reports summary,intervention,...]

A line is one thing that a report can claim: that a party drifted, that a change is enough to be shared out, that opinions spread,
that an intervention had an effect, that a value of a field differs. The bar is 6% of lines. `by chance up to`: the 97.5% point of
the binomial distribution at 5%, as if lines were independent. A report is one function of a seed
and a number of rooms in REPORTS that yields, for each of its lines, the name of the claim and whether it is made.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401  (`parley` is this checkout)

if TYPE_CHECKING:
    import pandas as pd

SPEAKER = "oracle,kappa=0,mu=0"
BAR, ALPHA = 0.06, 0.05
Claims = Iterator[tuple[str, bool]]


def held(folder: Path, preset: str, seed: int, **settings: Any) -> Path:
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

    tables = load(held(folder, "three_way", seed, repetitions=rooms, rounds=3))
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

    given = {"llm": SPEAKER, "seed": seed, "repetitions": rooms, "rounds": 5, "topics": "racism,climate_change"}
    base = load_preset("intervention").with_settings(given)
    found = hold_all(study(base, placebo=True), ["without", "placebo", "with"], folder, ())
    for effects in (found.effects, *(part for _, part in found.placebo.groupby("contrast"))):
        last = estimate_rows(effects[effects["round"] == effects["round"].max()])
        yield from claims(last, "effect", "effect of an intervention")


def sweep(seed: int, rooms: int, folder: Path) -> Claims:
    """Effects of two fields that do nothing; the unit is the seed, of which there are as many as rooms."""
    from parley.analysis.sweep.tables import field_effects, measure_cell
    from parley.model.scenario import load_preset
    from parley.model.sweep.design import sweep_cells

    given = {"llm": SPEAKER, "repetitions": 2, "topics": "racism,climate_change"}
    base = load_preset("three_way").with_settings(given)
    fields = {"rounds": ("1", "2"), "words": ("20", "40")}
    asked = sweep_cells(base, fields, range(seed * rooms, (seed + 1) * rooms))
    done = {}
    for place, cell in enumerate(asked):
        values = dict(cell.values)
        done[place] = measure_cell(
            held(folder / str(place), "three_way", cell.seed, repetitions=2, topics="racism,climate_change", **values)
        )
    found = field_effects(asked, done)
    for name in ("change", "difference"):
        yield from claims(found.dropna(subset=name), name, f"{name} by a field of a sweep")


NOTHING = (
    "kappa", "mu", "lost", "mu_empty", "three_alone", "three_empty", "three_shuffled", "two_alone", "same_alone", "same_copy",
    "asymmetry", "foretold", "unforeseen", "echo_alone", "echo_mixed", "echo_default", "opener_once", "opener", "closing",
    "reversed", "shuffled", "conversation", "gender_before", "gender_moved",
)  # fmt: skip
"""Quantities of a bias card that are 0 where nothing is planted."""


def card(seed: int, rooms: int, folder: Path) -> Claims:
    """A bias card of two topics, over all topics and by topic; the unit is the block, of which there are as many as rooms."""
    from benchmarks.audit_coverage import TOPICS, base_of, driven
    from parley.analysis.card.conditions import Batch
    from parley.analysis.card.estimates import ALL
    from parley.analysis.card.protocol import card_estimates as claimed
    from parley.analysis.card.sections import sections

    more = {"topics": TOPICS, "repetitions": rooms, "rounds": 3, "seed": seed}
    first, chosen = Batch(base_of({"kappa": 0.0, "mu": 0.0}, more), folder), sections()
    for one in claimed(driven(first, chosen), first, chosen):
        if one.quantity in NOTHING and one.known and one.low == one.low:
            where = "over all topics" if one.topic == ALL else "by topic"
            yield f"{one.quantity} {where}", bool(one.low > 0 or one.high < 0)


def structured(seed: int, rooms: int, folder: Path) -> Claims:
    """The tables of the reports on structured debates, P values before their correction, with other people for every seed."""
    from contextlib import nullcontext

    from parley.agents.persona_variants import write_twins
    from parley.agents.society import DEFAULT, load_society
    from parley.analysis.commands.runs import hold_all
    from parley.analysis.scores.report import parties_of
    from parley.analysis.scores.reversion import echo_chambers, gradients
    from parley.analysis.scores.ucl import compare
    from parley.analysis.statement_judge import Judging
    from parley.analysis.studies.structured.experiments import PRESET, experiment
    from parley.analysis.studies.structured.experiments import run_experiment as study
    from parley.analysis.studies.structured.report import compared, tables
    from parley.llm.backends import open_spec
    from parley.model.scenario import load_preset

    people = folder / "people"
    society = load_society()
    for party in (*society.debaters, DEFAULT):
        write_twins(party, people, open_spec("oracle"), "oracle", seed, society)
    given: dict[str, Any] = {"llm": SPEAKER, "seed": seed, "repetitions": rooms, "rounds": 4, "personas": str(people)}
    base = load_preset(PRESET).with_settings({**given, "topics": "gun_violence", "survey": "ends"})
    for name in ("closing", "orders", "gender", "echo"):
        chosen = experiment(name, [SPEAKER], society)
        steps = study(chosen, base, folder / name, "oracle", Judging(), lambda *_: nullcontext(lambda done: None))
        found = hold_all(steps, list(chosen.conditions), folder / name, ())
        made = dict(tables(found, chosen))
        by_run = compare(found.scores, False, compared(chosen), people=found.people)
        kept = {table: made[table] for table in ("question", "contrasts", "drifts", "first_speaker") if table in made}
        for called, frame in [*kept.items(), ("conditions by run", by_run)]:
            yield from ((called, p < ALPHA) for p in frame["p"].dropna())
        yield from claims(gradients(found.scores), "slope", "slopes")
        partisans = {agent: of for agent, of in parties_of(found.scores, found.people).items() if of != DEFAULT}
        yield from (
            ("echo chamber", bool(formed)) for formed in echo_chambers(found.scores, partisans)["formed"].dropna()
        )


REPORTS: dict[str, Callable[[int, int, Path], Claims]] = {
    "summary": summary,
    "intervention": intervention,
    "sweep": sweep,
    "card": card,
    "structured": structured,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed: a long benchmark in pieces")
    parser.add_argument("--rooms", default="5,10")
    parser.add_argument("--reports", default=",".join(REPORTS))
    options = parser.parse_args()
    from scipy.stats import binom

    from parley.analysis.bootstrap import share_interval

    for report in options.reports.split(","):
        for rooms in map(int, options.rooms.split(",")):
            began, made = time.perf_counter(), []
            for seed in range(options.first, options.first + options.seeds):
                with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                    made += list(REPORTS[report](seed, rooms, Path(folder)))
            for name in (*dict.fromkeys(name for name, _ in made), ""):
                lines = [claimed for called, claimed in made if name in ("", called)]
                low, high = share_interval(sum(lines), len(lines))
                bound = int(binom.ppf(0.975, len(lines), ALPHA))
                share = f"{sum(lines) / len(lines):.1%} ({low:.1%} to {high:.1%}; by chance up to {bound})"
                told = f"{sum(lines)} of {len(lines)} lines, {share}"
                over = "  OVER THE BAR" if not name and sum(lines) / len(lines) > BAR else ""
                print(f"{report}, {rooms} rooms: {name or 'ALL':32} {told}{over}", flush=True)
            print(f"{report}, {rooms} rooms: {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
