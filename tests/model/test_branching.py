"""Branches: the earlier rounds come from the journal of the parent, and what would reach back is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from data_checks import check_each
from standins import opinionated

from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.journal import query
from parley.model.branching import plan_branch, scenario_of
from parley.model.events import Header, Intervened
from parley.model.files import JOURNAL, PARTIAL, RECORD
from parley.model.recorder import read_lines, to_line
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("killed_branch.py")
WORD = "message by=Ann text='Think of the cost.'"


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three rounds by the oracle, two rooms: 42 calls."""
    from parley.model.scenario import load_preset

    folder = tmp_path_factory.mktemp("runs") / "a"
    settings = {"topic": "racism", "repetitions": 2, "rounds": 3, "llm": "oracle"}
    run_scenario(RunSpec(load_preset("three_way", settings), folder, tuple(settings)))
    return folder


def lines(folder: Path, before: int = 99) -> list[str]:
    """The record without its header, up to a round."""
    events = list(read_lines(folder / RECORD))[1:]
    return [to_line(event) for event in events if getattr(event, "round", 0) < before]


def header(folder: Path) -> Header:
    found = next(read_lines(folder / RECORD))
    assert isinstance(found, Header)
    return found


def nobody(*_: object) -> str:
    return pytest.fail("a model was asked")


def test_a_branch_with_nothing_changed_is_its_parent(parent: Path, tmp_path: Path) -> None:
    """The null: not one call, and the same bytes after the header."""
    plan = plan_branch(parent, 2, tmp_path / "b")
    assert (plan.changes, plan.cost.calls) == ((), 0)
    outcome = run_scenario(plan.spec)
    assert (outcome.asked, outcome.cost) == (0, 0)
    assert lines(tmp_path / "b") == lines(parent)


def test_what_changes_holds_from_its_round_on_and_only_that_is_asked(parent: Path, tmp_path: Path) -> None:
    """Before the round all is shared; the plan counts the calls that are then made; the header says where it comes from."""
    plan = plan_branch(parent, 3, tmp_path / "b", {"temperature": "0.2", "llm": "oracle,kappa=0"}, [WORD])
    assert plan.changes == (
        "speech round=3 temperature=0.2",
        "model round=3 llm=oracle,kappa=0",
        "message round=3 by=Ann 'text=Think of the cost.'",
    )
    outcome = run_scenario(plan.spec)
    assert outcome.asked == plan.cost.calls == 12
    assert lines(tmp_path / "b", 3)[:-1] == lines(parent, 3)[:-1], "but for the last line, which counts events"
    acts = [event for event in read_lines(tmp_path / "b" / RECORD) if isinstance(event, Intervened)]
    assert {event.what for event in acts} == {"speech", "model", "message"}
    assert {event.round for event in acts} == {3}
    branch = header(tmp_path / "b").branch
    where = os.path.relpath(parent, tmp_path / "b")
    assert (branch["parent"], branch["round"], list(branch["models"])) == (where, 3, ["oracle,kappa=0"])
    assert header(tmp_path / "b").model == header(parent).model, "or the journal would not know its replies"


def test_a_branch_of_a_branch_and_more_rounds(parent: Path, tmp_path: Path) -> None:
    """A finished run goes on where its last round ended; the branch of a branch keeps the model that joined."""
    one, two = tmp_path / "one", tmp_path / "two"
    run_scenario(plan_branch(parent, 3, one, {"llm": "oracle,kappa=0"}).spec)
    plan = plan_branch(one, 4, two, {"rounds": 4})
    assert run_scenario(plan.spec).asked == plan.cost.calls == 12
    assert lines(two, 4)[:-1] == lines(one)[:-1], "but for the last line, which counts rounds"
    assert list(header(two).branch["models"]) == ["oracle,kappa=0"]
    assert header(two).branch["parent"] == "../one"


@check_each(
    "round_, settings, interventions, why",
    [
        (
            2,
            {"memory": "last:2"},
            [],
            "memory cannot change in the middle of a run.*A branch can only change interventions",
        ),
        (2, {"words": 20}, [], "the prompt with which each agent began states it"),
        (2, {"seed": 3}, [], "it decides who meets in which room"),
        (2, {"survey": "ends"}, [], "could not be compared"),
        (4, {}, [], "a round between 1 and 3, not with round 4; to go on after the last round, add --rounds 4"),
        (0, {}, [], "between 1 and 3, not with round 0"),
        (3, {}, ["mute round=2"], "mute before round 2 would change rounds that the branch shares"),
        (3, {}, ["join round=3 to=default"], "the rounds before round 3 would differ"),
        (3, {"llm": "nosuch"}, [], "unknown model"),
        (3, {"temperature": "warm"}, [], "temperature is 'warm', but must be a number"),
        (3, {"llms": ("30%=oracle",)}, [], "write --intervene 'model round=3 share=0.3 llm=oracle'"),
    ],
)
def test_what_would_reach_back_is_refused_in_a_line(
    parent: Path, tmp_path: Path, round_: int, settings: dict[str, Any], interventions: list[str], why: str
) -> None:
    with pytest.raises(UserError, match=why) as caught:
        plan_branch(parent, round_, tmp_path / "b", settings, interventions)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "b").exists()


