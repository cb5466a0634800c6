"""An audit that the page starts: its plan, its process, and what a form in a folder of a stranger may not do."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
import solara

from parley.analysis.result_folders import kind_of, list_results
from parley.analysis.views import _comparison, _measure, _run_table, _runs
from parley.analysis.views._measure import (
    FORM,
    AuditDraft,
    audit_of,
    kept_draft,
    plan_of,
    rows_of,
    spent_of,
    start,
    wanted_audit,
)
from parley.analysis.views._next_steps import MEASURE, audit_place
from parley.llm import trust
from parley.llm.budget import Budget, Ledger
from parley.llm.errors import UserError
from parley.model import command_process
from parley.model.command_process import CommandProcess
from parley.model.files import JOURNAL

DRAFT = AuditDraft("oracle", topic="racism")
WAIT = 120
OWN = "Should cities ban cars, and vans, from their centres?"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of runs, and the closed gate of a page that was started without further names."""
    for module in (_measure, _runs):
        monkeypatch.setattr(module, "ROOT", tmp_path / "runs")
    with trust.typed(["--ui"]):
        yield tmp_path / "runs"


def test_the_plan_is_that_of_the_command() -> None:
    """`run.py audit --dry-run` counts the same calls."""
    plan = plan_of(DRAFT)
    assert (plan.problem, plan.calls, plan.cost) == ("", 1340, 0)
    assert plan.text.startswith("1 topic, 5 groups of people, 1,340 replies, ")
    assert "topic" in plan_of(replace(DRAFT, topic="nothing")).problem


def test_an_audit_takes_the_topic_of_the_run_that_it_begins_at() -> None:
    """The form measured the model on another topic than the one that the user had debated."""
    run = {"llm": "oracle,kappa=0", "topic": [OWN, "racism"], "society": "us"}
    draft = wanted_audit(audit_place(run).removeprefix("?"))
    assert (draft.llm, draft.topic) == ("oracle,kappa=0", OWN)
    assert f"--topic={OWN}" in draft.words
    plan = plan_of(draft)
    assert (plan.problem, plan.text.startswith("1 topic, 5 groups of people, ")) == ("", True)
    topic = rows_of(draft)[1]
    assert topic["own"][0]["asked"] == f'How much do you agree that the answer to "{OWN}" is yes?'
    assert OWN in dict(topic["choices"])
    elsewhere = {**run, "topic": ["brexit"], "society": "uk"}
    assert wanted_audit(audit_place(elsewhere).removeprefix("?")).topic in dict(topic["choices"])


@pytest.mark.parametrize("topic", ["", "nothing", "./evil.toml", "racism,abortion", "Is it?,/etc/evil.toml x?"])
def test_an_audit_takes_one_topic_and_no_file(topic: str) -> None:
    assert plan_of(replace(DRAFT, topic=topic)).problem
    assert not rows_of(replace(DRAFT, topic=topic))[1]["own"]
    assert wanted_audit(f"audit=oracle&topic={topic}").topic != topic


@pytest.mark.parametrize(("limit", "budget"), [("most_calls", Budget(calls=7)), ("most_cost", Budget(cost=0.5))])
def test_an_audit_whose_limit_is_spent_says_so_and_goes_on_with_twice_the_limit(
    limit: str, budget: Budget, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had a card of what was finished, so it looked done: there was no Resume."""
    begun: list[list[str]] = []
    monkeypatch.setattr(_measure, "CommandProcess", lambda words, folder, withheld: begun.append(words))
    folder, ledger = root / "audit", Ledger(budget)
    draft = replace(DRAFT, most_calls=7 if budget.calls else None, most_cost=budget.cost)
    start(draft, folder)
    assert spent_of(folder) is None
    ledger.spend(7, 90, 0.6)
    (folder / command_process.LOG).write_text(f"folder   x\nrun.py: {ledger.describe()}\n")
    assert spent_of(folder) == (limit, "7 calls, 90 tokens, cost $0.60")
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(_measure, "Start", lambda **given: shown.append(given))
    _, context = solara.render(_measure.Progress(folder, unfinished=False), handle_error=False)
    context.close()
    state = json.loads(shown[0]["state"])
    assert state["plan"].startswith(
        "The audit stopped at its limit, after 7 calls, 90 tokens, cost $0.60. Every reply is saved"
    )
    assert (state["label"], state[limit]) == ("Resume", 14 if budget.calls else 1.0)
    shown[0]["event_start"]("")
    assert begun[-1] == replace(draft, **{limit: state[limit]}).words


@pytest.mark.parametrize(
    "llm", ["openai:m,base_url=http://evil.example/v1", "./evil.py:Evil", "hf:org/model,key=AWS_SECRET"]
)
def test_a_form_names_no_server_no_key_and_no_code(llm: str, root: Path) -> None:
    """The words of a command are trusted, so the page must not write what nobody has named into them."""
    draft = replace(DRAFT, llm=llm)
    assert plan_of(draft).problem
    with pytest.raises(UserError):
        start(draft)
    assert not root.exists()


def test_a_server_that_is_trusted_without_a_key_gets_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command itself would send the key of the OpenAI API to an address in its own words."""
    withheld: list[set[str]] = []
    monkeypatch.setattr(_measure, "CommandProcess", lambda words, folder, without: withheld.append(without))
    trust.trust("127.0.0.1:11434")
    start(replace(DRAFT, llm="openai:m,base_url=http://127.0.0.1:11434/v1"))
    assert withheld == [{"OPENAI_API_KEY"}]


@pytest.mark.thorough
def test_an_audit_is_stopped_resumed_and_opened_at_its_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked twice, and it is one row all the time."""
    short = [*DRAFT.words[:2], "--topic", "racism", "--sections", "bias", "--blocks", "2", "--set", "rounds=1"]
    monkeypatch.setattr(AuditDraft, "words", short)
    folder = start(replace(DRAFT, calls=120))
    audit = audit_of(folder)
    assert audit
    audit.stop()
    audit.wait(WAIT)
    assert (audit.running, audit.problem) == (False, "")
    kept = kept_draft(folder)
    assert kept == replace(DRAFT, calls=120)
    again = audit_of(start(kept, folder))
    assert again
    again.wait(WAIT)
    assert (again.problem, again.replies) == ("", 120)
    assert (folder / "card.html").exists()
    (row,) = list_results(root).studies
    listed = _run_table.study_row_of(row)
    assert (listed["kind"], listed["state"], listed["comparable"], listed["removable"]) == (
        "bias card",
        "done",
        True,
        True,
    )
    assert list_results(root).runs == []
    assert [label for label, _ in listed["steps"]] == ["Open", "Compare with another", MEASURE]
    assert listed["steps"][-1][1] == "?audit=oracle&topic=racism"


@pytest.mark.thorough
def test_an_audit_that_fails_says_why(root: Path) -> None:
    audit = CommandProcess(["audit", "--llm", "oracle", "--topic", "nothing"], root / "audit")
    audit.wait(WAIT)
    assert "nothing" in audit.problem


def test_an_unfinished_audit_of_a_command_has_no_resume(root: Path) -> None:
    (root / "audit").mkdir(parents=True)
    (root / "audit" / "audit.json").write_text("{}")
    kind = kind_of(root / "audit")
    assert kind
    assert kind.noun == "bias card"
    assert kept_draft(root / "audit") is None
    for text in (
        "[]",
        "{}",
        json.dumps({**vars(DRAFT), "llm": 7}),
        json.dumps({**vars(DRAFT), "calls": -1}),
        "[" * 9_000,
    ):
        (root / "audit" / FORM).write_text(text)
        assert kept_draft(root / "audit") is None, text[:20]


def test_a_card_and_a_run_are_not_compared(root: Path) -> None:
    for name, mark in (("card", "card.json"), ("sweep", "sweep.json"), ("run", JOURNAL)):
        (root / name).mkdir(parents=True)
        (root / name / mark).write_text("{}")
    card, sweep, run = (str(root / name) for name in ("card", "sweep", "run"))
    assert "is a bias card and" in _comparison.mixed([run, card])
    assert "is a sweep" in _comparison.mixed([card, sweep])
    assert _comparison.mixed([card, card]) == _comparison.mixed([run, run]) == ""


def test_the_process_runs_the_code_of_this_checkout() -> None:
    program = command_process._program()
    assert program[0] == sys.executable
    assert os.path.samefile(program[1], Path(__file__).parents[2] / "run.py")


def test_whether_a_model_plays_people_is_said_before_its_first_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was said only in the report after the run."""
    from parley.agents.society import US
    from parley.analysis.qualify import kept
    from parley.analysis.qualify.verdict import IGNORES, WayVerdict
    from parley.analysis.views._models import plays_people

    spec = "openai:m,base_url=http://127.0.0.1:11434/v1"
    assert plays_people("oracle") == plays_people("openai:m,base_url=http://evil.example/v1") == ""
    trust.trust("127.0.0.1:11434")
    monkeypatch.setattr(kept, "user_cache", lambda: tmp_path)
    assert plays_people(spec).endswith("Its first run or audit asks 84 questions first.")
    verdict = WayVerdict("numbers", IGNORES, 32, 0, 48, 0.5, ends=0.2, p=0.5)
    kept.Qualification((verdict,), 3, short=True).write(kept.kept_path(kept.spec_identity(spec), US))
    assert plays_people(spec).startswith("It is not clear whether the ratings of this model depend on who it plays.")
