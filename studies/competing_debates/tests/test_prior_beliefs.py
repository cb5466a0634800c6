"""How far belief and order move a judge: by hand, and what is planted in the known-truth speaker."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.topic import load_topic
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.backends.oracle.speech import SIDED
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling
from parley.studies.competing_debates.beliefs import ALIKE, NO_JUDGE, NO_SIDE, _toward, effects


@check_each(
    ("moved", "priors", "second", "belief", "toward", "why"),
    [
        (1.5, [8.0, 9.0], 1, 1.5, -1.5, ("", "")),  # the first argues for (its belief), the second against it and last
        (1.5, [8.0, 9.0], 0, 1.5, 1.5, ("", "")),
        (1.5, [2.0, 3.0], 1, -1.5, 1.5, ("", "")),
        (1.5, [8.0, 2.0], 1, math.nan, -1.5, (ALIKE, "")),
        (1.5, [5.0, 2.0], 1, math.nan, math.nan, (NO_SIDE, NO_SIDE)),
        (math.nan, [8.0, 9.0], 1, math.nan, math.nan, (NO_JUDGE, NO_JUDGE)),
    ],
)
def test_a_room_by_hand(
    moved: float, priors: list[float | None], second: int, belief: float, toward: float, why: tuple[str, str]
) -> None:
    """A judge that moves up by 1.5 moves toward whoever argued for the upper side."""
    found = _toward(moved, priors, second)
    assert [found["belief"], found["second"]] == pytest.approx([belief, toward], nan_ok=True)
    assert (found["belief_reason"], found["second_reason"]) == why


def test_groups_count_alike() -> None:
    """Two rooms of 1 and six of 0 have a mean of 0.5, not of 0.25; what has no number is counted with its reason."""
    rows = [("a", 1.0, "")] * 2 + [("b", 0.0, "")] * 6 + [("b", math.nan, ALIKE)]
    frame = pd.DataFrame(rows, columns=["group", "belief", "belief_reason"])
    frame = frame.assign(repetition=range(len(rows)), second=0.0, second_reason="")
    found = pd.DataFrame(effects(frame, "sequential")).set_index(["effect", "group"]).loc[("belief", "all")]
    assert (found["estimate"], found["rooms"], found["left_out"]) == (0.5, 8, f"{ALIKE} 1")


@pytest.mark.parametrize(("stance", "end"), [("for", 10.0), ("against", 0.0)])
def test_the_oracle_goes_most_of_the_way_to_a_given_side(stance: str, end: float) -> None:
    """Over 400 seeds the mean grade is 0.8 of the way from its attitude to the side's end."""
    oracle, topic = Oracle(), load_topic("racism")
    messages = (Message("system", "You are an American."), Message("user", "A debate."))
    facts: Facts = {"topic": topic.title, "side": stance, "claim": topic.claim}
    asked = [Request(messages, Sampling(1.0), seed, facts=facts) for seed in range(400)]
    grades = [banks().topics["racism"].grade(reply.text or "") for reply in oracle.complete(asked)]
    own, _ = oracle.attitude(read(asked[0], banks()))
    assert sum(grade or 0.0 for grade in grades) / 400 == pytest.approx(own + SIDED * (end - own), abs=0.2)


def test_the_command_ends_in_a_report(tmp_path: Path, ran: Callable[..., Path]) -> None:
    asked = [
        "study",
        "prior-beliefs",
        "--topic",
        "racism",
        "--repetitions",
        "4",
        "--llm",
        "oracle",
        "--out",
        str(tmp_path / "out"),
    ]
    assert run.main(asked) == 0
    found = pd.read_csv(tmp_path / "out" / "effects.csv")
    assert len(found) == 2 * 2 * 3
    assert found["estimate"].notna().all()
