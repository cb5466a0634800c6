"""A debater trained on verdicts: which speeches are trained on, what the null has, and what counts as a gain."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import run
from parley.analysis.commands.runs import hold_all
from parley.analysis.journaled_calls import CallDesk
from parley.llm.errors import UserError
from parley.llm.request import Message
from parley.model.scenario import load_preset
from parley.studies.competing_debates.training import VALUES, DebaterTraining, TrainingOutcome
from parley.studies.competing_debates.training_report import share_table, training_lines, write_training
from parley.training.tuning.preferences import (
    SHUFFLED,
    TRAINED,
    ScoredReply,
    preference_examples,
    preferences,
    shuffle_preferences,
)
from parley.training.tuning.recipe import Recipe

A, B = (Message("user", "A?"),), (Message("user", "B?"),)
REPLIES = [ScoredReply(A, text, score) for text, score in (("a1", 0.2), ("a2", 0.9), ("a3", 0.5), ("a4", 0.5))]
REPLIES += [ScoredReply(B, "b1", 0.1), ScoredReply(B, "b2", 0.3)]


def quiet(title: str, total: int, unit: str = "") -> Any:
    return contextlib.nullcontext(lambda count: None)


def test_preferences_by_hand() -> None:
    """Replies are only paired with replies to the same prompt: best with worst; a tie is left out and counted."""
    given, ties = preferences(REPLIES, "dpo")
    assert [(one.chosen, one.rejected) for one in given] == [("a2", "a1"), ("b2", "b1")]
    assert [round(one.margin, 6) for one in given] == [0.7, 0.2]
    assert ties == 1
    turned = shuffle_preferences(given, REPLIES, "dpo", 0, 1)
    assert sum(one.margin < 0 for one in turned) == 1
    assert {frozenset((one.chosen, one.rejected)) for one in turned} == {
        frozenset(("a1", "a2")),
        frozenset(("b1", "b2")),
    }
    drawn = {shuffle_preferences(given, REPLIES, "sft", 0, number)[0].chosen for number in range(20)}
    assert drawn == {"a1", "a2", "a3", "a4"}
    pairs = preference_examples(given, "dpo", 0)
    assert sorted(one["chosen"][0]["content"] for one in pairs) == ["a2", "b2"]
    assert {one["prompt"][0]["content"] for one in pairs} == {"A?", "B?"}
    assert set(preference_examples(given, "sft", 0)[0]) == {"prompt", "completion"}


def values(shares: Sequence[float], topics: int = 6, repetitions: int = 6, seed: int = 0) -> pd.DataFrame:
    """Pairs of a trained debater and of those of shuffled verdicts, whose shares vary around these numbers."""
    rng, rows = np.random.default_rng(seed), []
    for name, share in zip([TRAINED, *(f"{SHUFFLED} {n}" for n in range(1, len(shares)))], shares, strict=True):
        for topic in range(topics):
            for repetition in range(repetitions):
                own = share + rng.normal(0, 0.05)
                rows.append(
                    (name, "simultaneous", f"t{topic}", repetition, "for", f"{name}/{topic}/{repetition}", 20, 20, own)
                )
    return pd.DataFrame(rows, columns=VALUES)


def said(shares: Sequence[float], **more: Any) -> list[str]:
    own = values(shares, **more)
    return training_lines(share_table(own), own)


def test_a_gain_counts_only_beside_trainings_on_shuffled_verdicts() -> None:
    """Every training moves a model: what shuffled ones give as well is no gain; few nulls, topics or pairs give no verdict."""
    nulls = [0.45, 0.52, 0.48, 0.55, 0.5]
    won = said([0.8, *nulls])
    assert "preferred more often than the untrained debater's" in won[0]
    assert "the trained debater is above" in won[1]
    assert "Over 6 held-out topics the share is" in won[2]
    assert won[-1].startswith("On held-out topics, training on verdicts makes speeches that readers prefer")
    assert "is not shown" in said([0.58, *nulls])[-1]
    assert "is not shown" in said([0.3, *nulls])[-1]
    assert "because there are fewer than 5 trainings on shuffled verdicts" in said([0.8, *nulls[:4]])[-1]
    few = said([0.8, *nulls], topics=2, repetitions=2)
    assert "fewer than 5 repetitions" in few[0]
    assert "because there are fewer than 5 held-out topics" in few[2]
    assert "fewer than 5 repetitions" in few[-1]
    lost = values([0.8, *nulls]).assign(value=np.nan)
    assert "is unknown" in training_lines(share_table(lost), lost)[-1]


def test_a_training_without_effect_claims_none() -> None:
    """Trained and shuffled debaters from one distribution: the claim needs both conditions, so it is rare."""
    claims = 0
    for seed in range(10):
        drawn = np.random.default_rng(seed).normal(0.5, 0.05, 6).tolist()
        claims += said(drawn, seed=seed)[-1].startswith("On held-out topics")
    assert claims <= 1


def training(folder: Path, llm: str = "oracle", panel: str = "oracle,longer=8,taste=0", **more: Any) -> DebaterTraining:
    base = load_preset("prior_beliefs").with_settings({"llm": llm, "topic": "racism,abortion", "repetitions": 6})
    return DebaterTraining(
        base, panel, **{"people": 2, "samples": 4, "recipe": Recipe("debater", "dpo"), "folder": folder, **more}
    )


def held(own: DebaterTraining) -> TrainingOutcome:
    desk = CallDesk(own.folder, quiet)
    outcome: TrainingOutcome = hold_all(own.run(desk), own.runs, own.folder, ())
    return outcome


def spoken_with(own: DebaterTraining, adapter: Path) -> dict[str, Any]:
    """Oracles in the place of adapters: the trained one speaks at length, those of shuffled verdicts as before."""
    return {"words": 120 if adapter.name == TRAINED else 25}


@pytest.mark.thorough
def test_a_planted_taste_is_found_on_held_out_topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers of a planted taste for length: preferred speeches are longer, a longer debater wins, and topics do not mix."""
    monkeypatch.setattr(DebaterTraining, "model", lambda self: None)
    monkeypatch.setattr(DebaterTraining, "adapter", lambda self, name, given, base, desk: tmp_path / name)
    monkeypatch.setattr(DebaterTraining, "spoken_with", spoken_with)
    own = training(tmp_path)
    own = replace(own, base=own.base.with_settings({"words": 35, "repetitions": 5}))
    outcome = held(own)
    given = outcome.preferences[TRAINED]
    lengths = [(len(one.chosen.split()), len(one.rejected.split())) for one in given]
    assert np.mean([long - short for long, short in lengths]) > 3
    learned, held_out = own.split
    assert set(outcome.scored["topic"]) == set(learned)
    assert set(outcome.values["topic"]) == set(held_out)
    assert not set(learned) & set(held_out)
    assert outcome.values.groupby("kind").size().eq(5 * 4).all()
    readers = {person.id for person in own.readers()} & {person.id for person in own.readers(own.people)}
    assert not readers, "who gave verdicts in the training reads nothing on held-out topics"
    table = share_table(outcome.values).set_index("kind")
    assert table.loc[TRAINED, "low"] > 0.6
    assert table["share"].iloc[1:].max() < 0.5
    tables = outcome.values, outcome.table, outcome.texts, outcome.scored
    page = write_training(*tables, outcome.lines("oracle", "dpo"), ("oracle", "oracle"), tmp_path)
    assert "The longer speech is preferred in" in page.read_text(encoding="utf-8")
    same = held(own)
    assert same.values.equals(outcome.values)
    assert same.preferences == outcome.preferences


