"""The command line: `parley`, `python -m parley` and `python run.py` start here. Other commands are in commands.py."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from parley import __version__
from parley.commands import command, commands, overview, parser_of, study_groups
from parley.llm import trust
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import fields_from_args, prices_from_args, scenario_from_args
from parley.model.cli import Parser, add_option, port_number, program
from parley.model.placement import one_worker
from parley.model.progress import Interrupted, has_begun, stoppable

EXAMPLES = """--list
--scenario echo_chamber
--scenario three_way --llm oracle --topic climate_change,racism --repetitions 10
--scenario two_way --llm openai:gpt-4o-mini --max-cost 2
--scenario two_way --llm openai:llama3 --base-url http://127.0.0.1:11434/v1
audit --llm oracle"""


KEPT = "interrupted. Every answer that came in is saved: repeat the command with --out and the folder above to continue"
LONGEST_NAME = 200
"""Characters of a path that an error shows."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0: done. 2: an error that the user can fix. 130: interrupted by Ctrl-C (143: by SIGTERM, 129: by SIGHUP).
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with stoppable(), trust.typed(given), one_worker():
            if given and not given[0].startswith("-"):
                return command(given)
            return run(given)
    except UserError as error:
        print(f"{program()}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        with suppress(OSError):  # the terminal may be gone
            print(f"\n{program()}: {KEPT if has_begun() else 'interrupted before anything was asked'}", file=sys.stderr)
        return 128 + (stop.number if isinstance(stop, Interrupted) else signal.SIGINT)
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    except OSError as error:  # a path that no file system takes: too long a name, a loop of links
        if error.filename is None:
            raise
        print(f"{program()}: cannot use {str(error.filename)[:LONGEST_NAME]}: {error.strerror}", file=sys.stderr)
        return 2


def run_parser() -> Parser:
    """The options of `run.py`."""
    parser = Parser(
        "",
        "Run debates between LLM agents, and measure how their opinions change.",
        EXAMPLES,
        cli.scenario(),
        *cli.debating("runs/<scenario>-<time>"),
        cli.dry_run("print the planned numbers of agents, rooms, calls and tokens, and stop without running anything"),
        cli.retry_failures(),
        usage="%(prog)s [COMMAND] [options]",
        epilog=f"{overview()}\n\n",
    )
    add_option(
        parser, "--list", "list all scenarios with their sources, and all topics and models", action="store_true"
    )
    parser.add_argument(
        "--version", action="version", version=f"Parley {__version__}", help="print the version, and stop"
    )
    page = parser.add_argument_group("page")
    about = (
        "open Parley's page in the browser (docs/app.md). With RUN, the page shows this run or study of "
        "the folder runs/. With --scenario, the page shows the form of the scenario"
    )
    add_option(page, "--ui RUN", about, nargs="?", const=START)
    add_option(
        page,
        "--host ADDRESS",
        "with --ui, or if people take part in the page: network address at which the page is served "
        "(default: 127.0.0.1, which only this machine can open)",
    )
    add_option(
        page,
        "--port N",
        "with --ui, or if people take part in the page: port of the page (default: the first free port from 8765 on)",
        port_number,
    )
    add_option(
        page,
        "--public-name NAME",
        "with --ui, or if people take part in the page: another name under which browsers open the page, "
        "such as study.example.org; repeatable",
        action="append",
        default=None,
    )
    about = "with --ui: let the page also open the files in this folder, such as models and societies; repeatable"
    add_option(page, "--allow-files FOLDER", about, Path, action="append", default=None)
    return parser


def run(arguments: Sequence[str]) -> int:
    """`run.py --scenario NAME ...`"""
    options = run_parser().parse_args(arguments)
    if options.list:
        return show_list()
    if not options.scenario and options.ui is None:
        raise UserError(
            "no scenario was given: name one, such as python run.py --scenario echo_chamber (--list shows all "
            "scenarios), or choose one in the browser with python run.py --ui"
        )
    if options.ui is not None:
        return page(options)
    scenario, given = scenario_from_args(options)
    from parley.model.people import people_in_page

    places = ("host", "port", "public_name", "allow_files")
    misplaced = [name.replace("_", "-") for name in places if getattr(options, name) is not None]
    if misplaced and not people_in_page(scenario.llm_by_party):
        raise UserError(
            f"--{misplaced[0]} only works with --ui, or with a person in the page (--llm SEAT=person,at=page): add "
            f"--ui or such a person, or leave out --{misplaced[0]}"
        )
    if options.dry_run:
        from parley.analysis.qualify.before_run import planned_checks
        from parley.model.cost_estimate import estimate_lines

        checks = planned_checks([scenario], options.no_qualify, options.out)
        print("\n".join(estimate_lines(scenario, prices_from_args(options, scenario), checks)))
        return 0
    from parley.analysis.commands.debates import run_debates

    return run_debates(scenario, given, options)


START = ""
"""The value of --ui without a folder."""
NOT_FOR_THE_PAGE = ("out", "dry_run", "retry_failures", "max_calls", "max_tokens", "max_cost", "price", "prices")
"""Options that do not work together with --ui."""


def page(options: argparse.Namespace) -> int:
    """`run.py --ui`: serve the page until it is interrupted. With --scenario NAME it begins with the form of that scenario."""
    from parley.analysis.commands.page import serve

    unset = run_parser().get_default
    if refused := [f"--{name.replace('_', '-')}" for name in NOT_FOR_THE_PAGE if getattr(options, name) != unset(name)]:
        raise UserError(
            f"--ui does not work with {', '.join(refused)}, because the page chooses a folder for each run and has "
            "its own limits: leave these options out, or run without --ui"
        )
    settings = page_settings(options)
    app, host = Path(__file__).with_name("app.py"), options.host or "127.0.0.1"
    return serve(app, settings, host, options.port, options.public_name or (), options.allow_files or ())


def page_settings(options: argparse.Namespace) -> dict[str, str]:
    """Return what the address of the page names: a run, or a scenario and its settings; nothing for the first screen."""
    if options.ui != START:
        if options.scenario or not Path(options.ui).is_dir():
            raise UserError(
                f"--ui {options.ui} opens a run or a study in the folder runs/"
                + (": leave out --scenario" if options.scenario else f", but there is no folder {options.ui}")
            )
        return {"run": options.ui}
    if not options.scenario:
        if alone := sorted(fields_from_args(options)):
            raise UserError(
                f"--ui cannot use settings ({', '.join(alone)}) without a scenario: add --scenario NAME (--list shows all)"
            )
        return {}
    from parley.analysis.provenance import field_value

    scenario, given = scenario_from_args(options)
    if {"interventions", "llms"} & set(given):
        raise UserError(
            "--ui cannot be combined with --intervene or --llm PARTY=SPEC: write these settings into a preset (docs/presets.md)"
        )
    return {"scenario": options.scenario, **{key: field_value(scenario.to_dict(), key) for key in given}}


def show_list() -> int:
    """`run.py --list`"""
    from parley.agents.topic import load_topic, news_names, topic_names
    from parley.llm.backends import backend_names
    from parley.llm.model_catalogue import fetched_names
    from parley.model.scenario import preset_names, read_preset

    width = max(map(len, preset_names()))
    for name in preset_names():
        scenario = read_preset(name)
        print(f"{name:<{width}} {scenario.title}\n{'':<{width}} {scenario.source}")
    print("\ntopics: " + ", ".join(f"{slug} ({load_topic(slug).axis})" for slug in topic_names()))
    items = ((slug, load_topic(slug).news) for slug in news_names())
    print("news: " + ", ".join(f"{slug} ({item.subject})" for slug, item in items if item))
    print("studies: " + ", ".join(sorted(name for group in study_groups().values() for name in group)))
    print("models: " + ", ".join([*backend_names(), *fetched_names()]))
    return 0


def completion_parser() -> Parser:
    """The options of `run.py completion`."""
    parser = Parser(
        "completion",
        "Print a script that completes the commands and options of `parley` in your shell when you press Tab.\n"
        'bash: add the line `eval "$(parley completion bash)"` to ~/.bashrc\n'
        "zsh: write the script to a file _parley in a folder of your $fpath",
        "completion bash\ncompletion zsh",
    )
    add_option(parser, "SHELL", "bash or zsh", choices=("bash", "zsh"))
    return parser


def completion(arguments: Sequence[str]) -> int:
    """`parley completion SHELL`. It imports the module of every command."""
    options = completion_parser().parse_args(arguments)
    from parley.model.completion import completion_script

    first = {name: about for name, about in commands().items() if " " not in name}
    families = {"study": "run a study", "export": "write runs or a model for other programs"}
    each = {name: (parser_of(name), about) for name, about in (first | families).items()}
    print(completion_script(options.shell, run_parser(), each))
    return 0


if __name__ == "__main__":
    sys.exit(main())
