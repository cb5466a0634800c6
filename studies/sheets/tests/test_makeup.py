"""A run shows what its scenario fixes, and which attributes ratings show: by hand, on made-up people, on planted faults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from makeup import decide, exact, fixed_before_replies, makeup, sampled

import run
from parley.agents.traits import level_names, trait_names
from parley.analysis.tables import tables
from parley.llm.backends import open_spec
from parley.llm.errors import UserError
from parley.model.branching import recorded_scenario
from parley.model.events import Seated, Utterance
from parley.model.recorder import read_lines
from parley.studies.sheets import attributes
from parley.studies.sheets.attributes import BROKEN, KEPT, UNKNOWN, decide_attributes, effects, outcomes
from parley.studies.sheets.facts import SheetRun


def crowd(
    openness: float = 0.0, belief: float = 0.0, rooms: int = 8, personas: int = 80, seed: int = 1
) -> pd.DataFrame:
    """Rooms of 20 people; first ratings depend on the party (3 points), on openness and on belief by the given points."""
    rng, levels = np.random.default_rng(seed), level_names()
    level, quirk = rng.integers(0, 5, personas), rng.normal(0, 0.5, personas)
    rows = []
    for room in range(rooms):
        who = np.concatenate([2 * rng.permutation(personas // 2)[:10] + side for side in (0, 1)])
        for seat, person in enumerate(who):
            believer = seat % 5 == room % 5
            first = 5 + quirk[person] + openness * (level[person] - 2) / 4 + 3 * (person % 2) + belief * believer
            rows.append(
                {"room": f"r{room}", "agent": seat, "group": "g", "repetition": room, "seat": f"s{seat}",
                 "party": ["red", "blue"][person % 2], "persona": f"p{person}", "confirmation_bias": "none", "role": None,
                 "belief": "believer" if believer else "susceptible", "openness": levels[level[person]],
                 "first": first, "change": rng.normal(0, 0.5), "size": abs(rng.normal(0, 0.5))}
            )  # fmt: skip
    return pd.DataFrame(rows).assign(**{trait: None for trait in trait_names() if trait != "openness"})


@pytest.fixture(autouse=True)
def few_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attributes, "DEALS", 199)


def verdicts(people: pd.DataFrame) -> dict[str, str]:
    return dict(decide_attributes(effects(people)).set_index("attribute")["verdict"])


def test_items_by_hand() -> None:
    """The same everywhere is kept; one room that differs is not; few units, and no unit, have no verdict."""
    assert exact("rounds", "5", [(5, 5), (5, 5)], "room").verdict == KEPT
    assert exact("rounds", "5", [(5, 5), (5, 4)], "room").verdict == BROKEN
    assert exact("rounds", "5", [], "room").verdict == UNKNOWN
    assert sampled("degree", 6, np.array([6.0, 6.0]), "repetition").verdict == KEPT
    assert sampled("degree", 6, np.array([6.1, 5.9]), "repetition").reason == "fewer than 5 repetitions"
    near, far = np.array([5.9, 6.1, 6.2, 5.8, 6.1]), np.array([5.1, 5.2, 5.0, 5.1, 5.2])
    decided = decide([sampled("degree", 6, near, "repetition"), sampled("degree", 6, far, "repetition")])
    assert [item.verdict for item in decided] == [KEPT, BROKEN]


def test_an_attribute_that_is_given_after_a_reply_is_found() -> None:
    """A control that is fixed after a reply looks ahead; a second room that has not spoken yet does not."""
    seats = [Seated(agent, room, "racism", "g", 0, "a", "a", "p", "Ann") for agent, room in enumerate("xy", 1)]
    spoken = [Utterance(room, 1, 1, agent, "Yes.", None) for agent, room in enumerate("xy", 1)]
    assert fixed_before_replies([seats[0], spoken[0], seats[1], spoken[1]]).verdict == KEPT
    late = fixed_before_replies([seats[0], spoken[0], spoken[1], seats[1]])
    assert (late.verdict, late.reason) == (BROKEN, "1 of 2 rooms: after a reply instead of before replies")


def test_attributes_that_ratings_show_are_kept_and_others_are_not() -> None:
    """Planted: the party always; openness and belief by 4 points, or not at all. Too few people of a value: no verdict."""
    assert verdicts(crowd(openness=4, belief=4)) == {"belief": KEPT, "openness": KEPT, "party": KEPT}
    assert verdicts(crowd()) == {"belief": BROKEN, "openness": BROKEN, "party": KEPT}
    assert verdicts(crowd(openness=4, rooms=1, personas=20))["belief"] == UNKNOWN


def test_an_effect_of_a_party_is_no_effect_of_what_goes_with_it() -> None:
    """All of a party have the same role: its effect is unknown, and not the party's 3 points."""
    people = crowd()
    people["role"] = people["party"].map({"red": "skeptic", "blue": "convincer"})
    table = decide_attributes(effects(people)).set_index("attribute")
    assert table.loc["role", "verdict"] == UNKNOWN
    assert table.loc["role", "reason"] == attributes.CONFOUNDED


