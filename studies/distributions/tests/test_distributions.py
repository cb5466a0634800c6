"""`study distributions`: planted shares are found, even shares score 0, and a model that ignores groups has no steerability."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.language import ENGLISH
from parley.agents.respondent import Group
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.polls.asking import Poll, StudyAnswers
from parley.analysis.polls.distances import (
    KNOWN,
    NAMED,
    OTHER,
    SECOND,
    UNIFORM,
    UNNAMED,
    jensen_shannon,
    measure,
    relative_entropy,
    score,
    total_variation,
    wasserstein,
)
from parley.analysis.polls.table import SurveyRow, SurveyTable, planted_survey
from parley.analysis.unknown import clause
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.request import Reply, Request, Wrapper
from parley.studies.distributions.measures import compare_naming, score_conditions, score_entropies, score_groups
from parley.studies.distributions.report import NAMING, _naming_line, findings, write_distributions


def quiet(title: str, total: int, unit: str = "call") -> Any:
    return contextlib.nullcontext(lambda count: None)


class WithoutProbabilities(Wrapper):
    """A model that gives only text, as many servers do."""

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply(reply.text) for reply in self.inner.complete(requests)]


def measured(folder: Path, llm: str, table: SurveyTable, backend: Any = None, **more: Any) -> pd.DataFrame:
    folder.mkdir(exist_ok=True)
    study = Poll(table, llm, ENGLISH, **more)
    return measure(study, study.run(CallDesk(folder, quiet, keep_going=True), backend))


def naming(rows: pd.DataFrame) -> pd.DataFrame:
    return compare_naming(rows).set_index("measure")


def test_distances_by_hand() -> None:
    """Shares (.5, .3, .2) and (.2, .3, .5): .3 of the answers differ, and each moves over the whole scale."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    assert total_variation(p, q) == pytest.approx(0.3)
    divergence = 0.5 * np.log2(0.5 / 0.35) + 0.2 * np.log2(0.2 / 0.35)
    assert jensen_shannon(p, q) == pytest.approx(np.sqrt(divergence))
    assert wasserstein(p, q, np.array([1.0, 2.0, 3.0])) == pytest.approx(0.3)
    assert wasserstein(p, q, np.array([1.0, 3.0, 2.0])) == pytest.approx(0.15), (
        "the scale says where an option is, not its place"
    )
    assert np.isnan(wasserstein(p, q, np.full(3, np.nan)))
    assert wasserstein(p, q, np.array([1.0, 2.0, np.nan])) == pytest.approx(5 / 8 - 2 / 5), "don't know is left out"
    assert jensen_shannon(p, p) == total_variation(p, p) == 0
    assert relative_entropy(np.array([0.25] * 4)) == pytest.approx(1)


def test_a_score_by_hand(tmp_path: Path) -> None:
    """People (1, 0) and (.6, .4): even shares are .5 and .1 away. The model says .8 and .6 of the first: .2 and 0 away."""
    rows = [
        SurveyRow(text, ("Yes", "No"), Group("all"), shares)
        for text, shares in (("One?", (1.0, 0.0)), ("Two?", (0.6, 0.4)))
    ]
    known = {"One?": 0.8, "Two?": 0.6}

    def answer(request: Request) -> Reply:
        share = known[request.facts["question"]]
        return Reply("A", answers={"A": share, "B": 1 - share})

    found = measured(tmp_path, "fake", SurveyTable(tuple(rows), "Parley"), Fake(answer))
    assert score(found, NAMED)[0] == pytest.approx(100 * (1 - 0.2 / 0.6))
    assert score(found, UNIFORM)[0] == 0
    assert np.isnan(score(found, NAMED)[1]).all(), "two questions have no interval"
    assert findings(score_conditions(found), compare_naming(found), found) == [
        "It is unknown whether the score is above the score of even shares (0), because there are fewer "
        "than 5 questions; the score is 66.7 over "
        "2 questions.",
        "It is unknown what a second sample of people would score, because the file does not say how many people were asked (n).",
        "It is unknown whether naming the group brings the answers nearer to that group, because there are fewer than 5 "
        "questions; the difference is 0.000 of total variation (2 questions).",
        "It is unknown whether the answers for a group fit that group best, because no question was answered by two groups.",
    ]


def test_even_people_have_no_score(tmp_path: Path) -> None:
    """Where people chose every option equally often, the distance of even shares is 0, and a share of it is unknown."""
    row = SurveyRow("One?", ("Yes", "No"), Group("all"), (0.5, 0.5), 10.0)
    found = measured(tmp_path, "oracle", SurveyTable((row,), "Parley"))
    lines = findings(score_conditions(found), compare_naming(found), found)
    assert lines[0] == "The score is unknown, because people chose every option equally often."
    assert lines[1].endswith("because on questions with n, people chose every option equally often.")


