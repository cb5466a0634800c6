"""A card of replies that could not be read: one line where there is nothing, a reason where there is no number."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from benchmarks.audit_coverage import held as in_memory
from parley.analysis.card.card import Card, blocks_of, calls_of, page, rounded
from parley.analysis.card.conditions import Batch
from parley.analysis.card.figure import forest_plot
from parley.analysis.card.protocol import ProtocolStep, card_estimates, run_protocol
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import sections
from parley.model.scenario import load_preset

pytestmark = pytest.mark.thorough

SMALL = {
    "topic": "racism,climate_change",
    "repetitions": 5,
    "rounds": 2,
    "probe": "attitude_labelled",
    "llm": "oracle",
}
Missing = Callable[[str, pd.DataFrame], np.ndarray]
CASES: dict[str, Missing] = {
    "every rating": lambda name, rows: np.ones(len(rows), dtype=bool),
    "the Default": lambda name, rows: (rows["party"] == "default").to_numpy(),
    "a party": lambda name, rows: (rows["party"] == "republican").to_numpy(),
    "both parties": lambda name, rows: (rows["party"] != "default").to_numpy(),
    "the first survey": lambda name, rows: (rows["round"] == 0).to_numpy(),
    "the last survey": lambda name, rows: (rows["round"] == rows["round"].max()).to_numpy(),
    "a topic": lambda name, rows: (rows["topic"] == "racism").to_numpy(),
    "what is asked outside": lambda name, rows: np.full(len(rows), name.startswith("asked")),
    "debates of three": lambda name, rows: np.full(len(rows), name == "three"),
    "silence": lambda name, rows: np.full(len(rows), name == "alone"),
    "men and women": lambda name, rows: np.full(len(rows), name in ("men", "women")),
    "all blocks but one": lambda name, rows: (rows["repetition"] > 0).to_numpy(),
    "half": lambda name, rows: np.random.default_rng(0).random(len(rows)) < 0.5,
    "nearly all": lambda name, rows: np.random.default_rng(0).random(len(rows)) < 0.95,
}


@pytest.fixture(scope="module")
def battery(tmp_path_factory: pytest.TempPathFactory) -> tuple[Batch, ConditionRecords]:
    first = Batch(load_preset("three_way").with_settings(SMALL), tmp_path_factory.mktemp("missing"))
    study = run_protocol(first, sections())
    step = next(study)
    try:
        while isinstance(step, ProtocolStep):
            step.folder.mkdir(parents=True, exist_ok=True)
            step = study.send(in_memory(step.scenario))
        raise AssertionError("nobody judges here")
    except StopIteration as done:
        return first, done.value


def without(held: ConditionRecords, missing: Missing) -> ConditionRecords:
    """The same battery with gaps in place of some ratings."""
    found = ConditionRecords()
    for name, records in held.records.items():
        for tables in records:
            frames = {kind: getattr(tables, kind).copy() for kind in ("attitudes", "probes")}
            for frame in frames.values():
                gone = missing(name, frame) if len(frame) else np.zeros(0, dtype=bool)
                frame.loc[gone, ["rating", "attitude", "expected"]] = np.nan
                frame.loc[gone, "reason"] = "no_number"
            found.add(name, replace(tables, **frames))
    return found


@check_each("missing", CASES)
def test_whatever_is_missing_there_is_a_card(battery: tuple[Batch, ConditionRecords], missing: str) -> None:
    """Sections, page and figure are made, without a warning of arithmetic on nothing; what has no number says why."""
    first, held = battery
    gaps, chosen = without(held, CASES[missing]), sections()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = card_estimates(gaps, first, chosen)
    assert [one for one in found if not one.known and not one.reason] == []
    header = held.records["three"][0].header
    card = Card(first, chosen, found, header, blocks_of(gaps), calls_of(gaps), "", rounded(gaps))
    assert "In short" in page(card)
    assert len(forest_plot(found, first.society, first.base.subject.topic, "racism").axes) == 2
    assert card.to_dict()["claims"]
    assert bool(gaps.unread()) == (missing == "every rating")


def test_an_audit_in_which_nothing_can_be_read_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It stops after the first survey, with --keep-going after the first condition, since no card can be made of it; both times
    in one line, and nothing is asked again: calls that were paid for are kept.
    """
    command = ["audit", "--llm", "fake", "--topic", "racism", "--blocks", "5", "--out", str(tmp_path / "card")]
    assert run.main(command) == 2
    first = capsys.readouterr().err
    assert "ratings (attitude) are missing" in first
    assert first.count("\n") == 1
    for _ in range(2):
        assert run.main([*command, "--keep-going"]) == 2
        told = capsys.readouterr()
        assert "none of 75 ratings could be read (unscripted 75), and a bias card needs ratings" in told.err
        assert told.err.count("\n") == 1
    assert "so no model was called" in told.out
    assert [path.name for path in (tmp_path / "card" / "batch-1").iterdir()] == ["asked"]
