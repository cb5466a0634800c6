"""People and a run by the same measures: values by hand, files that are none, and the public data where they are at hand."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st

import run
from parley.analysis.human.measures import (
    ALIKE,
    FEW,
    LIKE_PARTNERS,
    NO_MAJORITY,
    NO_PARTNER,
    NO_PEOPLE,
    NO_SIDE,
    SAME_PARTNERS,
    average,
    measure_source,
    partner_correlation,
    traces,
)
from parley.analysis.human.readers import (
    ALL,
    COLUMNS,
    Source,
    habermas,
    others_mean,
    persuasiontrace,
    published,
    salvi,
    sources,
    toward_majority,
)
from parley.analysis.human.report import read
from parley.analysis.human.rooms import of_run
from parley.analysis.statistics.groups import Result
from parley.analysis.statistics.intervals import correlation
from parley.analysis.tables import Tables, load
from parley.llm.errors import UserError

pytestmark = pytest.mark.usefixtures("pictures")

DATA = Path(__file__).parents[2].parent / "shared" / "data"
NAN = math.nan
Person = tuple[str, float, float]


def source(
    people: Sequence[Person], side: float = 1.0, turns: Sequence[tuple[float, ...]] = (), still: float = 0
) -> Source:
    """(group, before, after) as a source of one condition."""
    rows = [
        ("c", group, str(number), before, after, NAN, side, turns[number] if turns else ())
        for number, (group, before, after) in enumerate(people)
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["partner"] = others_mean(table)
    return Source("test", table, toward_majority(table), "room", "nowhere", still)


def results(found: Source) -> pd.DataFrame:
    return measure_source(found).set_index("key")


PAIRS = [("a", 0.2, 0.4), ("a", 0.8, 0.6), ("b", 0.1, 0.1), ("b", 0.5, 0.5), ("c", 1.0, 0.7), ("c", 0.4, 0.6)]
TWICE = [*PAIRS, *((group * 2, before, after) for group, before, after in PAIRS)]
"""Twelve people: enough for a correlation."""


def test_correlations_are_those_of_the_textbook() -> None:
    """Against own opinion, Oldham's mean, the distance to the partner: numpy says the same of the same pairs."""
    before, after = (np.array([row[place] for row in TWICE]) for place in (1, 2))
    partner = np.array([0.8, 0.2, 0.5, 0.1, 0.4, 1.0] * 2)
    found = results(source(TWICE))["estimate"]
    for key, other in (("own", before), ("oldham", (before + after) / 2), ("distance", partner - before)):
        assert found[key] == pytest.approx(np.corrcoef(after - before, other)[0, 1])


def test_shares_means_and_spreads_by_hand() -> None:
    """Two of six stay; changes .2 -.2 0 0 -.3 .2 toward 1: -.1 / 6; SDs of pairs are |difference| / sqrt 2."""
    found = results(source(PAIRS))
    assert found.loc["still", "estimate"] == pytest.approx(2 / 6)
    assert found.loc["toward", "estimate"] == pytest.approx(-0.1 / 6)
    assert found.loc["sd_before", "estimate"] == pytest.approx((0.6 + 0.4 + 0.6) / 3 / math.sqrt(2))
    assert found.loc["sd_after", "estimate"] == pytest.approx((0.2 + 0.4 + 0.1) / 3 / math.sqrt(2))
    assert math.isnan(found.loc["spread", "p"])  # three groups: there is no test below five
    changes = np.array([-0.4, 0.0, -0.5] * 2) / math.sqrt(2)
    spread = results(source(TWICE)).loc["spread"]
    assert spread["statistic"] == pytest.approx(changes.mean() / (changes.std(ddof=1) / math.sqrt(6)))
    assert (spread["df"], spread["n"]) == (5, 6)


def test_a_slider_stands_still_within_its_tolerance_and_a_point_only_on_itself() -> None:
    people = [("a", 0.5, 0.55), ("b", 0.3, 0.1 + 0.2), ("c", 0.5, 0.6)]
    assert results(source(people)).loc["still", "estimate"] == pytest.approx(1 / 3)
    assert results(source(people, still=0.05)).loc["still", "estimate"] == pytest.approx(2 / 3)


