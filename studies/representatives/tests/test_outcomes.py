"""A representative trained on what its person gets: pairs, shuffles, the whole command, and a planted payoff that is found."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from synthetic import episodes

import run
from parley.analysis.deliberation.episode import write_episodes
from parley.llm.errors import UserError
from parley.studies.representatives.resimulation import Procedure

pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("trl", reason="the [local] extra is not installed")

import torch
from hf_models import save

from parley.analysis.journaled_calls import CallDesk
from parley.studies.representatives.outcome_report import findings, gain_table, likely_table
from parley.studies.representatives.outcomes import BEFORE, OutcomePlan, train_outcomes
from parley.studies.representatives.pipeline import DatasetBuilder, Lesson
from parley.training.tuning.preferences import TRAINED
from parley.training.tuning.recipe import DPO, Recipe

BAR = lambda title, total, unit="call": nullcontext(lambda steps: None)  # noqa: E731
EPISODES = episodes(14, size=2, each=1)
LESSON = Lesson(knows="", r=8, batch=8, micro=8, every=10, patience=3, epochs=2, rate=1e-3)
ECHO = '''
from dataclasses import dataclass
from parley.agents.mediators.base import Mediator, Statement

@dataclass(frozen=True)
class Echo(Mediator):
    """Says what the members wrote."""

    def calls(self, members):
        return 1

    def speak(self, brief, seed):
        return Statement(" ".join(filter(None, (member.critique for member in brief.members))) or "nothing")
        yield
'''
LONG = '''
"""What a statement is worth: its length."""
from parley.analysis.judging import Verdict

UNIT = "characters"
MOST = None

def score(episode, voice, statements, seed):
    return tuple(Verdict(float(len(one))) for one in statements)
    yield
'''


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny random Llama."""
    torch.set_num_threads(1)
    return f"hf:{save(tmp_path_factory.mktemp('models') / 'llama', 'llama')},dtype=float32"


def payoffs(effect: float, groups: int = 8) -> pd.DataFrame:
    """Payoffs of two people in each group, in which a trained representative is worth `effect` more than before."""
    rng, rows = np.random.default_rng(0), []
    regimes = {"true": 1.0, "one": 0.0, "one:trained": effect, "one:shuffled 1": 0.0, "mute": -1.0}
    regimes |= {"all": 0.0, "all:trained": effect / 2, "all:shuffled 1": 0.0, "mute_all": -1.0}
    for group in range(groups):
        for person in "ab":
            for regime, more in regimes.items():
                value = 4 + group / 10 + more + rng.normal(0, 0.1)
                rows.append((f"e{group}", f"s{group}", person, regime, 0, value, ""))
    return pd.DataFrame(rows, columns=["episode", "session", "participant", "regime", "number", "value", "reason"])


def likely(logp: float) -> dict[str, pd.DataFrame]:
    """Likelihoods of the critiques of eight people before and after."""
    rows = [(f"c{n}", f"p{n}", asked, -50.0 - n, 10, 40) for n in range(8) for asked in ("own", "stranger")]
    before = pd.DataFrame(rows, columns=["case", "participant", "asked", "logp", "tokens", "characters"])
    after = before.assign(logp=before["logp"] + logp + np.random.default_rng(1).normal(0, 0.1, len(before)))
    return {BEFORE: before, TRAINED: after}


def test_gains_by_hand() -> None:
    """A planted gain of 1 is found over groups, none is not; a person without a payoff before counts nowhere."""
    table = gain_table(payoffs(1.0), [BEFORE, TRAINED, "shuffled 1"]).set_index(["represented", "writer"])
    one = table.loc["one person", TRAINED]
    assert one["difference"] == pytest.approx(1, abs=0.1)
    assert one["difference_low"] > 0.8
    assert table.loc[("all people", TRAINED), "difference"] == pytest.approx(0.5, abs=0.1)
    assert table.loc[("one person", "no critique"), "difference"] == pytest.approx(-1, abs=0.1)
    assert table.loc[("one person", "the person's own critique"), "difference"] == pytest.approx(1, abs=0.1)
    nothing = gain_table(payoffs(0.0), [BEFORE, TRAINED, "shuffled 1"])
    said = list(findings(nothing, likely_table(likely(0.0))))
    assert said[0].startswith("It is not shown that the payoff changed")
    assert "because there are fewer than 5 trainings on shuffled preferences" in said[1]
    assert said[-2].startswith("It is not shown that the log-probability of the person's own critique changed")
    told = list(findings(gain_table(payoffs(1.0), [BEFORE, TRAINED, "shuffled 1"]), likely_table(likely(-3.0))))
    assert told[0].startswith("After the training the payoff is ")
    assert told[-2].startswith("After the training the log-probability of the person's own critique is 3.00 lower")
    lost = payoffs(1.0)
    lost.loc[(lost["episode"] == "e0") & (lost["regime"] == "one"), "value"] = np.nan
    fewer = gain_table(lost, [BEFORE, TRAINED, "shuffled 1"]).set_index(["represented", "writer"])
    assert fewer.loc[("one person", TRAINED), "groups"] == 7
    assert fewer.loc[("one person", BEFORE), "missing"] == 2


