"""The command line, as `parley`, `python -m parley` or `python run.py`. Wiring only; nothing heavy is imported
before it is needed.

argparse with a table of commands by the names of their modules: typer or click would import every module for `--help`.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from parley.llm.errors import UserError, unknown_name
from parley.model import cli
from parley.model.arguments import budgets_from_args, prices_from_args, scenario_from_args
from parley.model.cli import Parser, add_option, natural, program
from parley.model.progress import Interrupted, Progress, stoppable, summary_line

if TYPE_CHECKING:
    from parley.llm.request import Backend
    from parley.model.scenario import Scenario

EXAMPLES = """--list
--scenario echo_chamber
--scenario three_way --llm oracle --topic climate_change,racism --repetitions 10
--scenario two_way --llm openai:gpt-4o-mini --max-cost 2
--scenario two_way --llm openai:llama3 --base-url http://127.0.0.1:11434/v1
audit --llm oracle"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit code: 0 done, 2 something the user can put right, 130 interrupted (143, 129: by
    SIGTERM, SIGHUP)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with stoppable():
            if given and not given[0].startswith("-"):
                return command(given[0])(given[1:])
            return run(given)
    except UserError as error:
        print(f"{program()}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        with suppress(OSError):  # the terminal may be gone
            print(
                f"\n{program()}: interrupted; what was answered is kept: the same command with --out and the folder above goes on",
                file=sys.stderr,
            )
        return 128 + (stop.number if isinstance(stop, Interrupted) else signal.SIGINT)
    except BrokenPipeError:
        sys.stderr.close()
        return 141


def run_parser() -> Parser:
    """The options of `run.py`."""
    parser = Parser(
        "",
        "Run debates between language-model agents, and measure how their opinions change.",
        EXAMPLES,
        cli.scenario(),
        *cli.debating("runs/<scenario>-<time>"),
        cli.dry_run("print agents, rooms, calls and tokens, and run nothing"),
        cli.retry_failures(),
        usage="%(prog)s [COMMAND] [options]",
        epilog=f"{overview()}\n\n",
    )
    add_option(parser, "--list", "list every scenario, with its source, and every topic", action="store_true")
    page = parser.add_argument_group("page")
    add_option(
        page,
        "--ui",
        "open the page in the browser with this scenario, and run nothing (docs/app.md)",
        action="store_true",
    )
    add_option(page, "--host ADDRESS", "with --ui: the address to serve at (default: 127.0.0.1, this machine alone)")
    add_option(page, "--port N", "with --ui: the port (default: the first free one from 8765)", natural)
    return parser


def run(arguments: Sequence[str]) -> int:
    """`run.py --scenario NAME ...`"""
    options = run_parser().parse_args(arguments)
    if options.list:
        return show_list()
    if not options.scenario:
        raise UserError("name a scenario: python run.py --scenario echo_chamber (see --list)")
    misplaced = [name for name in ("host", "port") if getattr(options, name) is not None and not options.ui]
    if misplaced:
        raise UserError(f"--{misplaced[0]} is where --ui serves the page: give --ui too, or leave it out")
    scenario, given = scenario_from_args(options)
    if options.ui:
        return page(options, scenario, given)
    if options.dry_run:
        from parley.model.cost_estimate import estimate_lines

        print("\n".join(estimate_lines(scenario, prices_from_args(options, scenario))))
        return 0
    return hold(scenario, given, options)


def hold(scenario: Scenario, given: tuple[str, ...], options: argparse.Namespace) -> int:
    """Run the debates, then write the report."""
    from parley.model.scenario_run import RunSpec, run_scenario

    folder = options.out or Path("runs") / f"{scenario.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    (limits,) = budgets_from_args(options, scenario)
    task = RunSpec(scenario, folder, given, limits, options.retry_failures)
    with Progress(scenario) as bar:

        def begin(backend: Backend) -> None:
            """The model is there: only now a folder will be."""
            bar.bar.write(f"folder   {folder}")
            bar.found(backend)

        outcome = run_scenario(task, bar.calls, bar.step, on_open=begin)
    print(summary_line(scenario, folder, outcome))

    from parley.analysis.run_report import SUMMARY, main_figure, write_report

    if outcome.already and (folder / SUMMARY).exists():
        figure = main_figure(folder)
    else:
        figure = write_report(folder, prices_from_args(options, scenario))
    print(f"summary  {folder / SUMMARY}\nfigure   {figure}")
    if outcome.stopped:
        raise UserError(outcome.stopped)
    return 0


NOT_FOR_A_PAGE = ("out", "dry_run", "retry_failures", "max_calls", "max_tokens", "max_cost", "price", "prices")
"""Options of a run that a page cannot keep to."""


def page(options: argparse.Namespace, scenario: Scenario, given: tuple[str, ...]) -> int:
    """`run.py --scenario NAME --ui`: the page, until it is interrupted."""
    from parley.analysis.commands.page import serve
    from parley.analysis.provenance import field_value

    unset = run_parser().get_default
    if idle := [f"--{name.replace('_', '-')}" for name in NOT_FOR_A_PAGE if getattr(options, name) != unset(name)]:
        raise UserError(
            f"--ui does not take {', '.join(idle)}: a page runs nothing yet, makes folders of its own and knows no limits; "
            "leave out what it does not take, or hold the run without --ui"
        )
    if {"interventions", "llms"} & set(given):
        raise UserError(
            "--ui takes neither --intervene nor a party's own --llm: step in on the page, or put them into a preset"
        )
    asked = {"scenario": options.scenario, **{key: field_value(scenario.to_dict(), key) for key in given}}
    return serve(Path(__file__).with_name("app.py"), asked, options.host or "127.0.0.1", options.port)


def show_list() -> int:
    """`run.py --list`"""
    from parley.agents.topic import load_topic, news_names, topic_names
    from parley.llm.backends import backend_names
    from parley.model.scenario import preset_names, read_preset

    width = max(map(len, preset_names()))
    for name in preset_names():
        scenario = read_preset(name)
        print(f"{name:<{width}} {scenario.title}\n{'':<{width}} {scenario.source}")
    print("\ntopics: " + ", ".join(f"{slug} ({load_topic(slug).axis})" for slug in topic_names()))
    print("news: " + ", ".join(f"{slug} ({load_topic(slug).axis})" for slug in news_names()))
    print("models: " + ", ".join(backend_names()))
    return 0


COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Run debates": {
        "run": ("parley.__main__", "run the debates of a scenario; the same as naming no command"),
        "sweep": ("parley.analysis.commands.sweep", "run every combination of some settings, with every seed"),
        "intervene": ("parley.analysis.commands.intervene", "run the same debates with an intervention and without it"),
        "archetypes": (
            "parley.analysis.commands.archetypes",
            "share survey answers among similar agents: calls saved, error added",
        ),
        "population": (
            "parley.analysis.commands.population",
            "simulate up to millions of agents with an opinion-dynamics model",
        ),
        "surrogate": ("parley.analysis.commands.population", "fit an opinion-dynamics model to a recorded run"),
    },
    "Measure a model's bias": {
        "audit": ("parley.analysis.commands.card", "make the bias card of a model"),
        "compare": ("parley.analysis.commands.card", "compare several bias cards"),
        "audit-probe": (
            "parley.analysis.commands.audit_probe",
            "measure how much personas' survey answers vary, and whether order matters",
        ),
        "validate": ("parley.analysis.commands.validate", "check whether personas answer as their party would"),
        "calibrate": ("parley.analysis.commands.calibrate", "check the instruments on speakers whose bias is known"),
    },
    "Change a model's bias": {
        "train": ("parley.training.commands.tuning", "fine-tune a model on its own partisan answers"),
        "fine-tuned": ("parley.training.commands.tuning", "run the same debates before and after fine-tuning"),
        "sweep-lora": (
            "parley.training.commands.sweep_lora",
            "compare ranks and methods of fine-tuning, with what they cost",
        ),
        "export": ("parley.training.commands.export", "merge an adapter into its model, for vLLM, Ollama or llama.cpp"),
    },
    "Analyse runs": {
        "report": ("parley.analysis.commands.report", "write one HTML page about one run or several"),
        "judge": ("parley.analysis.commands.judge", "let a model score every statement of a run"),
        "analyse": ("parley.analysis.commands.analyse", "compare conditions in a table of scores"),
        "human": ("parley.analysis.commands.human", "compare a run with data from people"),
        "rhetoric": ("parley.analysis.commands.judge", "let a model tag appeals to reason, feeling and character"),
        "deviation": ("parley.analysis.commands.judge", "let a model score how far each utterance is from the news"),
    },
    "Run published studies": {
        "structured": ("parley.analysis.commands.structured", "structured debates with roles, statements and a judge"),
        "representatives": (
            "parley.training.commands.representatives",
            "agents that stand in for a participant of a deliberation",
        ),
        "arguments": ("parley.analysis.commands.arguments", "measure how far each kind of argument moves a skeptic"),
        "bets": ("parley.analysis.commands.bets", "let debaters bet in private on how well they stand"),
        "personalised": (
            "parley.analysis.commands.personalised",
            "introduce the opponent as a person or an AI, with its traits or without",
        ),
        "prior-beliefs": (
            "parley.analysis.commands.prior_beliefs",
            "argue before a judge, for one's own belief or against it",
        ),
    },
    "Write materials": {
        "personas": ("parley.analysis.commands.writing", "write personas with a model"),
        "questions": ("parley.analysis.commands.writing", "write divisive questions with a model"),
        "case": ("parley.analysis.commands.writing", "write the case that opens a structured debate"),
    },
    "Set up": {
        "completion": ("parley.__main__", "print a script by which a shell completes commands and options"),
    },
}
"""By group: each command, the module of its function and its parser (`sweep`, `sweep_parser`), and what it does."""


