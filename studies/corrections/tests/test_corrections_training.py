"""A corrector trained on preferences: which pairs are made, what the null has, and one real training on pocket."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.evidence import load_evidence
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.errors import UserError
from parley.studies.corrections import training as corrections
from parley.studies.corrections.corrector import load_posts
from parley.studies.corrections.measures import EVIDENCE, MEASURES, CorrectionStudy, WrittenReply
from parley.studies.corrections.report import compare_measures, training_findings, write_training
from parley.studies.corrections.training import CorrectorTraining
from parley.training.tuning.preferences import preference_examples, preferences, turn_half
from parley.training.tuning.recipe import Recipe


def quiet(title: str, total: int, unit: str = "") -> Any:
    return contextlib.nullcontext(lambda count: None)


def study(llm: str = "oracle", samples: int = 6, **more: Any) -> CorrectionStudy:
    posts = load_posts("en")
    return CorrectionStudy(posts, load_evidence(posts.folder), llm, "oracle", samples=samples, **more)


def written(post: int, sample: int, text: str | None = "said") -> WrittenReply:
    return WrittenReply(post, EVIDENCE, sample, text and f"{text} {sample}", None if text else "empty", ())


def test_pairs_by_hand(tmp_path: Path) -> None:
    """Of 5, 3, 3, 1 the best with the worst; 3 with 3 is a tie. A reply without rating or text makes no pair."""
    replies = [written(0, n) for n in range(4)] + [written(1, 0), written(1, 1), written(1, 2, None)]
    training = CorrectorTraining(study(), Recipe("corrector", "dpo"), tmp_path)
    rated = training.rated(replies, [3.0, 5.0, 1.0, 3.0, 2.0, None, None])
    pairs, ties = preferences(rated, "dpo")
    assert [(pair.chosen, pair.rejected, pair.margin) for pair in pairs] == [("said 1", "said 2", 4.0)]
    assert (ties, len(rated)) == (1, 5)


def test_pairs_of_known_quality_and_their_null(tmp_path: Path) -> None:
    """The chosen reply is better in every pair; after the shuffle exactly half are turned, and the margin is near 0."""
    own = study()
    desk = CallDesk(tmp_path, quiet)
    replies = own.write((EVIDENCE,), desk)
    training = CorrectorTraining(own, Recipe("corrector", "dpo"), tmp_path)
    pairs, _ = preferences(training.rated(replies, own.judge_replies(replies, desk)["overall"].tolist()), "dpo")
    assert len(pairs) > 40
    margins = np.array([pair.margin for pair in pairs])
    assert margins.min() > 0
    null = np.array([pair.margin for pair in turn_half(pairs, 1, 1)])
    assert (null < 0).sum() == len(pairs) // 2
    assert abs(null.mean()) < 2 * margins.std() / len(pairs) ** 0.5 + 0.1 < margins.mean()
    assert turn_half(pairs, 1, 1) == turn_half(pairs, 1, 1) != turn_half(pairs, 1, 2)


def test_examples_are_the_prompts_that_were_answered(tmp_path: Path) -> None:
    """What is trained is the reply to the very messages of the corrector; no held-out post is among them."""
    own = study()
    training = CorrectorTraining(own, Recipe("corrector", "dpo"), tmp_path)
    seen, held = training.split
    assert sorted([*seen, *held]) == list(range(24))
    assert len(held) == 8
    replies = own.write((EVIDENCE,), CallDesk(tmp_path, quiet), seen)
    pairs, _ = preferences(training.rated(replies, list(range(len(replies)))), "dpo")
    for example in preference_examples(pairs, "dpo", 0):
        roles = [message["role"] for message in example["prompt"]]
        assert roles == ["system", "user"]
        assert "[1]" in example["prompt"][1]["content"]
        assert not [post for post in held if own.posts.posts[post].text in example["prompt"][1]["content"]]
        assert example["chosen"] != example["rejected"]


def test_too_few_replies_or_posts_are_one_line(tmp_path: Path) -> None:
    recipe = Recipe("corrector", "dpo")
    with pytest.raises(UserError, match="a pair needs at least 2"):
        CorrectorTraining(study(samples=1), recipe, tmp_path)
    for share in (0.0, 1.0, 0.999):
        with pytest.raises(UserError, match="--held-out must leave some posts for training"):
            CorrectorTraining(study(), recipe, tmp_path, share)


def test_a_model_that_cannot_be_trained_leaves_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the corrected command would find another set of replies there, and be refused."""
    out = tmp_path / "out"
    assert (
        run.main(["study", "correct", "en", "--llm", "oracle", "--judge", "oracle", "--train", "--out", str(out)]) == 2
    )
    assert "oracle cannot be trained" in capsys.readouterr().err
    assert not out.exists()


