"""The experiments of the UCL study: their conditions, what is compared, and one of them from end to end."""

from __future__ import annotations

import math
import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from scipy.stats import ttest_1samp

import run
from parley.agents.society import load_society
from parley.analysis.metrics import broken_replies
from parley.analysis.scores.contrasts import (
    ONE_CAST,
    ONE_EACH,
    by_party,
    components,
    drifts,
    first_speaker,
    runs_needed,
    sharing,
)
from parley.analysis.scores.table import COLUMNS, PEOPLE, by_run, casts
from parley.analysis.scores.ucl import compare
from parley.analysis.statement_judge import Judging
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.model.scenario import load_preset
from parley.studies.structured.experiments import EXPERIMENTS, PRESET, experiment, run_experiment, scores
from parley.studies.structured.report import _models

NAMES = [name for name in EXPERIMENTS if name != "models"]


@check_each("name", NAMES)
def test_every_condition_is_a_scenario_and_every_pair_two_conditions(name: str) -> None:
    """A slip in a name or a field would show only when the experiment runs."""
    chosen, base = experiment(name, ["oracle"], load_society()), load_preset(PRESET)
    made = {label: base.with_settings(settings) for label, settings in chosen.conditions.items()}
    assert len({scenario.digest() for scenario in made.values()}) == len(made)  # no two of them are the same
    assert {label for pair in chosen.pairs for label in pair} <= set(made)
    assert len(set(chosen.pairs)) == len(chosen.pairs)


def test_the_orders_are_all_six_and_who_begins_is_known() -> None:
    chosen = experiment("orders", ["oracle"], load_society())
    seated = [load_preset(PRESET).with_settings(one).environment.seats for one in chosen.conditions.values()]
    assert len(set(seated)) == 6
    assert [seats[0] for seats in seated] == list(chosen.first.values())


def test_gender_has_both_halves_of_figure_10() -> None:
    """A man of the Democrats with two women, and a woman of the Republicans with two men; compared with each other."""
    chosen = experiment("gender", ["oracle"], load_society())
    seats = chosen.conditions["Democrat man, two women, informed"]["seats"]
    assert seats == "default:female,first:female,second:male"
    assert ("Democrat man, two women, informed", "Republican woman, two men, informed") in chosen.pairs


def test_three_models_are_held_in_every_permutation_and_mixed_ones_are_compared() -> None:
    """Table 5's caption; labels leave out what a model is asked with."""
    chosen = experiment(
        "models", ["oracle,kappa=0", "pocket", "openai:m,base_url=http://127.0.0.1:1/v1"], load_society()
    )
    assert [len(names) for names in chosen.together] == [3, 6]
    assert len(chosen.conditions) == 3 + 6 * 3 + 6
    assert chosen.conditions["N openai:m, R oracle, D pocket"]["llms"] == (
        "republican=oracle,kappa=0",
        "democrat=pocket",
    )
    assert chosen.quartets["oracle and pocket"] == (
        "oracle, Republican on pocket",
        "oracle, Democrat on pocket",
        "pocket, Republican on oracle",
        "pocket, Democrat on oracle",
    )
    assert {name for pair in chosen.pairs for name in pair} >= {
        name for four in chosen.quartets.values() for name in four
    }


def test_models_are_held_alone_and_mixed() -> None:
    """Fig 3: the Neutral with the Democrat's model, or with the Republican's."""
    chosen = experiment("models", ["oracle", "oracle,kappa=0"], load_society())
    made = {label: load_preset(PRESET).with_settings(one) for label, one in chosen.conditions.items()}
    assert [(one.models.llm, one.llm_by_party) for one in made.values()] == [
        ("oracle", {}),
        ("oracle,kappa=0", {}),
        *[("oracle", {party: "oracle,kappa=0"}) for party in ("default", "republican", "democrat")],
        *[("oracle,kappa=0", {party: "oracle"}) for party in ("default", "republican", "democrat")],
    ]


