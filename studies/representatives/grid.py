"""What helps a representative to know: each choice of D, O, C, P and each model size.

The study's ablation (its Fig 4 and appendix B) also trains one for each variant and compares log-likelihoods of critiques. It
uses the validation side; here it is the test side, because the validation side decides when a training stops. Every trained
model and every score stays in the folder, so that a stopped grid continues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.agents.representative import KINDS, Representative
from parley.analysis.figures import draw_null, draw_points, new_figure
from parley.analysis.formatting import Column, estimate
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import with_interval
from parley.llm.errors import UserError
from parley.studies.representatives.likelihood import MEASURES, against
from parley.studies.representatives.measures import OWN, STRANGER, kept_scores
from parley.studies.representatives.pipeline import NOTHING, DatasetBuilder, Lesson
from parley.studies.representatives.representation import RepresentationCase
from parley.training.base_model import base_model

PAPER = ("", "D", "O", "C", "P", "OC", "DOCP")
"""The study's choices: the base, each alone, the best, all of it."""
EVERY = tuple("".join(letters) for size in range(len(KINDS) + 1) for letters in combinations(KINDS, size))
ABOUT = (
    "critiques of people and on questions that are not in the training data; each row is a separate model. Numbers are "
    "log-probabilities in nats (higher is better), with 95% intervals over participants. Compare models with different "
    "tokenizers per critique or per character, not per token or by length. Gain is the log-probability of a critique under the "
    "person's representative, minus the log-probability under the representative of another participant of the group. With a "
    "gain above 0, the representative fits its person better than other people of the group. In the column `knows`, D means "
    "demographics, O own opinions, C own critiques, and P own positions on other questions."
)
COLOURS = ("#1f5fa8", "#c0392b", "#2e7d32", "#7b4ea3")
MARKERS = "osD^"
COLUMNS: Mapping[str, Column] = {
    "model": "model", "knows": "knows", "prompts that it changes": lambda row: f"{row['changed']:.0%}",
    "per token": estimate("per_token", 3), "per critique": estimate("per_critique"),
    "per character": estimate("per_character", 3), "by length": estimate("by_length", 3),
    "gain over a stranger": estimate("gain"),
}  # fmt: skip


def knowledge_grid(
    builder: DatasetBuilder, specs: Sequence[str], choices: Sequence[str], lesson: Lesson
) -> pd.DataFrame:
    """Return a row per model, choice, critique and prompt (own, stranger): `model`, `knows` and the columns of `scored`.

    Errors: UserError on two models of one name, and before the first training when there is nothing to score, or when a choice
    adds nothing to any prompt.
    """
    names = {spec: base_model(spec).path_name for spec in specs}
    name, count = Counter(names.values()).most_common(1)[0]
    if count > 1:
        raise UserError(f"two models have the same folder name {name}: rename one of the folders")
    cases, parts = builder.tested(), []
    _refuse_idle(choices, cases)
    for spec in specs:
        for knows in choices:
            variant = replace(lesson, knows=knows)
            path = builder.folder / "grid" / f"{names[spec]}-{variant.name}.csv"
            scores = kept_scores(path, cases, knows, builder.model(spec, variant), builder.seed)
            changed = changed_prompts(cases, knows)
            parts.append(scores.assign(model=names[spec], knows=knows or NOTHING, changed=changed))
    return pd.concat(parts, ignore_index=True)


def changed_prompts(cases: Sequence[RepresentationCase], knows: str) -> float:
    """Return the share of prompts to which a choice of knowledge adds anything; 0 where no participant has any of it."""
    return sum(_prompt(case, knows) != _prompt(case, "") for case in cases) / len(cases)


def _prompt(case: RepresentationCase, knows: str) -> list[str]:
    return [message.content for message in Representative(case.brief, knows).messages()]


def _refuse_idle(choices: Sequence[str], cases: Sequence[RepresentationCase]) -> None:
    """Errors: UserError for a choice of which nothing is known: its model would be the base under another name."""
    if idle := [knows for knows in choices if knows and not changed_prompts(cases, knows)]:
        raise UserError(
            f"{', '.join(idle)} adds nothing to any of the {len(cases)} test prompts: opinions, critiques and positions (O, "
            "C, P) come from other episodes of the same participant, demographics (D) from a questionnaire. Give episodes "
            "with this information, or leave the choice out (--choices)"
        )


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model and choice: each measure with low and high, and `gain`, own minus stranger per critique."""
    lines = []
    for (model, knows), cell_rows in rows.groupby(["model", "knows"], sort=False):
        scores, other = (cell_rows[cell_rows["asked"] == whose] for whose in (OWN, STRANGER))
        line: dict[str, object] = {
            "model": model,
            "knows": knows,
            "critiques": len(scores),
            "changed": cell_rows["changed"].iloc[0],
        }
        measures = {name: measure(scores) for name, measure in MEASURES.items()} | {"gain": against(scores, other)}
        for name, mean in measures.items():
            line |= {**with_interval(name, mean.value, (mean.low, mean.high)), "people": mean.clusters}
        lines.append(line)
    return pd.DataFrame(lines)


def report(rows: pd.DataFrame, folder: Path, specs: Sequence[str], shown: str = "per_token") -> Path:
    """Write grid.md, its table and the figure; return the path of grid.md.

    shown: the measure of the figure, per_token, or per_character for models with different tokenizers.
    """
    means = table(rows)
    page = Report(folder, "grid", "Which knowledge helps a representative")
    page.data(grid=means)
    page.disclaim_models(*specs)
    page.add(f"{int(means['critiques'].max())} {ABOUT}")
    page.table(means, COLUMNS)
    page.figure(figure(means, shown), "grid", "by what is known")
    return page.write()


def unit_of(named: Sequence[str]) -> str:
    """Return the measure of the figure: per token for one model, in both sizes; several may have different tokenizers."""
    return "per_token" if len(named) == 1 else "per_character"


def figure(means: pd.DataFrame, shown: str = "per_token") -> Figure:
    """Draw a series per model by what is known, with 95% intervals.

    Above: the log-probability of the person's critique. Below: the gain over a stranger's representative.
    """
    with new_figure(5.2, 4.2) as drawn:
        likely, gain = drawn.subplots(2, 1, sharex=True)
        _plot_series(likely, means, shown)
        _plot_series(gain, means, "gain")
        draw_null(gain)
        likely.set_ylabel(f"log-probability\n{shown.replace('_', ' ')} (nats)")
        gain.set(xlabel="known besides question, opinion and draft", ylabel="gain over a stranger\nper critique (nats)")
        drawn.legend(*likely.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return drawn


def _plot_series(axes: Axes, means: pd.DataFrame, shown: str) -> None:
    models, choices = means["model"].unique(), means["knows"].unique()
    for place, model in enumerate(models):
        model_means = means[means["model"] == model].set_index("knows").reindex(choices)
        at = [number + 0.16 * (place - (len(models) - 1) / 2) for number in range(len(choices))]
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        draw_points(axes, at, model_means, shown, upright=True, fmt=marker, color=colour, label=model)
    axes.set_xticks(range(len(choices)), choices)
    axes.set_xlim(-0.5, len(choices) - 0.5)
