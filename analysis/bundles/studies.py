"""Folders of many runs with one report, which a bundle can hold: a bias card, and a claim over many specifications."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.analysis.card import derivation as card
from parley.analysis.claims import derivation as claim
from parley.analysis.disclaimers import model_label
from parley.analysis.tables import load


@dataclass(frozen=True)
class StudyKind:
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


CARD = StudyKind(
    card.DESIGN,
    "card",
    _card_settings,
    lambda folder: f"Bias card: {model_label(load(_card_folders(folder)[0]).header)}",
    _card_folders,
    lambda folder: bool(card.read_design(folder)["stopped"]),
    card.derive_card,
    card.card_files,
)
CLAIM = StudyKind(
    claim.DESIGN,
    "claim",
    claim.read_values,
    lambda folder: f"Claim: {claim.read_values(folder)['claim']['claim']}",
    claim.record_folders,
    lambda folder: False,  # a claim has a report only if all its runs are finished
    claim.derive_claim,
    claim.claim_files,
)
KINDS = (CARD, CLAIM)
DESIGNS = tuple([kind.design for kind in KINDS])


def find_kind(folder: Path) -> StudyKind | None:
    """Return the kind of a folder of many runs; None for the folder of one run."""
    return next((kind for kind in KINDS if (folder / kind.design).exists()), None)
