"""The command line, as `parley`, `python -m parley` or `python run.py`. Wiring only; nothing heavy is imported
before it is needed.
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
from typing import TYPE_CHECKING

from parley.llm.errors import UserError, unknown_name
from parley.model.commandline import Interrupted, Parser, Progress, natural, program, stoppable, told
from parley.model.options import add_budget, add_scenario, budget, chosen, prices

if TYPE_CHECKING:
    from parley.llm.request import Backend
    from parley.model.scenario import Scenario

EXAMPLES = """examples:
  python run.py --list
  python run.py --scenario echo_chamber
  python run.py --scenario three_way --llm oracle --topic climate_change,racism --repetitions 10
  python run.py --scenario two_way --llm openai:gpt-4o-mini --max-cost 2
  python run.py --scenario two_way --llm openai:llama3 --base-url http://127.0.0.1:11434/v1
  python run.py audit --llm oracle"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit code: 0 done, 2 something the user can put right, 130 interrupted (143, 129: by
    SIGTERM, SIGHUP)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with stoppable():
            if given and not given[0].startswith("-"):
                return command(given[0])(given[1:])
            return debate(given)
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


def debate_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="run.py",
        usage="%(prog)s [COMMAND] [options]",
        description="Run debates between language-model agents, and measure how their opinions change.",
        epilog=f"{overview()}\n\n{EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--list", action="store_true", help="show every scenario with the paper and figures it stands for"
    )
    add_scenario(parser)
    parser.add_argument("--seed", metavar="N", help="same seed, same record")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="run folder (runs/<scenario>-<time>); an unfinished one is resumed"
    )
    parser.add_argument(
        "--ui",
        action="store_true",
        help="open the page in the browser with this scenario, and run nothing yet (docs/app.md)",
    )
    parser.add_argument("--host", metavar="ADDRESS", help="with --ui, who may look: this machine alone (127.0.0.1)")
    parser.add_argument("--port", metavar="N", type=natural, help="with --ui (the first free one from 8765)")
    parser.add_argument("--dry-run", action="store_true", help="print agents, rooms, calls and tokens, and run nothing")
    add_budget(parser, "run folder")
    return parser


def debate(arguments: Sequence[str]) -> int:
    """`run.py --scenario NAME ...`"""
    options = debate_parser().parse_args(arguments)
    if options.list:
        return show_list()
    if not options.scenario:
        raise UserError("name a scenario: python run.py --scenario echo_chamber (see --list)")
    misplaced = [name for name in ("host", "port") if getattr(options, name) is not None and not options.ui]
    if misplaced:
        raise UserError(f"--{misplaced[0]} is where --ui serves the page: give --ui too, or leave it out")
    scenario, given = chosen(options)
    if options.ui:
        return page(options, scenario, given)
    if options.dry_run:
        from parley.model.cost_estimate import estimate_lines

        print("\n".join(estimate_lines(scenario, prices(scenario, options))))
        return 0
    return hold(scenario, given, options)


def hold(scenario: Scenario, given: tuple[str, ...], options: argparse.Namespace) -> int:
    """Run the debates, then write the report."""
    from parley.model.scenario_run import RunSpec, run_scenario

    folder = options.out or Path("runs") / f"{scenario.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    (limits,) = budget(options, scenario)
    task = RunSpec(scenario, folder, given, limits, options.retry_failures)
    with Progress(scenario) as bar:

        def begin(backend: Backend) -> None:
            """The model is there: only now a folder will be."""
            bar.bar.write(f"folder   {folder}")
            bar.found(backend)

        outcome = run_scenario(task, bar.calls, bar.step, on_open=begin)
    print(told(scenario, folder, outcome))

    from parley.analysis.report import SUMMARY, main_figure, write_report

    if outcome.already and (folder / SUMMARY).exists():
        figure = main_figure(folder)
    else:
        figure = write_report(folder, prices(scenario, options))
    print(f"summary  {folder / SUMMARY}\nfigure   {figure}")
    if outcome.stopped:
        raise UserError(outcome.stopped)
    return 0


NOT_FOR_A_PAGE = ("out", "dry_run", "retry_failures", "max_calls", "max_tokens", "max_cost", "price", "prices")
"""Options of a run that a page cannot keep to."""