@check_each(
    ("name", "models", "told"),
    [
        ("orderz", ["oracle"], "did you mean orders"),
        ("models", ["oracle"], "give --llm twice or more"),
        ("echo", ["oracle", "pocket"], "give --llm once"),
        ("models", ["oracle", "oracle"], "names oracle twice"),
    ],
)
def test_what_cannot_be_held_is_told(name: str, models: list[str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        experiment(name, models, load_society())


def test_a_judge_is_wanted_for_speakers_that_are_not_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """The oracle would leave every statement unread, after all the debates had been paid for."""
    assert run.main(["study", "structured", "baseline", "--llm", "openai:some-model"]) == 2
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
    """By hand: women's runs have means 3 to 7, men's 1 to 5: a difference of 2 with SE sqrt(.5 + .5), t 2 on 8 df."""
    data = table(
        {
            ("men", "republican"): [[1, 1], [1, 3], [2, 4], [4, 4], [5, 5]],
            ("women", "republican"): [[3, 3], [4, 4], [4, 6], [6, 6], [7, 7]],
            ("men", "democrat"): [[4, 4]] * 5,
        }
    )
    parties = {"republican": "republican", "democrat": "democrat"}
    found = by_party(data, parties, [("men", "women")])
    assert found[["party", "effect", "n", "unit"]].to_numpy().tolist() == [["republican", "women - men", 10, "run"]]
    (row,) = found.to_dict("records")
    assert (row["estimate"], row["statistic"], row["df_within"]) == pytest.approx((2, 2, 8))


def seated(scores: pd.DataFrame, persons: int = 99, texts: bool = False) -> pd.DataFrame:
    """People for a table: run 0, 1, ... of a condition holds person 0, 1, ..., `persons` of them in turn; `texts`: a text each
    condition."""
    rows = [
        (
            condition,
            run,
            agent,
            agent,
            f"{agent} {int(run.split()[-1]) % persons}",
            f"{condition if texts else ''} {run[-1]}",
        )
        for condition, run, agent in scores[["condition", "run", "agent"]].drop_duplicates().itertuples(index=False)
    ]
    return pd.DataFrame(rows, columns=PEOPLE)


def test_one_text_against_another_has_no_test() -> None:
    """Ten runs of one man and of one woman: what differs may be anything in the two texts, however sure it is."""
    rng = np.random.default_rng(0)
    data = table(
        {(name, "republican"): rng.normal(mean, 0.1, (10, 4)).tolist() for name, mean in (("men", 4), ("women", 4.5))}
    )
    parties = {"republican": "republican"}
    for persons, texts, reason in (
        (1, True, ONE_EACH),
        (3, True, "fewer than 5 casts in both: no test"),
        (1, False, ""),
    ):
        (row,) = by_party(data, parties, [("men", "women")], seated(data, persons, texts)).to_dict("records")
        assert (row["reason"], math.isnan(row["p"])) == (reason, bool(reason))
        assert row["estimate"] == pytest.approx(0.5, abs=0.1)
    assert row["unit"] == "run"  # the same texts in both: informed or not


def test_many_people_are_the_units_and_compared_with_themselves() -> None:
    """People differ by a point, their twins by .3: what counts is the difference within each of 10 people, not 40 runs."""
    rng = np.random.default_rng(1)
    people, change = rng.normal(4, 0.8, 10), rng.normal(0.4, 0.3, 10)
    runs = {name: [[people[run % 10] + extra[run % 10]] * 3 for run in range(20)]
            for name, extra in (("men", np.zeros(10)), ("women", change))}  # fmt: skip
    data = table({(name, "republican"): scores for name, scores in runs.items()})
    (row,) = by_party(data, {"republican": "republican"}, [("men", "women")], seated(data, 10, True)).to_dict("records")
    exact = ttest_1samp(change, 0)
    assert (row["unit"], row["n"], row["test"]) == ("cast", 10, "paired t")
    assert (row["estimate"], row["p"]) == (pytest.approx(change.mean()), pytest.approx(exact.pvalue))


def test_runs_that_share_a_person_are_one_unit() -> None:
    """Also through others: 1 and 2, 2 and 3 sit together, so that all three runs hang together; 9 is alone."""
    rows = [("c", str(run), f"r{seat}", "republican", name, name)
            for run, pair in enumerate(["ab", "bc", "cd", "xy"]) for seat, name in enumerate(pair)]  # fmt: skip
    found = casts(pd.DataFrame(rows, columns=PEOPLE))
    assert found.nunique() == 2
    assert found["c", "0"] == found["c", "2"] != found["c", "3"]


@pytest.mark.thorough
def test_who_is_missing_is_no_effect() -> None:
    """Two conditions alike, but the Republican unread in 7 of 10 runs of the second: p was .0018 by means of who is there."""
    rng = np.random.default_rng(2)
    levels = {"default": 4.0, "republican": 2.0, "democrat": 6.0}
    runs = {(name, agent): rng.normal(level, 0.15, (10, 4)) for name in "AB" for agent, level in levels.items()}
    runs["B", "republican"][:7] = math.nan
    runs["B", "republican"][7:, 0] = math.nan
    data = table({key: scores.tolist() for key, scores in runs.items()})
    (level, _) = compare(data, False).to_dict("records")
    assert level["p"] > 0.1
    found = by_party(data, {name: name for name in levels}, [("A", "B")]).set_index("party")
    assert found["missing"].to_dict() == {"default": 0, "republican": pytest.approx(31 / 40), "democrat": 0}
    assert found.loc["republican", "bound_low"] < -0.5 < 3 < found.loc["republican", "bound_high"]
    assert math.isnan(found.loc["democrat", "bound_low"])
    first = first_speaker(data, {"A": "republican", "B": "democrat"}).set_index("moment")
    assert first.loc["closing", "p"] > 0.05


def test_without_gaps_a_runs_number_is_its_mean() -> None:
    rng = np.random.default_rng(3)
    data = table({("A", agent): rng.normal(4, 1, (6, 5)).tolist() for agent in ("default", "republican")})
    assert by_run(data)["value"].tolist() == pytest.approx(data.groupby("run", sort=False)["score"].mean().tolist())


@pytest.mark.thorough
def test_the_neutral_that_sides_with_its_own_model_is_found() -> None:
    """Planted: .4 toward whoever shares its model, on top of what the models do to everybody."""
    rng = np.random.default_rng(5)
    quartet = ("N and D on a", "N and R on a", "N and R on b", "N and D on b")
    sign = dict(zip(quartet, (1, -1, -1, 1), strict=True))
    lift = dict(zip(quartet, (0.5, 0.2, 0.1, 0.9), strict=True))  # the models' own: a's and b's partisans cancel out
    order = (quartet[0], quartet[1], quartet[3], quartet[2])

    def runs(level: float) -> list[list[float]]:
        return rng.normal(level, 0.1, (10, 3)).tolist()

    def scores(planted: float) -> pd.DataFrame:
        cells = {
            (name, "default"): runs(4 + planted * sign[name] + (0.3 if "a" in name[-1] else 0)) for name in quartet
        }
        cells |= {(name, "democrat"): runs(6) for name in quartet} | {(name, "republican"): runs(2) for name in quartet}
        return table(cells)

    assert lift
    parties = {name: name for name in ("default", "republican", "democrat")}
    for planted, low, high in ((0.2, 0, 1e-4), (0.0, 0.01, 1)):
        (row,) = sharing(scores(planted), parties, {"a and b": order}, ("republican", "democrat")).to_dict("records")
        assert row["estimate"] == pytest.approx(2 * planted, abs=0.1)
        assert low <= row["p"] <= high


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
    assert (rows.loc["republican", "n"], rows.loc["republican", "df_within"]) == (24, pytest.approx(22, abs=2))


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


def test_runs_needed_are_those_of_the_spread_that_the_design_has() -> None:
    """One person: 1 point between its runs, 64 runs for half of one at 80%, for that person alone. Twenty people a point apart
    and runs .3 apart: 8 pairs, since people are compared with themselves; the interval says how little is known of the .3."""
    data = table({(name, "default"): [[level - 1], [level], [level + 1]] for name, level in (("a", 2), ("b", 6))})
    spread = components(data, seated(data, 1))
    assert spread["run"].tolist() == pytest.approx([1.0])
    assert math.isnan(spread["person"][0])
    found = runs_needed(spread)
    row = found[(found["difference"] == 0.5) & (found["power"] == 0.8)].iloc[0]
    assert (row["rooms"], row["basis"]) == (64, ONE_CAST)
    assert row["rooms_low"] < 64 < row["rooms_high"]
    rng = np.random.default_rng(0)
    people = rng.normal(4, 1, 20)
    many = table({(name, "default"): (people + rng.normal(0, 0.3, 20))[:, None].tolist() for name in "ab"})
    (row,) = components(many, seated(many, 20)).to_dict("records")
    assert (row["person"], row["run"]) == (pytest.approx(people.std(ddof=1), abs=0.1), pytest.approx(0.3, abs=0.1))
    found = runs_needed(components(many, seated(many, 20)))
    assert found["rooms"].min() == 5  # not two


@pytest.mark.thorough
def test_an_experiment_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Debates, judge, report; the same command again asks nothing and writes the same."""
    command = ["study", "structured", "closing", "--llm", "oracle", "--topic", "racism,abortion", "--repetitions", "3"]
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
    assert capsys.readouterr().out.count("so no model was called") == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").glob("*.csv")} == before


def test_a_dry_run_says_what_it_would_take(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """4 topics, 10 runs, 3 speakers of 12 statements: 1,440 replies a condition, 13 surveys of 120, 3 verdicts a statement.

    A model that nobody has checked is asked 84 questions before; a plan without them is too small.
    """
    assert (
        run.main(["study", "structured", "closing", "--llm", "oracle", "--out", str(tmp_path / "o"), "--dry-run"]) == 0
    )
    out = capsys.readouterr().out
    assert re.search(r"^in all +80 rooms +6,000 calls$", out, re.M)
    assert f"oracle judges: {2 * 3 * 1440:,} calls at most, 3 for each of 2,880 statements" in out
    assert not (tmp_path / "o").exists()
    assert run.main(["study", "structured", "closing", "--llm", "openai:m", "--judge", "oracle", "--dry-run"]) == 0
    assert "+ 84 calls once, to check whether openai:m plays people" in capsys.readouterr().out


@check_each(
    ("given", "told"),
    [
        (
            ["orders", "--set", "seats=default"],
            "--set seats cannot be set, because the conditions of orders differ in this setting",
        ),
        (["closing", "--rounds", "1"], "set --rounds to 2 or more"),
        (["closing", "--rounds", "0"], "set --rounds to 2 or more"),
    ],
)
def test_what_an_experiment_cannot_take_is_one_line(
    given: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not a setting that is passed over in silence."""
    assert run.main(["study", "structured", *given, "--llm", "oracle", "--out", str(tmp_path / "out")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_report_says_first_that_the_debates_are_broken(tmp_path: Path) -> None:
    """Two small models said the same line in turn ("I'm not sure I agree with your answer."), and the report scored it all."""
    small = ["--llm", "oracle", "--topic", "racism", "--repetitions", "2", "--rounds", "2", "--out", str(tmp_path)]
    assert run.main(["study", "structured", "baseline", *small]) == 0
    short = (tmp_path / "report.md").read_text(encoding="utf-8").split("## In short")[1].split("##")[0]
    assert "These debates are not usable" not in short
    fine = broken_replies.compute(load(next(tmp_path.rglob("record.jsonl")).parent))
    for copied, said in ((0.0, 0), (1.0, 1)):
        made: Any = SimpleNamespace(headers={}, faults=fine.assign(copied=copied, copied_null=0.0))
        assert [line.startswith("**These debates are not usable:**") for line in _models(made, tmp_path)] == [
            True
        ] * said


def test_a_folder_holds_one_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another one's report would stand beside the old tables."""
    small = ["--llm", "oracle", "--topic", "racism", "--repetitions", "2", "--rounds", "2", "--out", str(tmp_path)]
    assert run.main(["study", "structured", "baseline", *small]) == 0
    assert run.main(["study", "structured", "alone", *small]) == 2
    assert "already has another experiment" in capsys.readouterr().err


def test_conditions_do_not_share_their_chances() -> None:
    """With one seed for all, the first statements of both conditions would be word for word the same."""
    chosen, base = experiment("closing", ["oracle"], load_society()), load_preset(PRESET)
    steps = run_experiment(
        chosen,
        base,
        Path("unused"),
        "oracle",
        Judging(),
        lambda title, total, unit="call": nullcontext(lambda done: None),
    )
    assert next(steps).seed != base.seed