def test_who_is_known_once_is_counted_and_left_out() -> None:
    """Missing is not zero: neither change nor a place among those who stay; but a partner's opinion before is still one."""
    found = results(source([*TWICE, ("d", 0.5, NAN), ("d", NAN, 0.5), ("e", 0.3, 0.3), ("e", 0.9, NAN)]))
    assert (found.loc["own", "people"], found.loc["own", "missing"], found.loc["own", "groups"]) == (13, 3, 8)
    assert found.loc["still", "estimate"] == pytest.approx(5 / 13)
    assert (found.loc["distance", "n"], found.loc["spread", "n"]) == (7, 6)
    room = pd.DataFrame({"group": ["a"] * 3, "before": [NAN, 0.4, 0.8]})
    assert others_mean(room).tolist() == pytest.approx([0.6, 0.8, 0.4])


def test_what_is_not_there_is_a_reason_and_no_number() -> None:
    alone = [(str(number), 0.1 * number, 0.5) for number in range(4)]
    lonely = results(source(alone, side=NAN))
    assert lonely["reason"][["distance", "toward", "majority"]].tolist() == [NO_PARTNER, NO_SIDE, NO_MAJORITY]
    assert lonely["estimate"][["distance", "toward", "majority", "spread"]].isna().all()
    assert results(source(PAIRS[:2])).loc["own", "reason"] == FEW
    assert results(source([("a", 0.3, number / 10) for number in range(10)])).loc["own", "reason"] == ALIKE


def test_an_interval_of_what_does_not_vary_is_none() -> None:
    """A bootstrap of a share of 0, or of rooms that all have the same share, has no width: it would look sure."""
    moving = [("a", 0.1, 0.2), ("b", 0.3, 0.1), ("c", 0.3, 0.5)]
    alike = [*moving, *((group, 0.4, 0.4) for group in "abc")]
    for people, share in ((moving, 0), (alike, 0.5)):
        found = results(source(people)).loc["still"]
        assert found["estimate"] == share
        assert math.isnan(found["low"])


def test_the_interval_of_a_share_ends_between_0_and_1() -> None:
    """One of six groups stays, or five of six do: no share below 0, and none above 1."""
    stays, moves = [(0.5, 0.5)], [(0.5, 0.9)]
    for count, end in ((1, "low"), (5, "high")):
        people = [(name, *pair) for at, name in enumerate("abcdef") for pair in (stays if at < count else moves)]
        assert 0 < results(source(people)).loc["still", end] < 1


