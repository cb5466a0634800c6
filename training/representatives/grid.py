"""What it helps to know: a representative trained for each choice of D, O, C, P and each size, scored on held-out critiques.

The study's ablation (its Fig 4 and appendix B) likewise trains one for each variant and compares log-likelihoods of critiques on
the validation side; here it is the test side, since the validation side decides when a training stops. Every model that is
trained and every score stays in the folder: a killed grid goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from parley.agents.representative import KINDS
from parley.analysis import disclaimers
from parley.analysis.deliberation.likelihood import MEASURES, against
from parley.analysis.formatting import format_estimate, markdown_table
from parley.analysis.plots import save, style
from parley.llm.errors import UserError
from parley.training.base_model import base_model
from parley.training.representatives.dataset_builder import DatasetBuilder, name_model
from parley.training.representatives.recipe import NOTHING, Lesson
from parley.training.representatives.scoring import OWN, STRANGER, load, scored

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
    """Write grid.csv, grid.png and .svg, grid.md; the path of the last.

    drawn: per_token or per_character, which models with tokenizers of their own can be compared by.
    """
    found = table(rows)
    found.to_csv(folder / "grid.csv", index=False)
    save(figure(found, drawn), folder / "grid")
    path = folder / "grid.md"
    path.write_text("\n\n".join(_parts(found, specs)) + "\n", encoding="utf-8")
    return path


def figure(found: pd.DataFrame, measure: str = "per_token") -> Figure:
    """By what is known, a series a model, 95% intervals: above the log-probability per token (or character) of the person's
    critique, below by how much it is higher than a stranger's representative has it.
    """
    with style():
        drawn = Figure(figsize=(5.2, 4.2), layout="constrained")
        FigureCanvasAgg(drawn)
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


def _parts(found: pd.DataFrame, specs: Sequence[str]) -> Iterator[str]:
    yield "# What it helps a representative to know"
    if note := disclaimers.is_own_model(*specs):
        yield f"> {note}"
    yield f"{int(found['critiques'].max())} {ABOUT}"
    header = ["model", "knows", "per token", "per critique", "per character", "by length", "gain over a stranger"]
    yield markdown_table(header, [_row(row) for row in found.to_dict("records")])
    yield "![by what is known](grid.png)"


def _row(row: dict[str, float]) -> list[str]:
    digits = {"per_token": 3, "per_critique": 2, "per_character": 3, "by_length": 3, "gain": 2}
    cells = [format_estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], each) for name, each in digits.items()]
    return [str(row["model"]), str(row["knows"]), *cells]
