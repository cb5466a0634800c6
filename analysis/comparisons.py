"""Compare bias cards, or runs: `parley.compare` and the object it returns."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from parley.analysis.audits import AuditCard
from parley.analysis.card import comparison as cards
from parley.analysis.notebook import html_card, inline
from parley.analysis.provenance import differences as differences
from parley.analysis.provenance import names_of_runs, settings_table
from parley.analysis.run_comparison import compare_runs
from parley.analysis.run_comparison import mean_attitudes as mean_attitudes
from parley.analysis.run_comparison import shared_seats as shared_seats
from parley.analysis.run_comparison_figure import draw_runs
from parley.analysis.run_comparison_page import sentences, write_run_comparison
from parley.analysis.runs import Run
from parley.llm.errors import UserError

ROWS = 20
"""Rows of the table that a notebook shows."""


class Comparison(ABC):
    """Several bias cards, or several runs, compared. `parley.compare` makes one.

    Attributes
    ----------
    names : list of str
        The names of what is compared: of runs what they were set to in the one setting that differs (`oracle with kappa=0`),
        if that is short, otherwise their folders; of cards their models.
    table : DataFrame
        Of cards: one row per quantity, topic and card, the `estimate` with its 95% interval, and the `difference` from the first
        card with its interval, or the `reason` why there is none. Of runs: one row per run, topic, group, party and round, the
        `mean` attitude (0 to 10) over `n` rooms with its standard error `se` and 95% interval; and how much further agents moved
        since the survey before the debate than in the first run: `difference`, with its 95% interval, over so many `rooms`,
        `how` (paired or unpaired), and after the last common round `p_holm`, p corrected by Holm's method.
    sentences : list of str
        What came out, the largest difference first; or that no difference can be shown, and why.
    differences : DataFrame
        The settings that differ: one row per setting, one column per run or card.

    Examples
    --------
    >>> parley.compare("runs/a", "runs/b").plot()  # doctest: +SKIP
    """

    names: list[str]
    sentences: list[str]
    table: pd.DataFrame
    differences: pd.DataFrame

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        rows = [*self.sentences, f"{min(ROWS, len(self.table)):,} of {len(self.table):,} rows of the table."]
        return html_card(f"Comparison of {', '.join(self.names)}", rows, self.table.head(ROWS))

    @abstractmethod
    def plot(self) -> Figure:
        """Draw all cards, or all runs, on the same axes.

        Returns
        -------
        matplotlib.figure.Figure
            Of cards a panel per quantity; of runs two panels per topic and group that all have: attitudes, and differences from
            the first run. Bars are 95% intervals.

        Raises
        ------
        UserError
            Runs have no topic and group in common.
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
        self._saved = [cards.read_card(card.folder) for card in opened]
        self._cards = cards.name_cards(self._saved)
        self.names = [card.name for card in self._cards]
        self.table = cards.compare_cards(self._cards)
        self.sentences = cards.difference_sentences(self._cards, self.table)
        settings = {card.name: {**card.battery, **card.manner} for card in self._cards}
        frame = pd.DataFrame(settings).astype(object)
        self.differences = frame[frame.astype(str).nunique(axis=1) > 1]

    def plot(self) -> Figure:
        return inline(cards.comparison_figure(self._cards))

    def report(self, out: Path | str | None = None) -> Path:
        return cards.write_comparison(self._saved, _folder(out))


class RunComparison(Comparison):
    """Runs, compared as by the command `run.py compare RUN RUN`."""

    def __init__(self, opened: Sequence[Run], within: float | None = None):
        self._within = within
        self.names = names_of_runs([run.folder for run in opened], [run.tables.header for run in opened])
        self._runs = {name: run.tables for name, run in zip(self.names, opened, strict=True)}
        self.table = compare_runs(self._runs, within)
        self.sentences = sentences(self._runs, self.table, within)
        self.differences = settings_table(self.names, [tables.header for tables in self._runs.values()])

    def plot(self) -> Figure:
        first, *others = self._runs.values()
        if not all(shared_seats(first, other) for other in others):
            raise UserError(
                f"{' and '.join(self.names)} cannot be compared, because they have no topic and group in common"
            )
        return inline(draw_runs(self._runs, self.table))

    def report(self, out: Path | str | None = None) -> Path:
        return write_run_comparison(self._runs, _folder(out), self._within)


def compare(*given: AuditCard | Run | Path | str, within: float | None = None) -> Comparison:
    """Compare bias cards, or runs, as `python run.py compare` does.

    Parameters
    ----------
    *given : AuditCard, Run, str or Path
        Two or more cards, or two or more runs: the objects, or their folders. Differences are taken from the first card.
    within : float, optional
        Of runs: a bound in points. The sentences then say which parties moved alike within it, by equivalence tests.

    Returns
    -------
    Comparison
        A table, a figure and a page.

    Raises
    ------
    UserError
        There are fewer than two, cards and runs are mixed, a folder holds neither, or `within` is no bound for them.

    Examples
    --------
    >>> comparison = parley.compare("runs/card-a", "runs/card-b")  # doctest: +SKIP
    >>> comparison.table.query("topic == 'all'")  # doctest: +SKIP
    """
    if len(given) < 2:
        raise UserError("a comparison needs at least two runs or two cards, such as runs/a and runs/b")
    opened = [_open(item) for item in given]
    cards_ = [item for item in opened if isinstance(item, AuditCard)]
    runs_ = [item for item in opened if isinstance(item, Run)]
    if cards_ and runs_:
        raise UserError(
            f"{runs_[0].folder} is a run and {cards_[0].folder} is a bias card, which cannot be "
            "compared: give two runs or two cards"
        )
    if within is not None and (cards_ or not 0 < within < math.inf):
        raise UserError(
            "within needs runs, and a number of points above 0" if cards_ else "within must be above 0 points"
        )
    return CardComparison(cards_) if cards_ else RunComparison(runs_, within)


def _open(item: AuditCard | Run | Path | str) -> AuditCard | Run:
    if isinstance(item, AuditCard | Run):
        return item
    path = Path(item)
    return AuditCard(path) if path.name == "card.json" or (path / "card.json").exists() else Run(path)


def _folder(out: Path | str | None) -> Path:
    return Path(out) if out else Path("runs") / f"compare-{time.strftime('%Y%m%d-%H%M%S')}"
