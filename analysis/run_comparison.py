"""Two runs on the same axes, and what differs between them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.figures import new_figure, styles_of_run
from parley.analysis.formatting import DASH, group_title, seat_title, strip_controls
from parley.analysis.tables import Tables
from parley.model.events import Header

KEYS = ("topic", "group", "party", "round")
SAID = ("name", "title", "source")
"""Words about a scenario, which change nothing in it."""


def differences(one: Header, other: Header) -> list[tuple[str, str, str]]:
    """What differs between two runs: (what, in the one, in the other). Always said: model, adapters and seed."""
    mine, theirs = dict(_facts(one)), dict(_facts(other))
    always = ("model", "fine-tuned adapters", "seed")
    names = list(dict.fromkeys([*always, *mine, *theirs]))
    pairs = [(name, mine.get(name, DASH), theirs.get(name, DASH)) for name in names]
    return [pair for pair in pairs if pair[0] in always or pair[1] != pair[2]]


def _facts(header: Header) -> Iterator[tuple[str, str]]:
    yield "model", disclaimers.model_label(header)
    yield "fine-tuned adapters", _adapters(header)
    scenario = {key: value for key, value in header.scenario.items() if key not in SAID}
    for key, value in {**scenario, **scenario.get("options", {})}.items():
        if key != "options":
            yield key, _told(value)
    yield "prompts", ", ".join(f"{name} {digest[:8]}" for name, digest in header.prompts.items())
    yield "data", header.data[:12]
    yield "revision", header.revision
    yield "versions", ", ".join(f"{name} {version}" for name, version in header.versions.items())


def _adapters(header: Header) -> str:
    """Who speaks through which adapter; none where the models are as they came."""
    loaded = header.model.get("adapters", {})
    return ", ".join([*header.scenario.get("adapters", []), *(f"loaded: {name}" for name in loaded)]) or "none"


def _told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_told(one) for one in value) or "none"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_told(one)}" for key, one in value.items() if one not in ("", [], None))
    return str(value).lower() if isinstance(value, bool) else str(value)


def mean_attitudes(tables: Tables) -> pd.DataFrame:
    """Mean attitude of a party over rooms by round, of room means: topic, group, party, round, mean, se, n (rooms)."""
    probe = tables.header.scenario["probe"]
    rated = tables.attitudes[tables.attitudes["group"].isin(tables.groups) & (tables.attitudes["probe"] == probe)]
    rooms = rated.groupby([*KEYS, "room"], sort=False)["attitude"].mean().dropna()
    found = rooms.groupby(list(KEYS), sort=False).agg(["mean", "sem", "count"]).reset_index()
    return found.rename(columns={"sem": "se", "count": "n"})


def shared_seats(one: Tables, other: Tables) -> list[tuple[str, str]]:
    """The topics and groups that both runs have."""
    theirs = {*zip(other.agents["topic"], other.agents["group"], strict=True)}
    mine = dict.fromkeys(zip(one.agents["topic"], one.agents["group"], strict=True))
    return [pair for pair in mine if pair in theirs and pair[1] in one.groups]


def draw_comparison(one: Tables, other: Tables, names: tuple[str, str]) -> Figure:
    """A panel for each topic and group that both have: the first run filled and drawn through, the second open and broken."""
    panels = shared_seats(one, other)
    both = [(mean_attitudes(one), "-", None), (mean_attitudes(other), (0, (4, 2)), "none")]
    looks, names_ = styles_of_run(one, other), {**other.names, **one.names}
    columns = min(3, max(1, len(panels)))
    rows = -(-max(1, len(panels)) // columns)
    with new_figure(0.7 + 2.3 * columns, 0.8 + 2.1 * rows) as figure:
        axes = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for axis, (topic, group) in zip(axes, panels, strict=False):
            for (points, line, filling), name in zip(both, names, strict=True):
                here = points[(points["topic"] == topic) & (points["group"] == group)]
                _lines(axis, here, line, filling, strip_controls(name), looks, names_)
            _label(axis, f"{one.title(topic)}\n{textwrap.fill(group_title(group, names_), 34)}")
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        handles = {
            label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        if handles:
            figure.legend(handles.values(), handles, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _lines(
    axis: Axes, points: pd.DataFrame, line: Any, filling: str | None, name: str,
    looks: Mapping[str, Mapping[str, Any]], names: Mapping[str, str],
) -> None:  # fmt: skip
    for party, rows in points.groupby("party", sort=False):
        look = looks[str(party)]
        axis.errorbar(
            rows["round"], rows["mean"], yerr=rows["se"].fillna(0), color=look["color"], linestyle=line,
            marker=look["markers"][0], markerfacecolor=filling or look["color"], markersize=4, linewidth=1, capsize=2,
            label=f"{seat_title(str(party), names)}, {name}",
        )  # fmt: skip


def _label(axis: Axes, title: str) -> None:
    axis.set_title(title)
    axis.set(ylim=(-0.3, 10.3), xlabel="Round", ylabel="Attitude (0–10)")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
