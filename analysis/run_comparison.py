"""Compare two runs: their attitudes on the same axes, and the settings that differ."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.figures import legend_entries, new_figure, styles_of_run
from parley.analysis.formatting import DASH, group_title, seat_title, strip_controls
from parley.analysis.tables import Tables
from parley.model.events import Header

KEYS = ("topic", "group", "party", "round")
ALWAYS = ("model", "fine-tuned adapters", "seed")
"""Settings that `differences` always lists."""
WORDS = ("name", "title", "source")
"""Words about a scenario, which change nothing in it."""


def differences(one: Header, other: Header) -> list[tuple[str, str, str]]:
    """Return the settings that differ between two runs: (setting, in the one, in the other). Always those of ALWAYS."""
    mine, theirs = dict(_settings(one)), dict(_settings(other))
    pairs = [(name, mine.get(name, DASH), theirs.get(name, DASH)) for name in dict.fromkeys([*ALWAYS, *mine, *theirs])]
    return [pair for pair in pairs if pair[0] in ALWAYS or pair[1] != pair[2]]


def _settings(header: Header) -> Iterator[tuple[str, str]]:
    yield "model", disclaimers.model_label(header)
    loaded = [f"loaded: {name}" for name in header.model.get("adapters", {})]
    yield "fine-tuned adapters", ", ".join([*header.scenario.get("adapters", []), *loaded]) or "none"
    for key, value in {**header.scenario, **header.scenario.get("options", {})}.items():
        if key not in (*WORDS, "options"):
            yield key, _text(value)
    yield "prompts", ", ".join(f"{name} {digest[:8]}" for name, digest in header.prompts.items())
    yield "data", header.data[:12]
    yield "revision", header.revision
    yield "versions", ", ".join(f"{name} {version}" for name, version in header.versions.items())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_text(part)}" for key, part in value.items() if part not in ("", [], None))
    return str(value).lower() if isinstance(value, bool) else str(value)


def mean_attitudes(tables: Tables) -> pd.DataFrame:
    """Return the mean attitude of each party by round, over means of rooms: topic, group, party, round, mean, se, n (rooms)."""
    probe = tables.header.scenario["probe"]
    rated = tables.attitudes[tables.attitudes["group"].isin(tables.groups) & (tables.attitudes["probe"] == probe)]
    rooms = rated.groupby([*KEYS, "room"], sort=False)["attitude"].mean().dropna()
    return rooms.groupby(list(KEYS), sort=False).agg(mean="mean", se="sem", n="count").reset_index()


def shared_seats(one: Tables, other: Tables) -> list[tuple[str, str]]:
    """Return the topics and groups that both runs have."""
    mine, theirs = (dict.fromkeys(zip(run.agents["topic"], run.agents["group"], strict=True)) for run in (one, other))
    return [(topic, group) for topic, group in mine if (topic, group) in theirs and group in one.groups]


def draw_comparison(one: Tables, other: Tables, names: tuple[str, str]) -> Figure:
    """Draw a panel for each topic and group of both runs: the first run filled with full lines, the second open and broken."""
    panels, titles = shared_seats(one, other), {**other.names, **one.names}
    first, second = (strip_controls(name) for name in names)
    runs = [(first, mean_attitudes(one), "-", None), (second, mean_attitudes(other), (0, (4, 2)), "none")]
    looks, columns = styles_of_run(one, other), min(3, max(1, len(panels)))
    rows = -(-max(1, len(panels)) // columns)
    with new_figure(0.7 + 2.3 * columns, 0.8 + 2.1 * rows) as figure:
        axes = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for axis, (topic, group) in zip(axes, panels, strict=False):
            for name, points, line, filling in runs:
                here = points[(points["topic"] == topic) & (points["group"] == group)]
                for party, rounds in here.groupby("party", sort=False):
                    look = looks[str(party)]
                    axis.errorbar(
                        rounds["round"], rounds["mean"], yerr=rounds["se"].fillna(0), color=look["color"], linestyle=line,
                        marker=look["markers"][0], markerfacecolor=filling or look["color"], markersize=4, linewidth=1,
                        capsize=2, label=f"{seat_title(str(party), titles)}, {name}",
                    )  # fmt: skip
            axis.set_title(f"{one.title(topic)}\n{textwrap.fill(group_title(group, titles), 34)}")
            axis.set(ylim=(-0.3, 10.3), xlabel="Round", ylabel="Attitude (0–10)")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        handles, labels = legend_entries(axes)
        if handles:
            figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure
