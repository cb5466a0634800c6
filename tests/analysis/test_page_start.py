"""What the server of the page starts and resumes: nothing without the answer to its question, and no folder that is no run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
from parley.analysis.qualify.before_run import qualified_run
from parley.analysis.qualify.kept import FILE
from parley.analysis.views import _branch, _form, _models, _plan, _runs
from parley.analysis.views._form import UNANSWERED, draft_of
from parley.analysis.views._header import bar_state
from parley.analysis.views._plan import Plan, plan_of
from parley.analysis.views._session import Draft, Session
from parley.llm.errors import UserError
from parley.model.files import PARTIAL, RECORD
from parley.model.interactive_run import InteractiveRun
from parley.model.run_registry import RunRegistry
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario

SMALL = {"topic": "racism", "repetitions": "1", "rounds": "1"}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRegistry:
    made = RunRegistry(tmp_path / "runs")
    for module in (_form, _branch, _runs):
        monkeypatch.setattr(module, "registry", lambda: made)
    return made


def asking(plan: Plan) -> Plan:
    """The plan, with no known price: it asks before it starts."""
    return replace(plan, cost=None)


def test_the_server_starts_no_run_whose_question_was_not_answered(runs: RunRegistry) -> None:
    """The question was asked only by the browser: whatever drove the websocket sent `start`, and 11 calls went out."""
    draft, session, went = replace(draft_of("three_way", SMALL), paused=True), Session(), list[str]()
    plan = asking(plan_of(draft))
    before = session.version
    for answered in ("", "yes", plan.question.replace("Start", "start")):
        _form.start(session, draft, plan, went.append, answered)
        assert (session.error, runs.live, went) == (UNANSWERED, [], [])
    assert session.version != before, "the reader sees why"
    _form.start(session, draft, plan, went.append, plan.question)
    assert len(runs.live) == len(went) == 1


def test_the_server_starts_no_branch_whose_question_was_not_answered(
    runs: RunRegistry, small: Callable[..., Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_branch, "ROOT", runs.root)
    scenario = small(rounds=2, repetitions=1)
    run_scenario(RunSpec(scenario, runs.root / "a", ("topic", "repetitions", "rounds", "llm")))
    draft = replace(_branch.first_draft(runs.root / "a", 2, 2), rounds=3, paused=True)
    plan, session, went = _branch.planned(draft), Session(), list[str]()
    assert plan.branch
    plan = replace(plan, shown=asking(plan.shown))
    _branch._start(session, plan, draft, went.append, "")
    assert (session.error, runs.live, went) == (UNANSWERED, [], [])
    _branch._start(session, plan, draft, went.append, plan.shown.question)
    assert len(runs.live) == len(went) == 1


def test_a_folder_that_is_no_run_has_no_resume_button(runs: RunRegistry, small: Callable[..., Scenario]) -> None:
    """A folder that does not exist, and one with anything else in it, offered to go on with a run that never was."""
    (runs.root / "empty").mkdir(parents=True)
    (runs.root / "wrong").mkdir()
    (runs.root / "wrong" / PARTIAL).write_text("no record\n")
    for name in ("nowhere", "empty", "wrong"):
        session = Session()
        session.open(str(runs.root / name))
        assert session.error or not session.is_run
        assert not bar_state(session)["run"], name
    run_scenario(RunSpec(small(), runs.root / "a", ()))
    (runs.root / "half").mkdir()
    lines = (runs.root / "a" / RECORD).read_text().splitlines(keepends=True)
    (runs.root / "half" / PARTIAL).write_text("".join(lines[:-1]))
    session = Session()
    session.open(str(runs.root / "half"))
    assert bar_state(session)["run"] == ("Resume",)


def test_a_run_of_a_stranger_is_not_resumed_with_its_own_server(
    runs: RunRegistry, small: Callable[..., Scenario]
) -> None:
    """One click on Resume sent a key to the server that the header names."""
    run_scenario(RunSpec(small(), runs.root / "a", ("llm",)))
    text = (runs.root / "a" / RECORD).read_text().split("\n")
    evil = text[0].replace('"llm": "oracle"', '"llm": "openai:m,base_url=http://127.0.0.1:9/v1,key=HOME"')
    evil = evil.replace('"llm":"oracle"', '"llm":"openai:m,base_url=http://127.0.0.1:9/v1,key=HOME"')
    assert evil != text[0]
    (runs.root / "a" / RECORD).unlink()
    (runs.root / "a" / PARTIAL).write_text("\n".join([evil, *text[1:-2], ""]))
    with pytest.raises(UserError, match=r"names the server 127\.0\.0\.1:9 and the key HOME"):
        _runs.resume(runs.root / "a")
    assert runs.live == []


def test_a_new_model_is_checked_before_its_first_run_unless_the_user_says_no(
    new_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run.py` checked it, and the page did not: its report could not say whether the ratings mean anything."""
    monkeypatch.setattr(_plan, "check_named", lambda values, source: None)  # the model is a file of the test
    made = RunRegistry(tmp_path / "runs", check=qualified_run)
    monkeypatch.setattr(_form, "registry", lambda: made)
    draft, session, went = draft_of("two_way", SMALL | {"llm": new_model}), Session(), list[str]()

    def held(draft: Draft) -> Path:
        _form.start(session, draft, plan_of(draft), went.append)
        run = made._runs[Path(went[-1].removeprefix("?run=")).resolve()]
        run.join(60)
        assert (run.phase, run.error) == ("done", "")
        return run.folder

    monkeypatch.setattr(InteractiveRun, "_after_end", lambda run, model: None)  # it would wait for questions
    unchecked = replace(draft, checked=False)
    offered, left_out = plan_of(draft), plan_of(unchecked)
    assert offered.check == left_out.check == "84 questions, time not known yet"
    assert offered.calls == left_out.calls + 84
    assert not (held(unchecked) / FILE).exists()
    folder = held(draft)
    assert (folder / FILE).exists()
    assert made._runs[folder.resolve()].calls == offered.calls
    assert plan_of(draft).check == "", "the result is kept"


def test_a_model_that_is_not_entered_yet_is_no_problem() -> None:
    """The form was red before anything was typed."""
    for llm, word in (("openai", "address"), ("gguf", "file"), ("hf", "folder"), ("", "model")):
        plan = plan_of(Draft("two_way", {"llm": llm}))
        assert (plan.problem, plan.scenario) == ("", None), llm
        assert word in plan.missing
    plan = plan_of(Draft("two_way", {"llm": "openai:m,base_url=http://127.0.0.1:8/v1"}))
    assert plan.missing == ""
    assert "names the server 127.0.0.1:8: to allow it, start the page again with --trust 127.0.0.1:8 (" in plan.problem


@pytest.mark.parametrize("models", [["one"], ["one", "two"]])
def test_the_only_model_of_a_server_is_chosen(monkeypatch: pytest.MonkeyPatch, models: list[str]) -> None:
    """A good test ended with `Choose one.`, and an error."""
    monkeypatch.setattr(_models, "check_named", lambda values, source: None)
    monkeypatch.setattr("parley.llm.backends.openai.model_list.list_models", lambda url, key: models)
    monkeypatch.setattr(_models, "open_spec", lambda spec: SimpleNamespace(says=spec))
    picked = _models.picked_of("openai,base_url=http://127.0.0.1:8/v1")
    said = _models.check_server(picked)
    assert said["server"] == _models.server_of(picked)
    assert said.get("only", "") == ("one" if len(models) == 1 else "")
    assert said.get("says", "") == ("openai:one,base_url=http://127.0.0.1:8/v1" if len(models) == 1 else "")
