"""Parley's command line: `python run.py --scenario echo_chamber`. Wiring only; nothing heavy is imported before it is needed."""

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

from llm.errors import UserError, unknown
from model.commandline import Interrupted, Parser, Progress, natural, stoppable, told
from model.options import add_budget, add_scenario, budget, chosen, prices

if TYPE_CHECKING:
    from llm.request import Backend
    from model.scenario import Scenario

EPILOG = """examples:
  python run.py --list
  python run.py --scenario three_way --topic climate_change,racism --repetitions 10
  python run.py --scenario echo_chamber --set size=3 --set default_agent=without --out runs/echo
  python run.py --scenario two_way --llm oracle                     (the rule-based speaker whose truth is known)
  python run.py --scenario two_way --llm openai:gpt-4o-mini --max-cost 2
  python run.py --scenario two_way --llm openai:llama3 --base-url http://127.0.0.1:11434/v1
  python run.py --scenario two_way --llm oracle,kappa=0,mu=0        (the same without influence and pull)
  python run.py --scenario echo_chamber --set size=3 --set default_agent=without --llm recorded:runs/echo   (replay)
  python run.py intervene                                           (the same debates with an intervention and without)
  python run.py calibrate                                           (is what was planted found again?)
  python run.py audit --llm oracle                                  (the bias card of a model; docs/card.md)
  python run.py sweep --scenario two_way --vary rounds=2,5,10 --seeds 0:20   (all combinations, all seeds; docs/sweeps.md)
  python run.py archetypes --llm oracle                             (shared answers to surveys: saved, and how far off)
  python run.py structured closing                                  (structured debates, judged, by the UCL study)
  python run.py judge runs/echo --llm oracle                        (have another model score every statement)
  python run.py validate --llm oracle --judge oracle                (do the personas answer as their leaning says?)
  python run.py train --party republican --out runs/tuned           (move a model's bias)
  python run.py representatives --help                              (agents that stand in for a participant)
  python run.py population --law deffuant --agents 1000000          (a million people, moved by a law)
  python run.py personas --party republican --out my_personas       (write personas anew, with any model)
  python run.py questions --llm openai:MODEL --out mine.toml        (write divisive questions, with any model)"""


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
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        with suppress(OSError):  # the terminal may be gone
            print(
                "\nrun.py: interrupted; what was answered is kept: the same command with --out and the folder above goes on",
                file=sys.stderr,
            )
        return 128 + (stop.number if isinstance(stop, Interrupted) else signal.SIGINT)
    except BrokenPipeError:
        sys.stderr.close()
        return 141


def debate_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="run.py",
        description="Hold debates of language-model agents, and measure what happens to their attitudes.",
        epilog=EPILOG,
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
        from model.estimate import lines

        print("\n".join(lines(scenario, prices(scenario, options))))
        return 0
    return hold(scenario, given, options)


def hold(scenario: Scenario, given: tuple[str, ...], options: argparse.Namespace) -> int:
    """Run the debates, then write the report."""
    from model.session import Ask, sit

    folder = options.out or Path("runs") / f"{scenario.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    (limits,) = budget(options, scenario)
    task = Ask(scenario, folder, given, limits, options.retry_failures)
    with Progress(scenario) as bar:

        def begin(backend: Backend) -> None:
            """The model is there: only now a folder will be."""
            bar.bar.write(f"folder   {folder}")
            bar.found(backend)

        outcome = sit(task, bar.calls, bar.step, on_open=begin)
    print(told(scenario, folder, outcome))

    from analysis.report import SUMMARY, main_figure, write_report

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
    from analysis.asked import value
    from analysis.commands_page import serve

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
    asked = {"scenario": options.scenario, **{key: value(scenario.to_dict(), key) for key in given}}
    return serve(Path(__file__).with_name("app.py"), asked, options.host or "127.0.0.1", options.port)