def test_wide_intervals_are_unknown_and_not_a_fault() -> None:
    """People who differ by chance alone by 5 points: no verdict on openness with a tolerance of 1."""
    people = crowd()
    noise = dict(
        zip(people["persona"].unique(), np.random.default_rng(3).normal(0, 5, people["persona"].nunique()), strict=True)
    )
    people["first"] += people["persona"].map(noise)
    assert verdicts(people)["openness"] == UNKNOWN


def items_of(folder: Path) -> dict[str, str]:
    """Return the verdict on each fixed thing of a run."""
    record = list(read_lines(folder / "record.jsonl"))
    known = tables(record, str(folder))
    items = [fixed_before_replies(record), *makeup(recorded_scenario(known.header, folder), known)]
    return {item.what: item.verdict for item in items}


def test_a_run_shows_what_its_scenario_fixes(ran: Callable[..., Path]) -> None:
    """A small run keeps all that no chance decides; with three rooms nothing is said about attributes."""
    found = items_of(ran("two_way"))
    assert BROKEN not in found.values()
    assert {"fixed before the first reply", "repetitions", "people by party", "who speaks in a round"} <= set(found)
    told = attributes.attributes(SheetRun(ran("two_way")))
    assert told is not None
    assert not told.known
    assert told.text.startswith("Whether ratings depend on an attribute is unknown: party")


def test_a_record_that_lacks_a_turn_is_not_kept(ran: Callable[..., Path], tmp_path: Path) -> None:
    """Without one utterance of the record, somebody did not speak in a round."""
    lines = (ran("two_way") / "record.jsonl").read_text().splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if '"utterance"' in line)
    (tmp_path / "record.jsonl").write_text("".join(lines[:place] + lines[place + 1 :]))
    assert [what for what, verdict in items_of(tmp_path).items() if verdict == BROKEN] == ["who speaks in a round"]


def test_what_a_user_can_get_wrong() -> None:
    """One line, and no traceback."""
    with pytest.raises(UserError, match="ignores"):
        open_spec("oracle,ignores=age")
    assert open_spec("oracle,ignores=party+belief").laws.ignored == ("party", "belief")


@pytest.mark.thorough
def test_a_speaker_that_ignores_what_it_is_given_is_caught(
    ran: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: an oracle that ignores that it believes a story. Without the fault, belief is kept. All else is as fixed."""
    monkeypatch.setattr(attributes, "TOLERANCE", 2.0)
    settings = {"topic": "blackout", "repetitions": 5, "rounds": 2, "interventions": (), "traits": ()}
    shown_by = {}
    for llm in ("oracle", "oracle,ignores=belief"):
        folder = ran("fake_news", llm=llm, **settings)
        table = decide_attributes(effects(outcomes(SheetRun(folder).tables))).set_index("attribute")
        shown_by[llm] = table.loc["belief", "verdict"]
        assert BROKEN not in items_of(folder).values()
    assert shown_by == {"oracle": KEPT, "oracle,ignores=belief": BROKEN}


def test_questions_drawn_anew_in_each_repetition_are_no_missing_repetitions(tmp_path: Path) -> None:
    """Each group of `consensus` has other questions in each repetition, so no question has all repetitions."""
    words = ["--scenario", "consensus", "--llm", "oracle", "--repetitions", "2", "--set", "episodes=1"]
    assert run.main([*words, "--out", str(tmp_path / "run")]) == 0
    assert items_of(tmp_path / "run")["repetitions"] == KEPT