def test_few_groups_give_no_verdict() -> None:
    """With four groups there is a change, and no interval."""
    table = gain_table(payoffs(1.0, groups=4), [BEFORE, TRAINED, "shuffled 1"])
    assert "whether it changed is unknown, because there are fewer than 5 groups" in next(
        findings(table, likely_table(likely(0.0)))
    )


def test_many_groups_that_do_not_vary_are_not_few() -> None:
    """Sixteen groups in which nothing changes have no interval because they do not vary, and not because they are few."""
    table = gain_table(payoffs(0.0, groups=16).assign(value=4.0), [BEFORE, TRAINED, "shuffled 1"])
    assert "whether it changed is unknown, because nothing varies" in next(findings(table, likely_table(likely(0.0))))


@pytest.mark.thorough
def test_a_planted_payoff_is_found_and_shuffled_pairs_do_not_find_it(tmp_path: Path) -> None:
    """The mediator repeats critiques, and long statements are worth more: the trained representative writes longer critiques for
    other people on other questions, that of shuffled pairs does not, and what was done is not done again.
    """
    (tmp_path / "echo.py").write_text(ECHO, encoding="utf-8")
    (tmp_path / "long.py").write_text(LONG, encoding="utf-8")
    how = Procedure(mediator=str(tmp_path / "echo.py"), mediator_llm="fake", payoff=str(tmp_path / "long.py"), judge="fake",
                    repetitions=8)  # fmt: skip
    recipe = Recipe("outcomes", DPO, epochs=4, batch=8, rate=1e-3, length=1024)
    plan = OutcomePlan("pocket", LESSON, recipe, how, tries=4, shuffles=1)
    builder = DatasetBuilder(EPISODES, 0, tmp_path / "run", BAR)

    def desk_in(folder: Path) -> CallDesk:
        folder.mkdir(parents=True, exist_ok=True)
        return CallDesk(folder, BAR, True)

    outcome = train_outcomes(builder, plan, desk_in)
    gains = gain_table(outcome.payoffs, [BEFORE, *outcome.given]).set_index(["represented", "writer"])["difference"]
    assert gains["one person", TRAINED] > 3
    assert gains["one person", TRAINED] > gains["one person", "shuffled 1"] + 3
    turned = Counter(pair.margin > 0 for pair in outcome.given["shuffled 1"])
    assert abs(turned[True] - turned[False]) <= 1
    assert all(pair.margin > 0 for pair in outcome.given[TRAINED])
    weights = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    again = train_outcomes(builder, plan, desk_in)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")} == weights
    assert again.payoffs.equals(outcome.payoffs)


@pytest.mark.thorough
def test_the_command_writes_one_page(spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command as it is called; a scorer to which all statements are alike leaves no pairs, which is one line."""
    (tmp_path / "echo.py").write_text(ECHO, encoding="utf-8")
    (tmp_path / "long.py").write_text(LONG, encoding="utf-8")
    file = write_episodes(EPISODES, tmp_path / "e.jsonl")
    small = [
        "--batch",
        "8",
        "--every",
        "5",
        "--patience",
        "1",
        "--epochs",
        "1",
        "--rate",
        "0.005",
        "--r",
        "8",
        "--limit",
        "4",
    ]
    command = [
        "study",
        "representatives",
        "outcomes",
        str(file),
        "--llm",
        spec,
        *small,
        "--tries",
        "3",
        "--mediator-llm",
        "fake",
    ]
    command += ["--mediator", str(tmp_path / "echo.py"), "--judge", "fake", "--keep-going", "--dpo-rate", "0.001"]
    own = ["--payoff", str(tmp_path / "long.py"), "--out", str(tmp_path / "run")]
    assert run.main([*command, *own]) == 0
    page = next((tmp_path / "run").rglob("outcomes.md")).read_text(encoding="utf-8")
    for part in (
        "## In short",
        "## What people get",
        "all people",
        "no critique",
        "## Does the representative still write like the person?",
    ):
        assert part in page
    alike = (tmp_path / "long.py").read_text(encoding="utf-8").replace("float(len(one))", "4.0")
    (tmp_path / "alike.py").write_text(alike, encoding="utf-8")
    capsys.readouterr()
    assert run.main([*command, "--payoff", str(tmp_path / "alike.py"), "--out", str(tmp_path / "none")]) == 2
    assert "0 pairs of critiques differ in the payoff of their person (" in capsys.readouterr().err


def test_what_cannot_be_trained_is_one_line() -> None:
    """Before a model is loaded."""
    recipe = Recipe("outcomes", DPO)
    with pytest.raises(UserError, match="a pair needs at least 2 critiques"):
        OutcomePlan("pocket", LESSON, recipe, Procedure(), tries=1)
    with pytest.raises(UserError, match="set --r 1 or more"):
        OutcomePlan("pocket", Lesson(), recipe, Procedure())
    with pytest.raises(UserError, match="at most 26 statements per participant, not 30"):
        OutcomePlan("pocket", LESSON, recipe, Procedure(payoff="ranking", repetitions=5), tries=6)
