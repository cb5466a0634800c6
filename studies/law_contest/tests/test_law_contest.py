"""The contest of laws picks what was planted, claims nothing where nothing moves, and its draws are calibrated."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from data_checks import check_each
from law_contest import PLANTED, Plan, ranks, simulate, uniformity, verdicts
from law_intervals import AT_ONCE, TURNS, coverage, move_at_once, speak_in_turn
from law_runs import after, complete

import run
from parley.agents.laws import open_law
from parley.agents.mechanisms import MECHANISMS, Situation
from parley.analysis.surrogate.fit import run_transitions
from parley.analysis.surrogate.report import choose_grader
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.studies.law_contest.contest import choose_mechanisms, run_contest
from parley.studies.law_contest.report import contest, numbers_table, verdict_line
from parley.studies.law_contest.rows import read_rows

Run = Callable[..., Path]
OWN = """
from dataclasses import dataclass

import numpy as np

from parley.agents.mechanisms import Mechanism


@dataclass(frozen=True)
class Contrarian(Mechanism):
    title = "away from the mean heard"

    def columns(self, situation, thresholds):
        return -situation.gap[:, None]

    def parameters(self, fit, thresholds, situation):
        return {"rate": fit[:, 0]}
"""


@pytest.mark.thorough
@check_each("plan", PLANTED, ids=lambda plan: plan.label or plan.law)
def test_the_planted_law_wins(plan: Plan) -> None:
    """Of six sets at most one is left open, and none goes to another law. benchmarks/law_contest.py has the rates."""
    counts = verdicts(plan, 6)
    assert counts.pop(plan.truth) >= 5
    assert counts.pop("", 0) <= 1
    assert not counts


@pytest.mark.thorough
@check_each("plan", [Plan("still", rooms=10), Plan("still", noise=0.0, error=0.3, rooms=12), Plan("still", people=2)])
def test_no_law_wins_where_nobody_moves(plan: Plan) -> None:
    """A false law would be a finding that is none: below 5%, so in 40 sets four would be a false alarm (chance: 5%)."""
    counts = verdicts(plan, 40)
    assert 40 - counts["still"] - counts["regression"] - counts[""] <= 3


@pytest.mark.thorough
def test_draws_are_calibrated() -> None:
    """The ranks of kappa, mu and point among their draws are uniform."""
    found = np.array(list(ranks(Plan("pull_and_hearing", rooms=20), 300)))
    assert min(uniformity(found)) > 0.001


def test_intervals_contain_what_was_planted() -> None:
    """Two lines a round of kappa 0.05 and mu 0.06 move by 1 - 0.89 squared in all. 24 of 30 intervals at least: chance .002."""
    assert [round(float(one), 4) for one in TURNS] == [0.0945, 0.1134, 8.0]
    for make, truth in ((move_at_once, AT_ONCE), (speak_in_turn, TURNS)):
        inside, bias = coverage(make, truth, 20, 30)
        assert inside.min() >= 24 / 30
        assert abs(bias).max() < 1


def test_two_laws_that_say_the_same_cannot_be_told_apart() -> None:
    """In rooms of two, one line is heard: the mean of the near lines is the near line."""
    rows = simulate(Plan("deffuant", (0.4,), (3.0,), people=2, spread=3.0), np.random.default_rng(3))
    verdict = run_contest(rows, choose_mechanisms(["deffuant", "hegselmann_krause", "degroot"]), draws=1).verdict
    assert verdict.winner == ""
    assert set(verdict.rivals) == {"deffuant", "hegselmann_krause"}


def test_numbers_have_no_interval_below_40_rooms() -> None:
    """With 5 to 20 rooms of noisy people, 11 to 21% of the intervals of a law's numbers missed (docs/exam.md)."""
    for rooms in (39, 40):
        plan, laws = Plan("degroot", (0.3,), rooms=rooms), choose_mechanisms(["degroot"])
        result = run_contest(simulate(plan, np.random.default_rng(1)), laws, draws=20)
        numbers = numbers_table("racism", result).set_index("law").loc["degroot"]
        assert numbers["value"].notna().all()
        assert numbers[["low", "high"]].notna().to_numpy().any() == (rooms == 40)


def test_few_rooms_give_no_verdict() -> None:
    plan, laws = Plan("degroot", (0.3,), rooms=9), choose_mechanisms(["degroot"])
    result = run_contest(simulate(plan, np.random.default_rng(1)), laws, draws=5)
    assert result.verdict.winner == ""
    assert "9 rooms are too few: a verdict needs 10" in verdict_line(result)
    with pytest.raises(UserError, match="this run has 4"):
        run_contest(simulate(replace(plan, rooms=4), np.random.default_rng(1)), laws)


