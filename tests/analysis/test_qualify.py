"""`run.py qualify` tells models that play people from models that do not, and claims nothing where nothing is there."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.planted_people import WORDINGS, planted_people
from parley.agents.topic import load_topic
from parley.analysis.qualify import measures
from parley.analysis.qualify.debate import debate_sentences, run_debate
from parley.analysis.qualify.measures import pair_shares, planted_order, shuffled_p, values
from parley.analysis.qualify.questions import (
    ASKED,
    NUMBERS,
    PHRASES,
    REVERSED,
    UNSTATED,
    Battery,
    ask_planted,
    battery_topics,
    questions,
)
from parley.analysis.qualify.verdict import (
    FOLLOWS,
    IGNORES,
    UNREADABLE,
    WEAK,
    best_way,
    ends_sentence,
    headline,
    way_verdicts,
)
from parley.analysis.reply_faults import improbable_ways
from parley.llm.backends.oracle.dynamics import stated_level
from parley.llm.backends.oracle.phrases import banks
from parley.llm.budget import NO_LIMIT
from parley.llm.errors import UserError

LEVELS, BLOCKS = range(4), [f"block {number}" for number in range(8)]


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager:
    return contextlib.nullcontext(lambda count: None)


def answered(grid: np.ndarray, way: str = NUMBERS, form: str = ASKED) -> pd.DataFrame:
    """Answers of one way and form; grid: (blocks, levels)."""
    rows = [
        {
            "way": way,
            "form": form,
            "block": block,
            "level": level,
            "attitude": grid[place, level],
            "mean": np.nan,
            "covered": 1.0,
        }
        for place, block in enumerate(BLOCKS[: len(grid)])
        for level in LEVELS
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("society", "slug"), [("us", "climate_change"), ("us", "abortion"), ("germany", "germany/klimawandel"),
                                               ("germany", "germany/tempolimit"), ("uk", "uk/rail_ownership")])  # fmt: skip
def test_people_of_a_block_differ_in_the_position_alone(society: str, slug: str) -> None:
    """Only then is exchanging their answers a null; and the oracle has to read each position, in either wording."""
    topic = load_topic(slug)
    people = planted_people(topic, 3)
    (bare,) = {person.backstory for person in planted_people(topic, 3, stated=False) if person.wording == WORDINGS[0]}
    first = [person for person in people if person.wording == WORDINGS[0]]
    assert len({person.name for person in first}) == 1
    assert all(person.backstory.startswith(bare) for person in first)
    levels = [stated_level(banks(society), person.backstory, slug) for person in people]
    assert levels[:4] == levels[4:] == sorted(levels[:4])
    assert len(set(levels)) == 4


def test_a_topic_on_another_axis_is_refused_in_one_line() -> None:
    topic = load_topic("racism")
    object.__setattr__(other := load_topic("racism").worded("given"), "axis", "belief")
    with pytest.raises(
        UserError, match=r"racism: planted\.toml of the language en has sentences for severity, agreement"
    ):
        planted_people(other, 0)
    assert topic.axis == "severity"


def test_pairs_by_hand() -> None:
    """1 2 2: two pairs right and a tie; 3 1 and a missing one: the only pair is wrong."""
    rights, pairs = pair_shares(np.array([[1.0, 2.0, 2.0], [3.0, 1.0, np.nan]]))
    assert (rights.tolist(), pairs.tolist()) == ([2.5, 0.0], [3.0, 1.0])


def test_the_null_is_exact_for_one_block() -> None:
    """One of the 24 orders of four answers ranks all six pairs right: P is 1 in 24."""
    assert shuffled_p(np.array([[1.0, 2.0, 3.0, 4.0]]), 0) == pytest.approx(1 / 24, abs=0.012)


def test_answers_of_one_kind_are_compared() -> None:
    """Means of distributions and answers in whole points are not mixed: what lacks a distribution is missing."""
    assert values(pd.DataFrame({"mean": [5.5, np.nan, 6.5], "attitude": [5.0, 1.0, 7.0]})).tolist()[::2] == [5.5, 6.5]
    assert np.isnan(values(pd.DataFrame({"mean": [5.5, np.nan, 6.5], "attitude": [5.0, 1.0, 7.0]}))[1])
    assert values(pd.DataFrame({"mean": [np.nan, np.nan, 6.5], "attitude": [5.0, 1.0, 7.0]})).tolist() == [
        5.0,
        1.0,
        7.0,
    ]


@pytest.mark.parametrize("noise", ["normal", "one number", "by block", "missing"])
def test_a_model_that_ignores_its_persona_is_hardly_ever_said_to_follow_it(
    monkeypatch: pytest.MonkeyPatch, noise: str
) -> None:
    """At P below .01, at most 1 in 100 such models may pass; of 60, at most three do (P of more: .003)."""
    monkeypatch.setattr(measures, "SHUFFLES", 299)
    passed = 0
    for seed in range(60):
        draws = np.random.default_rng(seed)
        grid = np.round(5 + 2 * draws.standard_normal((8, 4)), 1)
        if noise == "one number":
            grid = np.where(draws.random((8, 4)) < 0.1, 8.0, 10.0)
        elif noise == "by block":
            grid = grid + 3 * draws.standard_normal((8, 1))
        elif noise == "missing":
            grid[draws.random((8, 4)) < 0.3] = np.nan
        (found,) = way_verdicts(planted_order(answered(grid), seed))
        passed += found.outcome in (FOLLOWS, WEAK)
    assert passed <= 3


def test_outcomes_and_the_way_that_is_chosen() -> None:
    """Phrases that follow are chosen before numbers that only lean, and numbers before phrases that are unreadable."""
    strong = np.tile([1.0, 3.0, 6.0, 9.0], (8, 1))
    weak = np.tile([5.0, 5.2, 5.4, 5.6], (8, 1))
    empty = np.full((8, 4), np.nan)
    flat = np.full((8, 4), 10.0)
    for numbers, phrases, outcomes, chosen in (
        (weak, strong, [WEAK, FOLLOWS], PHRASES),
        (strong, strong, [FOLLOWS, FOLLOWS], NUMBERS),
        (flat, empty, [IGNORES, UNREADABLE], NUMBERS),
        (flat, weak, [IGNORES, WEAK], PHRASES),
    ):
        order = planted_order(pd.concat([answered(numbers), answered(phrases, PHRASES)], ignore_index=True))
        found = way_verdicts(order)
        assert [one.outcome for one in found] == outcomes
        assert best_way(found).way == chosen


def test_a_reversed_scale_that_is_not_read_as_reversed_is_told() -> None:
    """The model gives the high position a high number on the reversed scale too, so its answers turn round on the axis."""
    strong = np.tile([1.0, 3.0, 6.0, 9.0], (8, 1))
    same = planted_order(pd.concat([answered(strong), answered(10 - strong, form=REVERSED)], ignore_index=True))
    turned = planted_order(pd.concat([answered(strong), answered(strong, form=REVERSED)], ignore_index=True))
    assert ends_sentence(way_verdicts(same)).startswith("The model's answers are not reversed")
    assert ends_sentence(way_verdicts(turned)) == "The model notices which end of a numeric scale is which."


def test_the_oracle_follows_and_the_deaf_oracle_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ceiling and the floor, by the command: ten points are planted 1, 3, 6, 9, so the ends are about 8 apart."""
    common = ["qualify", "--short", "--out"]
    assert run.main([*common, str(tmp_path / "a"), "--llm", "oracle"]) == 0
    follows = capsys.readouterr().out
    assert run.main([*common, str(tmp_path / "b"), "--llm", "oracle,ignores=party"]) == 0
    ignores = capsys.readouterr().out
    assert "follow the positions that personas state" in follows
    assert "do not depend on who it plays" in ignores
    page = (tmp_path / "b" / "qualify.md").read_text()
    assert "the model ranked 100% of 36 pairs" in (tmp_path / "a" / "qualify.md").read_text()
    assert "the model ranked 50% of 36 pairs" in page
    assert page.index("do not depend on who it plays") < page.index("## What was asked")
    assert (tmp_path / "a" / "positions.png").exists()
    for shown in (follows, ignores):
        assert shown.count("finding") == 1
        assert "…" not in shown