def test_what_a_user_can_get_wrong_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is asked and no folder is left: what cannot be trained, settings without a training, too few topics or people."""
    shared = ["study", "prior-beliefs", "--topic", "racism,abortion", "--out", str(tmp_path / "x")]
    for more, said in (
        ("--train dpo --llm pocket", "add --compare SPEC"),
        ("--train dpo --llm oracle --compare oracle", "oracle cannot be trained"),
        ("--train dpo --llm pocket --compare oracle --rounds 2", "leave out --rounds"),
        ("--train sft --llm pocket --compare oracle --samples 1", "at least 2 statements"),
        ("--train sft --llm pocket --compare oracle --held-out 1", "--held-out must leave topics on both sides"),
        ("--llm pocket --compare oracle --samples 3", "--samples only works with --train"),
        ("--llm pocket --epochs 2", "--epochs only works with --train"),
    ):
        assert run.main([*shared, *more.split()]) == 2, more
        assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
    with pytest.raises(UserError, match="0 pairs of statements differ"):
        training(tmp_path).preferences([])


@pytest.mark.thorough
def test_a_training_on_pocket_from_verdicts_to_report(tmp_path: Path) -> None:
    """A few steps on the model in the box: both adapters speak about a held-out topic, and a resume asks and trains nothing."""
    for name in ("torch", "trl"):
        pytest.importorskip(name)
    recipe = Recipe("debater", "dpo", r=4, epochs=1.0, batch=8, length=1024)
    own = training(tmp_path, "pocket", "oracle,longer=3", samples=2, recipe=recipe)
    own = replace(own, base=own.base.with_settings({"repetitions": 1}))
    outcome = held(own)
    texts = {name: sorted(outcome.texts[key] for key in outcome.texts if key.startswith(name)) for name in own.debaters}
    assert len(texts) == 2
    assert all(len(own) == 4 for own in texts.values()), "the adapters speak"
    again = held(own)
    assert again.values.equals(outcome.values)
    assert again.table.equals(outcome.table)
