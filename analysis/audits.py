"""A bias card in Python: `parley.audit` makes one, `parley.AuditCard` opens one that was made before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from parley.agents.society import load_society
from parley.analysis.card.comparison import read_card
from parley.analysis.card.estimates import estimate_table
from parley.analysis.card.figure import forest_plot
from parley.analysis.commands.card import BLOCKS, audit_parser, make_card
from parley.analysis.notebook import html_card, inline
from parley.llm.errors import UserError
from parley.llm.typed import as_option

SHOWN = ("quantity", "topic", "estimate", "low", "high", "reason")
"""Columns of the table that a notebook shows."""


class AuditCard:
    """The bias card of a model: what it does to the opinions of agents that speak with it, compared with control conditions.

    docs/card.md explains every quantity, its unit and its source.

    Parameters
    ----------
    folder : str or Path
        The folder of a card, or its card.json.

    Attributes
    ----------
    folder : Path
        The folder of the card.
    model : str
        The model that was audited.
    claims : DataFrame
        One row per quantity and topic (`all`: over all topics): `estimate` with its 95% interval `low`, `high` over `n` units
        (blocks of people), the `null` of the control condition that was subtracted, and the `reason` why there is no interval.
        With fewer than five blocks `low` and `high` are NaN: no verdict.
    sentences, warnings : list of str
        The findings of the card, and why some of them must not be used.
    stopped : str
        Why the card is unfinished; empty if it is finished.

    Raises
    ------
    UserError
        There is no card, or one of another version.

    Examples
    --------
    >>> card = parley.AuditCard("runs/card")  # doctest: +SKIP
    >>> card.claims[card.claims["topic"] == "all"]  # doctest: +SKIP
    """

    def __init__(self, folder: Path | str):
        path = Path(folder)
        card = read_card(path)
        self.folder = path if path.is_dir() else path.parent
        self.model, self.claims, self.sentences = card.model, estimate_table(card.claims), list(card.sentences)
        file = json.loads((self.folder / "card.json").read_text(encoding="utf-8"))
        self.warnings, self.stopped, self.blocks = list(file["warnings"]), str(file["stopped"]), dict(file["blocks"])
        self._society = load_society(card.battery["society"])
        self._claims, self._topics, self._note = card.claims, tuple(card.battery["topics"]), card.note.replace("**", "")

    def __repr__(self) -> str:
        return f"<AuditCard of {self.model} in {self.folder}{', unfinished' if self.stopped else ''}>"

    def _repr_html_(self) -> str:
        unfinished = f"Unfinished: {self.stopped}." if self.stopped else ""
        lines = [unfinished, self._note, *self.warnings, *self.sentences, f"Folder {self.folder}."]
        overall = self.claims.loc[self.claims["topic"] == "all", list(SHOWN)]
        return html_card(f"Bias card of {self.model}", lines, overall)

    def plot(self) -> Figure:
        """Draw the card: the attitudes of all parties, and each condition next to its control. Bars are 95% intervals.

        Returns
        -------
        matplotlib.figure.Figure
            The figure card.png of the folder. A notebook shows it.
        """
        return inline(forest_plot(self._claims, self._society, self._topics, self.model))

    def report(self) -> Path:
        """The page of the card, card.html.

        Returns
        -------
        Path
            The file; it needs no other file.

        Raises
        ------
        UserError
            The page was removed: the same call of `parley.audit` writes it again.
        """
        page = self.folder / "card.html"
        if not page.exists():
            raise UserError(f"{page} is missing: write the page again with parley.audit(..., out={str(self.folder)!r})")
        return page


def audit(
    llm: str,
    *,
    topic: str | Sequence[str] | None = None,
    sections: Sequence[str] = (),
    blocks: int = BLOCKS,
    batches: int | None = None,
    tight: float | None = None,
    judge: str | None = None,
    remedies: str | Sequence[str] = (),
    data: Path | str | None = None,
    out: Path | str | None = None,
    seed: int | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    price: tuple[float, float] | None = None,
    keep_going: bool = False,
    **fields: Any,
) -> AuditCard:
    """Make the bias card of a model, as `python run.py audit` does. The same call with the same folder repeats no request.

    Parameters
    ----------
    llm : str
        The model, such as `"oracle"` or `"openai:gpt-4o-mini"`.
    topic : str or sequence of str, optional
        The topics (the four of the three-way debate).
    sections : sequence of str
        Names of the card's sections (all).
    blocks : int
        Groups of people per batch; the same people sit in every condition. At least 2; below 5 in all there is no interval.
    batches : int, optional
        Most batches (1; with `tight` 8).
    tight : float, optional
        Add batches until half of each 95% interval is at most this share of the quantity's range, such as 0.02.
    judge : str, optional
        The model that judges answers and lines (the oracle for Parley's own speakers, otherwise none).
    remedies : str or sequence of str
        Repeat the core of the card with these remedies; `"all"` for all of analysis/card/remedies.toml.
    data : str or Path, optional
        A folder of human data to compare with (docs/personas.md).
    out : str or Path, optional
        The folder (`runs/audit-<time>`).
    seed : int, optional
        The same seed gives the same card.
    max_calls, max_tokens : int, optional
        Stop cleanly after so many calls or tokens in this folder.
    max_cost : float, optional
        Stop cleanly at about this cost, in US dollars.
    price : tuple of float, optional
        US dollars per million tokens in and out.
    keep_going : bool
        Continue where almost no reply can be read.
    **fields
        Any field of the scenario that a card leaves free: `rounds=3`, `frame="conversation"`.

    Returns
    -------
    AuditCard
        The card, with its claims as a DataFrame.

    Raises
    ------
    UserError
        An argument is wrong, no reply could be read, or a budget is spent; `AuditCard(folder)` opens the card so far.

    Examples
    --------
    >>> card = parley.audit("oracle", topic="racism", out="runs/card")  # doctest: +SKIP
    >>> print("\\n".join(card.sentences))  # doctest: +SKIP
    """
    options = audit_parser().parse_args(["--llm", llm])
    limits = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost, "price": price}
    folders = {"data": Path(data) if data else None, "out": Path(out) if out else None}
    design = {"blocks": blocks, "batches": batches, "tight": tight, "judge": judge, "seed": seed}
    names = {"topic": _joined(topic) if topic else None, "sections": _joined(sections), "remedies": _joined(remedies)}
    settings = [f"{name}={as_option(value)}" for name, value in fields.items()]
    vars(options).update(limits | folders | design | names, set=settings, keep_going=keep_going)
    return AuditCard(make_card(options, lambda line: None))


def _joined(names: str | Sequence[str]) -> str:
    return names if isinstance(names, str) else ",".join(names)
