"""The page of a search: the best setting on new rooms, against a random choice and against what the search promised."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.figures import OTHERS, add_legend, draw_null, draw_points, new_figure
from parley.analysis.formatting import Column, count_table, estimate, number
from parley.analysis.report import Report

from .bench import RoomOutcome
from .measures import Estimate, front
from .results import better_by, costs_of, new_effects
from .searching import Found, Trial
from .sentences import debaters_sentence, sentences, setup_sentence, unit_of

NAME = "search"
HOW = (
    "An effect is the outcome of a room with a setting minus its outcome without an intervention, with equal people, places "
    "and seeds. Brackets are 95% intervals over repetitions, not corrected for the number of rows. Replies after an "
    "intervention are sampled again, so rooms also differ by chance, which the intervals include. The best of many measured "
    "effects is too large by chance (the winner's curse), so only new rooms show the effect of a setting. In the condition "
    "`random choice` each new repetition has a random setting."
)
OF_AUDIENCES = (
    "Each audience is compared with the same audience without the intervention. In the condition `random choice`, audiences "
    "are random too. An outcome in the file `search_rooms.csv` is a difference from no intervention, averaged over the "
    "rooms of a repetition."
)
NEW_ROOMS: Mapping[str, Column] = {
    "condition": "condition", "setting": "setting", "cost": number("cost"), "effect in the search": number("searched"),
    "effect on new rooms": estimate("effect"), "minus random choice": estimate("gain"),
    "effect per unit of cost": number("per_cost"), "rooms missing": "missing",
}  # fmt: skip
TRIALS: Mapping[str, Column] = {
    "run": "trial", "setting": "setting", "cost": number("cost"), "proposed by": "methods",
    "effect in the search": estimate("effect"), "rooms missing": "missing", "front": lambda row: "yes" if row["front"] else "",
}  # fmt: skip


def write_search(found: Found, outcome: RoomOutcome, folder: Path) -> Path:
    """Write search.md, its tables (new_rooms, trials, search_rooms) and its figure; return the path of the page."""
    report = Report(folder, NAME, "A search for the best intervention")
    trials = trial_table(found)
    rooms = found.searched.reset_index().melt(
        ["topic", "repetition", "group"], var_name="condition", value_name="outcome"
    )
    new = new_table(found) if found.named else pd.DataFrame()
    report.data(trials=trials, search_rooms=rooms, missing=found.missing)
    how = f"{HOW} {OF_AUDIENCES} {debaters_sentence(found)}" if found.plan.space.audience else HOW
    report.add(f"{setup_sentence(found, outcome)}\n\n{how}")
    report.disclaim(found.header)
    lost = found.missing
    reasons = count_table(lost.loc[lost["missing"] > 0, "reason"])
    report.missing(int(lost["missing"].sum()), int(lost["rooms"].sum()), "outcomes of rooms are missing", reasons)
    broken = [found.broken] if found.broken else []
    if len(new):
        report.data(new_rooms=new)
        report.in_short([*broken, *sentences(found, outcome)])
        about = disclaimers.model_label(found.header)
        report.figure(search_figure(found, trials, new, outcome, about), NAME, "Cost and effect of each setting")
        report.section("On new rooms")
        report.table(new, NEW_ROOMS)
    else:
        report.in_short(
            [*broken, "It is unknown which setting is the best, because no setting has enough rooms with a number."]
        )
    report.section("In the search", "`front` marks settings that no cheaper setting beats in the search.")
    report.table(trials, TRIALS)
    return report.write()


def trial_table(found: Found) -> pd.DataFrame:
    """Return a row per setting of the search: trial, setting, cost, methods, effect with its ends, score, units, front."""
    scored = [trial for trial in found.trials if trial.score is not None]
    sign = found.plan.space.objective.sign
    costs, gains = (np.array(values, dtype=float) for values in (
        [trial.cost for trial in scored], [sign * trial.effect.value for trial in scored]))  # fmt: skip
    in_front = {scored[place].number for place in front(costs, gains)}
    return pd.DataFrame([_trial_row(trial, in_front) for trial in found.trials])


def _trial_row(trial: Trial, in_front: set[int]) -> dict[str, Any]:
    effect = trial.effect
    return {
        "trial": trial.number, "setting": trial.setting.label, "cost": trial.cost, "methods": "+".join(trial.methods),
        "effect": effect.value, "effect_low": effect.low, "effect_high": effect.high,
        "score": np.nan if trial.score is None else trial.score, "units": effect.units, "missing": effect.missing,
        "front": trial.number in in_front,
    }  # fmt: skip


def new_table(found: Found) -> pd.DataFrame:
    """Return a row per condition of the new rooms: setting, cost, searched, effect and gain with their ends, per_cost."""
    by_setting = {trial.setting: trial for trial in found.trials}
    rows = []
    for condition, effect in new_effects(found).items():
        setting = found.named.get(condition)
        cost = float(costs_of(found, condition).mean())
        gain = better_by(found, condition) if setting else Estimate(np.nan, np.nan, np.nan, 0, 0, "")
        rows.append({
            "condition": condition, "setting": setting.label if setting else "each repetition another",
            "cost": cost, "searched": by_setting[setting].effect.value if setting else np.nan,
            "effect": effect.value, "effect_low": effect.low, "effect_high": effect.high,
            "gain": gain.value, "gain_low": gain.low, "gain_high": gain.high,
            "per_cost": effect.value / cost if cost else np.nan, "units": effect.units, "missing": effect.missing,
            "reason": effect.reason,
        })  # fmt: skip
    return pd.DataFrame(rows)


def search_figure(found: Found, trials: pd.DataFrame, new: pd.DataFrame, outcome: RoomOutcome, about: str) -> Figure:
    """Draw cost and effect of each setting: open in the search, filled with its interval on new rooms, and the front."""
    title = "What each setting costs and changes"
    note = f"{about}. Bars: 95% intervals over repetitions, on new rooms"
    with new_figure(5.6, 3.4, note, title=title, about=setup_sentence(found, outcome)) as figure:
        axis, unit = figure.subplots(), unit_of(outcome)
        draw_null(axis)
        axis.plot(
            trials["cost"],
            trials["effect"],
            "o",
            color="#777777",
            fillstyle="none",
            markersize=4,
            label="in the search",
        )
        kept = trials[trials["front"]].sort_values("cost")
        axis.step(
            kept["cost"], kept["effect"], where="post", color="#777777", linewidth=0.8, label="front in the search"
        )
        _draw_new(axis, new)
        axis.set(xlabel="Cost", ylabel=f"Effect ({unit})" if unit else "Effect")
        axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        add_legend(figure, [axis])
    return figure


def _draw_new(axis: Axes, new: pd.DataFrame) -> None:
    shown = ~new["condition"].str.startswith("runner-up") & ~new["setting"].duplicated()
    named = new[shown].dropna(subset=["effect"])
    for place, (condition, row) in enumerate(named.groupby("condition", sort=False)):
        look = OTHERS[place]
        draw_points(axis, row["cost"], row, "effect", upright=True, label=f"{condition}, new rooms",
                    color=look["color"], fmt=look["markers"][0])  # fmt: skip