def rated(**changes: float) -> pd.DataFrame:
    """Overall ratings of eight posts: 2 before, by condition more by so much, give or take .01 by post."""
    rows = [
        {"post": post, "condition": name, "sample": 1, "words": 10.0}
        | dict.fromkeys(MEASURES, 2 + change + 0.01 * post % 0.03)
        for name, change in ({"before": 0.0} | {key.replace("_", " "): value for key, value in changes.items()}).items()
        for post in range(8)
    ]
    return compare_measures(pd.DataFrame(rows))


def test_a_gain_counts_only_beside_trainings_on_shuffled_preferences() -> None:
    """Every training moves a model: a gain within what shuffled preferences give is none, and one null gives no verdict."""
    nulls = {f"shuffled_{n}": change for n, change in enumerate((-0.2, -0.1, 0.0, 0.1, 0.2), 1)}
    assert "the trained corrector is above" in training_findings(rated(trained=0.9, **nulls))[-1]
    assert "the trained corrector is inside" in training_findings(rated(trained=0.3, **nulls))[-1]
    assert "the trained corrector is below" in training_findings(rated(trained=-0.9, **nulls))[-1]
    assert "fewer than 5" in training_findings(rated(trained=0.9, shuffled_1=0.0))[-1]


def test_a_planted_gain_is_found_on_held_out_posts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracles in the place of adapters: before and after shuffled preferences nothing is quoted, after the real ones everything.
    The gain lies outside the interval of the null, on posts that were not trained on, and the report says so.
    """

    def opened(spec: str) -> Oracle:
        name = spec.rpartition("/")[2]
        number = name.removeprefix("shuffled ")
        return open_spec(
            "oracle,quotes=1,fabricates=0" if name == "trained" else f"oracle,quotes=0,fabricates=0.{number}"
        )

    monkeypatch.setattr(CorrectorTraining, "base", lambda self: None)
    monkeypatch.setattr(CorrectorTraining, "adapter", lambda self, name, pairs, base, desk: tmp_path / name)
    monkeypatch.setattr(corrections, "open_spec", opened)
    own = study("oracle,quotes=0", 4)
    training = CorrectorTraining(own, Recipe("corrector", "dpo"), tmp_path, shuffles=5)
    outcome = training.run(CallDesk(tmp_path, quiet))
    compared = compare_measures(outcome.held_out)
    assert list(dict.fromkeys(compared["condition"])) == ["before", "trained", *(f"shuffled {n}" for n in range(1, 6))]
    assert "the trained corrector is above" in training_findings(compared)[-1]
    assert compared.set_index(["measure", "condition"]).loc[("evidence", "trained"), "difference"] == pytest.approx(4)
    assert {n - 1 for n in outcome.held_out["post"]} == set(training.split[1])
    assert {n - 1 for n in outcome.samples["post"]} == set(training.split[0])
    assert len(outcome.pairs) == 6
    assert outcome.lines()[1].count("0.") + outcome.lines()[1].count("1.") >= 6
    page = write_training(
        own, {"samples": outcome.samples, "held_out": outcome.held_out, "compared": compared}, ["a"], tmp_path
    )
    assert "the trained corrector is above" in page.read_text()


@pytest.mark.nightly
def test_a_training_on_pocket_from_replies_to_report(tmp_path: Path) -> None:
    """A few steps on the model in the box: both adapters, the same held-out posts before and after, a resume that asks nothing
    and trains nothing. Pocket cannot answer posts, so no gain is asked for.
    """
    for name in ("torch", "trl"):
        pytest.importorskip(name)
    own = study("pocket", 4, passages=1, words=20)
    training = CorrectorTraining(own, Recipe("corrector", "dpo", r=4, epochs=1.0, batch=8, length=512), tmp_path)
    desk = CallDesk(tmp_path, quiet, keep_going=True)
    outcome = training.run(desk)
    assert set(outcome.held_out["condition"]) == {"before", "trained", "shuffled 1"}
    texts = outcome.held_out.groupby("condition")["text"].apply(list)
    assert texts["before"] != texts["trained"], "the adapter changes what is written"
    assert compare_measures(outcome.held_out)["pairs"].max() == 8
    again = training.run(desk)
    assert again.held_out.equals(outcome.held_out)
    with pytest.raises(UserError, match="was trained with another epochs"):
        replace(training, recipe=replace(training.recipe, epochs=2.0)).run(desk)
