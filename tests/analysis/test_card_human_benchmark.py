"""The card beside people: the same measures as `study human`, blocks as units, distances with intervals, reasons for gaps."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from data_checks import check_each

import run
from benchmarks.audit_coverage import held as in_memory
from parley.analysis.card.comparison import compare_cards
from parley.analysis.card.comparison import read_card as kept
from parley.analysis.card.conditions import Batch, three, two
from parley.analysis.card.estimates import ALL, CardEstimate, difference
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections.human_benchmark import MEASURES, NO_DATA, PAIRS, QUANTITIES, claims, over_blocks
from parley.analysis.human.measures import LIKE_PARTNERS, measure_source
from parley.analysis.human.readers import ALL as EVERYTHING
from parley.analysis.human.readers import salvi
from parley.analysis.human.report import read
from parley.analysis.human.rooms import of_run
from parley.model.scenario import Scenario, load_preset

DATA = Path(__file__).parents[2].parent / "shared" / "data"
SETTINGS = {"repetitions": 4, "rounds": 2, "probe": "attitude_labelled", "llm": "oracle", "seed": 8}
ARGUMENTS = ["audit", "--llm", "oracle", "--topic", "racism", "--blocks", "3", "--set", "rounds=1"]
SECTION = ["--sections", "human_benchmark"]


def base(**settings: object) -> Scenario:
    return load_preset("three_way").with_settings(SETTINGS | {"topic": "racism,climate_change"} | settings)


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> ConditionRecords:
    batch, found = Batch(base(), tmp_path_factory.mktemp("rooms")), ConditionRecords()
    for name, scenario in {**two(batch), **three(batch)}.items():
        found.add(name, in_memory(scenario))
    return found


def by_name(found: list[CardEstimate]) -> dict[str, CardEstimate]:
    return {one.quantity: one for one in found}


def people(folder: Path, debates: int = 8) -> Path:
    """The file of Salvi et al. with made-up people, who all move one point, but for every fourth debate; the folder."""
    folder.mkdir(exist_ok=True)
    rows = ["debate_id,treatment_type,participant_side,agreement_pre_likert,agreement_post_likert"]
    for number in range(debates):
        low, high = 1 + number % 2, 4 + number % 3 // 2
        stays = number % 4 == 0
        rows += [
            f"{number},Human-Human,PRO,{high},{high - (not stays)}",
            f"{number},Human-Human,CON,{low},{low + (not stays)}",
        ]
    rows.append("99,Human-AI,PRO,3,3")
    (folder / "salvi_debategpt_round_index.csv").write_text("\n".join(rows) + "\n")
    return folder


@check_each("name", MEASURES)
def test_the_numbers_are_those_of_run_py_human(rooms: ConditionRecords, name: str) -> None:
    """One implementation: what the card says of a condition is what `study human` says of its folder, of the same units."""
    told = MEASURES[name]
    found = measure_source(of_run(rooms.records[told.condition][0]))
    whole = found[found["condition"] == EVERYTHING].set_index("key")
    results = over_blocks(rooms, told.condition)
    assert results[told.key].estimate == pytest.approx(whole.loc[told.key, "estimate"])
    assert results[told.key].n == 4, "two rooms of a block are one unit"
    assert whole.loc[told.key, ["n", "groups", "units"]].tolist() == [4, 8, 4]


def test_two_batches_are_twice_the_blocks(rooms: ConditionRecords) -> None:
    """Rooms of another batch bear the same names and are others: nobody's partner is looked for there."""
    twice = ConditionRecords({"two": [*rooms.records["two"] * 2]})
    one, both = over_blocks(rooms, "two"), over_blocks(twice, "two")
    for key in ("still", "spread", "partner"):
        assert both[key].n == 2 * one[key].n
        if (
            both[key].reason != LIKE_PARTNERS
        ):  # of twice the blocks, a chance likeness of partners is taken for a real one
            assert both[key].estimate == pytest.approx(one[key].estimate)
    assert one["partner"].reason == ""


def test_without_people_the_model_is_told_alone(rooms: ConditionRecords) -> None:
    """No number stands for people who were not given; what was given and lacks a source says which."""
    found = by_name(claims(rooms, base()))
    assert set(found) == set(QUANTITIES)
    for name in MEASURES:
        assert found[name].known
        for missing in (found[f"{name}_people"], found[f"{name}_apart"]):
            assert math.isnan(missing.estimate)
            assert missing.reason == NO_DATA
    rooms.people = ()
    other = by_name(claims(rooms, base()))
    rooms.people = None
    assert other["still_people"].reason == f"{PAIRS} is not among the human data that were given"


