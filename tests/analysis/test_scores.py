"""Scores of statements: the reversion ratio, gradients, echo chambers and the published procedure, by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from scipy import stats

import run
from parley.analysis.scores.report import figure, parties_of
from parley.analysis.scores.reversion import echo_chambers, gradients, ratios
from parley.analysis.scores.table import COLUMNS, checked, read
from parley.analysis.scores.ucl import compare, is_smoothed, smoothed, statement_means
from parley.analysis.statistics.groups import level, spread
from parley.analysis.statistics.intervals import slope
from parley.llm.errors import UserError

pytestmark = pytest.mark.usefixtures("pictures")


def table(lines: Mapping[tuple[str, str, str], list[list[float]]]) -> pd.DataFrame:
    """(topic, condition, agent) -> a list of scores a run."""
    rows = [
        (topic, condition, run, agent, statement, score)
        for (topic, condition, agent), runs in lines.items()
        for run, scores in enumerate(runs)
        for statement, score in enumerate(scores, 1)
    ]
    return checked(pd.DataFrame(rows, columns=COLUMNS), "the test")


def ratio(scores: np.ndarray, reference: str = "mean", zero: bool = False) -> float:
    """R of one line of scores by statement."""
    line = {
        "topic": "t",
        "condition": "c",
        "run": "r",
        "agent": "a",
        "statement": range(1, len(scores) + 1),
        "score": scores,
    }
    return float(ratios(pd.DataFrame(line), reference, zero)["mean"].iloc[0])


@check_each(
    ("scores", "reference", "expected"),
    [
        ([2, 4, 4, 2], "mean", 1.0),  # back where it began
        ([2, 4, 4, 4], "mean", 0.0),  # stays where the middle was
        ([2, 4, 4, 6], "mean", -1.0),  # goes on
        ([2, 3, 5, 3], "mean", 0.5),
        ([2, 3, 5, 6], "median", -1.0),  # the median of the two between is 4
        ([2, 3, 5, 4], "penultimate", 1 / 3),
    ],
)
def test_the_reversion_ratio_by_hand(scores: list[float], reference: str, expected: float) -> None:
    assert ratio(np.array(scores, dtype=float), reference) == pytest.approx(expected)


def test_an_agent_that_never_moved_has_no_ratio() -> None:
    """None, not 0: the paper's own rule has to be asked for."""
    still = np.array([4.0, 4.0, 4.0, 5.0])
    assert math.isnan(ratio(still))
    assert ratio(still, zero=True) == 0.0


@pytest.mark.parametrize("zero", [False, True])
def test_a_debate_without_a_middle_has_no_ratio(zero: bool) -> None:
    assert math.isnan(ratio(np.array([2.0, 5.0]), zero=zero))
    found = ratios(table({("x", "c", "A"): [[2, 5], [3, 5]]}), zero=zero).iloc[0]
    assert (found["undefined"], math.isnan(found["pooled"])) == (1, True)


def test_ratios_over_topics_are_counted_and_pooled() -> None:
    """R is 0.5 of 2 points, 1 of 1 point, and undefined: mean and median 0.75, pooled (1 + 1) / (2 + 1)."""
    found = ratios(
        table(
            {
                ("x", "closing", "Alex"): [[2, 4, 4, 3]] * 5,
                ("y", "closing", "Alex"): [[3, 4, 4, 3]] * 5,
                ("z", "closing", "Alex"): [[4, 4, 4, 4]] * 5,
            }
        )
    ).iloc[0]
    assert (found["topics"], found["undefined"]) == (3, 1)
    assert (found["mean"], found["median"], found["pooled"]) == pytest.approx((0.75, 0.75, 2 / 3))
    assert found[["mean_low", "mean_high"]].isna().all()  # three runs, all alike


