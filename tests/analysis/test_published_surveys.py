"""Published surveys are read by small files made to their schemas: what is read, and what is left out and why."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

import run
from parley.agents.respondent import Group
from parley.analysis.polls.published import read_survey
from parley.analysis.polls.table import TWICE
from parley.llm.errors import UserError


def global_opinions(path: Path) -> Path:
    """Two questions by country, one country with a list that is too short, one without answers, one question twice."""
    selections = [
        "defaultdict(<class 'list'>, {'Kenya': [0.2, 0.7, 0.1], 'Peru': [0.5, 0.5, 0.0], 'Chad': [0.5, 0.5]})",
        "defaultdict(<class 'list'>, {'Kenya': [25, 75], 'Peru': [0, 0]})",
        "defaultdict(<class 'list'>, {'Kenya': [0.5, 0.5]})",
        "nothing",
    ]
    options = ["['Good', 'Bad', \"Don't know\"]", "['Yes', 'No']", "['Yes', 'No']", "['Yes', 'No']"]
    questions = ["Is trade good?", "Is it fair?", "Is it fair?", "Is it?"]
    pd.DataFrame({"question": questions, "selections": selections, "options": options, "source": "GAS"}).to_csv(
        path, index=False
    )
    return path


def test_global_opinion_qa(tmp_path: Path) -> None:
    """Countries are groups, shares are scaled to sum to 1, and there is no n."""
    table = read_survey(global_opinions(tmp_path / "global_opinions.csv"))
    assert table.form == "GlobalOpinionQA"
    assert [(row.group.name, row.shares) for row in table.rows] == [
        ("Kenya", pytest.approx((0.2, 0.7, 0.1))),
        ("Peru", (0.5, 0.5, 0.0)),
        ("Kenya", (0.25, 0.75)),
    ]
    assert all(math.isnan(row.n) and row.group.country and not row.values for row in table.rows)
    assert table.skipped == {
        "not one share per option": 1, "all shares are 0": 1, TWICE: 1, "selections or options cannot be read": 1,
    }  # fmt: skip


def test_sim_bench(tmp_path: Path) -> None:
    """The template is filled and names the group; options get their words; a share that is None leaves the row out."""
    template = "You are from {country}."
    rows = [
        ("{'A': 0.25, 'B': 0.75}", "Tea?\nOptions:\n(A): yes\n(B): no", template, "{'country': 'Kenya'}", "120"),
        ("{'A': 0.5, 'B': None}", "Tea?\nOptions:\n(A): yes\n(B): no", template, "{'country': 'Peru'}", "80"),
        ("{'1': 0.5, '2': 0.5}", "Pick 1 or 2.", "You are a worker.", "{}", ""),
    ]
    columns = ["human_answer", "input_template", "group_prompt_template", "group_prompt_variable_map", "group_size"]
    path = tmp_path / "SimBenchGrouped.csv"
    pd.DataFrame(rows, columns=columns).assign(dataset_name="made up").to_csv(path, index=False)
    table = read_survey(path)
    first, second = table.rows
    assert (first.question, first.options, first.shares, first.n) == ("Tea?", ("yes", "no"), (0.25, 0.75), 120)
    assert first.group == Group("You are from Kenya.", "You are from Kenya.")
    assert (second.question, second.options) == ("Pick 1 or 2.", ("1", "2"))
    assert math.isnan(second.n)
    assert table.skipped == {"a share is missing": 1}


def opinion_qa(folder: Path) -> Path:
    """A wave with an ordered question, one without order, a refusal, and weights."""
    folder.mkdir()
    info = {
        "key": ["SAFE_W26", "WHY_W26"],
        "question": ["How safe is it?", "Why?"],
        "references": ["['Very', 'Not', 'Unsure', 'Refused']", "['Sport', 'Work', 'Refused']"],
        "option_mapping": ["{}", "{}"],
        "option_ordinal": ["[1.0, 2.0, 1.5]", "[1, 1]"],
    }
    pd.DataFrame(info).to_csv(folder / "info.csv")
    pd.DataFrame({"key": ["SEX"], "options": ["['Male', 'Female']"]}).to_csv(folder / "metadata.csv")
    people = {
        "SAFE_W26": ["Very", "Not", "Unsure", "Refused", None],
        "WHY_W26": ["Sport", "Sport", "Work", "Work", "Sport"],
        "SEX": ["Male", "Male", "Female", "Female", "Female"],
        "WEIGHT_W26": [3.0, 1.0, 2.0, 1.0, 1.0],
    }
    pd.DataFrame(people).to_csv(folder / "responses.csv", index=False)
    return folder


def test_opinion_qa(tmp_path: Path) -> None:
    """Weighted shares without refusals, Kish's effective n, the scale of ordered options, and groups by attribute."""
    table = read_survey(opinion_qa(tmp_path / "American_Trends_Panel_W26"))
    rows = {(row.question, row.group.name): row for row in table.rows}
    everyone = rows["How safe is it?", "people in the United States"]
    assert everyone.shares == pytest.approx((0.5, 1 / 6, 1 / 3))
    assert everyone.values == (1.0, 2.0, 1.5)
    assert everyone.n == pytest.approx(36 / 14)
    assert rows["How safe is it?", "people in the United States, sex: Male"].shares == (0.75, 0.25, 0.0)
    assert rows["Why?", "people in the United States, sex: Female"].values == ()
    assert len(rows) == 6
    assert not table.skipped