def overview() -> str:
    """All commands by group, a line each."""
    width = max(len(name) for group in COMMANDS.values() for name in group)
    groups = [
        "\n".join([f"{title}:", *(f"  {name:<{width}}  {what}" for name, (_, what) in group.items())])
        for title, group in COMMANDS.items()
    ]
    return "\n\n".join(["commands (COMMAND --help says more):", *groups])


def command(name: str) -> Callable[[Sequence[str]], int]:
    """The function of a command. Errors: UserError on an unknown one, with the nearest."""
    found: Callable[[Sequence[str]], int] = getattr(_home(name), name.replace("-", "_"))
    return found


def parser_of(name: str) -> Parser:
    """The parser of a command. Errors: as of `command`."""
    found: Parser = getattr(_home(name), f"{name.replace('-', '_')}_parser")()
    return found


def _home(name: str) -> ModuleType:
    homes = {one: home for group in COMMANDS.values() for one, (home, _) in group.items()}
    if name not in homes:
        if Path(__file__).with_name("model").joinpath("scenarios", f"{name}.toml").exists():
            raise UserError(f"{name} is a scenario, not a command: {program()} --scenario {name}")
        raise unknown_name("command", name, homes)
    return sys.modules[__name__] if homes[name] == "parley.__main__" else import_module(homes[name])


def completion_parser() -> Parser:
    """The options of `run.py completion`."""
    parser = Parser(
        "completion",
        "Print a script by which your shell completes the commands and options of `parley` with the Tab key.\n"
        'bash: add the line `eval "$(parley completion bash)"` to ~/.bashrc\n'
        "zsh: write the script to a file _parley in a folder of your $fpath",
        "completion bash\ncompletion zsh",
    )
    add_option(parser, "SHELL", "bash or zsh", choices=("bash", "zsh"))
    return parser


def completion(arguments: Sequence[str]) -> int:
    """`parley completion SHELL`: to write the script it imports every command's module."""
    options = completion_parser().parse_args(arguments)
    from parley.model.completion import completion_script

    told = {name: (parser_of(name), what) for group in COMMANDS.values() for name, (_, what) in group.items()}
    print(completion_script(options.shell, run_parser(), told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
