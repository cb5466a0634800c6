"""Compare bias cards, or runs: `parley.compare`, and the figure of two runs on the same axes."""

from __future__ import annotations

import textwrap
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.society import PartyNames
from parley.analysis import disclaimers
from parley.analysis.audits import AuditCard
from parley.analysis.card import comparison as cards
from parley.analysis.figures import legend_entries, new_figure, styles_of_run
from parley.analysis.formatting import DASH, group_title, seat_title, strip_controls
from parley.analysis.html_report import write
from parley.analysis.notebook import html_card, inline
from parley.analysis.runs import Run
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.events import Header

ROWS = 20
"""Rows of the table that a notebook shows."""
KEYS = ("topic", "group", "party", "round")
ALWAYS = ("model", "fine-tuned adapters", "seed")
"""Settings that `differences` always lists."""
WORDS = ("name", "title", "source")
"""Words about a scenario, which change nothing in it."""


class Comparison(ABC):
    """Several bias cards, or several runs, compared. `parley.compare` makes one.

    Attributes
    ----------
    names : list of str
        The names of the folders that are compared.
    table : DataFrame
        Of cards: one row per quantity, topic and card, the `estimate` with its 95% interval, and the `difference` from the first
        card with its interval, or the `reason` why there is none. Of runs: one row per run, topic, group, party and round, the
        `mean` attitude (0 to 10) over `n` rooms and its standard error `se`.
    differences : DataFrame
        The settings that differ: one row per setting, one column per run or card.

    Examples
    --------
    >>> parley.compare("runs/a", "runs/b").plot()  # doctest: +SKIP
    """

    names: list[str]
    table: pd.DataFrame
    differences: pd.DataFrame

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        rows = [f"{min(ROWS, len(self.table)):,} of {len(self.table):,} rows of the table."]
        return html_card(f"Comparison of {', '.join(self.names)}", rows, self.table.head(ROWS))

    @abstractmethod
    def plot(self) -> Figure:
        """Draw all cards, or both runs, on the same axes.

        Returns
        -------
        matplotlib.figure.Figure
            Of cards a panel per quantity (bars are 95% intervals); of two runs a panel per topic and group that both have (bars
            are standard errors over rooms).

        Raises
        ------
        UserError
            More than two runs are compared, or two runs have no topic and group in common.
        """

    @abstractmethod
    def report(self, out: Path | str | None = None) -> Path:
        """Write the comparison as one HTML page.

        Parameters
        ----------
        out : str or Path, optional
            The folder (`runs/compare-<time>`).

        Returns
        -------
        Path
            The page.

        Raises
        ------
        UserError
            The page cannot be written.
        """


class CardComparison(Comparison):
    """Bias cards, compared as by the command `run.py compare`."""

    def __init__(self, opened: Sequence[AuditCard]):
        self._cards = cards.name_cards([cards.read_card(card.folder) for card in opened])
        self.names = [card.name for card in self._cards]
        self.table = cards.compare_cards(self._cards)
        settings = {card.name: {**card.battery, **card.manner} for card in self._cards}
        frame = pd.DataFrame(settings).astype(object)
        self.differences = frame[frame.astype(str).nunique(axis=1) > 1]

    def plot(self) -> Figure:
        return inline(cards.comparison_figure(self._cards))

    def report(self, out: Path | str | None = None) -> Path:
        return cards.write_comparison(self._cards, _folder(out))


class RunComparison(Comparison):
    """Runs, compared as by the command `run.py report RUN RUN`."""

    def __init__(self, opened: Sequence[Run]):
        self._runs, self.names = list(opened), _numbered([run.folder.name for run in opened])
        named = dict(zip(self.names, opened, strict=True))
        means = [mean_attitudes(run.tables).assign(run=name) for name, run in named.items()]
        self.table = pd.concat(means, ignore_index=True)[["run", *KEYS, "mean", "se", "n"]]
        first, *others = self.names
        settings: dict[str, dict[str, str]] = {name: {} for name in self.names}
        for name in others:
            for setting, mine, other in differences(named[first].tables.header, named[name].tables.header):
                settings[first][setting], settings[name][setting] = mine, other
        self.differences = pd.DataFrame(settings)
        for name in others:  # a setting that differs only in another run is the same as in the first
            self.differences[name] = self.differences[name].fillna(self.differences[first])

    def plot(self) -> Figure:
        if len(self._runs) != 2:
            raise UserError(
                f"a figure can compare only two runs, not {len(self._runs)}: use parley.compare(one, other).plot()"
            )
        one, other = (run.tables for run in self._runs)
        if not shared_seats(one, other):
            raise UserError(
                f"{' and '.join(self.names)} cannot be compared, because they have no topic and group in common"
            )
        return inline(draw_comparison(one, other, (self.names[0], self.names[1])))

    def report(self, out: Path | str | None = None) -> Path:
        return write([run.folder for run in self._runs], _folder(out) / "report.html")


def compare(*given: AuditCard | Run | Path | str) -> Comparison:
    """Compare bias cards, or runs, as `python run.py compare` and `python run.py report` do.

    Parameters
    ----------
    *given : AuditCard, Run, str or Path
        Two or more cards, or two or more runs: the objects, or their folders. Differences are taken from the first card.

    Returns
    -------
    Comparison
        A table, a figure and a page.

    Raises
    ------
    UserError
        There are fewer than two, cards and runs are mixed, or a folder holds neither.

    Examples
    --------
    >>> comparison = parley.compare("runs/card-a", "runs/card-b")  # doctest: +SKIP
    >>> comparison.table.query("topic == 'all'")  # doctest: +SKIP
    """
    if len(given) < 2:
        raise UserError('a comparison needs two cards or two runs: parley.compare("runs/a", "runs/b")')
    opened = [_open(item) for item in given]
    cards_ = [item for item in opened if isinstance(item, AuditCard)]
    runs_ = [item for item in opened if isinstance(item, Run)]
    if cards_ and runs_:
        raise UserError(
            f"{runs_[0].folder} is a run and {cards_[0].folder} is a bias card, which cannot be "
            "compared: give two runs or two cards"
        )
    return CardComparison(cards_) if cards_ else RunComparison(runs_)


def _open(item: AuditCard | Run | Path | str) -> AuditCard | Run:
    if isinstance(item, AuditCard | Run):
        return item
    path = Path(item)
    return AuditCard(path) if path.name == "card.json" or (path / "card.json").exists() else Run(path)


def _numbered(names: Sequence[str]) -> list[str]:
    """Return the names, with a number behind those that come more than once: `a 1`, `a 2`."""
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} {seen[name]}" if names.count(name) > 1 else name)
    return numbered


def _folder(out: Path | str | None) -> Path:
    return Path(out) if out else Path("runs") / f"compare-{time.strftime('%Y%m%d-%H%M%S')}"


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
    panels, titles = shared_seats(one, other), PartyNames.told({**other.header.parties, **one.header.parties})
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