@pytest.mark.parametrize("way", ["prefix", "persona"])
def test_planted_shares_are_found(tmp_path: Path, way: str) -> None:
    """The oracle knows the shares, so it scores as the ceiling of a model that knows them; its answers fit each group best."""
    rows = measured(tmp_path, "oracle", planted_survey(), way=way)
    table, naming_ = score_conditions(rows).set_index("condition"), naming(rows)
    assert table.loc[NAMED, "score"] == pytest.approx(table.loc[KNOWN, "score"], abs=1.0)
    assert table.loc[NAMED, "score_low"] > table.loc[UNNAMED, "score_high"] > 0
    assert table.loc[OTHER, "score"] < table.loc[UNNAMED, "score"]
    assert (naming_["value_low"] > 0).all()
    law = planted_survey(people=10**6)
    exact = measured(tmp_path / "exact", "oracle", law)
    assert score(exact, NAMED)[0] > 99.5, "with a million people a group the shares are the law's"
    assert naming(exact).loc["steerability", "value"] == pytest.approx(exact["moved"].mean(), abs=0.005)
    assert (score_groups(rows)["named_low"] > 0).all()
    assert score_entropies(rows)["rows"].sum() == len(rows)


def test_a_model_that_ignores_groups_has_no_steerability(tmp_path: Path) -> None:
    """Exactly 0 in every question, so that nothing is claimed; the same score with and without the group's name."""
    rows = measured(tmp_path, "oracle,group_effect=0", planted_survey())
    assert (naming(rows)["value"] == 0).all()
    assert naming(rows)["value_low"].isna().all()
    assert score(rows, NAMED) == score(rows, UNNAMED)
    lines = findings(score_conditions(rows), compare_naming(rows), rows)
    assert "does not change the distance" in lines[2]
    assert "exactly as well" in lines[3]


def test_a_difference_that_does_not_vary_is_not_called_few_questions() -> None:
    """Eight questions that all differ by the same have no interval because nothing varies; three because they are few."""
    row = {"measure": next(iter(NAMING)), "value": 0.1, "value_low": np.nan, "value_high": np.nan}
    for questions, reason in ((8, "no variation"), (3, "fewer than 5 questions")):
        assert f"because {clause(reason)}; the difference is 0.100" in _naming_line(
            row | {"questions": questions}, pd.DataFrame()
        )


def test_even_shares_score_zero(tmp_path: Path) -> None:
    """The score is a share of the distance of even shares, so the null is 0 by definition, with no interval."""
    rows = measured(tmp_path, "oracle,peaked=0", planted_survey())
    assert score(rows, NAMED)[0] == 0
    assert "equals the score of even shares" in findings(score_conditions(rows), compare_naming(rows), rows)[0]


@pytest.mark.thorough
def test_sampled_replies_claim_nothing_about_an_ignored_group(tmp_path: Path) -> None:
    """Ten replies each, groups ignored: of 20 seeds at most 3 intervals exclude 0 (5% would), for each difference."""
    alarms = {"steerability": 0, "own_group": 0, "moved_beyond": 0}
    for seed in range(20):
        blind = WithoutProbabilities(open_spec("oracle,group_effect=0"))
        rows = measured(tmp_path / str(seed), "oracle", planted_survey(seed=seed), blind, samples=10, seed=seed)
        table = naming(rows)
        for name in alarms:
            alarms[name] += bool(table.loc[name, "value_low"] > 0 or table.loc[name, "value_high"] < 0)
        assert table.loc["moved", "value"] > 0.1, "replies differ by chance"
    assert max(alarms.values()) <= 3, alarms


def test_few_replies_lower_the_ceiling_as_much_as_the_score(tmp_path: Path) -> None:
    """A model without probabilities is asked several times; the ceiling of a model that knows the shares counts its replies."""
    text_only = WithoutProbabilities(open_spec("oracle"))
    rows = measured(tmp_path, "oracle", planted_survey(), text_only, samples=12)
    assert set(rows["replies"]) == {12}
    assert set(rows["way"]) == {"sampled"}
    own, ceiling = score(rows, NAMED)[0], score(rows, KNOWN)[0]
    assert own == pytest.approx(ceiling, abs=4)
    assert own < 75
    assert naming(rows).loc["steerability", "value_low"] > 0


def test_the_ceiling_is_what_a_second_sample_scores(tmp_path: Path) -> None:
    """Real second samples of the same people, for 60 and for 400 people a group: the prediction is within 2 points."""
    for people in (60, 400):
        first, other = planted_survey(people=people), planted_survey(people=people, seed=1)
        shares = {(row.question, row.group.name): row.shares for row in other.rows}

        def answer(request: Request, shares: Any = shares) -> Reply:
            chosen = shares.get((request.facts["question"], request.facts["group"]), (0.25,) * 4)
            return Reply("A", answers=dict(zip(request.answers, chosen, strict=True)))

        rows = measured(tmp_path / str(people), "fake", first, Fake(answer))
        assert score(rows, SECOND)[0] == pytest.approx(score(rows, NAMED)[0], abs=2.0)


