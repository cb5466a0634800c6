"""Conjoint experiments: by hand, planted part-worths, nulls, choices of people, and coverage of the intervals."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.closed_answers import read_share
from parley.agents.language import ENGLISH
from parley.agents.persona import load_personas
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.respondents import check_names
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.studies.conjoint.choices import ConjointStudy, read_choices
from parley.studies.conjoint.design import ConjointDesign, load_design
from parley.studies.conjoint.measures import (
    best_profile,
    compare_effects,
    estimate_effects,
    exchange_test,
    position_bias,
)
from parley.studies.conjoint.report import position_line, summarise

TWO = ConjointDesign("Which one?", {"age": ("36", "52"), "tax": ("keep", "lower", "raise")}, (), 4, ENGLISH)
LINKED = ConjointDesign(
    "Which one?",
    {"job": ("farmer", "doctor"), "degree": ("no", "yes"), "age": ("36", "52")},
    ({"job": "doctor", "degree": "no"},),
    6,
    ENGLISH,
)


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager[Callable[[int], object]]:
    return contextlib.nullcontext(lambda done: None)


def asked(folder: Path, llm: str, respondents: int = 40, design: str = "candidates") -> pd.DataFrame:
    folder.mkdir(exist_ok=True)
    return ConjointStudy(load_design(design), llm, "us/voters", respondents).run(CallDesk(folder, quiet))


def generated(
    design: ConjointDesign, worth: dict[str, float], seed: int, respondents: int = 40, taste: float = 0.1
) -> pd.DataFrame:
    """Return choices of people with a known worth of each level, who differ in it; each choice is drawn."""
    rng, numbers, rows = random.Random(seed), np.random.default_rng(seed), []
    for person in range(respondents):
        own = {
            f"{name}/{level}": numbers.normal(0, taste)
            for name, levels in design.attributes.items()
            for level in levels
        }
        for task in range(design.tasks):
            pair = design.draw(rng), design.draw(rng)
            first, second = (
                sum(worth.get(f"{key}/{level}", 0) + own[f"{key}/{level}"] for key, level in one.items())
                for one in pair
            )
            chosen = float(rng.random() < 0.5 + first - second)
            lead = {"respondent": person, "task": task}
            rows += [
                {**lead, "profile": 1, **pair[0], "chosen": chosen},
                {**lead, "profile": 2, **pair[1], "chosen": 1 - chosen},
            ]
    return pd.DataFrame(rows)


def amce(effects: pd.DataFrame, level: str) -> pd.Series:
    (row,) = [row for _, row in effects.iterrows() if row["level"] == level]
    return row


def test_effects_by_hand() -> None:
    """Two respondents, one attribute: 52 is chosen in 3 of 4 pairs with 36, so its AMCE is .5; without intervals."""
    design = ConjointDesign("?", {"age": ("36", "52")}, (), 2, ENGLISH)
    rows = [(p, t, n, age, c) for p, t, wins in ((1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 2, 0))
            for n, age, c in ((1, "52", wins), (2, "36", 1 - wins))]  # fmt: skip
    choices = pd.DataFrame(rows, columns=["respondent", "task", "profile", "age", "chosen"])
    row = amce(estimate_effects(choices, design), "52")
    assert row["amce"] == pytest.approx(0.5)
    assert row["mean"] == pytest.approx(0.75)
    assert np.isnan(row["amce_low"])
    assert np.isnan(row["mean_low"])
    lines = summarise(choices, design, 0)
    assert "unknown" in lines[0]
    assert "fewer than 10 respondents" in lines[1]
    assert "fewer than 5 respondents" in position_line(choices.assign(in_a=choices["chosen"]))
    assert "unknown" in summarise(choices.assign(chosen=np.nan), design, 0)[1]


def test_planted_worths_are_found(tmp_path: Path) -> None:
    """AMCEs are near the planted worths, the best profile has the planted level, and so has the position its planted weight."""
    choices = asked(tmp_path / "a", "oracle,worth=age/52:0.1+taxes/wants to raise local taxes:-0.2,first=0.04", 60)
    effects = estimate_effects(choices, load_design("candidates"))
    assert amce(effects, "52")["amce"] == pytest.approx(0.1, abs=0.04)
    assert amce(effects, "52")["amce_low"] > 0
    raised = amce(effects, "wants to raise local taxes")
    assert raised["amce"] == pytest.approx(-0.2, abs=0.04)
    assert raised["amce_high"] < 0
    test = exchange_test(choices, load_design("candidates"), np.random.default_rng(0))
    assert test.p < 0.01
    best = best_profile(choices, load_design("candidates"), np.random.default_rng(0))
    assert best.levels["age"] == "52"
    assert best.low > 0.5
    assert best.share == pytest.approx(0.633, abs=0.08)
    assert position_bias(choices)["share"] == pytest.approx(0.54, abs=0.005)


def test_nothing_planted_nothing_found(tmp_path: Path) -> None:
    """Without worths: choices do not depend on attributes, and levels picked by chance win no more than half on other people."""
    choices = asked(tmp_path / "a", "oracle", 60)
    best = best_profile(choices, load_design("candidates"), np.random.default_rng(0))
    assert best.low <= 0.5 <= best.high
    even = asked(tmp_path / "b", "oracle,worth_spread=0", 12)
    effects = estimate_effects(even, load_design("candidates"))
    assert effects["amce"].abs().max() < 1e-9
    assert effects["amce_low"].isna().all()
    assert exchange_test(even, load_design("candidates"), np.random.default_rng(0)).p == 1


def test_tastes_of_single_people_are_no_effect(tmp_path: Path) -> None:
    """Respondents with tastes of their own, no effect on average: at most 2 of 8 samples have p < .05 (0.4 expected)."""
    found = []
    for seed in range(8):
        study = ConjointStudy(load_design("candidates"), "oracle", "us/voters", 16, seed=seed)
        (tmp_path / str(seed)).mkdir()
        choices = study.run(CallDesk(tmp_path / str(seed), quiet))
        found.append(exchange_test(choices, load_design("candidates"), np.random.default_rng(seed)).p < 0.05)
    assert sum(found) <= 2


def test_a_level_that_few_respondents_saw_has_no_interval() -> None:
    """Of 20 respondents who choose by a coin, k see the level `raise` once: below 5 it has no interval, else at most 5 of 40 lie
    beside 0 (2 expected). The same holds where few see the baseline, and for a level of linked attributes.
    """
    for seen, first in ((1, False), (4, False), (6, False), (4, True)):
        effects = [estimate_effects(rarely_seen(seen, seed, first), TWO) for seed in range(40 if seen > 5 else 3)]
        rows = pd.concat([found[found["level"] == ("lower" if first else "raise")] for found in effects])
        assert rows["amce"].notna().all()
        assert rows[["amce_low", "error"]].isna().all(axis=None) == (seen < 5)
        assert ((rows["amce_low"] > 0) | (rows["amce_high"] < 0)).sum() <= 5
    choices = generated(LINKED, {}, 1)
    lone = choices[(choices["degree"] != "no") | (choices["respondent"] < 4)]
    assert np.isnan(amce(estimate_effects(lone, LINKED), "yes")["amce_low"])
    assert np.isfinite(amce(estimate_effects(choices, LINKED), "yes")["amce_low"])


def rarely_seen(seen: int, seed: int, first: bool) -> pd.DataFrame:
    """Return choices by a coin of 20 respondents, of whom the first ones see one level of tax once (`first`: the baseline)."""
    rng, rows = np.random.default_rng(seed), []
    rare, usual = ("keep", ["lower", "raise"]) if first else ("raise", ["keep", "lower"])
    for person in range(20):
        for task in range(5):
            taxes = [rare if person < seen and not task else rng.choice(usual), rng.choice(usual)]
            won = int(rng.integers(2))
            rows += [(person, task, n, rng.choice(["36", "52"]), tax, float(n == won)) for n, tax in enumerate(taxes)]
    return pd.DataFrame(rows, columns=["respondent", "task", "profile", "age", "tax", "chosen"])


def test_two_people_with_one_name_are_not_one_respondent() -> None:
    """Tables tell respondents apart by party and name, so a set with one name twice is refused."""
    ann = load_personas("republican")[0]
    check_names([ann, replace(ann, party="democrat")])
    with pytest.raises(UserError, match="2 personas of republican are called"):
        check_names([ann, replace(ann, backstory="You are another Ann.")])


def test_five_respondents_are_too_few_for_a_verdict_and_six_are_not() -> None:
    """Of 5 respondents 2 of 32 exchanges always give as large an AMCE (p .06), so there is no verdict, whatever they choose."""
    design = ConjointDesign("?", {"age": ("36", "52")}, (), 2, ENGLISH)
    for people, said in ((5, "fewer than 6 respondents"), (6, "Choices depend on the attributes")):
        rows = [(one, 1, n, age, n - 1.0) for one in range(people) for n, age in ((1, "36"), (2, "52"))]
        choices = pd.DataFrame(rows, columns=["respondent", "task", "profile", "age", "chosen"])
        assert said in summarise(choices, design, 0)[0]


def test_forbidden_combinations_are_never_drawn_and_compared_only_where_both_exist() -> None:
    """A doctor always has a degree, which is worth .3 here: the AMCE of doctor is not raised by the degree."""
    rng = random.Random(1)
    drawn = [LINKED.draw(rng) for _ in range(300)]
    assert not any(one["job"] == "doctor" and one["degree"] == "no" for one in drawn)
    effects = estimate_effects(generated(LINKED, {"degree/yes": 0.3}, 3, 150, 0.05), LINKED)
    assert amce(effects, "doctor")["amce_low"] < 0 < amce(effects, "doctor")["amce_high"]
    assert amce(effects, "yes")["amce"] == pytest.approx(0.3, abs=0.07)
    means = effects.set_index("level")["mean"]
    assert means["doctor"] - means["farmer"] > 0.1  # the marginal mean has the degree in it


def test_personas_and_people_are_compared() -> None:
    """Difference of AMCEs: a planted gap of .3 is found, equal groups do not differ."""
    people = estimate_effects(generated(TWO, {"age/52": 0.3}, 1, 80), TWO)
    other = estimate_effects(generated(TWO, {}, 2, 80), TWO)
    row = amce(compare_effects(other, people), "52")
    assert row["difference"] == pytest.approx(-0.3, abs=0.12)
    assert row["difference_high"] < 0
    same = amce(compare_effects(estimate_effects(generated(TWO, {"age/52": 0.3}, 5, 80), TWO), people), "52")
    assert same["difference_low"] < 0 < same["difference_high"]


def test_missing_answers_are_counted_and_not_replaced(tmp_path: Path) -> None:
    """A model that never answers A or B gives no choice, each with a reason."""
    assert read_share(Reply.failed("timeout")) == (None, "timeout")
    assert read_share(Reply("B.")) == (0.0, None)
    assert read_share(Reply("Both.")) == (None, "no_answer")
    assert read_share(Reply("A", answers={"A": 0.7, "B": 0.3})) == (0.7, None)
    choices = generated(TWO, {}, 1, 6)
    choices.loc[choices["task"] == 0, "chosen"] = np.nan
    assert estimate_effects(choices, TWO)["profiles"].sum() == 2 * 6 * 3 * 2


ROWS = "respondent,task,profile,age,tax,chosen\na,1,1,36,keep,1\na,1,2,52,raise,0\n"


def test_choices_of_people_are_read(tmp_path: Path) -> None:
    """An empty choice makes its task missing; other columns do not matter."""
    path = tmp_path / "people.csv"
    path.write_text(ROWS.replace("\n", ",x\n") + "b,1,1,36,keep,,x\nb,1,2,52,lower,1,x\n", encoding="utf-8")
    assert read_choices(path, TWO)["chosen"].tolist()[:2] == [1, 0]
    assert read_choices(path, TWO)["chosen"].isna().sum() == 2


@check_each(
    "text, said",
    [
        (ROWS.replace("chosen", "choice"), "lacks the column chosen"),
        (ROWS.replace("raise", "rais"), "raise"),
        (ROWS.replace("raise,0", "raise,1"), "chosen = 1 in one row"),
        (ROWS.replace("raise,0", "raise,yes"), "chosen must be a number from 0 to 1, or empty"),
        (ROWS.rsplit("a,1,2", 1)[0], "needs two rows"),
        (ROWS.replace("1,2,52", "1,1,52"), "needs two rows"),
    ],
)
def test_wrong_files_are_one_line(text: str, said: str, tmp_path: Path) -> None:
    """Each mistake in a file of people says what to do."""
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_choices(path, TWO)


DESIGN = 'question = "?"\n[attributes]\nage = ["36", "52"]\njob = ["farmer", "doctor"]\n'


@check_each(
    "text, said",
    [
        ("[attributes]\nage = ['36', '52']", "lacks the question"),
        ('question = "?"', "lacks \\[attributes\\]"),
        (DESIGN.replace('"52"', '"36"'), "two or more different"),
        (DESIGN.replace("job", "task"), "column"),
        ("tasks = 0\n" + DESIGN, "tasks must be"),
        ("taks = 3\n" + DESIGN, "tasks"),
        (DESIGN + '[[forbidden]]\nage = "36"\n', "two or more attributes"),
        (DESIGN + '[[forbidden]]\nage = "36"\njob = "docter"\n', "doctor"),
        (DESIGN + '[[forbidden]]\nage="36"\njob="farmer"\n[[forbidden]]\nage="36"\njob="doctor"\n', "leave no profile"),
    ],
)
def test_wrong_designs_are_one_line(text: str, said: str, tmp_path: Path) -> None:
    """Each mistake in a design says what to do."""
    path = tmp_path / "design.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        load_design(str(path))


@pytest.mark.thorough
def test_the_command_resumes_with_the_same_bytes(tmp_path: Path, capsys: Any) -> None:
    """Twice the same command: nothing is asked again, and the tables and the page are the same; people are compared."""
    out = tmp_path / "out"
    words = [
        "study",
        "conjoint",
        "kandidaten",
        "--society",
        "germany",
        "--llm",
        "oracle",
        "--respondents",
        "12",
        "--out",
        str(out),
    ]
    assert run.main(words) == 0
    first = {name: (out / name).read_bytes() for name in ("choices.csv", "conjoint.md", "effects.csv")}
    assert run.main(words) == 0
    assert {name: (out / name).read_bytes() for name in first} == first
    words[-1] = str(tmp_path / "second")
    assert run.main([*words, "--people", str(out / "choices.csv")]) == 0
    assert "personas minus people" in (tmp_path / "second" / "conjoint.md").read_text(encoding="utf-8")
    assert run.main([*words[:-2], "--dry-run"]) == 0
    assert "12 respondents, 96 pairs, 192 calls" in capsys.readouterr().out
    assert run.main(["study", "conjoint", "--llm", "oracle", "--respondents", "1000"]) == 2
    assert "at most --respondents 81" in capsys.readouterr().err


@pytest.mark.thorough
def test_intervals_contain_the_planted_effects() -> None:
    """200 experiments with 40 drawn respondents of 4 pairs: the 95% intervals of AMCEs, of differences and of the best profile
    contain the truth in 90 to 99%, and the test of exchanged choices is significant in at most 9% where nothing is planted.
    """
    inside, null, even = [], [], []
    for seed in range(200):
        effects = estimate_effects(generated(TWO, {"age/52": 0.15, "tax/raise": -0.1}, seed), TWO)
        for level, truth in (("52", 0.15), ("lower", 0.0), ("raise", -0.1)):
            row = amce(effects, level)
            inside.append(row["amce_low"] <= truth <= row["amce_high"])
        nothing = generated(TWO, {}, 1000 + seed, taste=0.0)
        null.append(exchange_test(nothing, TWO, np.random.default_rng(seed)).p < 0.05)
        best = best_profile(nothing, TWO, np.random.default_rng(seed))
        even.append(best.low <= 0.5 <= best.high)
    assert 0.92 <= np.mean(inside) <= 0.98
    assert np.mean(null) <= 0.09
    assert 0.90 <= np.mean(even) <= 0.99
