"""One voice or many, and does the order of answers matter: by hand, and on stand-ins in which either is planted."""

from __future__ import annotations

import contextlib
import math
import re
from pathlib import Path

import pandas as pd
import pytest

import run
from parley.agents.probe import answer_order
from parley.agents.society import load_society
from parley.agents.topic import load_topic
from parley.analysis.respondents import of_each_party
from parley.analysis.studies.probe_audit import CONDITIONS, attitudes, order_effects, spread
from parley.analysis.studies.questionnaire import ORDERS, Questionnaire, items_of
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Request

ITEMS = items_of(load_society("us"), ["racism"], ["agreement"])
HALF = Questionnaire(ORDERS, ITEMS, CONDITIONS, of_each_party("voters"), 2)


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager:
    return contextlib.nullcontext(lambda count: None)


def answers(rows: list[tuple[str, str, float]]) -> pd.DataFrame:
    """(persona, order, attitude), the rating being the attitude."""
    return pd.DataFrame(rows, columns=["person", "condition", "attitude"]).assign(
        question="q", rating=lambda found: found["attitude"]
    )


def test_variances_by_hand() -> None:
    """Ann 2 4, Bob 8 8: within (2 + 0) / 2 = 1; means 3 and 8 vary by 12.5, less 1 / 2 of chance: 12. The 8 has half of all."""
    found = spread(answers([("a", "given", 2), ("a", "given", 4), ("b", "given", 8), ("b", "given", 8)])).iloc[0]
    assert found[["within", "between", "mode", "share", "fixed"]].tolist() == pytest.approx([1, 12, 8, 0.5, 0.5])
    assert (found["people"], found["answers"], found["missing"], found["mean"]) == (2, 4, 0, 5.5)


def test_missing_answers_are_counted_and_stand_nowhere_else() -> None:
    told = answers([("a", "given", 2), ("a", "given", 4), ("a", "given", math.nan)])
    found = spread(told).iloc[0]
    assert (found["answers"], found["missing"], found["mean"]) == (2, 1, 3)
    assert spread(answers([("a", "given", math.nan)])).iloc[0]["missing"] == 1


def test_effects_of_the_order_by_hand() -> None:
    """Ann 2 becomes 3, Bob 8 becomes 6: -0.5 on average, 1.5 in size; who lacks an order is not in it."""
    rows = [("a", "given", 2), ("a", "reversed", 3), ("b", "given", 8), ("b", "reversed", 6), ("c", "given", 9)]
    found = order_effects(answers(rows)).set_index("order")
    assert found.loc["reversed", ["people", "effect", "moved"]].tolist() == [2, -0.5, 1.5]
    assert found.loc["shuffled", "people"] == 0
    assert math.isnan(found.loc["shuffled", "effect"])


def test_personas_with_the_same_text_are_one_respondent() -> None:
    """The six personas of the Default say the same, so one of them is asked."""
    assert len({(one.party, one.backstory) for one in HALF.people}) == len(HALF.people)
    assert [one.party for one in HALF.people].count("default") == 1


def test_only_the_list_of_answers_is_turned_round() -> None:
    """Reversed names 7 first and keeps what each point means; shuffled is a permutation that depends on the seed alone."""
    probe = load_topic("racism").probe("agreement")
    turned = probe.ask("debate", answer_order(probe, "reversed", 0))
    assert "from 1 to 7, where 7 means strongly agree" in turned
    assert turned.endswith("and 1 means strongly disagree. Answer with the number only.")
    assert probe.ask("debate", answer_order(probe, "given", 0)) == probe.ask("debate")
    drawn = {answer_order(probe, "shuffled", seed) for seed in range(20)}
    assert len(drawn) > 10
    assert all(sorted(order) == list(range(1, 8)) for order in drawn)
    assert answer_order(probe, "shuffled", 3) == answer_order(probe, "shuffled", 3)


@pytest.mark.parametrize(("first", "effect"), [(True, 10.0), (False, 0.0)])
def test_a_planted_order_effect_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: bool, effect: float
) -> None:
    """Who names whatever stands first goes from one end to the other when the list is turned round; one voice never varies."""

    def speak(request: Request) -> str:
        listed = re.search(r"where (\d) means", request.messages[-1].content)
        return listed[1] if first and listed else "4"

    monkeypatch.setattr("parley.analysis.journaled_calls.open_spec", lambda spec: Fake(speak))
    found = attitudes(HALF.ask("fake", tmp_path, quiet), ITEMS)
    told = order_effects(found).set_index("order").loc["reversed"]
    assert (told["effect"], told["people"]) == (effect, 81)
    given = spread(found).set_index("order").loc["given"]
    assert given[["share", "fixed", "between", "within"]].tolist() == [1, 1, 0, 0]


def test_the_command_ends_in_a_report(tmp_path: Path) -> None:
    """The oracle has people who differ and no effect of the order; another one in the folder is refused."""
    asked = [
        "study",
        "questionnaire",
        "orders",
        "--llm",
        "oracle",
        "--repeats",
        "2",
        "--seed",
        "1",
        "--out",
        str(tmp_path),
    ]
    assert run.main(asked) == 0
    assert run.main(asked) == 0
    assert run.main([*asked, "--topic", "inflation"]) == 2
    orders, spreads = (pd.read_csv(tmp_path / f"{name}.csv").set_index("order") for name in ("orders", "spread"))
    assert orders.loc["reversed", "low"] <= 0 <= orders.loc["reversed", "high"]
    assert spreads.loc["given", "between"] > 5 > spreads.loc["given", "within"]
    assert "One voice or many?" in (tmp_path / "orders.md").read_text()


def test_one_answer_each_has_no_variance_to_tell() -> None:
    with pytest.raises(UserError, match="repeats 2 or more"):
        Questionnaire(ORDERS, ITEMS, CONDITIONS, waves=1)
