"""Payoff models by real trainers: what is read, early stopping, both forms, LoRA, the report, `--payoff trained:FOLDER`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from synthetic import episodes

from parley.analysis.deliberation.episode import Episode
from parley.analysis.journaled_calls import CallDesk
from parley.llm.errors import UserError
from parley.studies.representatives.payoff_measures import rating_table
from parley.studies.representatives.payoffs import open_payoff
from parley.studies.representatives.resimulation import Substitution
from parley.studies.representatives.substitution_study import run_substitution

pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("trl", reason="the [local] extra is not installed")

import torch
from hf_models import save, tokenizer

from parley.llm.backends.hf.reward import PAIRS, RATING, encode_questions, head_values, load_scorer
from parley.llm.driver import drive
from parley.llm.request import Message
from parley.studies.representatives.payoff_training import (
    PayoffLesson,
    hold_out_people,
    make_lot,
    run_payoffs,
    train_payoff,
)
from parley.studies.representatives.pipeline import DatasetBuilder

BAR = lambda title, total, unit="call": nullcontext(lambda steps: None)  # noqa: E731
SMALL = PayoffLesson(epochs=4, batch=8, micro=8, every=10, patience=2, rate=1e-2)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny random Llama."""
    return f"hf:{save(tmp_path_factory.mktemp('models') / 'llama', 'llama')},dtype=float32"


def planted(sessions: int, first: int = 0) -> list[Episode]:
    """Episodes in which the revision is worth 2 points more than the draft, and a yes of the person 3 more than a no."""
    found = []
    for episode in episodes(sessions + first, size=2, each=1)[first:]:
        voices = tuple(
            replace(voice, agreement={name: 1.0 + 2 * (name == "revision") + 3 * str(voice.opinion).startswith("Yes")
                                      for name in ("draft", "revision")})
            for voice in episode.voices
        )  # fmt: skip
        found.append(replace(episode, voices=voices))
    return found


@pytest.mark.thorough
def test_a_planted_law_is_learned_by_both_forms(spec: str, tmp_path: Path) -> None:
    """On people and questions not trained on: 2 points between the statements, 3 between the people; the folder is used again."""
    new = planted(8, first=40)
    for form, lora in ((RATING, 0), (PAIRS, 8)):
        lesson = replace(SMALL, form=form, r=lora)
        out = train_payoff(spec, lesson, planted(32), planted(6, first=32), tmp_path, BAR)
        scorer = open_payoff(f"trained:{out}")
        conversations = [scorer.score(one, voice, [one.draft, one.revision], 0) for one in new for voice in one.voices]
        scores = np.array([[verdict.value for verdict in row] for row in drive(conversations, scorer.model)])
        assert (scores[:, 1] > scores[:, 0]).all()
        if form == RATING:
            rated = np.array([list(voice.agreement.values()) for one in new for voice in one.voices])
            assert np.corrcoef(rated.ravel(), scores.ravel())[0, 1] > 0.9
        changed = (out / "model.safetensors" if not lora else out / "adapter_model.safetensors").stat().st_mtime_ns
        assert train_payoff(spec, lesson, planted(32), planted(6, first=32), tmp_path, BAR) == out
        assert (out / ("adapter_model" if lora else "model")).with_suffix(".safetensors").stat().st_mtime_ns == changed
        with pytest.raises(UserError, match="trained with another batch"):
            train_payoff(spec, replace(lesson, batch=4), planted(32), planted(6, first=32), tmp_path, BAR)


