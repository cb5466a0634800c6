"""Draws README's first picture from the recorded runs: can a real model play people, and what do its debates show?

    python -m tools.real_models_figure docs/img/real_models.svg

Left: pairs of people with different known positions whose ratings rank as planted, asked in numbers and in phrases, beside the
rule-based speaker that plays its people (the ceiling) and one that ignores them (the floor). Middle: mean ratings before the
first round and after the last, by party, in the debates of three. Right: from the cards, how far parties are from the Default.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import t

import parley
from parley.agents.society import load_society
from parley.analysis.figures import add_legend, draw_null, new_figure, save, styles_by_party
from parley.llm.backends.oracle.dynamics import planted
from parley.model.example_runs import EXAMPLES, restore_run
from parley.model.files import RECORD

RUNS = {
    "SmolLM2\n135 million\nparameters": "three_way_smollm2",
    "Qwen2.5-Coder\n1.5 billion\nparameters": "three_way_qwen",
}
"""The recorded debates of three, by the name and size of their model."""
CARDS = ("card_smollm2", "card_qwen")
"""The recorded bias cards, in the same order."""
DISTANCES = ("first_away", "second_away")
"""The quantities of a card that the figure shows: how far the parties that debate are from the Default, before any debate."""
KNOWN = {"rule-based speaker": 1.0, "the same, ignoring\nits personas": 0.5}
"""Shares of pairs ranked right that are known (docs/models.md)."""
WAYS: dict[str, dict[str, Any]] = {
    "numbers": {"color": "#777777", "marker": "s"},
    "phrases": {"color": "#0b6e4f", "marker": "o"},
}


def draw_qualification(axis: Axes) -> None:
    """Pairs ranked as planted, with intervals over blocks, a row for each model."""
    names = [*RUNS, *KNOWN]
    for row, folder in enumerate(RUNS.values()):
        ways = json.loads((EXAMPLES / folder / "qualification.json").read_text(encoding="utf-8"))["ways"]
        for place, way in zip((row - 0.12, row + 0.12), ways, strict=True):
            if way["right"] is None:
                continue
            ends = [
                [100 * (way["right"] - (way["right_low"] or way["right"]))],
                [100 * ((way["right_high"] or way["right"]) - way["right"])],
            ]
            axis.errorbar(100 * way["right"], place, xerr=ends, linestyle="", capsize=2, markersize=5,
                          label=f"asked in {way['way']}" if row == 0 else None, **WAYS[way["way"]])  # fmt: skip
    for row, share in enumerate(KNOWN.values(), len(RUNS)):
        axis.plot(100 * share, row, marker="D", color="#000000", markerfacecolor="none", linestyle="")
    draw_null(axis, 50, upright=True)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlim(0, 104)
    axis.set_xlabel("pairs of people ranked as planted (%)\n50%: the model ignores who it plays")
    axis.set_title("Can the model play people?")


def draw_debates(axis: Axes) -> None:
    """Mean ratings before (small) and after (large) the debates, by party, with intervals over rooms."""
    society = load_society("us")
    parties = [*society.debaters, "default"]
    looks = styles_by_party(parties, society.header_entries(parties))
    for row, name in enumerate(RUNS.values()):
        if not (EXAMPLES / name / RECORD).exists():
            axis.text(0.2, row, "no debates recorded", va="center", color="#777777")
            continue
        with TemporaryDirectory() as folder:
            means = parley.load(restore_run(EXAMPLES / name, Path(folder) / name)).metric("trajectory")
        means = means[means["topic"] == "climate_change"]
        for number, party in enumerate(parties):
            places = (row - 0.34 + 0.27 * number, row - 0.23 + 0.27 * number)
            draw_party(
                axis,
                means[means["party"] == party],
                places,
                looks[party],
                society.plural(party) if party != "default" else "Default",
                row == 0,
            )
    axis.set_yticks(range(len(RUNS)), [""] * len(RUNS))
    axis.set_ylim(len(RUNS) + len(KNOWN) - 0.5, -0.5)
    axis.set_xlim(-0.2, 10.2)
    axis.set_xlabel("mean rating of climate change as a problem (0-10)\nempty: before the debates; full: after")
    axis.set_title("What do its debates show?")


def draw_distances(axis: Axes) -> None:
    """How far the ratings of each party are from the model's own before any debate, with intervals over groups of personas."""
    society = load_society("us")
    looks = styles_by_party(society.debaters, society.header_entries(society.debaters))
    for row, name in enumerate(CARDS):
        card = pd.read_csv(EXAMPLES / name / "card.csv")
        card = card[(card["section"] == "bias") & (card["topic"] == "climate_change")].set_index("quantity")
        for place, party, quantity in zip((row - 0.12, row + 0.12), society.debaters, DISTANCES, strict=True):
            points, low, high = card.loc[quantity, ["estimate", "low", "high"]].astype(float)
            axis.errorbar(points, place, xerr=[[points - low], [high - points]], color=looks[party]["color"], linestyle="",
                          marker=looks[party]["markers"][0], markersize=5, capsize=2)  # fmt: skip
    parameters = planted()["climate_change"]
    for party in society.debaters:
        planted_distance = parameters.start[party] - parameters.bias
        axis.plot(
            planted_distance, len(CARDS), marker="D", color=looks[party]["color"], markerfacecolor="none", linestyle=""
        )
    draw_null(axis, upright=True)
    axis.set_yticks(range(len(CARDS) + 1), [""] * (len(CARDS) + 1))
    axis.set_ylim(len(CARDS) + len(KNOWN) - 0.5, -0.5)
    axis.set_xlabel("points from the model's own rating of climate change\n(0-10), asked alone, before any debate")
    axis.set_title("Do its partisans differ from the model?")


def draw_party(
    axis: Axes, means: Any, places: tuple[float, float], look: dict[str, Any], label: str, labelled: bool
) -> None:
    """The first and the last mean of a party, each with its 95% interval."""
    ends = means[means["round"].isin([means["round"].min(), means["round"].max()])]
    for place, full, (_, point) in zip(places, (False, True), ends.iterrows(), strict=True):
        half = t.ppf(0.975, point["n"] - 1) * point["se"]
        axis.errorbar(point["mean"], place, xerr=half, color=look["color"], marker=look["markers"][0], markersize=5, capsize=2,
                      markerfacecolor=look["color"] if full else "white", linestyle="",
                      label=label if labelled and full else None)  # fmt: skip


def main(path: Path) -> None:
    """Write the figure."""
    note = (
        "Left: 36 pairs on three topics, bars are 95% intervals over topics and wordings. Middle: debates of three on climate "
        "change, bars are 95% intervals over rooms. The Default has no persona. Right: bias cards, bars are 95% intervals over "
        "five or six groups of personas. Open diamonds: known values. The runs are in examples/."
    )
    with new_figure(11, 3.2, note, 7) as figure:
        axes = figure.subplots(1, 3)
        for draw, axis in zip((draw_qualification, draw_debates, draw_distances), axes, strict=True):
            draw(axis)
        add_legend(figure, axes)
    save(figure, path.with_suffix(""), (path.suffix.lstrip("."),))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
