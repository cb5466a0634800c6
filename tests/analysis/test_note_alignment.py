"""Private notes beside what agents think: the planted stance is found, dealt notes are not, and what is missing says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.analysis.note_alignment import alignment_table, sentences, summary, with_notes
from parley.analysis.tables import Tables, load
from parley.llm.errors import UserError

SMALL = "--topic racism --repetitions 12 --rounds 3 --llm oracle"


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with notes, judged."""
    folder = tmp_path_factory.mktemp("noted") / "run"
    assert run.main([*f"--scenario three_way --set think=latent {SMALL} --out".split(), str(folder)]) == 0
    assert run.main(["study", "judge", str(folder), "--llm", "oracle", "--notes"]) == 0
    return folder


def verdicts(folder: Path) -> tuple[Tables, pd.DataFrame, pd.DataFrame]:
    found = [pd.read_csv(folder / "judge" / name / "verdicts.csv") for name in ("notes", "")]
    return load(folder), found[0], found[1]


def test_a_note_is_nearer_to_its_agent_than_to_a_stranger(noted: Path) -> None:
    """The oracle notes its own stance, and its line is a sentence near it."""
    found = summary(alignment_table(*verdicts(noted))).set_index("measure")
    assert found.loc["known", "low"] > 0
    assert found.loc["note", "estimate"] < found.loc["line", "estimate"]
    text = (noted / "judge" / "notes.md").read_text(encoding="utf-8")
    assert "The notes say more about their agent than its party does" in text


def test_notes_dealt_anew_say_nothing_of_their_agent(noted: Path) -> None:
    """Within topic, party and round, 6 deals: intervals above 0 in at most 1."""
    tables, notes, lines = verdicts(noted)
    rng, claims = np.random.default_rng(2), 0
    rounds = tables.utterances.set_index(["room", "agent", "iteration"])["round"]
    keys = pd.MultiIndex.from_frame(notes[["room", "agent", "iteration"]])
    cells = notes.assign(round=rounds.reindex(keys).to_numpy()).groupby(["topic", "party", "round"])["score"]
    for _ in range(6):
        dealt = notes.assign(score=cells.transform(lambda part: rng.permutation(part.to_numpy())))
        found = summary(alignment_table(tables, dealt, lines)).set_index("measure")
        claims += int(found.loc["known", "low"] > 0)
    assert claims <= 1


def test_below_five_repetitions_and_without_notes_there_is_no_verdict(noted: Path) -> None:
    tables, notes, lines = verdicts(noted)
    few = notes[notes["room"].isin(sorted(notes["room"].unique())[:2])]
    said = sentences(summary(alignment_table(tables, few, lines)))
    assert said == [
        "With fewer than 5 repetitions, it is unknown whether the notes say anything about their agent beyond its party.",
        "With fewer than 5 repetitions, it is unknown whether the notes are nearer to the agent's rating than the "
        "agent's replies.",
    ]
    with pytest.raises(UserError, match="no agent of this run wrote private notes"):
        with_notes(replace(tables, private=tables.private.iloc[:0]))