def test_one_small_denominator_rules_the_mean_and_not_the_pooled_ratio() -> None:
    """As in the authors' own data, where single cells reach -53 and +20."""
    found = ratios(table({("x", "c", "A"): [[2, 4, 4, 3]], ("y", "c", "A"): [[3.9, 4, 4, 7]]})).iloc[0]
    assert found["mean"] == pytest.approx((0.5 - 30) / 2)
    assert found["pooled"] == pytest.approx((1 - 3) / 2.1)
    assert math.isnan(found["mean_low"])  # one run has no interval


def test_runs_that_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    runs = [[2 + rng.normal(0, 0.3), 4, 4, 3 + rng.normal(0, 0.3)] for _ in range(12)]
    found = ratios(table({("x", "c", "A"): runs})).iloc[0]
    assert found["mean_low"] < found["mean"] < found["mean_high"]
    assert found["mean_high"] - found["mean_low"] < 0.5


def test_a_ratio_has_no_interval_below_ten_runs() -> None:
    """With five runs 9 to 12% of the intervals missed (docs/exam.md)."""
    rng = np.random.default_rng(0)
    runs = [[2 + rng.normal(0, 0.3), 4, 4, 3 + rng.normal(0, 0.3)] for _ in range(10)]
    nine, ten = (ratios(table({("x", "c", "A"): runs[:count]})).iloc[0] for count in (9, 10))
    assert math.isfinite(nine["pooled"])
    assert math.isnan(nine["pooled_low"])
    assert math.isfinite(ten["pooled_low"])


def test_gradients_by_hand() -> None:
    """Up one point a statement in one run, flat in the other: slope 0.5; quartile ranges over two runs of 0, .5, 1."""
    found = gradients(table({("x", "c", "A"): [[4, 5, 6], [4, 4, 4]]})).iloc[0]
    assert (found["runs"], found["mean"], found["change"], found["slope"]) == (
        2,
        pytest.approx(4.5),
        1.0,
        pytest.approx(0.5),
    )
    assert found["iqr"] == pytest.approx((0 + 0.5 + 1) / 3)


def lasting(first: float, step: float, runs: int = 8) -> list[list[float]]:
    rng = np.random.default_rng(int(first * 10))
    return [[min(7.0, max(1.0, first + step * place + rng.normal(0, 0.1))) for place in range(12)] for _ in range(runs)]


def test_an_echo_chamber_wants_all_of_a_party_to_go_outward() -> None:
    """Above the middle upward, below it downward; one that stays, or goes inward, is none."""
    scores = table(
        {
            ("both", "2R", "Alex"): lasting(5, 0.1),
            ("both", "2R", "Riley"): lasting(5.2, 0.1),
            ("both", "2R", "Sam"): lasting(4.5, 0.1),
            ("one", "2R", "Alex"): lasting(5, 0.1),
            ("one", "2R", "Riley"): lasting(5.2, -0.05),
            ("down", "2R", "Alex"): lasting(3, -0.1),
            ("down", "2R", "Riley"): lasting(3.2, -0.1),
            ("alone", "R", "Alex"): lasting(5, 0.1),
        }
    )
    found = echo_chambers(scores, {"Alex": "republican", "Riley": "republican"}).set_index("topic")
    assert found["formed"].to_dict() == {"both": True, "one": False, "down": True}
    assert found["outward"].to_dict() == {"both": 2, "one": 1, "down": 2}


