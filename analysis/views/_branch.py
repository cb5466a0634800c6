"""The form of a branch: from which round of a run, what changes, what it costs, and the button that starts it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import solara
import solara.lab

from parley.agents.society import PartyNames
from parley.analysis.branches import branch_folder
from parley.analysis.formatting import count_phrase
from parley.analysis.serving.own_files import check_named
from parley.analysis.tables import Tables, load
from parley.analysis.views._address import named_in, place_of
from parley.analysis.views._form import UNANSWERED, Start, limits_of
from parley.analysis.views._html import element
from parley.analysis.views._intervene import InterventionFields, rooms_of_debates
from parley.analysis.views._models import ModelPicker
from parley.analysis.views._plan import Plan, model_problem, priced
from parley.analysis.views._runs import ROOT, registry
from parley.analysis.views._session import Session
from parley.analysis.views._timetable import changes_in_words, in_words
from parley.analysis.views._tree import BranchTree
from parley.analysis.views._words import run_title
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.prices import PriceList
from parley.model.branching import BranchPlan, plan_branch, scenario_of
from parley.model.interventions import parse_intervention
from parley.model.run_listing import read_progress, saved_prices

UNCHANGED = "Choose a change first: other rounds, another temperature, an intervention or another model."


@dataclass(frozen=True)
class BranchDraft:
    """The form of a branch. rounds, temperature, llm: None where they stay as in the parent."""

    folder: Path
    out: Path
    round: int
    rounds: int | None = None
    temperature: str | None = None
    llm: str | None = None
    interventions: tuple[Mapping[str, Any], ...] = ()
    price: tuple[float, float] | None = None
    most_calls: int | None = None
    most_cost: float | None = None
    paused: bool = False


@dataclass(frozen=True, eq=False)
class Planned:
    """The plan of a branch: how the page shows it, what it runs, and its changes in words."""

    shown: Plan
    branch: BranchPlan | None = None
    changes: tuple[str, ...] = ()


@solara.component_vue("branch.vue")
def Settings(state: str, event_put: Callable[[dict], None], event_drop: Callable[[int], None]) -> None:
    """state: JSON of the rounds, the temperature, and the interventions in words."""


@solara.component
def NewBranch(session: Session, search: str, go: Callable[[str], None]) -> None:
    """The place `/?branch=runs/a`."""
    folder = Path(named_in(search, "branch")[0])
    parent = solara.use_memo(lambda: _parent(folder), [str(folder)])
    element("h1", "New branch")
    if isinstance(parent, str):
        element("p", element("bdi", parent), css="wrong", role="alert")
    else:
        BranchForm(session, folder, parent, go)


@solara.component
def BranchForm(session: Session, folder: Path, parent: Tables, go: Callable[[str], None]) -> None:
    """The form, its plan, and the button that starts. go opens a place of the page."""
    scenario, last = parent.header.scenario, read_progress(folder)[1]
    first = solara.use_memo(lambda: first_draft(folder, last, int(scenario["rounds"])), [str(folder)])
    draft = solara.use_reactive(first)
    mine = draft.value

    def change(**values: Any) -> None:
        draft.set(replace(draft.peek(), **values))

    key = [mine.round, mine.rounds, mine.temperature, mine.llm, json.dumps(mine.interventions), mine.price]
    task = solara.lab.use_task(lambda: planned(mine), dependencies=key, raise_error=False)
    plan = (task.value if task.finished else None) or Planned(Plan(problem=str(task.exception) if task.error else ""))
    about = (
        "Until the round that you choose, the branch is the same as its parent. From that round on, your changes apply."
    )
    element("p", element("bdi", about), css="soft")
    element("p", element("strong", element("bdi", run_title(parent.header))), element("bdi", f" {folder}", css="soft"))
    names, titles = parent.names, rooms_of_debates(parent)
    state = {
        "round": mine.round, "last": last, "rounds": mine.rounds or scenario["rounds"],
        "own_rounds": scenario["rounds"], "own_temperature": scenario["temperature"],
        "temperature": scenario["temperature"] if mine.temperature is None else mine.temperature,
        "interventions": _listed(mine, names, titles),
    }  # fmt: skip
    Settings(
        state=json.dumps(state),
        event_put=lambda values: change(**_typed(values, draft.peek(), int(scenario["rounds"]))),
        event_drop=lambda place: change(interventions=_without(draft.peek().interventions, int(place))),
    )
    with element("details", element("summary", f"Add an intervention before round {mine.round}")):
        InterventionFields(
            parent, "Add", lambda intervention: change(interventions=(*draft.peek().interventions, intervention))
        )
    with element("details", element("summary", "Speak through another model from this round on")):
        llm = str(scenario["llm"])
        ModelPicker(
            mine.llm or llm,
            mine.price,
            lambda spec: change(llm=None if spec == llm else spec),
            lambda price: change(price=price),
            "",
        )
    element("h2", "What changes")
    waiting = "Working out what changes…" if task.pending else "Nothing yet."
    words = plan.changes or (waiting,)
    element("ul", *[element("li", element("bdi", text)) for text in words], css="changes")

    def begin(answered: Any) -> None:
        if plan.branch:
            _start(session, plan, draft.peek(), go, str(answered or ""))

    Start(
        state=json.dumps(_start_state(mine, plan.shown, task.pending)),
        event_limit=lambda values: change(**limits_of(values)),
        event_start=begin,
        event_reset=lambda _: draft.set(first),
    )
    BranchTree(folder, str(folder))


def first_draft(folder: Path, done: int, rounds: int) -> BranchDraft:
    """Return the form at the start: from the middle of the rounds that are there."""
    reached = min(done + 1, rounds)
    round_ = max(1, (reached + 1) // 2)
    return BranchDraft(folder, branch_folder(folder, round_, None), round_)


def planned(draft: BranchDraft) -> Planned:
    """Return the plan of the form. Whatever a user got wrong is its `problem`."""
    settings = {"rounds": draft.rounds, "temperature": draft.temperature, "llm": draft.llm}
    settings = {name: value for name, value in settings.items() if value is not None}
    try:
        for values in (settings, *draft.interventions):
            check_named(values, "the form of this page")
        plan = plan_branch(draft.folder, draft.round, draft.out, settings, draft.interventions)
        if problem := model_problem(plan.spec.scenario):
            return Planned(Plan(problem=problem))
        shared = (
            f"Rounds before {draft.round} are taken from the parent"
            if draft.round > 1
            else "The first survey is shared"
        )
        size = f"{shared}. Then {count_phrase(plan.cost.calls, 'new reply')}"
        shown = priced(plan.cost, draft.price, size, saved_prices(draft.folder))
        if not plan.cost.calls:
            shown = replace(shown, text="No new reply is requested: this branch repeats its parent.")
        header = read_progress(draft.folder)[0]
        words = tuple(changes_in_words(scenario_of(header, draft.folder), plan.spec.scenario, header.names))
        return Planned(shown, plan, words) if words else Planned(Plan())  # a branch without a change cannot start
    except UserError as error:
        return Planned(Plan(problem=str(error)))


def _start(session: Session, plan: Planned, draft: BranchDraft, go: Callable[[str], None], answered: str) -> None:
    """Start the branch as a run of the server, and look at it. answered: as of `_form.start`."""
    assert plan.branch
    if plan.shown.question != answered:
        session.fail(UNANSWERED)
        return
    try:
        planned = plan.shown.prices or PriceList({})
        prices = PriceList({**saved_prices(draft.folder), **planned}, planned.models)
        run = registry().start_branch(plan.branch, Budget(draft.most_calls, None, draft.most_cost, prices))
    except UserError as error:
        session.fail(str(error))
        return
    run.pace = session.pace
    if not draft.paused:
        run.play()
    go(place_of(run=run.folder))


def _parent(folder: Path) -> Tables | str:
    """Return the tables of the parent, or a line that says why it can have no branch."""
    if not folder.resolve().is_relative_to(ROOT.resolve()):
        return f"{folder} is not in {ROOT}/: choose a run from there."
    try:
        tables = load(folder)
        scenario_of(tables.header, folder)
    except UserError as error:
        return f"No branch is possible: {error}."
    return tables if len(tables.agents) else f"{folder} has no results yet, so it cannot have a branch."


def _listed(draft: BranchDraft, names: PartyNames, titles: Mapping[str, str]) -> list[str]:
    lines = []
    for intervention in draft.interventions:
        try:
            lines.append(in_words(parse_intervention({**intervention, "round": draft.round}), names, titles))
        except UserError as error:
            lines.append(str(error))
    return lines


def _typed(values: Mapping[str, Any], draft: BranchDraft, parent_rounds: int) -> dict[str, Any]:
    """Return what the browser sends as the form has it: an unreadable number changes nothing."""
    typed: dict[str, Any] = {}
    for name in ("round", "rounds"):
        try:
            typed[name] = max(1, int(values[name]))
        except (KeyError, ValueError, TypeError):
            continue
    rounds = max(typed.get("rounds", draft.rounds or parent_rounds), typed.get("round", draft.round))
    typed["rounds"] = None if rounds == parent_rounds else rounds
    if "temperature" in values:
        typed["temperature"] = str(values["temperature"]) if values["temperature"] != "" else None
    if "round" in typed:
        typed["out"] = branch_folder(draft.folder, typed["round"], None)
    return typed


def _without(interventions: tuple[Mapping[str, Any], ...], place: int) -> tuple[Mapping[str, Any], ...]:
    return tuple(intervention for number, intervention in enumerate(interventions) if number != place)


def _start_state(draft: BranchDraft, plan: Plan, pending: bool) -> dict[str, Any]:
    return {
        "plan": plan.text, "problem": plan.problem, "pending": pending, "question": plan.question, "changed": [],
        "most_calls": draft.most_calls or "", "most_cost": draft.most_cost or "", "paused": draft.paused,
        "priced": bool(plan.cost), "source": "", "others": len(registry().live), "label": "Start the branch",
        "blocked": "This branch cannot start:", "unchanged": UNCHANGED,
    }  # fmt: skip
