"""Compare bias cards, or runs, in Python: `parley.compare`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import run_comparison as runs
from parley.analysis.audits import AuditCard
from parley.analysis.card import comparison as cards
from parley.analysis.html_report import write
from parley.analysis.notebook import html_card, inline
from parley.analysis.runs import Run
from parley.llm.errors import UserError

ROWS = 20


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
        means = [runs.mean_attitudes(run.tables).assign(run=name) for name, run in named.items()]
        self.table = pd.concat(means, ignore_index=True)[["run", *runs.KEYS, "mean", "se", "n"]]
        first, *others = self.names
        settings: dict[str, dict[str, str]] = {name: {} for name in self.names}
        for name in others:
            for setting, mine, other in runs.differences(named[first].tables.header, named[name].tables.header):
                settings[first][setting], settings[name][setting] = mine, other
        self.differences = pd.DataFrame(settings)
        for name in others:  # a setting that differs only in another run is the same as in the first
            self.differences[name] = self.differences[name].fillna(self.differences[first])

    def plot(self) -> Figure:
        if len(self._runs) != 2:
            raise UserError(f"a figure compares two runs, not {len(self._runs)}: parley.compare(one, other).plot()")
        one, other = (run.tables for run in self._runs)
        if not runs.shared_seats(one, other):
            raise UserError(f"{' and '.join(self.names)} have no topic and group in common")
        return inline(runs.draw_comparison(one, other, (self.names[0], self.names[1])))

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
        raise UserError('name two cards or two runs: parley.compare("runs/a", "runs/b")')
    opened = [_open(item) for item in given]
    cards_ = [item for item in opened if isinstance(item, AuditCard)]
    runs_ = [item for item in opened if isinstance(item, Run)]
    if cards_ and runs_:
        raise UserError(f"{runs_[0].folder} is a run and {cards_[0].folder} a bias card: compare cards, or runs")
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