def test_agents_who_are_converted_form_no_echo_chamber() -> None:
    """From 2.0 to 6.5: their mean is 4.3 and their slope positive, which the side of the mean took for outward. The side is that
    of the opening; one who goes out and comes back, one who begins in the middle, and few runs are no echo chamber either."""

    def line(first: float, last: float, runs: int = 10) -> list[list[float]]:
        return lasting(first, (last - first) / 11, runs)

    cells = {
        "converted": (line(2, 6.5), line(2.2, 6.3)),
        "one of two": (line(2, 6.5), line(5, 6.5)),
        "inward": (line(6.5, 5), line(6, 4.8)),
        "from the middle": (line(4, 6), line(4, 6)),
        "echo": (line(5, 6.5), line(5.5, 6.5)),
        "four runs": (line(5, 6.5, 4), line(5.5, 6.5, 4)),
    }
    scores = table(
        {(topic, "2R", name): runs for topic, pair in cells.items() for name, runs in zip("ab", pair, strict=True)}
    )
    scores.loc[(scores["topic"] == "from the middle") & (scores["statement"] == 1), "score"] = [3.9, 4.1] * 10
    found = echo_chambers(scores, {"a": "republican", "b": "republican"}).set_index("topic")
    assert found["outcome"].to_dict() == {
        "converted": "converted",
        "one of two": "none",
        "inward": "none",
        "from the middle": "none",
        "echo": "echo chamber",
        "four runs": "fewer than 5 runs",
    }
    assert found["converted"].tolist() == [2, 1, 0, 0, 0, 0]
    assert found["formed"].isna().tolist() == [False] * 5 + [True]


def test_the_median_is_that_of_the_authors_code() -> None:
    """Medians over runs of the first (3) and the last statement (5), and of the six scores between (4.5): -.5 / 1.5."""
    runs = [[1, 4, 4, 5], [3, 5, 5, 5], [7, 4, 7, 1]]
    found = ratios(table({("x", "c", "A"): runs}), "median").iloc[0]
    between = np.median([4, 4, 5, 5, 4, 7])
    assert found["mean"] == pytest.approx((between - 5) / (between - 3))