def test_people_are_those_who_debated_people(rooms: ConditionRecords, tmp_path: Path) -> None:
    """Of 16 people in 8 debates 4 stay; who debated a model is not among them. Distances are ours less theirs."""
    rooms.people = [salvi(people(tmp_path / "data") / "salvi_debategpt_round_index.csv")]
    found = by_name(claims(rooms, base()))
    rooms.people = None
    still = found["still_people"]
    assert (still.estimate, still.n, still.unit) == (pytest.approx(0.25), 8, "debate")
    assert found["still_apart"].estimate == pytest.approx(found["still"].estimate - 0.25)
    partner = found["partner_people"]
    whole = measure_source(salvi(tmp_path / "data" / "salvi_debategpt_round_index.csv"))
    pairs = whole[whole["condition"] == "Human-Human"].set_index("key")["estimate"]
    assert partner.estimate == pytest.approx(pairs["partner"])
    assert found["majority_people"].reason.startswith("Habermas Machine is not among")


def test_distances_of_independent_samples_by_hand() -> None:
    """0.5 (0.4 to 0.6) less 0.2 (0.1 to 0.4): 0.3, down by the root of 0.1² + 0.2², up by that of 0.1² + 0.1²."""
    ours, theirs = CardEstimate("y", ALL, 0.5, 0.4, 0.6), CardEstimate("y", ALL, 0.2, 0.1, 0.4)
    found = difference(CardEstimate("z", ALL), ours, theirs)
    assert found.estimate == pytest.approx(0.3)
    assert found.low == pytest.approx(0.3 - math.sqrt(0.05))
    assert found.high == pytest.approx(0.3 + math.sqrt(0.02))
    unsure = difference(CardEstimate("z", ALL), CardEstimate("y", ALL, 0.5, reason="all alike"), theirs)
    assert unsure.estimate == pytest.approx(0.3)
    assert math.isnan(unsure.low)
    assert unsure.reason


def card(folder: Path) -> dict[str, dict[str, Any]]:
    told = json.loads((folder / "card.json").read_text())
    return {one["quantity"]: one for one in told["claims"]}


@pytest.mark.thorough
def test_the_command_sets_people_beside_a_card_that_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Given later, people come onto a finished card and nothing is asked; without them the next writing says that they are not
    given; a folder that holds none is told before anything is asked.
    """
    out = ["--out", str(tmp_path / "card")]
    assert run.main([*ARGUMENTS, *SECTION, *out]) == 0
    assert card(tmp_path / "card")["still_people"]["reason"] == NO_DATA
    capsys.readouterr()
    assert run.main([*ARGUMENTS, *SECTION, *out, "--data", str(people(tmp_path / "data"))]) == 0
    told = capsys.readouterr().out
    assert "calls were made" not in told
    assert "Compared with humans." in told
    beside = card(tmp_path / "card")["still_people"]
    assert (beside["n"], beside["unit"]) == (8, "debate")
    assert "humans (Salvi et al.)" in (tmp_path / "card" / "card.html").read_text()
    twice = (
        compare_cards([kept(tmp_path / "card" / "card.json") for _ in range(2)])
        .set_index("quantity")["reason"]
        .dropna()
    )
    assert twice["still_people"] == "people, not a model"
    assert run.main([*ARGUMENTS, *SECTION, *out]) == 0
    assert card(tmp_path / "card")["still_people"]["estimate"] is None
    assert run.main([*ARGUMENTS, "--out", str(tmp_path / "none"), "--data", str(tmp_path / "nowhere")]) == 2
    assert "nowhere is not a folder" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(not DATA.is_dir(), reason="the public human data are not here")
def test_the_public_data(rooms: ConditionRecords) -> None:
    """150 debates of two people: half stay, groups do not draw together for sure, the partner's opinion explains nothing."""
    rooms.people = read(DATA)[0]
    found = by_name(claims(rooms, base()))
    rooms.people = None
    still, spread, partner = (found[f"{name}_people"] for name in ("still", "room_spread", "partner"))
    assert (still.n, still.estimate) == (150, pytest.approx(0.517, abs=1e-3))
    assert spread.low < 0 < spread.high
    assert partner.low < 0 < partner.high
    assert found["majority_people"].estimate == pytest.approx(0.119, abs=1e-3)