@pytest.mark.thorough
def test_the_whole_comparison_and_the_payoff_of_a_study(spec: str, tmp_path: Path) -> None:
    """One page with every scorer; repeated, it asks nothing; then `--payoff trained:FOLDER` scores re-simulated groups."""
    found = planted(24)
    builder = DatasetBuilder(found, 0, tmp_path / "run", BAR)
    lesson = replace(SMALL, epochs=1, every=5)
    page = run_payoffs(builder, spec, lesson, (RATING,), "fake", CallDesk(builder.folder, BAR, True))
    text = page.read_text(encoding="utf-8")
    for row in (
        "trained on ratings",
        "blind to the opinion",
        "labels shuffled",
        "judge (fake)",
        "mean rating",
        "self-report",
    ):
        assert row in text
    assert "fewer than 5 groups" in text  # two test sessions
    again = run_payoffs(builder, spec, lesson, (RATING,), "fake", CallDesk(builder.folder, BAR, True))
    assert again.read_text(encoding="utf-8") == text
    (out,) = builder.folder.glob("payoffs/*/rating-full")
    study = Substitution(llm="fake", payoff=f"trained:{out}", repetitions=1, mediator_llm="fake", judge="fake")
    page = run_substitution(builder.sides["test"], study, CallDesk(tmp_path / "seats", BAR, True))
    assert "a model trained on ratings" in page.read_text(encoding="utf-8")
    payoffs = pd.read_csv(tmp_path / "seats" / "payoffs.csv")
    assert len(payoffs["value"].dropna())
    assert payoffs["value"].dropna().between(1, 7).all()


def test_people_are_held_out_and_nothing_of_theirs_is_trained_on(spec: str) -> None:
    """By group: no participant of the held-out episodes is in the others; what is read is question, opinion and statement."""
    found = planted(16)
    train, people = hold_out_people(found, 0)
    names = [{who for one in side for who in one.participants} for side in (train, people)]
    assert len(people) == 2
    assert not names[0] & names[1]
    assert hold_out_people(found, 0) == (train, people) != hold_out_people(found, 1)
    with pytest.raises(UserError, match="one group"):
        hold_out_people(found[:1], 0)
    words, lot = tokenizer(None), make_lot(found, PayoffLesson(), tokenizer(None), None)
    first, voice = found[0], found[0].voices[0]
    asked = f"{first.question.question}\n{voice.opinion}\n{first.draft}"
    assert asked in words.decode(lot.examples[0]["input_ids"])
    blind = make_lot(found, PayoffLesson(blind=True), tokenizer(None), None)
    assert str(voice.opinion) not in words.decode(blind.examples[0]["input_ids"])


def test_shuffled_labels_stay_with_their_participant() -> None:
    """The null deals a participant's ratings among what the participant rated, and changes no other participant's."""
    found = episodes(8, size=3, each=3)
    train = make_lot(found, PayoffLesson(), tokenizer(None), (0.0, 1.0))
    null = make_lot(found, PayoffLesson(shuffled=True), tokenizer(None), (0.0, 1.0))
    people = rating_table(found)["participant"].to_numpy()
    before, after = (np.array([one["labels"] for one in lot.examples]) for lot in (train, null))
    assert (before != after).any()
    for who in set(people):
        assert sorted(before[people == who]) == sorted(after[people == who])


def test_values_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    """A short question alone and beside a long one has the same value: padding is not read."""
    model, words = load_scorer(str(save(tmp_path / "llama", "llama")), "float32", "full", "cpu")
    ids = encode_questions([[Message("user", "Yes.")], [Message("user", "Why should we all pay for it? " * 9)]], words)
    together, alone = head_values(ids, model, words.pad_token_id), head_values(ids[:1], model, words.pad_token_id)
    assert together[0] == pytest.approx(alone[0], abs=1e-5)


def test_what_a_user_can_get_wrong(spec: str, tmp_path: Path) -> None:
    """A line each: no folder, a folder without a model, a scorer without one, equal ratings, a question too long."""
    for payoff, what in (
        ("trained", "needs the folder"),
        (f"trained:{tmp_path}", "has no payoff model"),
        ("judge:x", "takes no folder"),
    ):
        with pytest.raises(UserError, match=what):
            open_payoff(payoff)
    even = [
        replace(one, voices=tuple(replace(voice, agreement={"draft": 4.0, "revision": 4.0}) for voice in one.voices))
        for one in planted(4)
    ]
    for form, what in ((RATING, "nothing to learn"), (PAIRS, "no pair can be learned")):
        with pytest.raises(UserError, match=what):
            make_lot(even, PayoffLesson(form=form), tokenizer(None), None)
    with pytest.raises(UserError, match="set --length"):
        make_lot(planted(2), PayoffLesson(length=16), tokenizer(None), None)
    with pytest.raises(UserError, match="unknown form"):
        PayoffLesson(form="ranking")
