"""Training on talks: what is trained on, what the null has, and one real step on pocket."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import run
from parley.studies.twins.planted import invent_people
from parley.studies.twins.report import without_stranger
from parley.studies.twins.study import NATS, NO_STRANGER, OPINION, STRANGER, TWIN, TwinStudy
from parley.studies.twins.training import (
    SHUFFLED,
    TRAINED,
    UNTRAINED,
    TwinTraining,
    compare_trainings,
    learned,
    learned_lines,
    learned_sentence,
)
from parley.training.tuning.recipe import Recipe


def training(folder: Path, groups: int = 6) -> TwinTraining:
    return TwinTraining(TwinStudy(invent_people("planted", groups), "oracle", most=2), Recipe("twins", r=4), folder)


def test_examples_are_of_the_training_half_and_no_held_out_word_is_in_one(tmp_path: Path) -> None:
    """Each point of the training half once, with what the person really wrote; the prompt ends before it."""
    own = training(tmp_path)
    trained, held_out = own.halves
    examples = own.examples(20)
    assert len(examples) == len(trained.points)
    text = "\n".join(turn["content"] for example in examples for turn in (*example["prompt"], *example["completion"]))
    said = {event.text for event in held_out.people.events if event.kind == "message"}
    assert not any(message in text for message in said)
    wrote = sorted(point.event.text for point in trained.of_kind("message"))
    completions = sorted(
        example["completion"][0]["content"] for example in examples if "subject" in example["prompt"][1]["content"]
    )
    assert completions == wrote


def test_shuffled_examples_have_the_same_replies_after_histories_of_strangers(tmp_path: Path) -> None:
    own = training(tmp_path)
    real, null = own.examples(20), own.examples(20, shuffled=True)
    replies = [sorted(example["completion"][0]["content"] for example in each) for each in (real, null)]
    assert replies[0] == replies[1]
    pairs = [
        {(example["prompt"][0]["content"], example["completion"][0]["content"]) for example in each}
        for each in (real, null)
    ]
    of_messages = [{pair for pair in each if "Grade" in pair[1]} for each in pairs]  # equal answers may meet by chance
    assert len(of_messages[0]) == len(of_messages[1]) == len(own.halves[0].of_kind("message"))
    assert not of_messages[0] & of_messages[1]


def test_a_point_without_a_stranger_is_in_neither_training(tmp_path: Path) -> None:
    """On 40 people of public data the control had 36 examples and 27 steps, the real training 40 and 30."""
    own = training(tmp_path)
    alone = own.halves[0].points[0]
    own.halves[0].by_stranger[alone.key] = ()  # type: ignore[index]
    sizes = [len(own.examples(20, shuffled)) for shuffled in (False, True)]
    assert sizes == [len(own.halves[0].points) - 1] * 2
    without_control = replace(own, shuffles=0)
    assert len(without_control.examples(20)) == len(own.halves[0].points)


def test_people_without_a_stranger_are_counted() -> None:
    """They are as much nearer as others, but have no gain: the page says of how many people each number is."""
    measured = table(**{UNTRAINED: 0.4, TRAINED: 0.1, f"{SHUFFLED} 1": 0.3})
    alone = measured["person"] == "p5"
    measured.loc[alone, [STRANGER, "reason"]] = [float("nan"), NO_STRANGER]
    row = compare_trainings(measured).set_index("condition").loc[TRAINED]
    assert (row["people"], row["groups"], row["compared"]) == (6, 6, 5)
    assert "(6 people in 6 groups)" in learned_lines(measured)[0]
    said = without_stranger(measured[measured["condition"] == TRAINED])
    assert said == "1 of 6 comparisons with a stranger's twin are missing: no other person has a history on this topic."
    assert without_stranger(measured[~alone]) == ""


def table(**twins: float) -> pd.DataFrame:
    """Six held-out people in six groups: the distance of each is that of its condition, 1% more for each further person."""
    return pd.DataFrame([
        {"key": f"p{person}", "person": f"p{person}", "cluster": f"g{person}", "topic": "Tea?", "measure": OPINION,
         "condition": condition, TWIN: value * (1 + person / 100), STRANGER: 0.5 + person / 1000, "reason": ""}
        for condition, value in twins.items() for person in range(6)
    ])  # fmt: skip


def test_gains_of_a_training_by_hand() -> None:
    """Distances .4 untrained, .1 trained, .3 on shuffled talks: nearer by .3 and by .2, times 1.025."""
    conditions = {UNTRAINED: 0.4, TRAINED: 0.1, f"{SHUFFLED} 1": 0.3}
    rows = compare_trainings(table(**conditions)).set_index("condition")
    assert rows.loc[TRAINED, "nearer"] == pytest.approx(0.3 * 1.025)
    assert rows.loc[TRAINED, "gain"] == pytest.approx(0.5025 - 0.1 * 1.025)
    assert pd.isna(rows.loc[UNTRAINED, "nearer"])
    found = learned(table(**conditions), OPINION)
    assert found is not None
    assert found["nearer"] == pytest.approx(0.2 * 1.025)
    assert learned_sentence(found).startswith(
        "On held-out people, the training on talks of other people brings twins nearer"
    )
    assert "real training does: -0.2" in learned_lines(table(**{**conditions, TRAINED: 0.5}))[0]
    few = table(**conditions)
    assert "is unknown" in learned_lines(few[few["person"].isin(["p0", "p1"])])[0]
    assert learned(table(**conditions), NATS) is None


@pytest.mark.thorough
def test_a_training_on_pocket_measures_people_who_are_not_in_it(tmp_path: Path) -> None:
    words = ["study", "twins", "planted", "--llm", "pocket", "--groups", "4", "--points", "1", "--samples", "1"]
    words += ["--train", "--epochs", "0.2", "--batch", "8", "--length", "512", "--r", "4", "--out", str(tmp_path)]
    assert run.command(words) == 0
    page = (tmp_path / "twins.md").read_text(encoding="utf-8")
    assert "## Training" in page
    points = pd.read_csv(tmp_path / "held_out_points.csv")
    assert set(points["condition"]) == {UNTRAINED, TRAINED, f"{SHUFFLED} 1"}
    assert set(points["person"]) == set(
        TwinTraining(TwinStudy(invent_people("planted", 4), "pocket"), Recipe("twins"), tmp_path)
        .halves[1]
        .people.by_person
    )
    assert points.loc[points["measure"] == NATS, TWIN].notna().all()
