"""The experiments of the UCL study: their conditions, what is compared, and one of them from end to end."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from analysis.judge.verdicts import Judging
from analysis.scores.contrasts import by_party, drifts, first_speaker, runs_needed
from analysis.scores.table import COLUMNS
from analysis.studies.structured.experiments import EXPERIMENTS, PRESET, experiment
from analysis.studies.structured.hold import scores, structured
from llm.errors import UserError
from model.scenario import load_preset

NAMES = [name for name in EXPERIMENTS if name != "models"]


@pytest.mark.parametrize("name", NAMES)
def test_every_condition_is_a_scenario_and_every_pair_two_conditions(name: str) -> None:
    """A slip in a name or a field would show only when the experiment runs."""
    chosen, base = experiment(name, ["oracle"]), load_preset(PRESET)
    made = {label: base.with_settings(settings) for label, settings in chosen.conditions.items()}
    assert len({scenario.digest() for scenario in made.values()}) == len(made)  # no two of them are the same
    assert {label for pair in chosen.pairs for label in pair} <= set(made)
    assert len(set(chosen.pairs)) == len(chosen.pairs)


def test_the_orders_are_all_six_and_who_begins_is_known() -> None:
    chosen = experiment("orders", ["oracle"])
    seated = [load_preset(PRESET).with_settings(one).build_environment().seats for one in chosen.conditions.values()]
    assert len(set(seated)) == 6
    assert [seats[0] for seats in seated] == list(chosen.first.values())


def test_models_are_held_alone_and_mixed() -> None:
    """Fig 3: the Neutral with the Democrat's model, or with the Republican's."""
    chosen = experiment("models", ["oracle", "oracle,kappa=0"])
    made = {label: load_preset(PRESET).with_settings(one) for label, one in chosen.conditions.items()}
    assert [(one.llm, one.own_llms()) for one in made.values()] == [
        ("oracle", {}),
        ("oracle,kappa=0", {}),
        *[("oracle", {party: "oracle,kappa=0"}) for party in ("default", "republican", "democrat")],
        *[("oracle,kappa=0", {party: "oracle"}) for party in ("default", "republican", "democrat")],
    ]


@pytest.mark.parametrize(
    ("name", "models", "told"),
    [
        ("orderz", ["oracle"], "did you mean orders"),
        ("models", ["oracle"], "needs two --llm"),
        ("echo", ["oracle", "pocket"], "takes one --llm"),
        ("models", ["oracle", "oracle"], "names oracle twice"),
    ],
)
def test_what_cannot_be_held_is_told(name: str, models: list[str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        experiment(name, models)


def test_a_judge_is_wanted_for_speakers_that_are_not_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """The oracle would leave every statement unread, after all the debates had been paid for."""
    assert run.main(["structured", "baseline", "--llm", "openai:some-model"]) == 2
    assert "--judge SPEC" in capsys.readouterr().err


def judged(rooms: dict[str, list[tuple[str, int]]]) -> pd.DataFrame:
    rows = [("racism", "c", room, party, agent, 1, 4.0) for room, seats in rooms.items() for party, agent in seats]
    return pd.DataFrame(rows, columns=["topic", "condition", "room", "party", "agent", "statement", "score"])


def test_agents_are_named_after_their_party_whatever_their_variant() -> None:
    """So that men and women, and two of a party with and without a Neutral, are compared with each other."""
    found = scores(judged({"a": [("republican", 1), ("republican", 2), ("default", 3)], "b": [("republican", 9)]}))
    assert list(found.columns) == COLUMNS
    assert list(found["agent"]) == ["republican 1", "republican 2", "default", "republican"]
    assert list(found["run"]) == ["a", "a", "a", "b"]


def table(cells: dict[tuple[str, str], list[list[float]]]) -> pd.DataFrame:
    """(condition, agent) -> the statements of each run."""
    rows = [
        ("x", condition, f"{condition} {number}", agent, statement, score)
        for (condition, agent), runs in cells.items()
        for number, statements in enumerate(runs)
        for statement, score in enumerate(statements, 1)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_contrasts_are_of_a_partys_means_by_run() -> None:
    """By hand: women's runs have means 5, 6; men's 3, 4: a difference of 2 with SE sqrt(.25 + .25), t 2.83 on 2 df."""
    data = table(
        {
            ("men", "republican"): [[2, 4], [3, 5]],
            ("women", "republican"): [[4, 6], [6, 6]],
            ("men", "democrat"): [[4, 4], [4, 4]],
        }
    )
    parties = {"republican": "republican", "democrat": "democrat"}
    found = by_party(data, parties, [("men", "women")])
    assert found[["party", "effect", "n", "unit"]].to_numpy().tolist() == [["republican", "women - men", 4, "run"]]
    (row,) = found.to_dict("records")
    assert (row["estimate"], row["statistic"], row["df_within"]) == pytest.approx((2, 2 / math.sqrt(0.5), 2))


def test_a_drift_that_differs_is_found_and_one_that_does_not_is_none() -> None:
    """Planted: 0.2 points a statement together, none alone; Democrats 0.1 in both."""
    rng = np.random.default_rng(2)

    def runs(step: float) -> list[list[float]]:
        levels = rng.normal(4, 0.3, 12)
        return [[level + step * place + rng.normal(0, 0.2) for place in range(8)] for level in levels]

    cells = {("alone", "republican"): runs(0), ("together", "republican"): runs(0.2)}
    cells |= {(condition, "democrat"): runs(0.1) for condition in ("alone", "together")}
    found = drifts(table(cells), {"republican": "republican", "democrat": "democrat"}, [("alone", "together")])
    rows = found.set_index("party")
    assert rows.loc["republican", "estimate"] == pytest.approx(0.2, abs=0.04)
    assert rows.loc["republican", "p_holm"] < 0.001 < 0.05 < rows.loc["democrat", "p_holm"]
    assert (rows.loc["republican", "n"], rows.loc["republican", "df_within"]) == (24, 22)


def test_what_the_first_speaker_does_is_found_at_the_opening_alone() -> None:
    """Planted: openings two points higher where the Republican begins, closings alike."""
    rng = np.random.default_rng(0)
    data = table(
        {
            (name, "default"): [[4 + lift + rng.normal(0, 0.2), 4, 4 + rng.normal(0, 0.2)] for _ in range(10)]
            for name, lift in (("R-N", 2), ("D-N", 0))
        }
    )
    found = first_speaker(data, {"R-N": "republican", "D-N": "democrat"}).set_index("moment")
    assert found.loc["opening", "p_holm"] < 0.01 < 0.2 < found.loc["closing", "p_holm"]
    assert found.loc["opening", "republican"] - found.loc["opening", "democrat"] == pytest.approx(2, abs=0.3)


def test_runs_needed_are_those_of_the_spread_within_conditions() -> None:
    """Conditions that are far apart do not count as spread: 1 point within, 64 runs for half of one at 80%."""
    data = table({(name, "default"): [[level - 1], [level], [level + 1]] for name, level in (("a", 2), ("b", 6))})
    found = runs_needed(data)
    assert found["deviation"].unique() == pytest.approx([1.0])
    assert found.loc[(found["difference"] == 0.5) & (found["power"] == 0.8), "rooms"].tolist() == [64]


def test_an_experiment_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Debates, judge, report; the same command again asks nothing and writes the same."""
    command = ["structured", "closing", "--llm", "oracle", "--topic", "racism,abortion", "--repetitions", "3"]
    command += ["--rounds", "4", "--out", str(tmp_path / "out")]
    assert run.main(command) == 0
    capsys.readouterr()
    report = (tmp_path / "out" / "report.md").read_text()
    assert "-2.18" in report.split("## In the paper")[1]  # Table 2, beside ours and marked as theirs
    assert "known-truth speaker" in report.split("## In the paper")[0]
    found = pd.read_csv(tmp_path / "out" / "scores.csv")
    assert found.groupby(["condition", "topic", "agent"]).size().unique() == [3 * 4]
    assert found["score"].notna().all()
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("*.csv")}
    assert run.main(command) == 0
    assert capsys.readouterr().out.count("nothing was asked") == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").glob("*.csv")} == before