def test_missing_replies_are_counted_and_never_a_share(tmp_path: Path) -> None:
    """Every other reply is unreadable: the rest are counted. A question without any reply has no score, and is reported."""
    table = planted_survey().select((), 6, 0)
    last = table.questions[-1][0]

    def answer(request: Request) -> str:
        return "I cannot say." if request.seed % 2 or request.facts["question"] == last else "B"

    study = Poll(table, "fake", ENGLISH, samples=6)
    answers = study.run(CallDesk(tmp_path, quiet, keep_going=True), Fake(answer))
    rows = measure(study, answers)
    assert set(rows.loc[rows["text"] == last, "reason"]) == {"no_answer"}
    assert rows.loc[rows["text"] == last, ["tvd_named", "moved"]].isna().all(axis=None)
    assert (rows["replies"] + rows["lost"] == 6).all()
    assert rows["lost"].sum() > 50
    page = write_distributions(study, answers, tmp_path).read_text(encoding="utf-8")
    assert "replies could not be read (no\\_answer" in page or "replies could not be read (no_answer" in page
    nothing = StudyAnswers([one._replace(shares=None) for one in answers.named], answers.unnamed)
    lines = findings(
        *(make(measure(study, nothing)) for make in (score_conditions, compare_naming)), measure(study, nothing)
    )
    assert lines[0] == "The score is unknown, because no question has an answer."
    assert "because no question has the answers that this measure needs" in lines[2]


@pytest.mark.thorough
def test_a_repeated_command_asks_nothing_and_writes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after half of the answers and repeated, the folder is that of a run without a break, byte for byte."""
    command = ["study", "distributions", "planted", "--llm", "oracle", "--questions", "6", "--out"]
    assert run.main([*command, str(tmp_path / "whole")]) == 0
    from parley.llm.backends.oracle.backend import Oracle

    complete, left = Oracle.complete, [12]

    def dies(self: Oracle, requests: Sequence[Request]) -> list[Reply]:
        left[0] -= len(requests)
        if left[0] < 0:
            raise KeyboardInterrupt
        return complete(self, requests)

    monkeypatch.setattr(Oracle, "complete", dies)
    left[0] = 25
    assert run.main([*command, str(tmp_path / "broken")]) == 130
    left[0] = 10**6
    assert run.main([*command, str(tmp_path / "broken")]) == 0
    asked = 10**6 - left[0]
    assert 0 < asked < 30, "what was answered before is not asked again"
    for name in ("distributions.md", "answers.csv", "scores.csv", "naming.csv", "distributions.svg"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes(), name


@pytest.mark.thorough
def test_a_file_of_the_users_own_stands_beside_the_model(tmp_path: Path) -> None:
    """CSV and JSONL of the same survey give the same answers; groups and questions can be chosen."""
    rows = [
        {
            "question": f"Is {n} too much?",
            "options": ["Yes", "No"],
            "group": group,
            "shares": [0.3, 0.7],
            "n": 50,
            "country": "yes",
        }
        for n in range(6)
        for group in ("Kenya", "Peru")
    ]
    lines = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "own.jsonl").write_text(lines, encoding="utf-8")
    texts = [row | {"options": "Yes|No", "shares": "30|70"} for row in rows]
    pd.DataFrame(texts).to_csv(tmp_path / "own.csv", index=False)
    pages = []
    for name in ("own.csv", "own.jsonl"):
        folder = tmp_path / name.replace(".", "_")
        assert run.main(["study", "distributions", str(tmp_path / name), "--llm", "oracle", "--out", str(folder)]) == 0
        pages.append((folder / "distributions.md").read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    assert "6 questions for 2 groups" in pages[0]
    few = ["--groups", "Peru", "--questions", "2", "--dry-run"]
    assert run.main(["study", "distributions", str(tmp_path / "own.csv"), "--llm", "oracle", *few]) == 0


ROW = {"question": "Tea?", "options": "Yes|No", "group": "all", "shares": "0.5|0.5"}


@check_each(
    ("row", "message"),
    [
        ({"shares": "0.5|0.6"}, "add up to 1"),
        ({"shares": "1.2|-0.2"}, "0 or more"),
        ({"shares": "0.5|0.25|0.25"}, "2 options and 3 shares"),
        ({"shares": "0.5|half"}, "not a number"),
        ({"shares": ""}, "lacks shares"),
        ({"options": "Yes"}, "2 to 26 options"),
        ({"options": "Yes|yes"}, "the same"),
        ({"options": "[Yes"}, "is not a list"),
        ({"n": "0"}, "more than 0"),
        ({"country": "maybe"}, "yes or no"),
        ({"values": "1|2|3"}, "3 values"),
        ({"wieght": "1"}, "wieght"),
    ],
)
def test_a_broken_table_is_one_line_that_says_what_to_do(row: dict[str, str], message: str) -> None:
    """Nothing is guessed: a share that is missing is not 0."""
    import tempfile

    from parley.analysis.polls.published import read_survey
    from parley.llm.errors import UserError

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "own.csv"
        pd.DataFrame([ROW | row]).to_csv(path, index=False)
        with pytest.raises(UserError, match=message):
            read_survey(path)