def show_list() -> int:
    """`run.py --list`"""
    from agents.topic import load_topic, news, slugs
    from llm.backends import names
    from model.scenario import load_preset, preset_names

    width = max(map(len, preset_names()))
    for name in preset_names():
        scenario = load_preset(name)
        print(f"{name:<{width}} {scenario.title}\n{'':<{width}} {scenario.source}")
    print("\ntopics: " + ", ".join(f"{slug} ({load_topic(slug).axis})" for slug in slugs()))
    print("news: " + ", ".join(f"{slug} ({load_topic(slug).axis})" for slug in news()))
    print("models: " + ", ".join(names()))
    return 0


def personas(arguments: Sequence[str]) -> int:
    """`run.py personas`: write persona files anew with any model."""
    parser = Parser(
        prog="run.py personas",
        description="Write the personas of a set with a model, through the meta-prompts in agents/prompts (docs/personas.md).",
    )
    parser.add_argument("--set", choices=("voters", "enhanced", "twins"), default="voters", help="(voters)")
    parser.add_argument("--party", choices=("republican", "democrat", "default"), help="(all that the set writes)")
    parser.add_argument(
        "--topic",
        dest="topics",
        metavar="NAME[,NAME]",
        default="",
        help="for voters: topics on which each persona takes a position, names or paths to .toml files (the shipped ones)",
    )
    parser.add_argument("--llm", metavar="NAME[:MODEL][,key=value]", default="oracle")
    parser.add_argument("--seed", metavar="N", type=int, default=0)
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        required=True,
        help="folder for <party>.toml; agents/personas is where the shipped ones are",
    )
    options = parser.parse_args(arguments)
    from agents.enhanced import write_enhanced
    from agents.recruit import vacant, write_personas
    from agents.topic import load_topic, slugs
    from agents.twins import write_twins
    from llm.backends import open_spec
    from model.checks import check_topics

    write, known = {
        "voters": (write_personas, ("republican", "democrat")),
        "enhanced": (write_enhanced, ("republican", "democrat", "default")),
        "twins": (write_twins, ("republican", "democrat", "default")),
    }[options.set]
    wanted = (options.party,) if options.party else known
    if not set(wanted) <= set(known):
        raise UserError(f"the {options.set} that are written are {' and '.join(known)}; the Default is one sentence")
    if options.set == "voters":
        check_topics(options.llm, [topic for topic in map(load_topic, slugs()) if topic.in_backstories])
    for party in wanted:
        vacant(options.out, party)
    backend = open_spec(options.llm)
    topics = [topic.strip() for topic in options.topics.split(",") if topic.strip()]
    if topics and options.set != "voters":
        raise UserError(f"--topic is for --set voters: personas of {options.set} name no topic of a debate")
    more = {"topics": topics} if topics else {}
    for party in wanted:
        print(f"personas {write(party, options.out, backend, options.llm, options.seed, **more)}")
    return 0


def case(arguments: Sequence[str]) -> int:
    """`run.py case`: write the case of a structured debate into a topic file."""
    parser = Parser(
        prog="run.py case",
        description="Write the case that opens a structured debate from arguments for and against, with any model; "
        "a file in agents/topics is a topic of its own (--topic <file name>).",
    )
    parser.add_argument("--topic", metavar="SLUG", required=True, help="the topic whose question and probes are kept")
    parser.add_argument(
        "--for", dest="pro", metavar="TEXT", action="append", default=[], help="an argument (repeatable)"
    )
    parser.add_argument(
        "--against", dest="con", metavar="TEXT", action="append", default=[], help="an argument (repeatable)"
    )
    parser.add_argument(
        "--refine", metavar="TEXT", action="append", default=[], help="a change to it (repeatable, in turn)"
    )
    parser.add_argument("--llm", metavar="NAME[:MODEL][,key=value]", default="oracle")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the new topic file, .toml")
    options = parser.parse_args(arguments)
    from agents.case import write_topic
    from agents.topic import load_topic
    from llm.backends import open_spec

    topic = load_topic(options.topic)
    path = write_topic(
        topic, options.pro, options.con, options.refine, options.out, open_spec(options.llm), options.seed
    )
    print(f"topic    {path}")
    return 0


