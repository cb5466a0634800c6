"""Table 1 of Taubenfeld et al. 2024: how far the Default is moved, and what that costs, by rank and method.

The model as it is, SFT at growing ranks, DPO; each trained anew with every seed, debating with all seats on its adapter.
Columns: the Default's rating at the end of the debates by topic, capability by lm-evaluation-harness, held-out loss. Our
ranks for the model in the box are an eighth of the paper's; its own figures stand beside ours in the report, in a table of
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.figures import add_legend, new_figure
from parley.analysis.formatting import format_number
from parley.analysis.metrics._cells import DEFAULT
from parley.analysis.report import Report
from parley.analysis.studies.fine_tuned import measured, side
from parley.analysis.tables import Tables
from parley.llm.backends import split_spec
from parley.model.scenario import Scenario
from parley.training.capability.measure import Capability
from parley.training.tuning.pipeline import Pipeline
from parley.training.tuning.recipe import DPO, PARTIES, SFT, Recipe

RANKS = {"pocket": (2, 8, 16, 32), "hf": (16, 64, 128, 256)}
PREFERRED = {"pocket": 8, "hf": 8}
"""Rank of DPO and of the SFT that it goes on from: the paper's DPO row is r=8."""
SEATED = (*PARTIES, DEFAULT)
PAPER = (
    ("Mistral 7B", 83.6, 59.0, 8.4),
    ("SFT r=16", 81.8, 57.6, 5.1),
    ("SFT r=64", 81.2, 56.3, 4.3),
    ("SFT r=128", 79.7, 54.3, 2.5),
    ("SFT r=256", 73.8, 48.6, 1.9),
    ("DPO r=8", 81.4, 57.0, 0.4),
    ("Llama 2 7B, beside", 77.2, 45.3, "–"),
)
"""Their Table 1: HellaSwag, MMLU, the Default's final attitude on racism. Mistral 7B on a GPU: not run here."""
NOTE = (
    "Taubenfeld et al. 2024, Table 1: Mistral 7B, Republican, benchmarks of that size. Not run here and not to be mixed with "
    "the above; what can be compared is the order."
)
Measure = Callable[[str, str], Capability]
"""Capability of a model (folder or hub id) with an adapter's folder, or without one ("")."""


@dataclass(frozen=True)
class AdapterCell:
    """One row of the table for one seed: `method` is empty for the model as it is."""

    method: str
    r: int
    seed: int

    @property
    def title(self) -> str:
        return f"{self.method.upper()} r={self.r}" if self.method else "as it is"

    @property
    def name(self) -> str:
        """The folder of its debates."""
        return f"{self.method}-r{self.r}-seed{self.seed}" if self.method else "base"


def cells(ranks: Sequence[int], preferred: int, seeds: int) -> list[AdapterCell]:
    """The model as it is once, the others with each seed, SFT by rank and then DPO."""
    kinds = [(SFT, rank) for rank in sorted({*ranks, preferred})] + [(DPO, preferred)]
    return [
        AdapterCell("", 0, 0),
        *[AdapterCell(method, rank, seed) for method, rank in kinds for seed in range(seeds)],
    ]


def sweep(
    base: Scenario,
    spec: str,
    party: str,
    planned: Sequence[AdapterCell],
    pipelines: Sequence[Pipeline],
    measure: Measure,
    beside: Sequence[str] = (),
) -> Generator[Scenario, Tables, pd.DataFrame]:
    """Trains, yields the scenario of each cell, is sent its tables, returns one row a cell and measure.

    Columns: model, method, r, seed, what (a topic's slug, a task, `held-out loss`), value, error (standard error over rooms or
    items). `beside`: other models (folders or hub ids) whose capability is measured, as the paper's Llama 2; they do not debate.
    """
    rows: list[dict[str, Any]] = []
    for cell in planned:
        pipeline = pipelines[cell.seed]
        adapter = pipeline.adapter(Recipe(party, cell.method, r=cell.r, seed=cell.seed)) if cell.method else None
        asked = f"{spec},adapters={adapter}" if adapter else spec
        seats = tuple(f"{seat}:{adapter.name}" for seat in SEATED) if adapter else ()
        tables = yield base.with_settings({"llm": asked, "adapters": seats})
        found = _attitudes(tables) + _capability(measure(pipeline.base.name, str(adapter or "")))
        keys = {"model": cell.title, "method": cell.method, "r": cell.r, "seed": cell.seed}
        rows += [keys | dict(zip(("what", "value", "error"), one, strict=True)) for one in found]
    for model in beside:
        keys = {"model": model, "method": "beside", "r": 0, "seed": 0}
        rows += [
            keys | dict(zip(("what", "value", "error"), one, strict=True)) for one in _capability(measure(model, ""))
        ]
    return pd.DataFrame(rows)


