"""Bias cards, or runs, side by side in Python: `parley.compare`."""

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
from parley.analysis.card import comparison
from parley.analysis.card import comparison as cards
from parley.analysis.html_report import write
from parley.analysis.notebook import html_card, inline
from parley.analysis.runs import Run
from parley.llm.errors import UserError

ROWS = 20


class Comparison(ABC):
    """Bias cards, or runs, side by side. `parley.compare` makes one.

    Attributes
    ----------
    names : list of str
        What is compared, by the names of the folders.
    table : DataFrame
        Of cards: one row per quantity, topic and card, the `estimate` with its 95% interval, and the `difference` from the first
        card with its interval, or the `reason` why there is none. Of runs: one row per run, topic, group, party and round, the
        `mean` attitude (0 to 10) over `n` rooms and its standard error `se`.
    differences : DataFrame
        What was set otherwise: one row per setting, a column for each run, or for each card.

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
        """Draw everything that is compared on the same axes.

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
    """Bias cards side by side: the command `run.py compare`."""

    def __init__(self, given: Sequence[AuditCard]):
        self._cards = cards.name_cards([cards.read_card(one.folder) for one in given])
        self.names = [card.name for card in self._cards]
        self.table = cards.compare_cards(self._cards)
        settings = {card.name: {**card.battery, **card.manner} for card in self._cards}
        self.differences = _unlike(pd.DataFrame(settings).astype(object))

    def plot(self) -> Figure:
        return inline(comparison.comparison_figure(self._cards))

    def report(self, out: Path | str | None = None) -> Path:
        return comparison.write_comparison(self._cards, _folder(out))


class RunComparison(Comparison):
    """Runs side by side: the command `run.py report RUN RUN`."""

    def __init__(self, given: Sequence[Run]):
        self._runs, self.names = list(given), _numbered([one.folder.name for one in given])
        means = [runs.mean_attitudes(one.tables).assign(run=name) for one, name in zip(given, self.names, strict=True)]
        self.table = pd.concat(means, ignore_index=True)[["run", *runs.KEYS, "mean", "se", "n"]]
        first, *others = [one.tables.header for one in given]
        told = {self.names[0]: {what: one for other in others for what, one, _ in runs.differences(first, other)}}
        for name, other in zip(self.names[1:], others, strict=True):
            told[name] = {what: value for what, _, value in runs.differences(first, other)}
        self.differences = pd.DataFrame(told)
        for name in self.names[1:]:  # a setting that differs in another run alone is here as in the first
            self.differences[name] = self.differences[name].fillna(self.differences[self.names[0]])

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
    """Put bias cards side by side, or runs, as `python run.py compare` and `python run.py report` do.

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
    found = [_opened(one) for one in given]
    audited, held = [one for one in found if isinstance(one, AuditCard)], [one for one in found if isinstance(one, Run)]
    if audited and held:
        raise UserError(f"{held[0].folder} is a run and {audited[0].folder} a bias card: compare cards, or runs")
    return CardComparison(audited) if audited else RunComparison(held)


def _opened(given: AuditCard | Run | Path | str) -> AuditCard | Run:
    if isinstance(given, AuditCard | Run):
        return given
    path = Path(given)
    return AuditCard(path) if path.name == "card.json" or (path / "card.json").exists() else Run(path)


def _unlike(settings: pd.DataFrame) -> pd.DataFrame:
    """The rows in which not all columns are alike."""
    return settings[settings.apply(lambda row: len({str(value) for value in row}) > 1, axis=1)]


def _numbered(names: Sequence[str]) -> list[str]:
    """Names, those that come more than once numbered: `a 1`, `a 2`."""
    many, seen = Counter(names), Counter[str]()
    seen.update(dict.fromkeys(names, 0))
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} {seen[name]}" if many[name] > 1 else name)
    return found


def _folder(out: Path | str | None) -> Path:
    return Path(out) if out else Path("runs") / f"compare-{time.strftime('%Y%m%d-%H%M%S')}"