def test_a_dry_run_says_what_it_would_take(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """4 topics, 10 runs, 3 speakers of 12 statements: 1,440 replies a condition, 13 surveys of 120, 3 verdicts a statement."""
    assert run.main(["structured", "closing", "--llm", "oracle", "--out", str(tmp_path / "o"), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "40 rooms    1,440 replies    1,560 ratings    1,440 statements" in out
    assert f"{2 * (1440 + 1560 + 3 * 1440):,} calls at most" in out
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["orders", "--set", "seats=default"], "--set seats: the conditions of orders differ in that"),
        (["closing", "--rounds", "1"], "at least two rounds"),
        (["closing", "--rounds", "0"], "at least two rounds"),
    ],
)
def test_what_an_experiment_cannot_take_is_one_line(
    given: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not a setting that is passed over in silence."""
    assert run.main(["structured", *given, "--llm", "oracle", "--out", str(tmp_path / "out")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_holds_one_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another one's report would stand beside the old tables."""
    small = ["--llm", "oracle", "--topic", "racism", "--repetitions", "2", "--rounds", "2", "--out", str(tmp_path)]
    assert run.main(["structured", "baseline", *small]) == 0
    assert run.main(["structured", "alone", *small]) == 2
    assert "holds another experiment" in capsys.readouterr().err


def test_conditions_do_not_share_their_chances() -> None:
    """With one seed for all, the first statements of both conditions would be word for word the same."""
    chosen, base = experiment("closing", ["oracle"]), load_preset(PRESET)
    steps = structured(
        chosen, base, Path("unused"), "oracle", Judging(), lambda title, total: nullcontext(lambda done: None)
    )
    assert next(steps).seed != base.seed
