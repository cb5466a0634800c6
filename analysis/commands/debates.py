"""The debates of `run.py --scenario NAME`: check a new model, run the debates, write the report."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.analysis.qualify.before_run import qualified_run
from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.model.arguments import budgets_from_args, prices_from_args
from parley.model.debate import DebateModel
from parley.model.people import people_in_page
from parley.model.progress import Progress, bar, summary_line
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario


def run_debates(scenario: Scenario, given: tuple[str, ...], options: argparse.Namespace) -> int:
    """Run the debates, then write the report; return the exit code. Errors: UserError, also where a limit stopped the run."""
    folder = options.out or Path("runs") / f"{scenario.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    (limits,) = budgets_from_args(options, scenario)
    spec = RunSpec(scenario, folder, given, limits, options.retry_failures)
    backend = None
    if not options.no_qualify:
        spec, backend = qualified_run(spec, bar)
        scenario = spec.scenario
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(scenario))
        steps: list[Callable[[DebateModel], object]] = [progress.step]

        def begin(backend: Backend) -> None:
            """Print the folder. It is made only after the model has opened. Open the page of people, if they answer there."""
            progress.bar.write(f"folder   {folder}")
            progress.found(backend)
            if people_in_page(scenario.llm_by_party):
                from parley.analysis.seats.server import serve_people
                from parley.model.gallery import preset_title

                serve_options = (
                    scenario.rounds,
                    preset_title(scenario.name, scenario.title),
                    options.host,
                    options.port,
                    progress.bar.write,
                    options.public_name or (),
                )
                steps.append(serve_people(stack, backend, folder, *serve_options))

        outcome = run_scenario(spec, progress.calls, lambda model: [step(model) for step in steps], backend, begin)
    print(summary_line(scenario, folder, outcome))
    from parley.analysis.run_report import SUMMARY, main_figure, write_report  # figures load slowly: not before the run

    if outcome.already and (folder / SUMMARY).exists():
        figure = main_figure(folder)
    else:
        figure = write_report(folder, prices_from_args(options, scenario))
    print_paths(summary=folder / SUMMARY, figure=figure)
    if outcome.stopped:
        raise UserError(outcome.stopped)
    return 0
