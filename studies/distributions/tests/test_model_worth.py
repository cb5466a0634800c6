"""How many people a model is worth (`study distributions`): a sample of n people is worth n, a biased model few, and no less is
known of a model with few questions than that it is unknown.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from parley.studies.distributions.report import worth_line
from parley.studies.distributions.worth import (
    FEW,
    NO_SIZE,
    choose_size,
    held_out_coverage,
    largest_size,
    measure_worth,
    worth_of,
)

ASKED = 400


def survey(
    questions: int, people: int, bias: float = 0.0, replies: int | None = None, seed: int = 0
) -> list[np.ndarray]:
    """The largest sizes of a model that is a sample of so many people, with a part of its shares random."""
    random, found = np.random.default_rng(seed), []
    for _ in range(questions):
        whole = random.dirichlet([2.0] * 4)
        model = (1 - bias) * random.multinomial(people, whole) / people + bias * random.dirichlet([1.0] * 4)
        model = random.multinomial(replies, model) / replies if replies else model
        asked = random.multinomial(ASKED, whole) / ASKED
        found.append(np.array([largest_size(asked, ASKED, model, replies or math.inf)]))
    return found


def rows(questions: int, n: float) -> pd.DataFrame:
    """Rows as `measure` returns them: half and half of the people, .6 and .4 of the model."""
    one = {
        "group": "all",
        "people": "[0.5, 0.5]",
        "model": "[0.6, 0.4]",
        "without_group": "[0.6, 0.4]",
        "without_replies": 0,
        "replies": 0,
        "n": n,
    }
    return pd.DataFrame([{"question": number, **one} for number in range(questions)])


def test_the_largest_size_by_hand() -> None:
    """The set ends where chi-squared meets its limit: k (.1² / .5 + .1² / .5) = 1.642, and with n = 100 as 1 / k + 1 / n."""
    half, model = np.array([0.5, 0.5]), np.array([0.6, 0.4])
    limit = 1.6423744
    assert largest_size(half, math.inf, model) == pytest.approx(limit / 0.04, rel=1e-5)
    size = largest_size(half, 100, model)
    assert sum(0.01 / (a / 100 + b / size) for a, b in zip((0.6, 0.4), (0.5, 0.5), strict=True)) == pytest.approx(limit)
    assert largest_size(half, 10, model) == math.inf, "ten people cannot show so small a difference"
    assert largest_size(np.array([0.5, 0.5, 0.0]), math.inf, np.array([0.6, 0.4, 0.0])) == pytest.approx(
        limit / 0.04, rel=1e-5
    )


def test_the_chosen_size_misses_a_fifth_with_one_question_more() -> None:
    """Of 24 questions with the sizes 1 to 24, at most 4 are missed (4 + 1 of 25 is a fifth): the sets of 5 people miss 1 to 4."""
    sizes = [np.array([float(size)]) for size in range(1, 25)]
    assert choose_size(sizes) == 5.0
    worth, low, high = worth_of(sizes)
    assert worth == 5.0
    assert low < worth < high


def test_a_sample_of_people_is_worth_as_many_people() -> None:
    """A worth that does not find the planted number of people would rank models by chance."""
    worth, low, high = worth_of(survey(200, 100))
    assert low < 100 < high
    assert worth == pytest.approx(100, rel=0.25)
    share, (least, most) = held_out_coverage(survey(200, 100))
    assert least < 0.8 < most
    assert share == pytest.approx(0.8, abs=0.06)


def test_replies_are_taken_out_and_bias_is_worth_few() -> None:
    """Few replies are no error of the model, and endless replies do not mend a bias."""
    _, low, high = worth_of(survey(100, 30, replies=40))
    assert low < 30 < high
    assert worth_of(survey(60, 100_000, bias=0.3))[2] < 60


def test_an_unknown_worth_says_why() -> None:
    """With few questions, or without n, a number would be invented."""
    assert measure_worth(rows(19, 100))["reason"].tolist() == [FEW, FEW, "no question has an answer", FEW]
    assert measure_worth(rows(30, math.nan))["reason"].eq(NO_SIZE).all()
    assert worth_line(measure_worth(rows(19, 100))) == f"With {FEW}, it is unknown how many people the model is worth."
    table = measure_worth(rows(30, 1000)).set_index("condition")
    assert table["questions"]["other"] == 0
    assert "the model is worth 43 (43 to 43) people, over 30 questions" in worth_line(table.reset_index())