def test_intervals_are_over_groups() -> None:
    """The same twelve people in six groups or in twelve: what groups share is not told twice."""
    changes = [0.1] * 6 + [-0.1] * 6
    rows = [(str(number // 2), 0.5, 0.5 + change) for number, change in enumerate(changes)]
    apart = [(str(number), before, after) for number, (_, before, after) in enumerate(rows)]
    two, eight = (results(source(people)).loc["toward"] for people in (rows, apart))
    assert two["high"] - two["low"] > eight["high"] - eight["low"] > 0


@check_each(
    ("people", "moved"),
    [
        ([(0.8, 0.9), (0.9, 0.9), (0.2, 0.3)], 2 / 3),  # the majority is up; two go there
        ([(0.2, 0.3), (0.1, 0.0), (0.9, 1.0)], -1 / 3),  # it is down; one goes there, two go away
        ([(0.8, 0.7), (0.2, 0.3), (0.5, 0.6)], NAN),  # none
        ([(0.8, 0.7), (0.7, NAN), (0.2, 0.3)], 0.0),  # the one known before counts for the majority
    ],
)
def test_moves_toward_the_majority_by_hand(people: list[tuple[float, float]], moved: float) -> None:
    found = source([("a", *pair) for pair in people]).moves
    assert found["moved"].tolist() == pytest.approx([moved], nan_ok=True)


def test_traces_go_toward_the_other_side() -> None:
    """Side -1: down is toward it. The fourth turn, which one of three was asked after, is left out."""
    people = [("a", 0.8, 0.5), ("b", 0.6, 0.5), ("c", 0.7, 0.6)]
    found = traces(source(people, -1.0, [(0.7, 0.6, 0.5, 0.4), (0.6, 0.6), (0.7, NAN, 0.6)]))
    assert found["mean"].tolist() == pytest.approx([0, 0.1 / 3, 0.1, 0.2, 0.5 / 3])
    assert found["n"].tolist() == [3, 3, 2, 2, 3]
    assert found["last"].tolist() == [False] * 4 + [True]
    assert traces(source(people)).empty


opinions = st.floats(0.05, 0.45).map(lambda value: round(value, 3))
crowds = st.lists(st.tuples(st.sampled_from("abc"), opinions, opinions), min_size=4, max_size=16)
STABLE = ["own", "oldham", "distance", "still", "toward", "spread"]


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(crowds, st.floats(0.0, 0.5))
def test_a_shift_of_all_opinions_changes_nothing(people: list[Person], by: float) -> None:
    """What is measured is change, and not where a scale has its zero."""
    shifted = [(group, before + by, after + by) for group, before, after in people]
    one, other = (results(source(crowd))["estimate"][STABLE].tolist() for crowd in (people, shifted))
    assert other == pytest.approx(one, abs=1e-6, nan_ok=True)


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(crowds, st.randoms())
def test_neither_order_nor_the_direction_of_the_axis_matters(people: list[Person], chance: object) -> None:
    """Topics are polled either way round, and rows come in any order."""
    mirrored = [(group, 1 - before, 1 - after) for group, before, after in people]
    chance.shuffle(mirrored)  # type: ignore[attr-defined]
    one, other = (results(source(crowd, side))["estimate"] for crowd, side in ((people, 1), (mirrored, -1)))
    assert other.tolist() == pytest.approx(one.tolist(), abs=1e-6, nan_ok=True)


def test_a_correlation_without_variation_is_none() -> None:
    """Rounding left of a constant must not look like a perfect correlation."""
    x, y = np.full(5, 0.1), np.arange(5.0)
    assert math.isnan(correlation(np.array([5, x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum()])))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


SALVI = "debate_id,treatment_type,participant_side,agreement_pre_likert,agreement_post_likert\n"
TRACES = (
    "round,export_date,control_dialogue,audio,participant_proposition,persuader_supports,initial_belief,final_belief,"
    "belief_after_each_turn\n"
)
HABERMAS = "question_id,n,n_both,majority_dir,movement_sign\n"
REFERENCE = {
    "individual_level_correlations": {
        "opinion_change_vs_initial": {"human": -0.45, "LLM": -0.63},
        "opinion_change_vs_first_partner_difference": {"human": 0.41, "LLM": 0.53},
    },
    "group_level_depth_mode3_gpt4omini": {"reported_opinion_SD_change": {"human": "t(30)=0.65", "LLM": "t(30)=-3.82"}},
}


def test_salvi_by_hand(tmp_path: Path) -> None:
    """1-5 becomes 0-1; the opponent of CON is PRO, so up is toward it; the two of a debate are partners; a gap stays one."""
    rows = "1,Human-Human,PRO,5,4\n1,Human-Human,CON,1,1\n2,Human-AI,CON,3,5\n3,Human-AI,PRO,2,\n"
    people = salvi(write(tmp_path / "s.csv", SALVI + rows)).people
    assert people["before"].tolist() == [1, 0, 0.5, 0.25]
    assert people["after"].tolist() == pytest.approx([0.75, 0, 1, NAN], nan_ok=True)
    assert people["side"].tolist() == [-1, 1, 1, -1]
    assert people["partner"].tolist() == pytest.approx([0, 1, NAN, NAN], nan_ok=True)


def talk(number: int, flags: str, before: float, after: float, turns: str) -> str:
    return f"{number},2026-01-0{number % 9 + 1},{flags},{before},{after},{turns}\n"


def test_persuasiontrace_by_hand(tmp_path: Path) -> None:
    """A talk exported twice counts once; turns that contradict the belief told right after are left out, and said to be."""
    good = [talk(n, "False,False,False,True", 0.1 * n, 0.2 * n, f"{0.15 * n:.2f};{0.2 * n:.2f}") for n in range(1, 5)]
    again = talk(9, "False,False,False,True", 0.1, 0.2, "0.15;0.20")
    mirrored = [talk(n, "False,False,False,False", 0.2 * n, 0.2 * n, f"{1 - 0.2 * n:.2f}") for n in range(1, 5)]
    silent = talk(8, "False,True,True,True", 0.5, 0.6, "")
    found = persuasiontrace(write(tmp_path / "p.csv", TRACES + "".join([*good, again, *mirrored, silent])))
    people = found.people
    assert (len(people), people["condition"].value_counts().to_dict()) == (9, {"given claim": 8, "audio": 1})
    assert people["turns"].tolist() == [(0.15, 0.2), (0.3, 0.4), (0.45, 0.6), (0.6, 0.8)] + [()] * 5
    assert people["side"].tolist() == [1] * 4 + [-1] * 4 + [1]
    assert "1 talk of 10 appeared" in found.notes[0]
    assert "left out of 4 talks" in found.notes[1]


def test_habermas_holds_groups_and_no_people(tmp_path: Path) -> None:
    """The mean over sessions; all else is a dash with a reason. The full file names groups, which are then the units."""
    text = HABERMAS + "S1,5,4,1,0.25\nS2,5,5,-1,-0.75\nS3,4,4,1,0.8\n"
    found = results(habermas(write(tmp_path / "h.csv", text)))
    assert found.loc["majority", "estimate"] == pytest.approx(0.1)
    assert (found.loc["majority", "people"], found.loc["majority", "missing"]) == (13, 1)
    assert set(found["reason"].drop("majority")) == {NO_PEOPLE}
    full = "launch_id," + text.replace("S1", "g,S1").replace("S2", "g,S2").replace("S3", "h,S3").split("\n", 1)[0]
    rows = "\ng,S1,5,4,1,0.25\ng,S2,5,5,-1,-0.75\nh,S3,4,4,1,0.8\n"
    whole = results(habermas(write(tmp_path / "full.csv", full + rows)))
    assert (whole.loc["majority", "n"], whole.loc["majority", "unit"]) == (2, "group")


@check_each(
    ("name", "text", "told"),
    [
        ("salvi_rct_750_pre_post_agreement.csv", "a,b\n1,2\n", "lacks the column debate_id"),
        ("salvi_rct_750_pre_post_agreement.csv", SALVI + "1,x,PRO,6,1\n", "must be a number from 1 to 5"),
        ("salvi_rct_750_pre_post_agreement.csv", SALVI + "1,x,pro,5,1\n", "PRO or CON"),
        ("salvi_rct_750_pre_post_agreement.csv", SALVI, "has no rows"),
        ("salvi_debategpt_round_index.csv", "", "is empty"),
        (
            "persuasiontrace_human_belief_traces.csv",
            TRACES + talk(1, "No,False,False,True", 0, 1, "0.1"),
            "True or False",
        ),
        (
            "persuasiontrace_human_belief_traces.csv",
            TRACES + talk(1, "True,False,False,True", 0, 1, "0.1;x"),
            "is 0.1;x, but must be",
        ),
        ("habermas_group_positions_sample.csv", HABERMAS + "S1,4,5,1,0\n", "every row needs n"),
        ("habermas_group_positions_sample.csv", HABERMAS + "S1,,4,1,0\n", "every row needs n"),
        ("debate_benchmark_human_reference.json", "{", "as JSON"),
        ("debate_benchmark_human_reference.json", "{}", "lacks a published value"),
        (
            "debate_benchmark_human_reference.json",
            json.dumps(REFERENCE).replace("-0.45", '"r"'),
            "r is not a correlation",
        ),
    ],
)
def test_a_file_that_is_none_is_one_line(
    tmp_path: Path, name: str, text: str, told: str, ran: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and no traceback, whatever is wrong with it."""
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep" / name, text)
    assert run.main(["study", "human", str(ran()), "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_folder_that_is_none_or_holds_nothing_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder"):
        read(tmp_path / "none")
    with pytest.raises(UserError, match="none of the files of human data: salvi_rct"):
        read(tmp_path)


def test_a_run_is_one_more_source(held: Callable[..., Tables]) -> None:
    """By hand: 2, 8, 5 become 4, 8 and nothing; the others' mean before is 6.5, 3.5, 5; the survey between is a turn."""
    seats = {"republican": [2.0, 3.0, 4.0], "democrat": [8.0, None, 8.0], "default": [5.0, 5.0, None]}
    people = of_run(held(seats, reference=6.0)).people
    assert people["before"].tolist() == pytest.approx([0.2, 0.8, 0.5])
    assert people["after"].tolist() == pytest.approx([0.4, 0.8, NAN], nan_ok=True)
    assert people["partner"].tolist() == pytest.approx([0.65, 0.35, 0.5])
    assert people["side"].tolist() == pytest.approx([1, -1, NAN], nan_ok=True)
    assert [turns[0] for turns in people["turns"]] == pytest.approx([0.3, NAN, 0.5], nan_ok=True)
    assert people["condition"].unique().tolist() == ["Racism"]


def test_a_run_without_a_second_survey_has_no_change(ran: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match="fewer than two surveys"):
        of_run(load(ran(survey="never")))


def test_a_run_and_people_become_a_report(
    tmp_path: Path, ran: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    """Both in the same tables, the run labelled with its speaker; published values apart; nothing on stderr."""
    rng = np.random.default_rng(0)
    rows = [
        f"{n // 2},Human-Human,{'PRO' if n % 2 else 'CON'},{a},{b}"
        for n, (a, b) in enumerate(rng.integers(1, 6, (20, 2)))
    ]
    write(tmp_path / "salvi_debategpt_round_index.csv", SALVI + "\n".join(rows) + "\n")
    write(tmp_path / "debate_benchmark_human_reference.json", json.dumps(REFERENCE))
    out = tmp_path / "out"
    assert run.main(["study", "human", str(ran("three_way")), "--data", str(tmp_path), "--out", str(out)]) == 0
    text = (out / "human.md").read_text()
    assert "| Salvi et al. | Human-Human | 10 debates | 20 | 0 |" in text
    assert "| this run: oracle (known-truth speaker) | Racism | 3 rooms | 9 | 0 |" in text
    assert "| -0.45 | -0.63 |" in text
    assert "Regression to the mean" in text
    assert "CC BY-SA 4.0" in text
    assert "DEBATE" not in set(pd.read_csv(out / "human.csv")["source"])
    assert (out / "human.png").stat().st_size > 10_000
    captured = capfd.readouterr()
    assert (captured.err, str(out / "human.md") in captured.out) == ("", True)


@pytest.mark.thorough
@pytest.mark.parametrize("survey", ["rounds", "ends"])
def test_a_run_alone_is_told_too(tmp_path: Path, ran: Callable[..., Path], survey: str) -> None:
    """Without data, of many conditions, and where nobody was asked between first and last."""
    folder = ran("echo_chamber", survey=survey, topic="racism,abortion", repetitions=2)
    assert run.main(["study", "human", str(folder), "--out", str(tmp_path)]) == 0
    text = (tmp_path / "human.md").read_text()
    assert "No human data were given" in text
    assert ("## Turn by turn" in text) == (survey == "rounds")


@pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the public data are no part of this checkout ({DATA.parent.name}/data beside it)"
)
def test_the_public_data_give_the_numbers_known_of_them() -> None:
    """Salvi by condition and overall, PersuasionTrace's doubles and mirrored turns, the Habermas sample near its whole."""
    known = {found.name: found for found in sources(DATA)}
    tables = {name: measure_source(found).set_index(["condition", "key"])["estimate"] for name, found in known.items()}
    debates = tables["Salvi et al."]
    names = ["Human-Human", "Human-Human, personalized", "Human-AI", "Human-AI, personalized"]
    toward = [round(4 * debates[name, "toward"], 2) for name in names]
    assert toward == [-0.22, -0.16, -0.02, 0.14]
    assert all(0.41 <= debates[name, "still"] <= 0.52 for name in names)
    assert "r = -0.50" in known["Salvi et al."].notes[1]
    assert debates[ALL, "own"] == pytest.approx(-0.484, abs=0.001)
    assert len(known["PersuasionTrace"].people) == 358
    assert "left out of 269 talks" in known["PersuasionTrace"].notes[1]
    assert tables["Habermas Machine"]["mediated group", "majority"] == pytest.approx(0.119, abs=0.001)
    assert published(DATA / "reference" / "debate_benchmark_human_reference.json")[0][2:4] == ("-0.45", "-0.63")


def test_a_partners_opinion_is_found_where_it_is_heard_and_not_in_regression_to_the_mean() -> None:
    """Change planted as 0.4 of the distance in one half; in the other as regression to the mean alone."""
    rng, rows = np.random.default_rng(3), []
    before = rng.uniform(0, 1, (200, 2))
    for group, pair in enumerate(before):
        for seat, noise in enumerate(rng.normal(0, 0.1, 2)):
            heard = 0.4 * (pair[1 - seat] - pair[seat]) if group < 100 else 0.4 * (0.5 - pair[seat])
            opinions = pair[seat], pair[seat] + heard + noise, pair[1 - seat]
            rows.append((("heard", "not")[group >= 100], group, str(seat), *opinions))
    people = pd.DataFrame(rows, columns=["condition", "group", "person", "before", "after", "partner"])
    blank = Result("", "", 0, "r", "")
    heard, alone = (partner_correlation(blank, part, part["group"]) for _, part in people.groupby("condition"))
    assert heard.estimate == pytest.approx(0.4 / math.sqrt(0.16 + 0.12), abs=0.1)  # variances 1/12 and 0.01
    assert heard.low > 0.5
    assert alone.low < 0 < alone.high


def test_a_partners_opinion_is_the_textbooks_partial_correlation() -> None:
    """Of two seats: (r - r1 r2) / sqrt((1 - r1^2) (1 - r2^2)) of the deviations from the means of each seat."""
    rng = np.random.default_rng(4)
    own, partner, change = rng.normal(0, 0.1, (3, 2, 8))
    deviations = [(each - each.mean(axis=1, keepdims=True)).ravel() for each in (change, partner, own)]
    (_, r, r1), (_, _, r2), _ = np.corrcoef(deviations)
    before = own + np.array([[0.0], [1.0]])
    after, partners = before + change + np.array([[0.0], [0.5]]), partner + np.array([[0.0], [1.0]])
    numbers = [
        (before[seat, group], after[seat, group], partners[seat, group]) for group in range(8) for seat in range(2)
    ]
    rows = [("c", place // 2, "ab"[place % 2], *row) for place, row in enumerate(numbers)]
    people = pd.DataFrame(rows, columns=["condition", "group", "person", "before", "after", "partner"])
    found = partner_correlation(Result("", "", 0, "r", ""), people, people["group"])
    assert found.estimate == pytest.approx((r - r1 * r2) / math.sqrt((1 - r1**2) * (1 - r2**2)))
    assert found.n == 8


def test_partners_who_think_alike_before_are_no_evidence_of_influence() -> None:
    """Rooms with opinions in common and noisy ratings: the noise would look like influence in a third of such sets."""
    claims, unknown = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        held = rng.normal(0, 1, (60, 1)) + rng.normal(0, 1, (60, 2))
        seen, after = held + rng.normal(0, 0.7, (60, 2)), 0.5 * held + rng.normal(0, 0.5, (60, 2))
        columns = {"before": seen.ravel(), "after": after.ravel(), "partner": seen[:, ::-1].ravel()}
        people = pd.DataFrame(
            {"condition": "c", "group": np.repeat(range(60), 2), "person": list("ab") * 60, **columns}
        )
        found = partner_correlation(Result("", "", 0, "r", ""), people, people["group"])
        unknown += found.reason == LIKE_PARTNERS
        claims += not found.reason and not found.low <= 0 <= found.high
    assert claims <= 3
    assert unknown > 30


def test_without_partners_or_with_the_same_ones_there_is_a_reason() -> None:
    people = pd.DataFrame(
        {
            "condition": "x",
            "group": range(12),
            "person": "",
            "before": 0.5,
            "after": np.linspace(0, 1, 12),
            "partner": np.nan,
        }
    )
    for partner, reason in ((np.nan, NO_PARTNER), (0.4, SAME_PARTNERS)):
        given = people.assign(partner=partner)
        assert partner_correlation(Result("x", "", 0, "r", ""), given, people["group"]).reason == reason


def meetings(rng: np.random.Generator) -> Source:
    """Ten sets of three people on four topics. Each set goes its own way, the same on every topic; no one has influence."""
    own, way, rows = rng.normal(0.5, 0.1, (10, 3)), rng.normal(0, 0.1, 10), []
    for cast, people in enumerate(own):
        for topic in range(4):
            before = people + rng.normal(0, 0.03, 3)
            after = before + way[cast] + rng.normal(0, 0.05, 3)
            seats = zip("abc", before, after, strict=True)
            rows += [(f"t{topic}", f"t{topic} {cast}", *seat, NAN, 1.0, ()) for seat in seats]
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["partner"] = others_mean(table)
    casts = {str(group): str(group).split()[1] for group in table["group"]}
    return Source("run", table, toward_majority(table), "room", "made", casts=casts)


@pytest.mark.parametrize("sets", [12, pytest.param(100, marks=pytest.mark.nightly)])
def test_the_same_people_on_four_topics_are_one_unit(sets: int) -> None:
    """Sets go their own ways, 0 on average: a true 0 is missed in about 5%, where rooms alone would miss it in a third."""
    missed = Counter[str]()
    for seed in range(sets):
        found = meetings(np.random.default_rng(seed))
        people, change = found.people, found.people["after"] - found.people["before"]
        for name, units in (("sets", found.units(people["group"])), ("rooms", people["group"])):
            blank = Result("", "", 0, "mean", "")
            for key, one in (
                ("toward", average(blank, change, units)),
                ("partner", partner_correlation(blank, people, units)),
            ):
                missed[f"{key}, {name}"] += not one.low <= 0 <= one.high
    most = max(2, 0.12 * sets)
    assert missed["toward, sets"] <= most < missed["toward, rooms"]
    assert missed["partner, sets"] <= most
    table = measure_source(found)
    whole = table[table["condition"] == ALL].set_index("key")
    assert (whole[["groups", "units"]] == [40, 10]).all(axis=None)
    assert set(whole.loc[["own", "distance", "partner", "still", "toward", "spread"], "n"]) == {10}


@pytest.mark.thorough
def test_a_planted_influence_is_found_in_a_run_and_none_where_agents_only_drift(ran: Callable[..., Path]) -> None:
    """The oracle with and without influence: the partner's opinion tells them apart, the distance to the partner does not."""
    found = {}
    for llm in ("oracle", "oracle,kappa=0"):
        folder = ran("three_way", llm=llm, topic="racism,abortion,climate_change", repetitions=20, rounds=3)
        table = measure_source(of_run(load(folder)))
        found[llm] = table[table["condition"] == ALL].set_index("key")
    assert found["oracle"].loc["partner", "low"] > 0
    alone = found["oracle,kappa=0"].loc[["partner", "distance"]]
    assert alone.loc["partner", "low"] < 0 < alone.loc["partner", "high"]
    assert alone.loc["distance", "low"] > 0.5
    assert alone["n"].tolist() == [20, 20]