def test_planned_interventions_stay_unless_dropped(parent: Path, tmp_path: Path) -> None:
    run_scenario(plan_branch(parent, 2, tmp_path / "b", {}, ["mute round=3 to=default"]).spec)
    kept = plan_branch(tmp_path / "b", 3, tmp_path / "c", {}, [WORD]).spec.scenario
    dropped = plan_branch(tmp_path / "b", 3, tmp_path / "c", {}, ["", WORD])
    assert [one.kind for one in kept.interventions] == ["mute", "message"]
    assert [one.kind for one in dropped.spec.scenario.interventions] == ["message"]
    assert dropped.changes[-1] == "without mute round=3 to=default"


def test_an_unfinished_run_branches_up_to_its_last_finished_round(
    small: Callable[..., Scenario], tmp_path: Path
) -> None:
    """30 calls are the first survey and two rounds: a branch can begin with round 3. With one call less it is round 2.

    5 calls are not even the first survey, so that no round can begin a branch, and the message must not offer one.
    """
    early = "has not finished its first survey, so a branch cannot share anything with it: resume this run first"
    for calls, last in ((30, 3), (29, 2), (5, 0)):
        folder = tmp_path / str(calls)
        spec = RunSpec(small(rounds=4), folder, budget=Budget(calls=calls))
        assert run_scenario(spec, backend=Fake(opinionated)).stopped
        assert (folder / PARTIAL).exists()
        with pytest.raises(UserError, match=f"so a branch can begin with round {last} or earlier" if last else early):
            plan_branch(folder, last + 1, tmp_path / "b")
        if calls > 5:
            plan = plan_branch(folder, last, tmp_path / f"b{calls}", {}, [f"{WORD} to=default"])
            run_scenario(plan.spec, backend=Fake(opinionated))
            assert (tmp_path / f"b{calls}" / RECORD).exists()


def test_limits_count_the_calls_of_the_branch_alone(parent: Path, tmp_path: Path) -> None:
    plan = plan_branch(parent, 3, tmp_path / "b", {}, [WORD])
    assert run_scenario(plan.with_budget(Budget(calls=12))).stopped is None
    again = plan_branch(parent, 3, tmp_path / "c", {}, [WORD])
    assert run_scenario(again.with_budget(Budget(calls=11))).stopped
    resumed = plan_branch(parent, 3, tmp_path / "c", {}, [WORD])
    assert resumed.cost.calls < plan.cost.calls, "what the branch has asked itself is known"
    assert run_scenario(resumed.with_budget(Budget(calls=12))).stopped is None
    assert lines(tmp_path / "b") == lines(tmp_path / "c")


def test_another_model_under_the_same_name_is_refused(parent: Path, tmp_path: Path) -> None:
    """A server whose model has changed would answer the earlier rounds anew: the branch says so before it asks."""
    plan = plan_branch(parent, 2, tmp_path / "b", {"temperature": 0.2})
    with pytest.raises(UserError, match="was run with another model"):
        run_scenario(plan.spec, backend=Fake(nobody))


def test_the_scenario_of_a_header_is_the_scenario(parent: Path) -> None:
    fields = json.loads(to_line(header(parent)))["scenario"]
    assert scenario_of(header(parent), parent).to_dict() == fields


def test_a_branch_of_a_branch_changes_a_setting_back(parent: Path, tmp_path: Path) -> None:
    """What an earlier branch set is in force: the value of the first run is a change too, and so is its model."""
    cool, warm = tmp_path / "cool", tmp_path / "warm"
    run_scenario(plan_branch(parent, 2, cool, {"temperature": "0.5", "llm": "oracle,kappa=0"}).spec)
    plan = plan_branch(cool, 3, warm, {"temperature": "1", "llm": "oracle"})
    last = {type(one).__name__: one for one in plan.spec.scenario.interventions if one.round == 3}
    assert (last["Speech"].temperature, last["Model"].llm) == (1.0, "oracle")  # type: ignore[attr-defined]


def test_a_text_with_the_word_round_needs_no_round(parent: Path, tmp_path: Path) -> None:
    """`round=` within a quoted text is no option."""
    plan = plan_branch(parent, 2, tmp_path / "b", {}, ["message by=Ann text='We spoke of round=3 yesterday.'"])
    assert [one.round for one in plan.spec.scenario.interventions] == [2]


def launch(parent: Path, folder: Path, count: int = 0) -> int:
    """Run killed_branch.py in a process of its own; the exit status."""
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT), str(ROOT / "tests")]))
    command = [sys.executable, str(SCRIPT), str(parent), str(folder), f"{folder}.log", str(count)]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, check=False, timeout=120).returncode


@pytest.mark.thorough
def test_a_killed_branch_goes_on_and_asks_nothing_twice(small: Callable[..., Scenario], tmp_path: Path) -> None:
    """kill -9 in the branch, the same command again: the record of an undisturbed branch, and each call once."""
    parent, killed, calm = tmp_path / "a", tmp_path / "killed", tmp_path / "calm"
    run_scenario(RunSpec(small(rounds=3), parent), backend=Fake(opinionated))
    assert launch(parent, calm) == 0
    assert launch(parent, killed, 9) == -signal.SIGKILL
    before, first = journaled(killed), Path(f"{killed}.log").read_text().split()
    assert journaled(parent) < before, "the journal of the parent, and replies of the branch"
    assert launch(parent, killed) == 0
    assert (killed / RECORD).read_bytes() == (calm / RECORD).read_bytes()
    again = Path(f"{killed}.log").read_text().split()[len(first) :]
    assert len(set(again)) == len(again) == len(journaled(killed) - before)


def journaled(folder: Path) -> set[bytes]:
    """The keys of all replies that the journal of a run has."""
    return {key for (key,) in query(folder / JOURNAL, "SELECT key FROM outcomes")}