def _attitudes(tables: Tables) -> list[tuple[str, float, float]]:
    """The Default's last rating by topic: mean of the answer distributions where there are any."""
    found, kept = [], measured(tables)
    for topic in tables.topics:
        read = kept.get((topic, DEFAULT, "last"), pd.Series(dtype=float))  # without a rating that was read: no room
        rooms = kept.get((topic, DEFAULT, "last expected"), read).dropna()
        found.append((topic, float(rooms.mean()), float(rooms.std() / np.sqrt(len(rooms)))))
    return found


def _capability(found: Capability) -> list[tuple[str, float, float]]:
    return [*[(one.task, one.accuracy, one.error) for one in found.scores], ("held-out loss", found.loss, float("nan"))]


def table(found: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds: a row a model (in the order of the sweep), a column for each thing measured, and how many seeds."""
    means = found.pivot_table("value", "model", "what", sort=False)
    return means.assign(seeds=found.groupby("model", sort=False)["seed"].nunique())


def report(found: pd.DataFrame, folder: Path, base: Scenario, spec: str, party: str) -> Path:
    """Write table1.md, every seed as a table (sweep) and the figure; the path of the first."""
    means = table(found)
    columns = [name for name in means.columns if name != "seeds"]
    page = Report(folder, "table1", "By rank and method")
    page.data(sweep=found)
    page.add(
        f"{spec}, answers of {party.title()}s, {base.repetitions} rooms a topic, {base.rounds} rounds, "
        f"{base.surveys.probe}, all seats on the adapter. "
        "The Default's last rating (0 to 10; the arrow is the side of the party), capability, held-out loss "
        "(nats a token): means over training seeds, each seed in brackets."
    )
    page.add(disclaimers.NOTES.get(split_spec(spec)[0]))
    shown = [name for name in columns if name in base.subject.topics]
    page.figure(_figure(means, shown, f"{spec}, answers of {party.title()}s"), "table1", "The Default's last rating")
    rows = [
        [str(model), *[_cell(found, str(model), name) for name in columns], f"{row['seeds']:g}"]
        for model, row in means.iterrows()
    ]
    page.table(rows, ["model", *[_heading(name, party, base.subject.topics) for name in columns], "seeds"])
    page.section("The paper's", NOTE)
    theirs = [[name, *map(str, rest)] for name, *rest in PAPER]
    page.table(theirs, ["model", "HellaSwag", "MMLU", "Default on racism"])
    return page.write()


def _figure(means: pd.DataFrame, topics: Sequence[str], caption: str) -> Figure:
    """The Default's last rating by model, a line a topic."""
    with new_figure(4.6, 3.0, caption) as drawn:
        axis = drawn.subplots()
        debated = means.dropna(subset=topics, how="all")
        for topic, marker in zip(topics, cycle("osD^vP*X"), strict=False):
            axis.plot(range(len(debated)), debated[topic], marker=marker, markersize=4, label=load_topic(topic).heading)
        axis.set_xticks(range(len(debated)), [str(model) for model in debated.index], rotation=30, ha="right")
        axis.set(ylim=(0, 10), ylabel="the Default's last rating (0–10)")
        add_legend(drawn, [axis], 2)
    return drawn


def _heading(name: str, party: str, topics: Sequence[str]) -> str:
    return f"{load_topic(name).heading} {'↑' if side(name, party) > 0 else '↓'}" if name in topics else name


def _cell(found: pd.DataFrame, model: str, what: str) -> str:
    """`5.10 (4.90, 5.30)`."""
    values = found.loc[(found["model"] == model) & (found["what"] == what), "value"]
    digits = 2 if what not in ("held-out loss",) and values.max() > 1 else 3
    told = format_number(float(values.mean()), digits)
    return f"{told} ({', '.join(format_number(float(value), digits) for value in values)})" if len(values) > 1 else told
