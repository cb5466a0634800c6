"""Beside the short debate: a speaker names the party that it was given, and its lines go with its ratings. Nulls and ceiling."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parley.agents.society import load_society
from parley.analysis.qualify.debate import run_debate
from parley.analysis.qualify.own_voice import (
    agreement,
    ask_parties,
    grade_lines,
    named_party,
    own_party,
    own_voice,
    voice_sentences,
)
from parley.analysis.qualify.questions import Battery
from parley.analysis.qualify.verdict import lines_sentence
from parley.llm.backends import open_spec
from parley.llm.budget import NO_LIMIT


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager:
    return contextlib.nullcontext(lambda count: None)


@pytest.mark.parametrize("society", ["us", "uk", "germany", "neutral"])
def test_the_oracle_names_its_party_in_each_society(society: str, tmp_path: Path) -> None:
    """The ceiling: 10 of 10, where dealt replies give 5."""
    spec = f"oracle,society={society}"
    answers = ask_parties(load_society(society), 0, spec, tmp_path, quiet, NO_LIMIT, open_spec(spec))
    found = own_party(answers)
    assert (found.share, found.of, found.missing) == (1.0, 10, 0)
    assert found.chance == pytest.approx(0.5, abs=0.03)
    assert found.p < 0.02


def test_a_speaker_that_names_one_party_for_all_is_right_by_chance_alone() -> None:
    given = ["republican"] * 5 + ["democrat"] * 5
    same = own_party(pd.DataFrame({"party": given, "names": ["democrat"] * 10}))
    assert (same.share, same.chance, same.p) == (0.5, 0.5, 1.0)
    none = own_party(pd.DataFrame({"party": given, "names": [""] * 10}))
    assert (none.share, none.p, none.missing) == (0.0, 1.0, 10)


@pytest.mark.parametrize(
    ("text", "party"),
    [
        ("I support the Republican Party.", "republican"),
        ("As a lifelong Democrat, I vote for them.", "democrat"),
        ("I lean conservative.", "republican"),
        ("I am neither a Republican nor a Democrat.", ""),
        ("I support the party of the people.", ""),
        ("Republicanism is a theory.", ""),
        ("", ""),
    ],
)
def test_a_reply_names_a_party_by_one_of_its_words(text: str, party: str) -> None:
    society = load_society("us")
    assert named_party(text, {code: society.parties[code] for code in society.debaters}) == party


def test_lines_of_the_oracle_go_with_its_ratings(tmp_path: Path) -> None:
    """The ceiling. The lines of one speaker dealt to another give a half."""
    battery, oracle = Battery(("climate_change",), seed=1), open_spec("oracle")
    tables = run_debate(battery, "oracle", tmp_path, NO_LIMIT, oracle)
    lines = grade_lines(tables, tmp_path / "grades", "oracle", quiet, NO_LIMIT, oracle)
    found = agreement(lines)
    assert found.share >= 0.9
    assert found.chance == pytest.approx(0.5, abs=0.05)
    assert found.p < 0.05
    party, line = own_voice(tables, battery, "oracle", tmp_path, quiet, NO_LIMIT, oracle)
    assert lines_sentence(line) == "", "nothing has to be said of it in reports"
    sentences = voice_sentences(party, line)
    assert sentences[0].startswith(
        "When asked which party they support, 10 of 10 people named their own party and no other party (5 are expected"
    )
    assert pd.read_csv(tmp_path / "own_voice.csv")["of"].gt(0).all()


def lines(grades: np.ndarray, ratings: np.ndarray) -> pd.DataFrame:
    """grades, ratings: (speakers, rounds)."""
    speakers, rounds = np.indices(grades.shape).reshape(2, -1)
    values = {"grade": grades.ravel(), "rating": ratings.ravel()}
    return pd.DataFrame({"speaker": speakers, "round": rounds, **values})


def test_lines_that_have_nothing_to_do_with_ratings_seldom_go_with_them() -> None:
    """P below .05 in at most 5 of 40 sets of noise; equal grades count half; ratings without distance give no pairs."""
    stream = np.random.default_rng(3)
    ratings = np.repeat([[9.0], [1.0]], 4, axis=0) + np.zeros((8, 2))
    found = [agreement(lines(stream.normal(5, 2, (8, 2)), ratings), seed).p for seed in range(40)]
    assert sum(p < 0.05 for p in found) <= 5
    assert agreement(lines(np.full((8, 2), 5.0), ratings)).share == 0.5
    flat = agreement(lines(stream.normal(5, 2, (8, 2)), np.full((8, 2), 5.5)))
    assert flat.of == 0
    assert math.isnan(flat.share)


def test_a_line_without_a_grade_is_missing_and_not_a_tie() -> None:
    ratings = np.array([[9.0], [1.0], [1.0]])
    found = agreement(lines(np.array([[8.0], [np.nan], [2.0]]), ratings))
    assert (found.share, found.of, found.missing) == (1.0, 1, 1)
