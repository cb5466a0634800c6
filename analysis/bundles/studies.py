"""Folders of many runs with one report, which a bundle can hold: a bias card, and those that studies declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.analysis.card import derivation as card
from parley.analysis.disclaimers import model_label
from parley.analysis.tables import load
from parley.llm.studies import loaded


@dataclass(frozen=True)
class StudyFolder:
    """A kind of folder, known by the file of its design.

    settings: all values of the design, which may name code. folders: of its runs. stopped: whether it ended early. derive: makes
    the report again in a folder, and yields what does not come out of replies. files: those of the report, by name.
    """

    design: str
    noun: str
    settings: Callable[[Path], Any]
    title: Callable[[Path], str]
    folders: Callable[[Path], list[Path]]
    stopped: Callable[[Path], bool]
    derive: Callable[[Path, Path], Iterable[str]]
    files: Callable[[Path], Mapping[str, Path]]


def _card_settings(folder: Path) -> list[Any]:
    design = card.read_design(folder)
    return [design["base"], design["judge"]]


def _card_folders(folder: Path) -> list[Path]:
    return card.condition_folders(folder, card.read_design(folder))


CARD = StudyFolder(
    card.DESIGN,
    "card",
    _card_settings,
    lambda folder: f"Bias card: {model_label(load(_card_folders(folder)[0]).header)}",
    _card_folders,
    lambda folder: bool(card.read_design(folder)["stopped"]),
    card.derive_card,
    card.card_files,
)


def study_folders() -> tuple[StudyFolder, ...]:
    """Return all kinds of such folders: the bias card, and those that studies declare."""
    return (CARD, *loaded("sealed"))


def designs() -> tuple[str, ...]:
    """Return the names of the files by which they are known."""
    return tuple(kind.design for kind in study_folders())


def find_kind(folder: Path) -> StudyFolder | None:
    """Return the kind of a folder of many runs; None for the folder of one run."""
    return next((kind for kind in study_folders() if (folder / kind.design).exists()), None)
