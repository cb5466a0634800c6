"""A writer trained on wins: which messages are trained on, what the null has, and what counts as a bargain."""

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
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.errors import UserError
from parley.studies.competition import training as training_of_writers
from parley.studies.competition.contest import CompetitionStudy
from parley.studies.competition.oracle import embellishments
from parley.studies.competition.training import WriterTraining, condition_table, training_lines, write_training
from parley.studies.competition.writers import NAMES, load_competition
from parley.training.tuning.preferences import (
    Preference,
    pair_places,
    preference_examples,
    preferences,
    shuffle_preferences,
    turn_half,
)
from parley.training.tuning.recipe import Recipe


def quiet(title: str, total: int, unit: str = "") -> Any:
    return contextlib.nullcontext(lambda count: None)


def training(
    folder: Path, method: str = "dpo", names: Sequence[str] = ("sales",), samples: int = 4, **more: Any
) -> WriterTraining:
    """A training of an oracle that embellishes in half of its messages, before an audience that craves it."""
    competitions = tuple([load_competition(name) for name in names])
    study = CompetitionStudy(competitions, "oracle,craves=4", "oracle", panel=2, samples=samples)
    return WriterTraining(study, "oracle,embellish=0.5", Recipe("writer", method), folder, **more)


def test_wins_and_their_null(tmp_path: Path) -> None:
    """The audience craves embellishment: winners have it, losers less. The null has half of the pairs turned (DPO) or random
    winners (SFT), and no held-out case is in an example.
    """
    own = training(tmp_path)
    seen, held = own.split
    assert [len(seen), len(held)] == [5, 3]
    scored = own.score_training(seen, CallDesk(tmp_path, quiet))
    replies = own.replies(scored, seen)
    wins, _ = preferences(replies, "dpo")

    def embellished(texts: Sequence[str]) -> float:
        return float(np.mean([any(line in text for line in embellishments()) for text in texts]))

    assert len(wins) == 2 * len(seen)
    assert embellished([win.chosen for win in wins]) > 0.2 + embellished([win.rejected for win in wins])
    null, other = (shuffle_preferences(wins, replies, "dpo", 0, number) for number in (1, 2))
    assert sum(one.chosen == win.rejected for one, win in zip(null, wins, strict=True)) == len(wins) // 2
    assert null != other
    for example in preference_examples(wins, "dpo", 0):
        assert set(example) == {"prompt", "chosen", "rejected"}
        assert not [key for key in held if key.case.text in example["prompt"][1]["content"]]
    best, _ = preferences(replies, "sft")
    assert len({win.about for win in best}) == len(seen)
    tops = scored.sort_values("score").groupby("case", sort=False).tail(1)
    assert {win.chosen for win in best} == set(tops["text"])
    assert {one.chosen for one in shuffle_preferences(best, replies, "sft", 0, 1)} != {win.chosen for win in best}
    assert set(preference_examples(best, "sft", 0)[0]) == {"prompt", "completion"}


def test_pairs_by_hand() -> None:
    assert pair_places([1.0, 4.0, 2.0, 3.0]).pairs == [(1, 0), (3, 2)]
    assert pair_places([1.0, 1.0]) == ([], 1)
    assert pair_places([]) == ([], 0)
    nine = [Preference((), "a", "b", 1.0)] * 9
    assert sum(one.chosen == "b" for one in turn_half(nine, 0, 1)) == 4


def writers(win: float, change: float, nulls: Sequence[float], p: float = 0.001) -> pd.DataFrame:
    """A trained writer with clear intervals over cases, and writers of shuffled wins with these numbers."""
    rows = [("trained", win, change), *((f"shuffled {n}", 0.5 + x, x) for n, x in enumerate(nulls, 1))]
    table = pd.DataFrame(rows, columns=["writer", "win", "change"]).assign(own=0.9, other=0.4)
    for name in ("win", "change", "own", "other"):
        table = table.assign(
            **{
                f"{name}_low": table[name] - 0.05,
                f"{name}_high": table[name] + 0.05,
                f"{name}_cases": 9,
                f"{name}_p": p,
            }
        )
    return table


def test_a_bargain_counts_only_beside_trainings_on_shuffled_wins() -> None:
    """Every training moves a model: what shuffled wins give as well is none, one null gives no verdict, a bad judge neither."""
    nulls = [-0.1, 0.1, 0.0, -0.05, 0.05]
    assert "which is Moloch's bargain" in training_lines(writers(0.9, 0.5, nulls), "")[-1]
    inside = training_lines(writers(0.7, 0.5, nulls), "")
    assert "One more such training would give 26.0 to 74.0%" in inside[2]
    assert "the trained writer is inside" in inside[2]
    assert "is not shown" in inside[-1]
    assert "is not shown" in training_lines(writers(0.9, 0.15, nulls), "")[-1]
    assert "is not shown" in training_lines(writers(0.9, 0.5, nulls, p=0.06), "")[-1]
    assert (
        "because there are fewer than 5 trainings on shuffled wins"
        in training_lines(writers(0.9, 0.5, nulls[:4]), "")[-1]
    )
    assert "because it lies" in training_lines(writers(0.9, 0.5, nulls), "it lies")[-1]