@pytest.mark.thorough
def test_scores_that_are_smoothed_are_not_smoothed_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Thirds are not smoothed, sevenths of a distribution cannot be told; what becomes thirds when it is undone is."""
    rng = np.random.default_rng(0)
    thirds = table({("x", name, "Sam"): (rng.integers(3, 22, (6, 8)) / 3).tolist() for name in ("a", "b")})
    means = thirds.assign(score=rng.uniform(1, 7, len(thirds)))
    done = smoothed(thirds)
    assert [is_smoothed(one) for one in (thirds, means, done, done.round(2))] == [False, False, True, True]
    path, told = tmp_path / "s.csv", "smoothed already"
    for scores, given, expected in ((thirds, [], False), (done, [], True), (means, ["--smoothed"], True)):
        scores.to_csv(path, index=False)
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        assert run.main(["study", "analyse", str(path), "--mode", "ucl", *given, "--out", str(out)]) == 0
        assert (told in capsys.readouterr().out, told in (out / "report.md").read_text()) == (expected, expected)
    again, once = (compare(done, True, already=already)["statistic"].tolist() for already in (False, True))
    assert once == compare(thirds, True)["statistic"].tolist() != again


def test_a_score_that_is_7_but_for_rounding_is_7(tmp_path: Path) -> None:
    assert read(write(tmp_path / "s.csv", HEAD + "x,c,1,Sam,1,7.000000000000002\n"))["score"].tolist() == [7.0]


def test_the_authors_word_for_the_default_is_a_party() -> None:
    assert parties_of(table({("x", "2R", "neutral"): lasting(5, 0.1), ("x", "2R", "Chris"): lasting(5, 0)})) == {
        "neutral": "default"
    }


@pytest.mark.thorough
def test_a_report_begins_with_what_it_found(tmp_path: Path) -> None:
    """And its tables with the smallest p; a condition's long name is folded beside its row."""
    cells = {**debates("a", 4, 6, 0), **debates("b", 4, 6, 1), **debates("openai:a-very-long-name on a host", 6, 6, 2)}
    path = tmp_path / "s.csv"
    table(cells).to_csv(path, index=False)
    assert run.main(["study", "analyse", str(path), "--out", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert text.index("## In short") < text.index("## Do conditions differ?")
    assert "tests by run find a difference between conditions" in text
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith("| x | by run")]
    known = [float(cells[-2]) for cells in lines if cells[-2] != "–"]
    assert known == sorted(known)
    (axes, *_) = figure(table(cells), "", {}).axes[-3:]
    assert all(len(part) <= 26 for part in axes.get_ylabel().splitlines())


def test_smoothing_as_in_the_public_code() -> None:
    """From the third statement on half of it and half of the smoothed one before: 2, 4, (6 + 4) / 2, (1 + 5) / 2."""
    scores = table({("x", "c", "A"): [[2, 4, 6, 1], [7, 7, 7, 7]]})
    assert smoothed(scores)["score"].tolist() == [2, 4, 5, 3, 7, 7, 7, 7]


def test_a_missing_score_stays_missing_and_the_next_goes_on() -> None:
    assert smoothed(table({("x", "c", "A"): [[2, 4, math.nan, 6]]}))["score"].tolist()[3] == 5
    assert math.isnan(smoothed(table({("x", "c", "A"): [[2, 4, math.nan, 6]]}))["score"][2])


def debates(condition: str, level: float, runs: int, seed: int) -> dict[tuple[str, str, str], list[list[float]]]:
    """Three agents, 12 statements; runs differ in level by one point."""
    rng = np.random.default_rng(seed)
    apart = rng.normal(0, 1, runs)
    return {
        ("x", condition, agent): [
            np.clip(level + apart[run] + rng.normal(0, 0.3, 12), 1, 7).tolist() for run in range(runs)
        ]
        for agent in ("Sam", "Alex", "Taylor")
    }


@pytest.mark.thorough
def test_the_published_unit_is_the_statement_and_ours_the_run() -> None:
    """36 statement means however many runs there are; what runs cannot tell from chance looks like a finding."""
    scores = table({**debates("one", 4.0, 10, 0), **debates("other", 4.3, 10, 1)})
    assert [len(units) for units in statement_means(scores).values()] == [36, 36]
    published, by_run = (compare(scores, way).set_index("test") for way in (True, False))
    theirs, ours = published.loc["one-way ANOVA"], by_run.loc["Welch's ANOVA"]
    assert (theirs["n"], theirs["unit"], ours["n"], ours["unit"]) == (72, "statement mean", 20, "run")
    assert theirs["p"] < 0.001 < 0.05 < ours["p"]
    by_hand = stats.f_oneway(*statement_means(smoothed(scores)).values())
    assert (theirs["statistic"], theirs["p"]) == (pytest.approx(by_hand.statistic), pytest.approx(by_hand.pvalue))
    assert (published.loc["Levene (medians)", "unit"], by_run.loc["Levene (medians)", "unit"]) == (
        "statement IQR",
        "run",
    )


def test_three_conditions_are_compared_by_twos_and_all_at_once() -> None:
    scores = table({**debates("a", 4, 4, 0), **debates("b", 4, 4, 1), **debates("c", 5, 4, 2)})
    assert compare(scores, True)["effect"].drop_duplicates().tolist() == ["a / b", "a / c", "b / c", "a / b / c"]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


HEAD = "topic,condition,run,agent,statement,score\n"


def test_any_csv_of_scores_can_be_read(tmp_path: Path) -> None:
    """More columns than wanted, in any order; an empty score is missing."""
    path = write(
        tmp_path / "s.csv", "score,topic,condition,run,agent,statement,note\n5,x,c,1,Sam,1,hello\n,x,c,1,Sam,2,\n"
    )
    found = read(path)
    assert found.columns.tolist() == COLUMNS
    assert found["score"].tolist()[0] == 5.0
    assert math.isnan(found["score"][1])


@check_each(
    ("text", "told"),
    [
        ("topic,condition\nx,y\n", "lacks the column run"),
        (HEAD + "x,c,1,Sam,1,8\n", "between 1 and 7, not 8"),
        (HEAD + "x,c,1,Sam,1,high\n", "score must be a number"),
        (HEAD + "x,c,1,Sam,,4\n", "statement must be a number"),
        (HEAD + "x,c,1,Sam,1,4\nx,c,1,Sam,1,5\n", "scores a statement twice: topic x"),
        ("", "is empty"),
        (HEAD, "has no rows"),
        (HEAD + "x,,1,Sam,1,4\n", "row 2: condition is empty"),
        (HEAD + "x,c,1,,1,4\n", "row 2: agent is empty"),
        (HEAD + "x,c,1,Sam,1.5,4\n", "statement must be a whole number"),
        (HEAD + "x,c,1,Sam,inf,4\n", "statement must be a number"),
        (HEAD + "x,c,1,Sam,1,\n", r"has no score \(all 1 are missing\)"),
    ],
)
def test_a_table_that_is_none_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        read(write(tmp_path / "s.csv", text))
    with pytest.raises(UserError, match="cannot read"):
        read(tmp_path / "none.csv")


def scored(tmp_path: Path) -> Path:
    """A CSV of two conditions and two topics."""
    parts = [table({**debates("gpt", 4, 4, seed), **debates("llama", 4.5, 4, seed + 9)}).assign(topic=topic)
             for seed, topic in enumerate(("abortion", "climate change"))]  # fmt: skip
    path = tmp_path / "scores.csv"
    pd.concat(parts).to_csv(path, index=False)
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["run", "ucl"])
def test_a_csv_becomes_a_report(tmp_path: Path, mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both procedures stand side by side, the one asked for first, with a sentence that says why they differ."""
    assert run.main(["study", "analyse", str(scored(tmp_path)), "--mode", mode, "--out", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "n of the published procedure is the length of the debate, not the number of runs" in text
    both = [text.find(f"| abortion | {how} | gpt / llama") for how in ("published", "by run")]
    if mode == "ucl":
        assert 0 < both[0] < both[1]
    else:
        assert both[0] == -1 < both[1], "four runs a condition: too few for the published p to be read"
    assert (tmp_path / "out" / "scores.png").stat().st_size > 10_000
    assert pd.read_csv(tmp_path / "out" / "reversion.csv")["topics"].tolist() == [2] * 18
    assert str(tmp_path / "out" / "report.md") in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["run", "ucl"])
def test_two_runs_a_condition_have_no_published_p_unless_asked(tmp_path: Path, mode: str) -> None:
    """Two runs of noise had "published ... p corrected 0.011". Nothing tested is not "0 of 0 tests find a difference"."""
    path = tmp_path / "s.csv"
    table({**debates("one", 4, 2, 0), **debates("other", 5, 2, 1)}).to_csv(path, index=False)
    assert run.main(["study", "analyse", str(path), "--mode", mode, "--out", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert ("| published |" in text) == (mode == "ucl")
    assert ("`--mode ucl`" in text) == (mode == "run")
    assert "0 of 0" not in text
    assert "Whether conditions differ cannot be tested by run. one / other: fewer than 5 units in a condition" in text


def test_a_file_that_is_no_table_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["study", "analyse", str(tmp_path / "none.csv"), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith("run.py: cannot read")


@pytest.mark.thorough
def test_gaps_are_left_out_without_a_word(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A statement that no run has a score of, and an agent without any: dashes and NaN, and nothing on stderr."""
    lines = table({**debates("one", 4, 4, 0), **debates("other", 5, 4, 1)})
    lines.loc[(lines["agent"] == "Alex") & (lines["statement"] == 3), "score"] = math.nan
    lines.loc[(lines["agent"] == "Sam") & (lines["condition"] == "one"), "score"] = math.nan
    path = tmp_path / "s.csv"
    lines.to_csv(path, index=False)
    for mode in ("run", "ucl"):
        assert run.main(["study", "analyse", str(path), "--mode", mode, "--out", str(tmp_path / mode)]) == 0
        slopes = pd.read_csv(tmp_path / mode / "gradients.csv").set_index(["condition", "agent"])["slope"]
        assert slopes.isna().sum() == 1
        assert math.isnan(slopes["one", "Sam"])
    assert capfd.readouterr().err == ""


def test_a_slope_is_that_of_the_scores_that_are_there() -> None:
    """1, nothing, 5, 4 over 0, 1, 2, 3: mean place 5/3; (-5/3 * 1 + 1/3 * 5 + 4/3 * 4) / (14/3) = 8/7."""
    assert slope(np.array([1.0, math.nan, 5.0, 4.0]), np.arange(4.0)) == pytest.approx(8 / 7)
    assert math.isnan(slope(np.array([1.0, math.nan]), np.arange(2.0)))


def test_seats_tell_their_party() -> None:
    """The scores that a judge gives have seats for agents."""
    runs = {
        ("x", "2R", agent): lasting(5, 0.1) for agent in ("republican", "republican 2", "Riley", "Chris", "default")
    }
    assert parties_of(table(runs)) == {
        "republican": "republican",
        "republican 2": "republican",
        "Riley": "republican",
        "default": "default",
    }


def test_everybody_who_is_drawn_is_in_the_legend() -> None:
    """Also those who sit in a later condition only."""
    runs = {
        ("x", "2R", "Alex"): lasting(5, 0.1),
        ("x", "2D", "Taylor"): lasting(3, 0.1),
        ("y", "2D", "Quinn"): lasting(3, 0),
    }
    scores = table(runs)
    (legend,) = figure(scores, "", parties_of(scores)).legends
    assert [text.get_text() for text in legend.get_texts()] == ["Alex", "Taylor", "Quinn"]


def test_the_pooled_ratio_knows_no_up_and_down() -> None:
    """R is 0.5 of 2 points up in one topic and of 2 points down in the other, which runs the opposite way: 0.5, not 0 / 0."""
    found = ratios(table({("x", "c", "A"): [[2, 4, 4, 3]] * 4, ("y", "c", "A"): [[6, 4, 4, 5]] * 4})).iloc[0]
    assert (found["mean"], found["pooled"]) == pytest.approx((0.5, 0.5))


def test_a_ratio_has_no_interval_where_it_is_not_sure_which_way_the_agent_moved() -> None:
    """Its denominator goes through 0: no ends bound it."""
    runs = [[4 + way, 4, 4, 4.5] for way in (-1, 1, -1, 1, -1)]
    found = ratios(table({("x", "c", "A"): runs})).iloc[0]
    assert math.isfinite(found["mean"])
    assert math.isnan(found["mean_low"])
    assert math.isnan(found["pooled_high"])


def test_the_published_ratio_is_0_only_where_nothing_moved() -> None:
    """0.04 points are undefined here, and 13.5 by the paper's rule: it says 0 only where both are equal."""
    assert math.isnan(ratio(np.array([4, 4.04, 4.04, 3.5])))
    assert ratio(np.array([4, 4.04, 4.04, 3.5]), zero=True) == pytest.approx(13.5)


def test_agents_that_never_moved_form_no_echo_chamber() -> None:
    """Their slopes are rounding, and a bootstrap of them has no width."""
    still = table({("x", "2R", "Alex"): [[6.2] * 7] * 5, ("x", "2R", "Riley"): [[5.2] * 7] * 5})
    party = {"Alex": "republican", "Riley": "republican"}
    assert echo_chambers(still, party)["formed"].tolist() == [False]
    once = table({("x", "2R", "Alex"): [[5, 6, 7]], ("x", "2R", "Riley"): [[5, 6, 7]]})
    assert echo_chambers(once, party)["formed"].isna().tolist() == [True]  # one run has no interval


def test_slopes_and_smoothing_go_by_the_statements_numbers() -> None:
    """Statements 1, 2, 10, 11 of 0.4 a statement; smoothed is from number 3 on, whatever stands before it."""
    rows = [("x", "c", run, "A", number, 1 + 0.4 * number) for run in (1, 2) for number in (1, 2, 10, 11)]
    scores = checked(pd.DataFrame(rows, columns=COLUMNS), "the test")
    assert gradients(scores)["slope"].tolist() == pytest.approx([0.4])
    first = smoothed(scores[scores["run"] == 1])["score"].tolist()
    assert first == pytest.approx([1.4, 1.8, (5 + 1.8) / 2, (5.4 + 3.4) / 2])


def test_conditions_are_compared_on_the_agents_that_both_have() -> None:
    """A Republican who says the same alone and in company: the others' scores are no difference of his."""
    rng = np.random.default_rng(0)
    his = [[5 + rng.normal(0, 0.3)] * 3 for _ in range(12)]
    scores = table(
        {("x", "together", "R"): his, ("x", "together", "D"): [[2] * 3] * 12, ("x", "alone", "R"): his[::-1]}
    )
    found = compare(scores, False)
    assert found["p"].tolist() == pytest.approx([1, 1])
    apart = table({("x", "a", "R"): his, ("x", "b", "D"): his})
    assert compare(apart, True)["reason"].tolist() == ["no agent sits in all of them"]


WOMEN = {
    "means": [5.3, 5.133333, 4.983333, 4.891667, 5.045833, 4.972917, 4.969792, 4.934896, 4.917448, 4.892057, 4.879362, 5.156348,
              2.0, 2.533333, 2.516667, 2.575, 2.670833, 2.602083, 2.751042, 2.758854, 2.946094, 2.939714, 3.036523, 3.118262,
              6.033333, 5.9, 5.9, 5.783333, 5.775, 5.8375, 5.852083, 5.842708, 5.738021, 5.76901, 5.767839, 6.117253],
    "ranges": [0.75, 0.5, 0.666667, 0.604167, 0.208333, 0.390625, 0.429688, 0.621094, 0.44987, 0.36263, 0.471191, 0.57194,
               0.0, 0.666667, 0.458333, 0.354167, 0.395833, 0.401042, 0.203125, 0.428385, 0.236328, 0.190104, 0.716797, 0.474935,
               0.0, 0.0, 0.0, 0.333333, 0.1875, 0.229167, 0.25, 0.214844, 0.490885, 0.607422, 0.399414, 0.665039],
}  # fmt: skip
MEN = {
    "means": [4.866667, 4.466667, 4.4, 4.483333, 4.441667, 4.3875, 4.477083, 4.505208, 4.619271, 4.609635, 4.504818, 4.702409,
              2.266667, 2.4, 2.583333, 2.591667, 2.579167, 2.772917, 2.769792, 2.851563, 2.692448, 2.662891, 2.664779, 2.932389,
              5.833333, 5.8, 5.75, 5.708333, 5.7375, 5.71875, 5.759375, 5.713021, 5.639844, 5.636589, 5.684961, 6.04248],
    "ranges": [0.0, 1.0, 0.583333, 0.291667, 0.385417, 0.609375, 0.700521, 0.553385, 0.184245, 0.44694, 0.381185, 0.208903,
               0.0, 0.833333, 0.583333, 0.5625, 0.21875, 0.302083, 0.257813, 0.377604, 0.315755, 0.401042, 0.493815, 0.769368,
               0.25, 0.333333, 0.458333, 0.458333, 0.354167, 0.369792, 0.367188, 0.398438, 0.501302, 0.349935, 0.259603, 0.49373],
}  # fmt: skip
"""The authors' own 36 units on climate change, by gender of the partisans, to six digits (public repository of the UCL study)."""


def test_the_published_tests_give_what_their_authors_have() -> None:
    """Their stored results for these units: F 0.44847 (p 0.50527) by ANOVA, 0.28001 (p 0.59837) by Levene."""
    means, ranges = ({"women": np.array(WOMEN[what]), "men": np.array(MEN[what])} for what in ("means", "ranges"))
    found = level("gender", means, "statement mean", equal=True)
    assert (found.statistic, found.p) == (pytest.approx(0.448465, abs=2e-5), pytest.approx(0.505268, abs=1e-5))
    found = spread("gender", ranges, "statement IQR")
    assert (found.statistic, found.p) == (pytest.approx(0.280013, abs=2e-5), pytest.approx(0.598367, abs=1e-5))
