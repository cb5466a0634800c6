"""Waves of a questionnaire: what changed, how far steering moves the answers, and what chance alone gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.society import load_society
from parley.analysis.studies.wave import PLAIN, party_steerings
from parley.analysis.studies.wave_comparison import Answers, changes, contrast, movements, symmetry
from parley.analysis.studies.wave_report import write_waves
from parley.llm.backends.oracle import open_backend

QUESTIONS = [f"q{number}" for number in range(8)]


def cells(rng: np.random.Generator, shift: float = 0.0, repeats: int = 5) -> dict[str, np.ndarray]:
    """Answers to eight questions with levels from 3 to 6.5, sampled with an SD of 1."""
    return {name: 3 + place / 2 + shift + rng.normal(size=repeats) for place, name in enumerate(QUESTIONS)}


def wave(label: str, rows: list[tuple[str, str, float]], opposites: tuple = ()) -> Answers:
    return Answers(label, "own file", "", pd.DataFrame(rows, columns=["steering", "question", "value"]), {}, opposites)


def test_a_contrast_by_hand() -> None:
    """Means 1 against 2 and 4 against 2: changes +1 and -2, mean -0.5, size 1.5; two questions: no verdict."""
    row = contrast(
        {"a": np.array([0.0, 2.0]), "b": np.array([4.0])}, {"a": np.array([2.0]), "b": np.array([2.0]), "c": np.ones(1)}
    )
    assert (row["questions"], row["change"], row["size"]) == (2, -0.5, 1.5)
    assert np.isnan([row["low"], row["p"], row["by_chance"]]).all()
    assert row["reason"] == "fewer than 5 questions"


def test_the_same_model_asked_again_rarely_seems_changed() -> None:
    """Of 200 pairs of waves of one model, about 5% have a p below .05; by chance alone the size is far from 0."""
    rng = np.random.default_rng(1)
    rows = [contrast(cells(rng), cells(rng)) for _ in range(200)]
    assert sum(row["p"] < 0.05 for row in rows) <= 20
    assert np.mean([row["size"] for row in rows]) == pytest.approx(
        np.mean([row["by_chance"] for row in rows]), rel=0.05
    )
    assert np.mean([row["size"] for row in rows]) > 0.4


def test_a_planted_change_is_found_with_its_interval() -> None:
    rng = np.random.default_rng(2)
    rows = [contrast(cells(rng), cells(rng, 1.5)) for _ in range(40)]
    assert all(row["p"] < 0.05 for row in rows)
    assert sum(row["low"] <= 1.5 <= row["high"] for row in rows) >= 34


def test_few_answers_give_no_verdict() -> None:
    rng = np.random.default_rng(3)
    row = contrast(cells(rng, repeats=2), cells(rng, 5, repeats=2))
    assert np.isnan(row["p"])
    assert row["reason"] == "a question with fewer than 4 answers"


def repeated(steering: str, question: str, value: float) -> list[tuple[str, str, float]]:
    return [(steering, question, value)] * 4


def test_opposite_identities_by_hand() -> None:
    """a moves every question by 2 to 3 and b by -1: a moves further, whatever the sign; +2 and -2 are as far."""
    rows = [row for name in QUESTIONS for row in repeated(PLAIN, name, 5.0) + repeated("b", name, 4.0)]
    rows += [row for place, name in enumerate(QUESTIONS) for row in repeated("a", name, 7.0 + place % 2)]
    found = symmetry([wave("w", rows, (("a", "b"),))]).iloc[0]
    assert found[["first_size", "second_size", "difference", "verdict"]].tolist() == [2.5, 1.0, 1.5, "a"]
    sides = ((PLAIN, 5.0), ("a", 7.0), ("b", 3.0))
    mirrored = [row for name in QUESTIONS for side, at in sides for row in repeated(side, name, at)]
    assert symmetry([wave("w", mirrored, (("a", "b"),))]).iloc[0]["verdict"] == "not clear"
    few = symmetry([wave("w", rows[::4], (("a", "b"),))]).iloc[0]
    assert (few["verdict"], few["reason"]) == ("unknown", "a question with fewer than 4 answers")


def test_a_wave_with_few_answers_has_its_page(tmp_path: Path) -> None:
    """Where opposites have too few answers, the page has dashes for their sizes, and the reason."""
    sides = ((PLAIN, 5.0), ("a", 7.0), ("b", 3.0))
    rows = [(side, name, at) for name in QUESTIONS for side, at in sides]
    page = write_waves([wave("w", rows, (("a", "b"),))], tmp_path).read_text()
    assert "| w | a | b | 8 | – | – |" in page


def test_noise_in_answers_is_no_movement() -> None:
    """Neither sentence moves the answers, but those of b are noisier: b was further in half of the waves by absolute values."""
    rng, verdicts = np.random.default_rng(5), []
    for _ in range(20):
        spreads = {PLAIN: 1.0, "a": 1.0, "b": 2.5}
        rows = [
            (name, str(place), value)
            for name, spread in spreads.items()
            for place in range(14)
            for value in rng.normal(5, spread, 5)
        ]
        verdicts.append(symmetry([wave("w", rows, (("a", "b"),))]).iloc[0]["verdict"])
    assert sum(verdict != "not clear" for verdict in verdicts) <= 3


def test_a_difference_in_spread_alone_is_no_change() -> None:
    """20 answers with an SD of 0.5 and 5 with an SD of 2, equal means: shuffling all of them said "moved" in two thirds."""
    rng = np.random.default_rng(4)
    found = [
        contrast(
            {name: rng.normal(5, 0.5, 20) for name in QUESTIONS},
            {name: rng.normal(5, 2, 5) for name in QUESTIONS},
        )
        for _ in range(40)
    ]
    assert sum(row["p"] < 0.05 for row in found) <= 6
    ratio = np.mean([row["size"] for row in found]) / np.mean([row["by_chance"] for row in found])
    assert ratio == pytest.approx(1, abs=0.15)


def test_missing_answers_are_in_no_comparison() -> None:
    """A question without an answer in one wave is not counted as one that did not change."""
    first = wave("a", [(PLAIN, name, 1.0) for name in QUESTIONS])
    second = wave("b", [(PLAIN, name, np.nan if name == "q0" else 2.0) for name in QUESTIONS])
    assert changes([first, second]).iloc[0][["questions", "change"]].tolist() == [7, 1.0]
    assert movements([first]).empty


def asked(folder: Path, *more: str, llm: str = "oracle") -> list[str]:
    return ["study", "questionnaire", "wave", "--llm", llm, "--date", "2026-10-01", "--out", str(folder), *more]


@pytest.mark.thorough
def test_waves_of_the_oracle_have_what_is_planted(tmp_path: Path) -> None:
    """A changed bias moves unsteered answers and no identity; the identities move by the oracle's own starts, exactly."""
    assert run.main(asked(tmp_path / "a")) == 0
    first = (tmp_path / "a" / "answers.csv").read_bytes()
    assert run.main(asked(tmp_path / "a")) == 0
    assert (tmp_path / "a" / "answers.csv").read_bytes() == first
    assert run.main(asked(tmp_path / "b", "--seed", "1", llm="oracle,bias=5")) == 0
    assert run.main(asked(tmp_path / "c", "--seed", "2")) == 0
    for name in ("b", "c"):
        assert (
            run.main(["compare", str(tmp_path / "a"), str(tmp_path / name), "--out", str(tmp_path / f"a{name}")]) == 0
        )
    changed, same = (pd.read_csv(tmp_path / f"a{name}" / "changes.csv").set_index("steering") for name in ("b", "c"))
    assert changed["verdict"].to_dict() == {PLAIN: "moved", "republican": "not clear", "democrat": "not clear"}
    assert same["size"].max() == pytest.approx(0, abs=1e-9)
    assert set(same["verdict"]) == {"not clear"}
    oracle, table = open_backend(""), pd.read_csv(tmp_path / "ac" / "steering.csv")
    sentences = {one.name: one.sentence for one in party_steerings(load_society("us"))}
    for row in table.to_dict("records"):
        topic = row["question"].partition("/")[0]
        planted = oracle.start(sentences[row["steering"]], topic) - oracle.parameters[topic].bias
        assert row["movement"] == pytest.approx(planted, abs=1e-6)
    sides = pd.read_csv(tmp_path / "ac" / "symmetry.csv")
    assert set(sides["verdict"]) == {"republican"}
    assert "republican moves the answers further" in (tmp_path / "ac" / "waves.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_a_file_of_the_user_is_a_wave_too(tmp_path: Path) -> None:
    assert run.main(asked(tmp_path / "a", "--repeats", "4")) == 0
    rows = pd.read_csv(tmp_path / "a" / "answers.csv")
    rows = rows.rename(columns={"condition": "steering"})
    rows.assign(value=rows["value"].clip(upper=9) + 1)[["steering", "question", "value"]].to_csv(
        tmp_path / "own.csv", index=False
    )
    assert (
        run.main(["compare", str(tmp_path / "a"), str(tmp_path / "own.csv"), "--out", str(tmp_path / "compared")]) == 0
    )
    found = pd.read_csv(tmp_path / "compared" / "changes.csv").set_index("steering")
    assert found.loc[PLAIN, "change"] == pytest.approx(1)
    assert found.loc[PLAIN, "verdict"] == "moved"


@pytest.mark.thorough
def test_steering_sentences_of_the_user_are_asked(tmp_path: Path) -> None:
    """Dates and news are sentences like identities; the oracle hears no party in a date and answers as without it."""
    (tmp_path / "s.csv").write_text("name,sentence\ndate,Today is 4 November 2024.\nleft,You are a Democrat.\n")
    assert run.main(asked(tmp_path / "a", "--steering", str(tmp_path / "s.csv"))) == 0
    found = pd.read_csv(tmp_path / "a" / "movements.csv").set_index("steering")
    assert found["verdict"].to_dict() == {"date": "not clear", "left": "moved"}
    assert "Today is 4 November 2024." in (tmp_path / "a" / "wave.json").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "nowhere.csv", "nowhere"),
        ("compare", "nowhere", "FILE of question,value\nq1,4\n,5\n"),
        ("study", "questionnaire", "wave", "--llm", "oracle", "--probes", "confidence"),
        ("study", "questionnaire", "wave", "--llm", "oracle", "--steering", "nowhere.csv"),
        ("study", "questionnaire", "wave", "--llm", "oracle", "--date", "now", "--repeats", "0"),
        (
            "study",
            "questionnaire",
            "wave",
            "--llm",
            "oracle",
            "--steering",
            "FILE of name,sentence,opposite\na,You are old.,a\n",
        ),
        ("study", "questionnaire", "wave", "--llm", "oracle", "--steering", "FILE of name,sentence\n"),
    ],
)
def test_what_does_not_fit_is_one_line(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if words[-1].startswith("FILE of "):
        (tmp_path / "own.csv").write_text(words[-1].removeprefix("FILE of "), encoding="utf-8")
        words = (*words[:-1], str(tmp_path / "own.csv"))
    assert run.main([*words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
