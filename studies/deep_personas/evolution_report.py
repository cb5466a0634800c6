"""The page of `run.py study evolve`: fit to targets and to held-out questions by generation, selected and at random."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.agents.deep_personas import save_people
from parley.analysis import disclaimers
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import Column, count_phrase, estimate, format_estimate, format_number
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, mean_interval, verdict, with_interval
from parley.analysis.unknown import unknown_sentence
from parley.studies.deep_personas.evolution import LINES, RANDOM, SELECTED, Evolution, EvolutionStudy, evolution_table

MEASURES = ("targets", "held_out", "targets_covered", "held_out_covered")
WORDS: Mapping[str, str] = {
    "targets": "fit to the targets", "held_out": "fit to the held-out questions",
    "targets_covered": "coverage of the targets' options", "held_out_covered": "coverage of the held-out options",
}  # fmt: skip
ROWS: Mapping[str, Column] = {
    "generation": "generation", "selection": "line", "targets": estimate("targets", 3), "held out": estimate("held_out", 3),
    "targets covered": estimate("targets_covered"), "held out covered": estimate("held_out_covered"),
}  # fmt: skip
MOST_ROWS = 6
PEOPLE = "people"


def write_evolution(study: EvolutionStudy, done: dict[tuple[int, str], Evolution], folder: Path) -> Path:
    """Write evolution.md, its tables and figure, and the people of the fittest candidate as a set of personas."""
    each = evolution_table(done)
    by, gains = by_generation(each), compare_lines(each)
    report = Report(folder, "evolution", "Evolution of a population")
    report.data(evolution=each, generations=by, gains=gains)
    questions = study.base.table.questions
    report.add(
        f"{count_phrase(study.candidates, 'candidate')} of {count_phrase(study.size, 'agent')} with "
        f"{count_phrase(study.depth, 'attribute')} each, {count_phrase(study.generations, 'generation')}, "
        f"{count_phrase(study.repeats, 'repetition')}. {study.base.llm} wrote the sentences and answered {len(questions)} "
        f"questions, of which {sum(study.targets)} are targets of the selection. Fit is 1 minus the mean total variation from "
        "people. Coverage is the share of options that at least one person most likely chooses. In the condition *random*, "
        "chance decides which half of the candidates survives. Brackets hold 95% intervals over repetitions of the whole "
        f"evolution; with fewer than {FEWEST} repetitions there are no intervals."
    )
    report.disclaim_models(study.base.llm)
    lost, answered = (
        sum(evolution.lost for evolution in done.values()),
        sum(evolution.answered for evolution in done.values()),
    )
    report.missing(lost, answered, "answers are missing", "")
    report.in_short(gain_lines(gains))
    report.figure(
        figure(by, disclaimers.spec_label(study.base.llm)), "evolution", "Fit by generation, selected and random"
    )
    report.section("Generations")
    kept = sorted({round(place) for place in np.linspace(0, study.generations, min(study.generations + 1, MOST_ROWS))})
    report.table(by[by["generation"].isin(kept)], ROWS)
    best = max(
        (evolution for (_, line), evolution in done.items() if line == SELECTED),
        key=lambda evolution: evolution.fitness,
    )
    save_people(best.people, folder / PEOPLE, f"evolved with {study.base.llm} (python run.py study evolve)")
    report.add(
        f"The fittest candidate of all repetitions is a set of personas: `--set personas=./{PEOPLE}` in the folder of the "
        "results."
    )
    return report.write()


def by_generation(each: pd.DataFrame) -> pd.DataFrame:
    """Return a row per generation and line: the mean of each measure over repetitions, with its interval."""
    rows: list[dict[str, Any]] = []
    for (generation, line), generation_rows in each.groupby(["generation", "line"], sort=False):
        row: dict[str, Any] = {"generation": generation, "line": line, "repetitions": len(generation_rows)}
        for name in MEASURES:
            row |= _named(name, generation_rows[name])
        rows.append(row)
    return pd.DataFrame(rows).sort_values(["generation", "line"], ascending=[True, False], ignore_index=True)


def compare_lines(each: pd.DataFrame) -> pd.DataFrame:
    """Return a row per measure: at the end, selected minus random (`gain`) and minus the beginning (`change`), in pairs."""
    last = each["generation"].max()
    wide = each.set_index(["repeat", "generation", "line"])
    rows = []
    for name in MEASURES:
        values = wide[name].unstack("line")
        end, begin = values.xs(last, level="generation"), values.xs(0, level="generation")
        gain, change = end[SELECTED] - end[RANDOM], end[SELECTED] - begin[SELECTED]
        rows.append({"measure": name, "repetitions": len(end), **_named("gain", gain), **_named("change", change)})
    return pd.DataFrame(rows)


def _named(name: str, values: pd.Series) -> dict[str, float]:
    repetition_values = values.dropna().to_numpy(dtype=float)
    repetition_values = np.where(np.abs(repetition_values) < 1e-12, 0.0, repetition_values)
    return with_interval(
        name, float(repetition_values.mean()) if len(repetition_values) else math.nan, mean_interval(repetition_values)
    )


def gain_lines(gains: pd.DataFrame) -> list[str]:
    """Return in sentences what selection gained over random selection."""
    lines = []
    for row in gains.to_dict("records"):
        what, value, low, high = WORDS[row["measure"]], row["gain"], row["gain_low"], row["gain_high"]
        if math.isnan(low):
            reason = (
                "there are no answers"
                if math.isnan(value)
                else f"fewer than {FEWEST} repetitions, or no variation between them"
            )
            same = f"Selection and chance give the same {what} in every repetition."
            lines.append(same if value == 0 else unknown_sentence(f"whether selection improves the {what}", reason))
            continue
        size = format_estimate(value, low, high, 3)
        side = verdict(low, high, "is higher", "is lower", "is not clearly different")
        change = format_number(row["change"], 3)
        lines.append(f"The {what} {side} after selection than after chance: {size}; since the beginning {change}.")
    note = (
        "Selection uses the targets, so noise alone raises the fit to the targets. Only held-out questions are a test."
    )
    return [*lines, note]


def figure(by: pd.DataFrame, caption: str) -> Figure:
    """Draw fit by generation for targets and held-out questions."""
    with new_figure(7, 3.2, f"{caption}. Bars: 95% intervals over repetitions") as drawn:
        axes = drawn.subplots(1, 2, sharey=True)
        for axis, name in zip(axes, MEASURES[:2], strict=True):
            for number, line in enumerate(LINES):
                plot_line(axis, by[by["line"] == line], "generation", name, line, OTHERS[number])
            axis.set_title(WORDS[name].capitalize())
            axis.set_xlabel("Generation")
        axes[0].set_ylabel("Fit (1 − total variation)")
        add_legend(drawn, axes, 2)
    return drawn
