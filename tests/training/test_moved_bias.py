"""What fine-tuning does to the model in the box: the orderings of Taubenfeld et al. 2024, over three training seeds.

An hour and a half on one core, so left out unless asked for: `python -m pytest -m nightly tests/training/test_moved_bias.py`.
With PARLEY_KEPT=FOLDER it works in that folder, and goes on with what is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import pytest

torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("trl", reason="the [local] extra is not installed")
pytest.importorskip("lm_eval", reason="the [eval] extra is not installed")

from parley.agents.society import DEFAULT, load_society  # noqa: E402
from parley.agents.topic import topic_names  # noqa: E402
from parley.analysis.commands.runs import hold_all  # noqa: E402
from parley.analysis.studies.fine_tuned import fine_tuned  # noqa: E402
from parley.llm.backends.pocket import WEIGHTS  # noqa: E402
from parley.model.scenario import load_preset  # noqa: E402
from parley.training.capability.measure import Capability, measure  # noqa: E402
from parley.training.commands.tuning import arms  # noqa: E402
from parley.training.tuning.pipeline import Pipeline, TuningPlan  # noqa: E402
from parley.training.tuning.recipe import DPO, SFT, Recipe, seated_parties  # noqa: E402

PARTIES = load_society().debaters
pytestmark = pytest.mark.nightly
SEEDS, RANKS = (0, 1, 2), (2, 16, 32)
TOPICS = tuple(topic_names())
DEBATES = {"topic": ",".join(TOPICS), "repetitions": 20}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(os.environ.get("PARLEY_KEPT") or tmp_path_factory.mktemp("kept"))


@pytest.fixture(scope="module")
def pipelines(kept: Path) -> list[Pipeline]:
    """SFT of both parties and DPO of Republicans, a folder for each training seed."""
    torch.set_num_threads(1)
    found = []
    for seed in SEEDS:
        pipeline = Pipeline(TuningPlan(seed=seed), kept / f"seed-{seed}", lambda *_: nullcontext(lambda steps: None))
        for party in PARTIES:
            pipeline.adapter(Recipe(party, SFT, seed=seed))
        pipeline.adapter(Recipe("republican", DPO, seed=seed))
        found.append(pipeline)
    return found


@pytest.fixture(scope="module")
def shifts(pipelines: list[Pipeline], kept: Path) -> dict[str, pd.DataFrame]:
    """Paired shifts by method: after minus before, within rooms."""
    base, folders = load_preset("fine_tuned").with_settings(DEBATES), [one.folder for one in pipelines]
    found = {}
    for method in (SFT, DPO):
        planned, out = arms(folders, method, 16, None, seated_parties(base)), kept / f"debates-{method}"
        study = hold_all(fine_tuned(base, planned), [arm.name for arm in planned], out, tuple(DEBATES))
        found[method] = study.shifts
    return found


def toward(shifts: pd.DataFrame, direction: str, party: str, measure: str) -> pd.DataFrame:
    """Shift by topic, positive on the side of the direction's party, and whether every training went there."""
    rows = shifts[
        (shifts["direction"] == direction) & (shifts["party"] == party) & (shifts["measure"] == measure)
    ].set_index("topic")
    agreed = [
        all(one * wanted > 0 for one in seeds) for seeds, wanted in zip(rows["seeds"], rows["wanted"], strict=True)
    ]
    signed = pd.DataFrame({"shift": rows["shift"] * rows["wanted"], "all": agreed}, index=rows.index)
    assert list(signed.index) == list(TOPICS)
    return signed


@pytest.mark.parametrize(("measure", "topics"), [("first expected", 6), ("last expected", 7), ("speech", 5)])
def test_republican_fine_tuning_moves_the_default(shifts: dict[str, pd.DataFrame], measure: str, topics: int) -> None:
    """Down on climate change, guns, racism, up on the others: its expected ratings, and what it says, with each training.

    Three trainings have no interval, so the criterion is that all of them agree in direction; the first expected rating on
    immigration moves by so little that one may differ. The rating at temperature 0 is another matter: see docs/tuning.md.
    """
    moved = toward(shifts[SFT], "republican", DEFAULT, measure)
    assert (moved["shift"] > 0).sum() >= topics
    assert moved["all"].sum() >= topics - 1


def test_no_interval_is_given_of_three_trainings(shifts: dict[str, pd.DataFrame]) -> None:
    """Rooms that ask one identical prompt gave intervals without width, and all of them counted as sure."""
    assert shifts[SFT]["shift_low"].isna().all()


def test_democrat_fine_tuning_moves_it_the_other_way_or_not(shifts: dict[str, pd.DataFrame]) -> None:
    """Where the Default is near the Democrats already there is little left to move."""
    assert (toward(shifts[SFT], "democrat", DEFAULT, "first expected")["shift"] > -0.3).all()


def test_dpo_moves_the_default_at_least_as_far(shifts: dict[str, pd.DataFrame]) -> None:
    """It goes on from the SFT adapter of the same rank."""
    sft, dpo = (toward(shifts[method], "republican", DEFAULT, "first expected")["shift"] for method in (SFT, DPO))
    assert dpo.mean() > sft.mean()


@pytest.mark.parametrize("party", PARTIES)
def test_partisans_follow_the_new_bias(shifts: dict[str, pd.DataFrame], party: str) -> None:
    """At the end of debates in which all seats speak through the Republican adapter."""
    assert toward(shifts[SFT], "republican", party, "last expected")["shift"].mean() > 0


@pytest.fixture(scope="module")
def capability() -> Callable[[str], Capability]:
    return lambda adapter: measure(str(WEIGHTS / "pocket"), adapter)


def test_capability_falls_as_the_rank_grows(pipelines: list[Pipeline], capability: Callable[[str], Capability]) -> None:
    """Held-out loss, mean over training seeds: more than without an adapter, and more at a high rank than at a low one."""
    losses = {
        rank: sum(
            capability(str(one.adapter(Recipe("republican", SFT, r=rank, seed=one.plan.seed)))).loss
            for one in pipelines
        )
        / len(pipelines)
        for rank in RANKS
    }
    assert capability("").loss < losses[RANKS[0]] < losses[RANKS[-1]]