def page(options: argparse.Namespace, scenario: Scenario, given: tuple[str, ...]) -> int:
    """`run.py --scenario NAME --ui`: the page, until it is interrupted."""
    from parley.analysis.commands_page import serve
    from parley.analysis.provenance import field_value

    unset = debate_parser().get_default
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
    from parley.model.scenario import load_preset, preset_names

    width = max(map(len, preset_names()))
    for name in preset_names():
        scenario = load_preset(name)
        print(f"{name:<{width}} {scenario.title}\n{'':<{width}} {scenario.source}")
    print("\ntopics: " + ", ".join(f"{slug} ({load_topic(slug).axis})" for slug in topic_names()))
    print("news: " + ", ".join(f"{slug} ({load_topic(slug).axis})" for slug in news_names()))
    print("models: " + ", ".join(backend_names()))
    return 0


COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Run debates": {
        "run": ("parley.__main__", "run the debates of a scenario; the same as naming no command"),
        "sweep": ("parley.analysis.commands_sweeps", "run every combination of some settings, with every seed"),
        "intervene": ("parley.analysis.commands_intervene", "run the same debates with an intervention and without it"),
        "archetypes": (
            "parley.analysis.commands_savings",
            "share survey answers among similar agents: calls saved, error added",
        ),
        "population": (
            "parley.analysis.commands_population",
            "simulate up to millions of agents with an opinion-dynamics model",
        ),
        "surrogate": ("parley.analysis.commands_population", "fit an opinion-dynamics model to a recorded run"),
    },
    "Measure a model's bias": {
        "audit": ("parley.analysis.commands_card", "make the bias card of a model"),
        "compare": ("parley.analysis.commands_card", "compare several bias cards"),
        "audit-probe": (
            "parley.analysis.commands_presets",
            "measure how much personas' survey answers vary, and whether order matters",
        ),
        "validate": ("parley.analysis.commands", "check whether personas answer as their party would"),
        "calibrate": ("parley.analysis.commands_calibrate", "check the instruments on speakers whose bias is known"),
    },
    "Change a model's bias": {
        "train": ("parley.training.commands", "fine-tune a model on its own partisan answers"),
        "fine-tuned": ("parley.training.commands", "run the same debates before and after fine-tuning"),
        "sweep-lora": (
            "parley.training.commands_sweep",
            "compare ranks and methods of fine-tuning, with what they cost",
        ),
        "export": ("parley.training.commands_export", "merge an adapter into its model, for vLLM, Ollama or llama.cpp"),
    },
    "Analyse runs": {
        "report": ("parley.analysis.commands", "write one HTML page about one run or several"),
        "judge": ("parley.analysis.commands", "let a model score every statement of a run"),
        "analyse": ("parley.analysis.commands", "compare conditions in a table of scores"),
        "human": ("parley.analysis.commands", "compare a run with data from people"),
        "rhetoric": ("parley.analysis.commands_presets", "let a model tag appeals to reason, feeling and character"),
        "deviation": ("parley.analysis.commands_presets", "let a model score how far each utterance is from the news"),
    },
    "Run published studies": {
        "structured": ("parley.analysis.commands_structured", "structured debates with roles, statements and a judge"),
        "representatives": (
            "parley.training.commands_representatives",
            "agents that stand in for a participant of a deliberation",
        ),
        "arguments": ("parley.analysis.commands_presets", "measure how far each kind of argument moves a skeptic"),
        "bets": ("parley.analysis.commands_presets", "let debaters bet in private on how well they stand"),
        "personalised": (
            "parley.analysis.commands_presets",
            "introduce the opponent as a person or an AI, with its traits or without",
        ),
        "prior-beliefs": (
            "parley.analysis.commands_presets",
            "argue before a judge, for one's own belief or against it",
        ),
    },
    "Write materials": {
        "personas": ("parley.analysis.commands_writing", "write personas with a model"),
        "questions": ("parley.analysis.commands_writing", "write divisive questions with a model"),
        "case": ("parley.analysis.commands_writing", "write the case that opens a structured debate"),
    },
}
"""By group: each command, the module of its function, and what it does."""


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
    homes = {one: home for group in COMMANDS.values() for one, (home, _) in group.items()}
    if name == "run":
        return debate
    if name not in homes:
        raise unknown_name("command", name, homes)
    found: Callable[[Sequence[str]], int] = getattr(import_module(homes[name]), name.replace("-", "_"))
    return found


if __name__ == "__main__":
    sys.exit(main())
