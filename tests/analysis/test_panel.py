"""Panels: how stable answers are, beside strangers; a planted stability is found, and none where none is planted."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.society import load_society
from parley.analysis.respondents import of_each_party
from parley.analysis.studies.panel import CONDITIONS, FORGETS, REMEMBERS, _party_line, panels, sentences
from parley.analysis.studies.questionnaire import PANEL, Questionnaire, items_of
from parley.analysis.studies.stability import difference, read_panel, stability
from parley.llm.backends.fake import Fake
from parley.llm.request import Request

ITEMS = items_of(load_society("us"), ["racism", "abortion"], ["attitude"])
SMALL = Questionnaire(PANEL, ITEMS, CONDITIONS, of_each_party("voters", 4), 2)


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager:
    return contextlib.nullcontext(lambda count: None)


def panel(rows: list[tuple[str, int, float]], party: str = "") -> pd.DataFrame:
    """(person, wave, answer to the one question)."""
    return pd.DataFrame(rows, columns=["person", "wave", "answer"]).assign(question="q", party=party)


def generated(rng: np.random.Generator, stay: float, people: int = 60) -> pd.DataFrame:
    """Answers from 1 to 5 to four questions: in the second wave the same with probability `stay`, else drawn anew."""
    rows = []
    for person in range(people):
        for question in range(4):
            first = rng.integers(1, 6)
            second = first if rng.random() < stay else rng.integers(1, 6)
            rows += [
                (f"p{person:03}", 1, f"q{question}", float(first)),
                (f"p{person:03}", 2, f"q{question}", float(second)),
            ]
    return pd.DataFrame(rows, columns=["person", "wave", "question", "answer"]).assign(party="")


def test_stability_by_hand() -> None:
    """a 1 1, b 1 2, c 3 3: two of three are the same; of six pairs of strangers one is equal (b first, a second)."""
    rows = [("a", 1, 1.0), ("a", 2, 1.0), ("b", 1, 1.0), ("b", 2, 2.0), ("c", 1, 3.0), ("c", 2, 3.0)]
    found = stability(panel(rows))
    assert (found["people"], found["compared"], found["missing"]) == (3, 3, 0)
    assert (found["same"], found["strangers"], found["excess"]) == pytest.approx((2 / 3, 1 / 6, 1 / 2))
    assert found["r"] == pytest.approx(np.corrcoef([1, 1, 3], [1, 2, 3])[0, 1])
    assert found["reason"] == "fewer than 5 people"
    assert np.isnan(found["excess_low"])


def test_a_missing_answer_is_no_change() -> None:
    rows = [("a", 1, 1.0), ("a", 2, 1.0), ("b", 1, 1.0), ("b", 2, np.nan)]
    found = stability(panel(rows))
    assert (found["compared"], found["missing"], found["same"]) == (1, 1, 1.0)
    assert np.isnan(found["strangers"])


def test_independent_draws_are_no_stability() -> None:
    """Of 16 panels of independent draws, about 15 intervals of the excess and of r contain 0."""
    rng = np.random.default_rng(1)
    found = [stability(generated(rng, 0.0, 20)) for _ in range(16)]
    for name in ("excess", "r"):
        assert sum(row[f"{name}_low"] <= 0 <= row[f"{name}_high"] for row in found) >= 13
    assert np.mean([row["excess"] for row in found]) == pytest.approx(0, abs=0.04)


def test_a_planted_stability_is_found() -> None:
    """With probability .5 the same and else drawn from five: .5 + .5 / 5 = .6 are the same, .4 more than strangers; r is .5."""
    rng = np.random.default_rng(2)
    found = [stability(generated(rng, 0.5, 40)) for _ in range(8)]
    for name, truth in (("same", 0.6), ("excess", 0.4), ("r", 0.5)):
        assert np.mean([row[name] for row in found]) == pytest.approx(truth, abs=0.05)
        assert sum(row[f"{name}_low"] <= truth <= row[f"{name}_high"] for row in found) >= 6


def test_people_who_only_answer_as_their_party_are_no_individuals() -> None:
    """Everyone of a party gives one answer: more stable than strangers, and exactly as stable as a partner of the party."""
    rows = [
        (f"{party}{place}", wave, 1.0 if party == "a" else 5.0)
        for party in "ab"
        for place in range(6)
        for wave in (1, 2)
    ]
    table = panel(rows).assign(party=lambda one: one["person"].str[0])
    found = stability(table)
    assert (found["same"], found["partners"], found["beyond"]) == (1, 1, 0)
    assert found["strangers"] == pytest.approx(5 / 11)


def test_a_person_without_a_party_is_left_out_of_what_parties_share() -> None:
    """Two parties that each give one answer, and one person of none who changes: beyond is 0 over the others. With too few people
    in parties the line says so."""
    rows = [(f"{party}{place}", wave, float(party == "a")) for party in "ab" for place in range(6) for wave in (1, 2)]
    table = panel([*rows, ("c0", 1, 0.0), ("c0", 2, 1.0)]).assign(
        party=lambda one: one["person"].str[0].replace("c", "")
    )
    found = stability(table)
    assert (found["people"], found["party_people"]) == (13, 12)
    assert (found["partners"], found["beyond"]) == (1, 0)
    few = stability(table.assign(party=table["party"].where(table["person"].isin(["a0", "a1", "a2"]), "")))
    assert _party_line(few).startswith("With fewer than 5 people with a party")
    alone = stability(table.assign(party=""))
    assert _party_line(alone).endswith("because no party has two people.")


def test_waves_in_words_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Spring, summer, autumn: everyone changes between the first two waves only. By the alphabet autumn would be the first."""
    path, answers = tmp_path / "own.csv", {"spring": "no", "summer": "yes", "autumn": "yes"}
    lines = [f"p{person},{wave},q,{answer}" for person in range(6) for wave, answer in answers.items()]
    path.write_text("\n".join(["person,wave,question,answer", *lines]) + "\n", encoding="utf-8")
    assert stability(read_panel(path))["same"] == 0.5
    path.write_text(path.read_text().replace("spring", "1").replace("summer", "10").replace("autumn", "2"))
    assert stability(read_panel(path))["same"] == 0.5
    numbers = pd.read_csv(path)
    assert stability(numbers.assign(party="", answer=(numbers["wave"] == 10).astype(float)))["same"] == 0.5