@pytest.mark.parametrize(
    ("name", "column", "value", "said"),
    [
        ("responses.csv", "WEIGHT_W26", "-2", "WEIGHT_W26 must be a number of 0 or more"),
        (
            "responses.csv",
            "WEIGHT_W26",
            "heavy",
            "row 2: WEIGHT_W26 must be a number, or empty if it is missing, not 'heavy'",
        ),
        ("info.csv", "option_ordinal", "['low', 'high']", "a place on a scale that is no number"),
        ("info.csv", "key", "", "is empty"),
    ],
)
def test_a_broken_wave_is_one_line(tmp_path: Path, name: str, column: str, value: str, said: str) -> None:
    """Weights that are none, options without a place on the scale and an empty file are refused, and nothing is asked."""
    folder = opinion_qa(tmp_path / "w")
    table = pd.read_csv(folder / name).assign(**{column: value})
    (folder / name).write_text(table.to_csv(index=False) if value else "", encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_survey(folder)


@pytest.mark.thorough
def test_each_form_is_asked_and_scored(tmp_path: Path) -> None:
    """From the file to the report, in a few seconds; left-out rows are in the report."""
    files = [global_opinions(tmp_path / "g.csv"), opinion_qa(tmp_path / "w")]
    for number, file in enumerate(files):
        out = tmp_path / f"out{number}"
        assert (
            run.main(["study", "distributions", str(file), "--llm", "oracle", "--ask", "persona", "--out", str(out)])
            == 0
        )
        assert (out / "distributions.png").exists()
    page = (tmp_path / "out0" / "distributions.md").read_text(encoding="utf-8")
    assert "all shares are 0 1" in page
    assert "because the file does not say how many people were asked" in page


def test_files_that_are_no_survey(tmp_path: Path) -> None:
    """One line that says what is wrong."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04\x00")
    (tmp_path / "b.csv").write_text("question,options\n", encoding="utf-8")
    (tmp_path / "c.jsonl").write_text("{", encoding="utf-8")
    cases = {
        "empty": "lacks info.csv",
        "a.pkl": "is not a text file",
        "b.csv": "has no rows",
        "c.jsonl": "not a file of JSON lines",
        "d.csv": "cannot read",
    }
    for name, message in cases.items():
        with pytest.raises(UserError, match=message):
            read_survey(tmp_path / name)