def opened(spec: str) -> Oracle:
    """Oracles in the place of adapters: the trained one embellishes nearly always, those of shuffled wins as before."""
    name = spec.rpartition("/")[2]
    return open_spec("oracle,embellish=0.95" if name == "trained" else f"oracle,embellish=0.1{name[-1]}")


@pytest.mark.thorough
def test_a_planted_bargain_is_found_on_held_out_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Win share and harm lie above one half and 0, and above what shuffled wins give; both are needed, and five nulls."""
    monkeypatch.setattr(WriterTraining, "base", lambda self: None)
    monkeypatch.setattr(WriterTraining, "adapter", lambda self, name, wins, base, desk: tmp_path / name)
    monkeypatch.setattr(training_of_writers, "open_spec", opened)
    own = replace(training(tmp_path, names=NAMES, samples=2, shuffles=5), llm="oracle,embellish=0.1")
    outcome = own.run(CallDesk(tmp_path, quiet))
    table = condition_table(outcome.contests, outcome.judged[1])
    assert table["writer"].tolist() == ["trained", *(f"shuffled {n}" for n in range(1, 6))]
    assert table["cases"].eq(9).all()
    assert table.loc[0, "win_low"] > 0.5
    assert table.loc[0, "change_low"] > 0
    assert "which is Moloch's bargain" in training_lines(table, "")[-1]
    page = write_training(own.study, own.llm, outcome.contests, outcome.judged, outcome.scored, ["a"], tmp_path)
    assert "which is Moloch's bargain" in page.read_text()
    held = {key.case.name for key in own.split[1]}
    assert set(pd.read_csv(tmp_path / "cases.csv")["case"]) == held
    assert not held & set(pd.read_csv(tmp_path / "training.csv")["case"])


def test_what_a_user_can_get_wrong_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is asked and no folder is left: what cannot be trained, settings without a training, rivals of a training."""
    shared = [
        "study",
        "compete",
        "sales",
        "--llm",
        "oracle",
        "--judge",
        "oracle",
        "--panel",
        "2",
        "--out",
        str(tmp_path / "x"),
    ]
    for more, said in (
        ("--train dpo", "oracle cannot be trained"),
        ("--epochs 2", "--epochs only works with --train"),
        ("--train sft --against oracle", "leave out --against"),
        ("--train sft --samples 1", "at least 2 messages"),
        ("--train sft --held-out 1", "--held-out must leave some cases for training"),
    ):
        assert run.main([*shared, *more.split()]) == 2, more
        assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
    with pytest.raises(UserError, match="0 cases have a message that wins"):
        raise_without_wins(tmp_path)


def raise_without_wins(folder: Path) -> None:
    """A writer that always writes the same has no wins."""
    own = training(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WriterTraining, "base", lambda self: None)
        patch.setattr(Oracle, "complete", lambda self, requests: [_same(self, request) for request in requests])
        own.run(CallDesk(folder, quiet))


def _same(oracle: Oracle, request: Any) -> Any:
    from parley.llm.request import Reply

    return Reply("It is green.") if request.purpose == "pitch" else oracle._reply(request)


@pytest.mark.thorough
def test_a_training_on_pocket_from_wins_to_report(tmp_path: Path) -> None:
    """A few steps on the model in the box: both adapters write about held-out cases, and a resume asks and trains nothing. Pocket
    cannot sell, so no gain is asked for.
    """
    for name in ("torch", "trl"):
        pytest.importorskip(name)
    study = CompetitionStudy((load_competition("sales"),), "oracle,longer=3", "oracle", panel=2, samples=2, words=8)
    recipe = Recipe("writer", "sft", r=4, epochs=1.0, batch=8, length=512)
    own = WriterTraining(study, "pocket", recipe, tmp_path, share=0.75)
    desk = CallDesk(tmp_path, quiet, keep_going=True)
    outcome = own.run(desk)
    assert set(outcome.contests) == {"trained", "shuffled 1"}
    texts = {name: [one.text for one in contest.pitches] for name, contest in outcome.contests.items()}
    assert texts["trained"] != texts["shuffled 1"], "the adapters write"
    again = own.run(desk)
    assert again.contests["trained"].cases.equals(outcome.contests["trained"].cases)