def questions(arguments: Sequence[str]) -> int:
    """`run.py questions`: have a model write divisive questions."""
    parser = Parser(
        prog="run.py questions",
        description="Have a model write divisive questions with their declarative forms, screened and split (docs/questions.md).",
    )
    parser.add_argument("--llm", metavar="NAME[:MODEL][,key=value]", required=True)
    parser.add_argument("--count", metavar="N", type=natural, default=150, help="(150)")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the new file, .toml")
    options = parser.parse_args(arguments)
    from agents.question_writer import told, write_questions
    from llm.backends import open_spec

    written = write_questions(options.count, options.out, open_spec(options.llm), options.llm, options.seed)
    print(f"questions {options.out}: {len(written.questions)} (dropped: {told(written.dropped)})")
    return 0


def calibrate(arguments: Sequence[str]) -> int:
    """`run.py calibrate`: speakers whose bias is planted debate, and the instruments look for it."""
    parser = Parser(
        prog="run.py calibrate",
        description="Check the instruments: hold the same debates with speakers of a planted bias, and look for it in the records.",
    )
    parser.add_argument("--topic", metavar="SLUG[,SLUG]", help="topics (the four of the three-way debate)")
    parser.add_argument("--repetitions", metavar="N", help="rooms per topic (40)")
    parser.add_argument("--rounds", metavar="N", help="rounds (5)")
    parser.add_argument("--seed", metavar="N", help="same seed, same record")
    parser.add_argument("--speakers", metavar="NAME[,NAME]", help="oracle, pocket: each with its control (both)")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="folder (runs/calibrate-<time>); an unfinished one is resumed"
    )
    options = parser.parse_args(arguments)
    from analysis.commands import hold_all
    from analysis.studies import calibrate as study
    from model.scenario import load_preset

    named = {
        "topics": options.topic,
        "repetitions": options.repetitions,
        "rounds": options.rounds,
        "seed": options.seed,
    }
    settings = study.SETTINGS | {key: value for key, value in named.items() if value is not None}
    base = load_preset("three_way").with_settings(settings)
    speakers = study.chosen(options.speakers)
    folder = options.out or Path("runs") / f"calibrate-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {folder}", flush=True)
    names = [speaker.title.replace(", ", "_") for speaker in speakers]
    found = hold_all(study.calibrate(base, speakers), names, folder, tuple(settings))
    print(f"report   {study.write(found, folder, base)}\nfigure   {folder / 'calibration.png'}")
    return 0


HERE = {"calibrate": calibrate, "case": case, "personas": personas, "questions": questions}
ELSEWHERE = {
    "analyse": "analysis.commands",
    "archetypes": "analysis.commands_savings",
    "human": "analysis.commands",
    "intervene": "analysis.commands_intervene",
    "judge": "analysis.commands",
    "report": "analysis.commands",
    "population": "analysis.commands_population",
    "surrogate": "analysis.commands_population",
    "rhetoric": "analysis.commands_presets",
    "arguments": "analysis.commands_presets",
    "bets": "analysis.commands_presets",
    "deviation": "analysis.commands_presets",
    "personalised": "analysis.commands_presets",
    "prior-beliefs": "analysis.commands_presets",
    "audit": "analysis.commands_card",
    "audit-probe": "analysis.commands_presets",
    "compare": "analysis.commands_card",
    "structured": "analysis.commands_structured",
    "sweep": "analysis.commands_sweeps",
    "validate": "analysis.commands",
    "representatives": "training.commands_representatives",
    "train": "training.commands",
    "fine-tuned": "training.commands",
    "sweep-lora": "training.commands_sweep",
    "export": "training.commands_export",
}
"""Commands that bring their floor along, and where their functions are."""


def command(name: str) -> Callable[[Sequence[str]], int]:
    """The function of a command. Errors: UserError on an unknown one, with the nearest."""
    if name in HERE:
        return HERE[name]
    if name not in ELSEWHERE:
        raise unknown("command", name, [*HERE, *ELSEWHERE])
    found: Callable[[Sequence[str]], int] = getattr(import_module(ELSEWHERE[name]), name.replace("-", "_"))
    return found


if __name__ == "__main__":
    sys.exit(main())
