"""The short qualification of a model before its first run. The result is kept, and is the first thing that reports say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from parley.analysis.qualify.kept import (
    ASIDE,
    FILE,
    Qualification,
    kept_path,
    kept_qualification,
    read_qualification,
    short_battery,
    spec_identity,
)
from parley.analysis.qualify.measures import planted_order
from parley.analysis.qualify.questions import ask_planted, questions
from parley.analysis.qualify.verdict import headline, way_verdicts
from parley.llm.backends import needs_qualification
from parley.llm.budget import Budget, Ledger
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.journal import shared_ledger
from parley.llm.request import Backend, Usage
from parley.llm.router import open_all
from parley.model.cost_estimate import Check
from parley.model.files import JOURNAL, RECORD
from parley.model.run_folder import check_folder
from parley.model.run_plan import TOKENS_PER_WORD
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, is_complete, open_models
from parley.model.sweep.design import SweepCell

ASKED = "asked"
"""The field of a scenario that says in which way survey questions are asked."""


def qualify_before(
    scenario: Scenario,
    backend: Backend,
    folder: Path,
    bar: Bar,
    budget: Budget,
    ledger: Ledger | None = None,
    say: Callable[[str], object] = print,
) -> Qualification | None:
    """Return the qualification of a run's model: that of its folder, else the kept one, else ask a short battery and keep it.

    None where the society has no topic on which people can be planted. The result is written into the folder of the run.
    """
    society, file = scenario.society.name, folder / FILE
    if earlier := read_qualification(file):
        return earlier
    if (result := kept_qualification(backend.identity, society)) is None:
        try:
            battery = short_battery(society)
        except UserError:
            return None
        say(
            f"qualify  this model was not checked before: {len(battery.topics)} topics, about a minute "
            "(--no-qualify leaves out the check)"
        )
        answers = ask_planted(battery, scenario.models.llm, folder / ASIDE, bar, budget, backend, ledger)
        verdicts = tuple(way_verdicts(planted_order(answers, battery.seed)))
        result = Qualification(verdicts, len(battery.topics), short=True)
        result.write(kept_path(backend.identity, society))
    result.write(kept_path(spec_identity(scenario.models.llm, scenario.llm_by_party), society))
    result.write(file)
    say(f"qualify  {headline('this model', list(result.verdicts)).replace('**', '')}")
    return result


def known_result(scenario: Scenario, folder: Path | None = None) -> Qualification | None:
    """Return what is known of a model before it is opened: from the folder of its run, else what was kept for its spec.

    Errors: UserError for a damaged file in the folder.
    """
    of_run = read_qualification(folder / FILE) if folder else None
    by_spec = spec_identity(scenario.models.llm, scenario.llm_by_party)
    return of_run or kept_qualification(by_spec, scenario.society.name)


def planned_checks(scenarios: Sequence[Scenario], skipped: bool, folder: Path | None = None) -> list[Check]:
    """Return what `qualify_before` will ask of each model of some scenarios of which nothing is known yet.

    skipped: with --no-qualify nothing is asked. folder: that of the run, which may hold a result. Errors: as `known_result`.
    """
    checks: dict[str, Check] = {}
    for scenario in scenarios if not skipped else ():
        spec = scenario.models.llm
        if spec in checks or not needs_qualification(spec) or known_result(scenario, folder):
            continue
        with suppress(UserError):  # a society without topics on which people can be planted
            battery = short_battery(scenario.society.name)
            requests = [question.request(battery.seed) for question in questions(battery)]
            words = sum(message.content.count(" ") + 1 for request in requests for message in request.messages)
            usage = Usage(int(words * TOKENS_PER_WORD), len(requests))  # the answer is one token
            checks[spec] = Check(spec, len(requests), usage)
    return list(checks.values())


def _models_of(cells: Sequence[SweepCell]) -> dict[str, Scenario]:
    """Return a scenario of each model of a sweep, by the model's spec, in the order of the cells."""
    return {cell.combined.models.llm: cell.combined for cell in cells}


