"""Weights from courses: planted ones are found, none where nothing is there, with unequal rooms and lost replies."""

from __future__ import annotations

import importlib.util
import math
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from parley.__main__ import main
from parley.analysis.statistics.null import Null
from parley.llm.errors import UserError
from parley.studies.belief_reader.courses import Step, courses_of_file
from parley.studies.belief_reader.errors import prediction_errors, shuffled_tags
from parley.studies.belief_reader.fit import LINE, Panel, Weight, common_weight, panel_of, part_weights
from parley.studies.belief_reader.known_lines import known_lines
from parley.studies.belief_reader.report import error_sentences, weight_sentence
from parley.studies.belief_reader.tags import Tag


@cache
def made_up() -> ModuleType:
    """Return the module beside this one; studies' tests are no package."""
    spec = importlib.util.spec_from_file_location("made_up_courses", Path(__file__).with_name("made_up_courses.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def panel(seed: int, **world: Any) -> Panel:
    rooms, tags = made_up().courses(made_up().World(**world), seed)
    worth = made_up().EXACT
    if confused := world.get("confused", 0):
        matrix = np.column_stack([(1 - confused) * np.eye(3) + confused / 3, np.ones(3)])
        worth = worth._replace(direction=matrix)
    return panel_of(rooms.steps, tags, {"racism": worth}, 0.5)


def coverage(sets: int, truth: float, **world: Any) -> tuple[float, float]:
    """Return how often the interval of the weight holds the truth, and how often it is off 0."""
    found = [common_weight(panel(seed, **world)) for seed in range(sets)]
    held = np.mean([one.low <= truth <= one.high for one in found])
    return float(held), float(np.mean([one.low > 0 or one.high < 0 for one in found]))


def step(person: str, number: int, before: float, after: float, *heard: int) -> Step:
    return Step("room", person, "racism", number, before, after, heard)


def test_what_was_heard_is_summed_by_hand() -> None:
    """Cost twice for the claim and once against it: 1 and -1, then half of 1 in the second step. Appeals as well."""
    tags = [
        Tag("supports", "cost", "story"),
        Tag("opposes", "cost", "none"),
        Tag("supports", "cost", "story"),
        Tag("", "cost", "none"),
    ]
    found = panel_of(
        [step("a", 1, 0.5, 0.6, 0, 1), step("a", 2, 0.6, 0.5, 2, 3)], tags, {"racism": made_up().EXACT}, 0.5
    )
    assert found.parts[LINE].tolist() == [0.0, 0.5]
    assert found.parts["reason cost"].tolist() == [0.0, 0.5]
    assert found.parts["appeal story"].tolist() == [1.0, 0.5]
    assert found.change.tolist() == pytest.approx([math.log(1.5), -math.log(1.5)])
    assert (found.missing, found.lines) == (1, 4)


def test_a_planted_weight_and_a_reason_that_weighs_more_are_found() -> None:
    """A line weighs .4, and .5 more by its cost: the interval of each holds it, that of cost is above the others' weight."""
    found = panel(3, rooms=80, extra={"cost": 0.5})
    assert common_weight(found).low > 0.3
    weights = {one.name: one for one in part_weights(found)}
    assert weights["reason cost"].low > 0.5
    assert weights["reason cost"].low <= 0.9 <= weights["reason cost"].high
    assert weights["reason safety"].low <= 0.4 <= weights["reason safety"].high
    assert weights["appeal story"].low <= 0 <= weights["appeal story"].high


def test_few_data_sets_cover_the_truth_and_claim_nothing() -> None:
    assert coverage(8, 0.4)[0] >= 0.8
    assert coverage(8, 0.0, weight=0.0)[1] <= 0.25


@pytest.mark.thorough
@pytest.mark.parametrize(
    "world",
    [{}, {"report": 0.6}, {"rooms": 60}, {"unequal": True, "back": -0.3}, {"back": -0.3}, {"lost": 0.3}, {"rooms": 12}],
    ids=str,
)
def test_intervals_hold_the_truth_in_95_of_100_sets(world: dict[str, Any]) -> None:
    """200 sets each: with errors of ratings, very unequal rooms, lost tags. At a true 5%, 16 of 200 and fewer are off 0."""
    lost = world.get("lost", 0)
    if not lost:  # a lost tag is a line that seems to move no one: the weight of those read is what is estimated
        assert 0.92 <= coverage(200, 0.4, **world)[0] <= 0.98
    assert coverage(200, 0.0, weight=0.0, **world)[1] <= 0.08


@pytest.mark.thorough
def test_errors_of_the_judge_do_not_make_weights_too_small() -> None:
    """Of 30% of lines the direction is drawn anew. The mean weight is near .4; without correction below .3."""
    corrected = [common_weight(panel(seed, confused=0.3)).value for seed in range(60)]
    rooms = [made_up().courses(made_up().World(confused=0.3), seed) for seed in range(60)]
    plain = [common_weight(panel_of(one.steps, tags, {"racism": made_up().EXACT}, 0.5)).value for one, tags in rooms]
    assert np.mean(corrected) == pytest.approx(0.4, abs=0.04)
    assert np.mean(plain) < 0.3


def test_two_rooms_and_unrated_people_give_no_interval() -> None:
    found = common_weight(panel(1, rooms=2))
    assert math.isnan(found.low)
    assert "fewer than 5 rooms" in weight_sentence(found, Null(np.zeros(9)), "room")
    nobody = panel_of(
        [step("a", 1, math.nan, math.nan, 0)], [Tag("supports", "cost", "none")], {"racism": made_up().EXACT}, 0.5
    )
    assert math.isnan(common_weight(nobody).low)
    assert all("needed for" in one.reason for one in part_weights(panel(1, rooms=6)))


def test_one_room_with_nearly_all_lines_gives_no_interval() -> None:
    """Five rooms, of which one has most lines, are worth fewer than five."""
    rooms, tags = made_up().courses(made_up().World(rooms=5, rounds=2), 1)
    long, more = made_up().courses(made_up().World(rooms=1, rounds=200, back=-0.3), 2)
    moved = [
        one._replace(heard=tuple(place + len(tags) for place in one.heard), own=tuple(place + len(tags) for place in one.own),
                     cluster="long", person=f"long {one.person}")
        for one in long.steps
    ]  # fmt: skip
    found = common_weight(panel_of([*rooms.steps, *moved], [*tags, *more], {"racism": made_up().EXACT}, 0.5))
    assert math.isnan(found.low)
    assert found.units < 4.5


def test_shuffled_rooms_keep_lines_of_a_room_together() -> None:
    """Each room has the tags of one other room, in their order."""
    rooms, tags = made_up().courses(made_up().World(rooms=4, rounds=2), 1)
    moved = shuffled_tags(rooms, tags, 0, 0)
    size = len(tags) // 4
    parts = [tags[place : place + size] for place in range(0, len(tags), size)]
    assert all(moved[place : place + size] in parts for place in range(0, len(tags), size))
    assert all(
        moved[place : place + size] != part for place, part in zip(range(0, len(tags), size), parts, strict=True)
    )


def test_a_reader_predicts_better_than_shuffled_lines_only_where_lines_move_people() -> None:
    for weight, better in ((0.6, True), (0.0, False)):
        rooms, tags = made_up().courses(made_up().World(rooms=12, weight=weight), 7)
        errors, rows = prediction_errors(rooms, tags, {"racism": made_up().EXACT}, 0.5, 0)
        assert errors is not None
        assert (errors.against_shuffled.high < 0) == better
        assert len(rows) == len(rooms.steps)
        assert ("the reader is better" in error_sentences(errors, "room")[1]) == better


def test_a_claim_needs_an_interval_off_0_and_more_than_shuffled_lines_give() -> None:
    weight, inside = Weight(LINE, 0.4, 0.3, 0.5, 9.0), Null(np.linspace(-1, 1, 99))
    assert "moves beliefs toward its own side" in weight_sentence(weight, Null(np.linspace(-0.1, 0.1, 99)), "room")
    assert "from 50% to 60%" in weight_sentence(weight, Null(np.linspace(-0.1, 0.1, 99)), "room")
    assert "is unknown" in weight_sentence(weight, inside, "room")
    assert "is unknown" in weight_sentence(weight._replace(low=-0.1), Null(np.linspace(-0.1, 0.1, 99)), "room")
    assert "away from" in weight_sentence(Weight(LINE, -0.4, -0.5, -0.3, 9.0), Null(np.linspace(-0.1, 0.1, 99)), "room")


def test_a_file_of_messages_is_read_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("text,person,before,after\nOne.,a,0.5,0.6\nTwo.,b,,0.1\nThree.,a,0.6,0.7\n", encoding="utf-8")
    read = courses_of_file(path, "racism")
    assert [(one.person, one.number, one.heard) for one in read.steps] == [
        ("all a", 1, (0,)),
        ("all b", 1, (1,)),
        ("all a", 2, (2,)),
    ]
    assert read.rated == 2
    for text, said in [
        ("text,before\nOne.,2\n", "before"),
        ("line\nOne.\n", "text"),
        ("text,topic\nOne.,blackout\n", "no known messages"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=said):
            courses_of_file(path, "racism")


def test_the_command_reads_texts_refuses_a_bad_judge_and_asks_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three lines against the claim and one unknown: a reader ends below 50%. A judge that guesses gives no result. A second
    start asks nothing.
    """
    path, known = tmp_path / "texts.csv", known_lines("racism")
    against = [*known[known["direction"] == "opposes"]["text"][:3], "Nobody knows this line."]
    path.write_text("text\n" + "\n".join(f'"{text}"' for text in against), encoding="utf-8")
    command = ["study", "belief-reader", str(path), "--topic", "racism", "--llm", "oracle"]
    assert main([*command, "--dry-run"]) == 0
    assert "48 known lines and 4 lines to tag, at most 156 calls" in capsys.readouterr().out
    assert main(command) == 0
    page = (tmp_path / "texts" / "belief-reader.md").read_text(encoding="utf-8")
    assert "48 of 48 known messages (100%" in page
    assert "1 of 4 messages read have no direction (no_known_sentence 1)" in page
    beliefs = pd.read_csv(tmp_path / "texts" / "beliefs.csv")["belief"]
    assert (beliefs.diff().dropna() <= 1e-9).all()
    assert beliefs.iloc[3] == pytest.approx(beliefs.iloc[2])
    assert beliefs.iloc[2] < 0.5
    assert main([*command, "--max-calls", "0"]) == 0, "a second start asked again"
    assert main([*command[:-1], "oracle,tag_right=0.3", "--keep-going", "--out", str(tmp_path / "bad")]) == 0
    bad = (tmp_path / "bad" / "belief-reader.md").read_text(encoding="utf-8")
    assert "the report gives no result" in bad
    assert "How much a message weighs" not in bad
    assert "A reader of given weights" not in bad


def test_no_beliefs_are_needed_to_hold_an_exam(tmp_path: Path) -> None:
    assert main(["study", "belief-reader", "--llm", "oracle", "--topic", "racism", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "exam.csv").is_file()