def situation() -> Situation:
    """Two people: at 4 (first 6), who heard 5, 1 and 9; at 8 (first 8), who heard nothing."""
    return Situation(
        own=np.array([4.0, 8.0]),
        first=np.array([6.0, 8.0]),
        parties=np.array([0, 1]),
        names=("a", "b"),
        ends=np.array([0, 3, 3]),
        heard=np.array([5.0, 1.0, 9.0]),
        weights=np.ones(3),
        average=np.array([5.0, 8.0]),
        others=np.array([[6.0], [5.0]]),
        questions=("q",),
        apart=np.array([1.0, 3.5, 6.0]),
        starts={"a": 7.0, "b": 8.5},
    )


@check_each(
    ("name", "thresholds", "columns"),
    [
        ("still", (), [[], []]),
        ("party_levels", (), [[1, 0, 4, 0], [0, 1, 0, 8]]),
        ("regression", (), [[1, 3], [0, 0.5]]),
        ("degroot", (), [[1], [0]]),
        ("friedkin_johnsen", (), [[1, 2], [0, 0]]),
        ("model_pull", (), [[-4, 6], [-8, 2]]),
        ("pull_and_hearing", (), [[1, -4, 6], [0, -8, 2]]),
        ("anchored_pull", (), [[2, 1, -4, 6], [0, 0, -8, 2]]),
        ("line_by_line", (0.5,), [[0.875, -3.5, 5.25], [0, 0, 0]]),
        ("hegselmann_krause", (3.0,), [[-1], [0]]),
        ("deffuant", (3.0,), [[-2 / 3], [0]]),
        ("jager_amblard", (1.0, 4.0), [[(1 - 5) / 3], [0]]),
        ("jager_amblard", (1.0, 5.0), [[1 / 3], [0]]),
        ("majority", (1.0,), [[1], [0]]),
        ("coupled", (), [[1, 2], [0, -3]]),
        ("vector_confidence", (4.0,), [[-1], [0]]),
    ],
)
def test_columns_by_hand(name: str, thresholds: tuple[float, ...], columns: list[list[float]]) -> None:
    """Majority: of the lines 5, 1 and 9 one is above the middle, one below and one on it, so the target is the middle."""
    found = MECHANISMS.open(name).columns(situation(), np.array(thresholds))
    assert found.tolist() == [pytest.approx(row) for row in columns]


def test_rows_hold_what_each_agent_heard(ran: Run) -> None:
    """The lines of a row have the mean that the surrogate uses, and each agent hears the two others of its room."""
    tables = load(ran("three_way", repetitions=6, rounds=3))
    data = run_transitions(tables, "racism", choose_grader("racism", "grades"))
    rows = read_rows(data, tables, "racism")
    steps = data.steps.sort_values(["room", "agent", "before"])
    assert set(np.diff(rows.situation.ends)) == {2}
    assert rows.situation.own + rows.situation.gap == pytest.approx(steps["heard"].to_numpy())
    assert rows.after.tolist() == steps["after"].tolist()
    assert (rows.count, len(rows.after), rows.missing) == (6, 54, {})


def test_the_lines_of_a_network_are_those_that_were_heard(ran: Run) -> None:
    tables = load(ran("network", repetitions=2, rounds=2, size=12))
    data = run_transitions(tables, "racism", None)
    rows = read_rows(data, tables, "racism")
    steps = data.steps.sort_values(["room", "agent", "before"])
    assert rows.situation.own + rows.situation.gap == pytest.approx(steps["heard"].to_numpy())


def test_missing_ratings_are_counted_and_never_a_number(ran: Run) -> None:
    """The first rating of one agent is lost: its first interval has no attitude before, the others no first attitude."""
    tables = load(ran("three_way", repetitions=6, rounds=3))
    ratings = tables.attitudes.copy()
    lost = (ratings["agent"] == ratings["agent"].iloc[0]) & (ratings["round"] == 0)
    ratings.loc[lost, ["expected", "attitude"]] = np.nan
    ratings["expected"] = ratings["expected"].where(~lost)
    tables = replace(tables, attitudes=ratings)
    rows = read_rows(run_transitions(tables, "racism", None), tables, "racism")
    assert rows.missing["no attitude before"] == 1
    assert rows.missing["no first attitude"] == 2
    assert np.isfinite(rows.situation.first).all()