def test_the_own_history_is_in_the_prompt_of_one_condition(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who repeats what the prompt says it answered is fully stable with the history; without it answers are drawn by the seed.
    The first wave is the same in both."""
    seen: list[str] = []

    def speak(request: Request) -> str:
        text = request.messages[-1].content
        seen.append(text)
        if "You answered " in text:
            asked = text.rpartition("\n\n")[2]
            lines = [
                line for line in text.split("\n") if line.startswith("In interview") and line.split('"')[1] in asked
            ]
            return lines[-1].partition("You answered ")[2].partition(",")[0]
        return str(random.Random(request.seed).randint(0, 4))

    monkeypatch.setattr("parley.analysis.journaled_calls.open_spec", lambda spec: Fake(speak))
    answers = SMALL.ask("fake", tmp_path, quiet)
    first = answers[answers["wave"] == 1].pivot(index=["person", "question"], columns="condition", values="rating")
    assert (first[FORGETS] == first[REMEMBERS]).all()
    parts = panels(answers)
    assert stability(parts[REMEMBERS])["same"] == 1
    assert stability(parts[FORGETS])["same"] < 0.6
    assert difference(parts[FORGETS], parts[REMEMBERS])["difference_low"] > 0
    assert any(text.count("In interview 1 ") == 2 for text in seen), "all earlier answers are in the prompt"


def test_the_oracle_is_as_steady_as_planted(tmp_path: Path) -> None:
    """With steady s, of the answers that change without a history the share s no longer does; without it nothing differs."""
    words = ["study", "questionnaire", "panel", "--people", "15", "--topic", "racism,abortion,inflation", "--out"]
    for name, spec in (("null", "oracle"), ("steady", "oracle,steady=0.6")):
        assert run.main([*words, str(tmp_path / name), "--llm", spec]) == 0
    null, found = (pd.read_csv(tmp_path / name / "stability.csv").set_index("condition") for name in ("null", "steady"))
    assert null.loc[FORGETS, "same"] == null.loc[REMEMBERS, "same"]
    plain = found.loc[FORGETS, "same"]
    assert found.loc[REMEMBERS, "same"] == pytest.approx(plain + 0.6 * (1 - plain), abs=0.1)
    assert "more stable" in (tmp_path / "steady" / "panel.md").read_text(encoding="utf-8")
    assert "as many equal answers as without it" in (tmp_path / "null" / "panel.md").read_text(encoding="utf-8")
    assert run.main([*words, str(tmp_path / "null"), "--llm", "oracle,steady=0.6"]) == 2


def test_a_panel_of_the_user_stands_beside(tmp_path: Path) -> None:
    """Answers in words have no correlation; five people who never change are fully stable."""
    rows = [(f"p{person}", wave, "q", "yes" if person % 2 else "no") for person in range(8) for wave in (1, 2, 3)]
    path = tmp_path / "own.csv"
    pd.DataFrame(rows, columns=["person", "wave", "question", "answer"]).to_csv(path, index=False)
    found = stability(read_panel(path))
    assert (found["compared"], found["same"]) == (16, 1)
    assert found["strangers"] == pytest.approx(3 / 7)
    assert np.isnan(found["r"])
    assert np.isnan(found["partners"]), "the file names no party"
    words = [
        "study",
        "questionnaire",
        "panel",
        "--llm",
        "oracle",
        "--people",
        "3",
        "--topic",
        "racism",
        "--data",
        str(path),
        "--out",
        str(tmp_path / "a"),
    ]
    assert run.main(words) == 0
    assert "own data" in (tmp_path / "a" / "panel.md").read_text(encoding="utf-8")


def test_too_few_people_have_no_verdict() -> None:
    rows = pd.DataFrame([{"condition": "x", **stability(panel([("a", 1, 1.0), ("a", 2, 1.0)]))}])
    gap = {"difference": np.nan, "reason": "fewer than 5 people"}
    assert all("fewer than 5 people" in line for line in sentences(rows, gap))


def test_panels_without_parties_or_without_a_second_wave_say_so() -> None:
    """No sentence has a nan: without parties the comparison within parties is unknown, and one wave compares nothing."""
    gap = {"difference": np.nan, "reason": "no variation"}
    stable = generated(np.random.default_rng(4), 0.9, 20).assign(party="")
    for table, said in (
        (stable, "people of one party, because no party has two people."),
        (stable[stable["wave"] == 1], "because no question has answers in two neighbouring waves."),
    ):
        line, _ = sentences(pd.DataFrame([{"condition": "own data", **stability(table)}]), gap)
        assert said in line
        assert "nan" not in line


@pytest.mark.parametrize("text", ["person,wave\na,1\n", "person,wave,question,answer\na,1,q,1\na,1,q,2\n", ""])
def test_a_file_that_does_not_fit_is_one_line(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.csv").write_text(text)
    assert run.main(["study", "questionnaire", "panel", "--llm", "oracle", "--data", str(tmp_path / "own.csv")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