def qualify_models(
    cells: Sequence[SweepCell], folder: Path, bar: Bar, budget: Budget, say: Callable[[str], object]
) -> dict[str, Qualification | None]:
    """Qualify each new model of a sweep once, each in a folder of its own in `folder`/qualify; return the results by spec.

    None: a society without topics on which people can be planted. Errors: UserError, also where the budget is spent.
    """
    results = {}
    for place, (spec, scenario) in enumerate(_models_of(cells).items()):
        if needs_qualification(spec):
            backend = open_all(spec, scenario.llm_by_party)
            model_folder = folder / ASIDE / str(place)
            ledger = shared_ledger(budget, [(path, budget) for path in sorted((folder / ASIDE).rglob(JOURNAL))])
            results[spec] = qualify_before(scenario, backend, model_folder, bar, budget, ledger, say)
    return results


def not_playing(cells: Sequence[SweepCell], folder: Path) -> list[str]:
    """Return the specs of the models that were qualified in `folder`/qualify, and do not play people as the cells ask them."""
    failed = []
    for place, (spec, scenario) in enumerate(_models_of(cells).items()):
        result = read_qualification(folder / ASIDE / str(place) / FILE)
        if result and not result.asked_in(scenario.surveys.asked).plays:
            failed.append(spec)
    return failed


def qualified_cells(
    cells: Sequence[SweepCell],
    given: tuple[str, ...],
    folder: Path,
    bar: Bar,
    budget: Budget,
    say: Callable[[str], object],
) -> tuple[Sequence[SweepCell], tuple[str, ...]]:
    """Qualify each model of a sweep once, before its cells; return the cells, asked in the way that serves all models.

    Where models are served by different ways, and where the way is set or varied, the cells stay as they are. Errors: as
    `qualify_models`.
    """
    results = qualify_models(cells, folder, bar, budget, say)
    ways = {result.best.way for result in results.values() if result and result.plays}
    if ASKED in given or len(ways) != 1 or len(results) != len(_models_of(cells)):
        return cells, given
    try:
        changed_cells = [replace(cell, combined=cell.combined.with_settings({ASKED: min(ways)})) for cell in cells]
    except UserError:  # a question without phrases
        return cells, given
    return changed_cells, (*given, ASKED)


def qualified_run(
    spec: RunSpec, bar: Bar, backend: Backend | None = None, way: str | None = None
) -> tuple[RunSpec, Backend | None]:
    """Return a run with the way of asking that serves its model, and the opened model; None where nothing had to be opened.

    backend: the model, if it is open. way: how an earlier run of the same study was asked, for runs are compared that were asked
    alike. A way that the user set stays. Errors: UserError, as run_scenario.
    """
    if way and ASKED not in spec.given:
        spec = replace(spec, scenario=spec.scenario.with_settings({ASKED: way}), given=(*spec.given, ASKED))
    if not needs_qualification(spec.scenario.models.llm):
        return spec, backend
    if earlier := read_qualification(spec.folder / FILE):
        spec = _asked_in(spec, earlier)
    if is_complete(spec.folder / RECORD):
        return spec, backend
    check_folder(spec.folder, spec.scenario, spec.classes)
    backend = backend or open_models(spec)
    journals = [spec.folder / ASIDE / JOURNAL, spec.folder / JOURNAL]
    ledger = spec.ledger or shared_ledger(spec.budget, [(path, spec.budget) for path in journals])
    result = qualify_before(spec.scenario, backend, spec.folder, bar, spec.budget, ledger)
    if journals[0].exists():  # the questions count as calls of the run
        spec = replace(spec, ledger=ledger)
    return (_asked_in(spec, result) if result else spec), backend


def _asked_in(spec: RunSpec, result: Qualification) -> RunSpec:
    """Return the run with its questions asked in the way that serves the model; a way that the user set stays."""
    if ASKED in spec.given:
        return spec
    scenario = asked_in(spec.scenario, result)
    return replace(spec, scenario=scenario, given=(*spec.given, ASKED)) if scenario != spec.scenario else spec


def asked_in(scenario: Scenario, result: Qualification) -> Scenario:
    """Return the scenario asked in the way that serves the model, where its questions have that form."""
    if not result.plays:
        return scenario
    try:
        return scenario.with_settings({ASKED: result.best.way})
    except UserError:  # a question without phrases
        return scenario