def test_a_way_in_which_the_allowed_answers_are_improbable_is_told() -> None:
    order = pd.DataFrame({"way": ["numbers", "numbers", "phrases"], "covered": [0.9, 0.8, 0.0034]})
    (line,) = improbable_ways(order)
    assert line.startswith("**Asked in phrases, the allowed answers had only 0.34% of the model's probability**")


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    battery = Battery(("racism",), short=True)
    answers = ask_planted(battery, "fake", tmp_path, quiet)
    assert headline("fake", way_verdicts(planted_order(answers))).startswith(
        "**It is unknown whether fake can play people**"
    )
    assert set(answers[answers["form"] != UNSTATED]["reason"]) == {"unscripted"}


def test_topics_of_a_battery() -> None:
    """Three of the society in a short one; given ones as they are; none left is told."""
    assert battery_topics(["racism", "abortion", "gun_violence", "inflation"], [], short=True) == (
        "racism",
        "abortion",
        "gun_violence",
    )
    assert battery_topics(["racism"], ["abortion"], short=True) == ("abortion",)
    with pytest.raises(UserError, match="no topic on which a person can be given a known position"):
        battery_topics([], [], short=False)


def test_the_people_of_the_short_debate_are_at_opposite_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The party that rates higher states the high position; the ratings before the debate show it, and nothing is missing.

    The folder is a relative path, as by default: `runs/qualify-<time>/people` was taken for the name of a society, after all
    questions were asked.
    """
    monkeypatch.chdir(tmp_path)
    battery = Battery(("climate_change",), seed=1)
    sentences = debate_sentences(run_debate(battery, "oracle", Path("runs/made"), NO_LIMIT))
    tmp_path /= "runs/made"
    democrat, republican = ((tmp_path / "people" / f"{party}.toml").read_text() for party in ("democrat", "republican"))
    assert democrat.count("climate change is a very big problem.") == republican.count("not a problem at all.") == 4
    assert "supports the Republican Party. In your view" in republican
    high, low = (float(number) for number in re.findall(r"\d\.\d", sentences[0]))
    assert high - low > 6
    assert sentences[1] == "0 of 16 replies are missing."


def test_that_ratings_do_not_depend_needs_an_interval() -> None:
    """With four blocks, or ends that may be two points apart, it is not clear."""
    flat = 5 + 0.1 * np.random.default_rng(0).standard_normal((8, 4))
    loose = 5 + 4 * np.random.default_rng(1).standard_normal((8, 4))
    sentences = [headline("m", way_verdicts(planted_order(answered(grid)))) for grid in (flat, flat[:4], loose)]
    begins = ["**The ratings of m do not depend", "**It is not clear", "**It is not clear"]
    assert [sentence.startswith(begin) for sentence, begin in zip(sentences, begins, strict=True)] == [True] * 3


def test_each_person_is_asked_once_in_each_form() -> None:
    """A wording that leaves the survey question as it is adds nothing; no form asks a person twice."""
    asked = [(one.way, one.form, one.person.block, one.person.level) for one in questions(Battery(("racism",)))]
    assert len(asked) == len(set(asked))
    assert {form for _, form, _, _ in asked} == {ASKED, REVERSED, UNSTATED, "other order", "other words"}