def test_the_oracles_law_wins_on_its_own_rooms(ran: Run) -> None:
    """Two lines an interval: kappa .0945, mu .1134, bias 8 (docs/populations.md)."""
    tables = load(ran("three_way", repetitions=60, rounds=5, seed=2))
    ((_, result),) = contest(tables, choose_mechanisms(["all"])).values()
    assert result.verdict.winner == "pull_and_hearing"
    numbers = numbers_table("racism", result).set_index(["law", "number"]).loc["pull_and_hearing"]
    for name, true in (("kappa", 0.0945), ("mu", 0.1134), ("point", 8.0)):
        assert numbers.loc[name, "low"] < true < numbers.loc[name, "high"], name


def test_a_vector_law_needs_several_questions(ran: Run) -> None:
    one, several = (load(ran("three_way", repetitions=6, rounds=2, **extra)) for extra in ({}, {"also": "agreement"}))
    laws = choose_mechanisms(["degroot", "coupled"])
    ((_, alone),) = contest(one, laws).values()
    ((_, both),) = contest(several, laws).values()
    assert alone.unfit == {"coupled": "a vector law, and agents rate one question only"}
    assert both.rows.situation.questions == ("agreement",)
    assert "coupled" in [candidate.name for candidate in both.candidates]


@pytest.mark.thorough
def test_the_command_writes_a_law_that_moves_a_population(
    ran: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report, tables, a figure and laws.json; each draw is another population, and the same draw the same one."""
    rooms = ran("three_way", repetitions=12, rounds=3)
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(OWN, encoding="utf-8")
    assert run.main(["study", "fit-law", str(rooms), "--laws", "all,./mine.py", "--out", "laws", "--draws", "3"]) == 0
    assert capsys.readouterr().out.startswith("racism: ")
    names = {path.name for path in Path("laws").iterdir()}
    assert names >= {"laws.json", "laws.md", "laws.png", "laws.svg", "laws.csv", "numbers.csv"}
    laws = json.loads(Path("laws/laws.json").read_text(encoding="utf-8"))["topics"]["racism"]["laws"]
    assert {"mine", "still", "party_levels", "regression", "degroot"} <= set(laws)
    assert {len(law["fits"]) for law in laws.values()} == {4}
    assert "| mine | away from the mean heard | law |" in Path("laws/laws.md").read_text(encoding="utf-8")
    ends = []
    for draw in (0, 1, 1):
        spec = f"fitted:laws/laws.json,law=pull_and_hearing,draw={draw}"
        folder = f"p{len(ends)}"
        words = ["population", "--law", spec, "--agents", "200", "--steps", "3", "--graph", "ring,degree=4"]
        assert run.main([*words, "--out", folder]) == 0
        ends.append(Path(folder, "tables/scalars.csv").read_text(encoding="utf-8"))
    assert ends[0] != ends[1] == ends[2]
    assert "error on unseen rooms" in Path("p0/summary.md").read_text(encoding="utf-8") + capsys.readouterr().out
    for words, told in {
        "fitted:laws/laws.json,law=degroot,draw=9": "draw is 9, but must be between 0 and 3",
        "fitted:laws/laws.json,law=degrot": "did you mean degroot",
        "fitted:laws/laws.json,law=regression": "does not work in a population",
        "fitted:mine.py": "cannot read the fitted laws mine.py",
        "fitted": "give this file as --law fitted:FILE",
    }.items():
        assert run.main(["population", "--law", words, "--agents", "20", "--out", "none"]) == 2
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1


def test_a_fitted_law_moves_as_the_classical_one(tmp_path: Path) -> None:
    """DeGroot with a rate of 0.3 and no noise is `degroot,own=0.7`."""
    fit = {"coefficients": [0.3], "thresholds": [], "spread": 0.0}
    topic = {
        "rounds": 2, "said": [0.0, 0.0], "told": [], "parties": {"all": {"share": 1.0, "starts": [0.0, 10.0]}},
        "verdict": {"winner": "", "rivals": ["still", "degroot"]},
        "laws": {"degroot": {"spec": "degroot", "caption": "", "fits": [fit]}},
    }  # fmt: skip
    path = tmp_path / "laws.json"
    path.write_text(json.dumps({"schema": 1, "topics": {"racism": topic}}), encoding="utf-8")
    start, graph = np.random.default_rng(1).random(30) * 10, complete(30)
    fitted, classical = open_law(f"fitted:{path},law=degroot"), open_law("degroot,own=0.7")
    assert after(fitted, start, graph, 5) == pytest.approx(after(classical, start, graph, 5))
    with pytest.raises(UserError, match="has no winner: choose one of still, degroot"):
        open_law(f"fitted:{path}")
