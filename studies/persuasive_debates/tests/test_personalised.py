"""Two by two: who is told what, effects by hand, the command beside people's table."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from data_checks import check_each
from standins import opinionated

import run
from parley.agents.persona import Persona, demographics, load_personas
from parley.agents.society import load_society
from parley.analysis.human.readers import COLUMNS
from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.debate import DebateModel
from parley.model.scenario import Scenario
from parley.studies.persuasive_debates.personalised import CONDITIONS, effects


def people(rows: list[tuple[str, str, float, float, float]]) -> pd.DataFrame:
    """(condition, room, before, after, side)."""
    found = [(name, room, "p", before, after, math.nan, side, ()) for name, room, before, after, side in rows]
    return pd.DataFrame(found, columns=COLUMNS)


def units(*rooms: str) -> pd.DataFrame:
    """Return each room as the room of a repetition of its own."""
    return pd.DataFrame({"group": "a", "repetition": range(len(rooms))}, index=list(rooms))


def test_effects_by_hand() -> None:
    """Room a moves 0, 1, 1, 4 points toward the opponent (down where it stands below): demographics (1 - 0 + 4 - 1) / 2 = 2,
    AI (1 - 0 + 4 - 1) / 2 = 2, both beyond each 4 - 1 - 1 + 0 = 2. Room b has no rating in one condition and is left out."""
    moved = dict(zip(CONDITIONS, (0.0, 0.25, 0.25, 1.0), strict=True))
    rows = [(name, "a", 1.0, 1.0 - change, -1.0) for name, change in moved.items()]
    rows += [(name, "b", 0.5, math.nan if name == "AI" else 0.75, 1.0) for name in CONDITIONS]
    found = effects(people(rows), units("a", "b")).set_index("effect")
    assert found["estimate"].tolist() == pytest.approx([2.0, 2.0, 2.0])
    assert found["rooms"].tolist() == [1, 1, 1]
    assert found["missing"].tolist() == [1, 1, 1]


def test_every_voter_states_an_age_and_a_party() -> None:
    told = [demographics([one], load_society()) for party in ("republican", "democrat") for one in load_personas(party)]
    assert len(told) == 80
    assert all("years old" in text and (" a Republican" in text or " a Democrat" in text) for text in told)
    assert (
        demographics([Persona("", "republican", "Al", "", "male")], load_society()) == "Al is a man and a Republican."
    )
    assert demographics([Persona("", "default", "Al", "You are an American.")], load_society()) == ""


@check_each("name", CONDITIONS)
def test_each_is_told_of_the_other_what_the_condition_says(small: Callable[..., Scenario], name: str) -> None:
    """Nobody is told anything of itself, and no condition differs in anything else that is said before the debate."""
    asked: list[Request] = []
    setup = small("personalised", repetitions=1, **CONDITIONS[name])
    model = DebateModel(setup, backend=Fake(lambda request: (asked.append(request), opinionated(request))[1]))
    model.run()
    for agent in model.agents:
        other = next(one for one in model.agents if one is not agent)
        opening = (
            next(request for request in asked if request.messages[0].content == agent.persona.backstory)
            .messages[1]
            .content
        )
        assert (f"{other.name} is an AI." in opening) == name.startswith("AI")
        assert (f"{other.name} is a person." in opening) == name.startswith("person")
        assert (demographics([other.persona], load_society()) in opening) == name.endswith("personalised")
        assert f"{agent.name} is a" not in opening


def test_the_command_ends_beside_people(tmp_path: Path) -> None:
    """Four runs, one table, the public file as one more source; a folder without it is told in one line."""
    asked = [
        "study",
        "personalised",
        "--topic",
        "racism",
        "--repetitions",
        "3",
        "--llm",
        "oracle",
        "--out",
        str(tmp_path / "out"),
    ]
    assert run.main([*asked, "--data", str(tmp_path)]) == 2
    rows = [(number, "Human-Human", side, 2, 3) for number in range(6) for side in ("PRO", "CON")]
    names = ["debate_id", "treatment_type", "participant_side", "agreement_pre_likert", "agreement_post_likert"]
    pd.DataFrame(rows, columns=names).to_csv(tmp_path / "salvi_debategpt_round_index.csv", index=False)
    assert run.main([*asked, "--data", str(tmp_path)]) == 0
    page = (tmp_path / "out" / "personalised.md").read_text()
    assert all(f"| {name} |" in page for name in (*CONDITIONS, "Human-Human", "told demographics"))
