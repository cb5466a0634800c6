"""What it helps to know: a representative trained for each choice of D, O, C, P and each size, scored on held-out critiques.

The study's ablation (its Fig 4 and appendix B) likewise trains one for each variant and compares log-likelihoods of critiques on
the validation side; here it is the test side, since the validation side decides when a training stops. Every model that is
trained and every score stays in the folder: a killed grid goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.agents.representative import KINDS
from parley.analysis.deliberation.likelihood import MEASURES, against
from parley.analysis.figures import new_figure
from parley.analysis.formatting import Column, estimate
from parley.analysis.report import Report
from parley.llm.errors import UserError
from parley.training.base_model import base_model
from parley.training.representatives.measures import OWN, STRANGER, load, scored
from parley.training.representatives.pipeline import NOTHING, DatasetBuilder, Lesson, name_model

PAPER = ("", "D", "O", "C", "P", "OC", "DOCP")
"""The base, each alone, the study's best, all of it."""
EVERY = tuple("".join(chosen) for size in range(len(KINDS) + 1) for chosen in combinations(KINDS, size))
ABOUT = (
    "critiques of people and on questions that are in no training data; one model trained for each row. Log-probabilities in "
    "nats, higher is better; 95% intervals over participants. Models with tokenizers of their own are compared per critique or "
    "per character, not per token or by length. Gain: the critique under its own representative minus under another "
    "participant's of the same group: above 0, it stands for this person rather than for anybody in the room. D demographics, "
    "O own opinions, C own critiques, P own positions on other questions."
)
COLOURS = ("#1f5fa8", "#c0392b", "#2e7d32", "#7b4ea3")
MARKERS = "osD^"
COLUMNS: Mapping[str, Column] = {
    "model": "model", "knows": "knows", "per token": estimate("per_token", 3), "per critique": estimate("per_critique"),
    "per character": estimate("per_character", 3), "by length": estimate("by_length", 3),
    "gain over a stranger": estimate("gain"),
}  # fmt: skip


def knowledge_grid(
    workshop: DatasetBuilder, specs: Sequence[str], choices: Sequence[str], lesson: Lesson
) -> pd.DataFrame:
    """A row a model, choice, critique and prompt (own, stranger): `model`, `knows` and the columns of `scored`.

    Errors: UserError on two models of one name, and before anything is trained when there is nothing to score.
    """
    _distinct(specs)
    cases, parts = workshop.tested(), []
    for spec in specs:
        for knows in choices:
            own = replace(lesson, knows=knows)
            path = workshop.folder / "grid" / f"{name_model(base_model(spec))}-{own.name}.csv"
            model = workshop.model(spec, own)
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                found = scored(cases, knows, load(model), workshop.seed)
                part = path.with_suffix(".part")
                found.to_csv(part, index=False)
                part.replace(path)
            parts.append(pd.read_csv(path).assign(model=name_model(base_model(spec)), knows=knows or NOTHING))
    return pd.concat(parts, ignore_index=True)


def _distinct(specs: Sequence[str]) -> None:
    names = [name_model(base_model(spec)) for spec in specs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"two models would both be called {twice[0]} here: give them folders of different names")


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a model and choice: each measure with low and high, and `gain`, own minus stranger per critique."""
    found = []
    for (model, knows), part in rows.groupby(["model", "knows"], sort=False):
        own, other = (part[part["asked"] == asked] for asked in (OWN, STRANGER))
        cells = {name: measure(own) for name, measure in MEASURES.items()}
        cells["gain"] = against(own, other)
        row: dict[str, object] = {"model": model, "knows": knows, "critiques": len(own)}
        for name, cell in cells.items():
            row |= {name: cell.value, f"{name}_low": cell.low, f"{name}_high": cell.high}
        found.append(row)
    return pd.DataFrame(found)


def report(rows: pd.DataFrame, folder: Path, specs: Sequence[str], drawn: str = "per_token") -> Path:
    """Write grid.md, its table and the figure; the path of the first.

    drawn: per_token or per_character, which models with tokenizers of their own can be compared by.
    """
    found = table(rows)
    page = Report(folder, "grid", "What it helps a representative to know")
    page.data(grid=found)
    page.disclaim_models(*specs)
    page.add(f"{int(found['critiques'].max())} {ABOUT}")
    page.table(found, COLUMNS)
    page.figure(figure(found, drawn), "grid", "by what is known")
    return page.write()


def figure(found: pd.DataFrame, measure: str = "per_token") -> Figure:
    """By what is known, a series a model, 95% intervals: above the log-probability per token (or character) of the person's
    critique, below by how much it is higher than a stranger's representative has it.
    """
    with new_figure(5.2, 4.2) as drawn:
        likely, gain = drawn.subplots(2, 1, sharex=True)
        _series(likely, found, measure)
        _series(gain, found, "gain")
        gain.axhline(0, color="#999999", linewidth=0.6)
        likely.set_ylabel(f"log-probability\n{measure.replace('_', ' ')} (nats)")
        gain.set(xlabel="known besides question, opinion and draft", ylabel="gain over a stranger\nper critique (nats)")
        drawn.legend(*likely.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return drawn


def _series(axes: Axes, found: pd.DataFrame, measure: str) -> None:
    models, choices = list(dict.fromkeys(found["model"])), list(dict.fromkeys(found["knows"]))
    for place, model in enumerate(models):
        part = found[found["model"] == model].set_index("knows").reindex(choices)
        at = [number + 0.16 * (place - (len(models) - 1) / 2) for number in range(len(choices))]
        reach = [part[measure] - part[f"{measure}_low"], part[f"{measure}_high"] - part[measure]]
        axes.errorbar(at, part[measure], yerr=[one.fillna(0) for one in reach],
                      fmt=MARKERS[place % len(MARKERS)], markersize=3.5,
                      linewidth=1, color=COLOURS[place % len(COLOURS)], label=model)  # fmt: skip
    axes.set_xticks(range(len(choices)), choices)
    axes.set_xlim(-0.5, len(choices) - 0.5)
