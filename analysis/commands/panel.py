"""The command `run.py panel`: people answer the same questions in several waves, with and without their own history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, results_folder, split_names
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, society_from_args
from parley.model.cli import Parser, add_option, amount, positive
from parley.model.progress import bar


def panel_parser() -> Parser:
    """Return the options of `run.py panel`."""
    parser = Parser(
        "panel",
        "Ask people the same questions in several waves, without and with their own earlier answers in the prompt, and measure "
        "how stable their answers are, compared with chance and with a panel of your own (docs/waves.md).",
        "panel --llm oracle --topic racism,abortion --people 10",
        cli.society(),
        cli.topic("all of the society"),
        *cli.asking("runs/panel-<time>"),
    )
    add_option(parser, "--probes NAMES", "names of the survey questions to ask on each topic", default="attitude")
    add_option(parser, "--personas SET", "name of the set of personas to ask", default="voters")
    add_option(parser, "--people N", "people of each party (default: all)", positive)
    add_option(parser, "--waves N", "number of waves", positive, default=3)
    add_option(parser, "--temperature X", "sampling temperature of the model (default: 1)", amount, default=1.0)
    about = "a panel of your own (.csv) with the columns person, wave, question, answer and perhaps party"
    add_option(parser, "--data FILE", about, Path)
    return parser


def panel(words: Sequence[str]) -> int:
    """Run `run.py panel --llm SPEC`."""
    options = panel_parser().parse_args(words)
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.studies import panel as study
    from parley.analysis.studies.panel_report import write_panel
    from parley.analysis.studies.questionnaire import questionnaire
    from parley.analysis.studies.stability import read_panel
    from parley.model.validation import check_topics

    society = society_from_args(options)
    items = questionnaire(society, split_names(options.topic or ""), split_names(options.probes))
    data = read_panel(options.data) if options.data else None
    personas, people = society.qualified(options.personas), options.people or 0
    asked = study.Panel(items, personas, options.waves, people, options.temperature, options.seed)
    asked.members()  # a misspelt name is an error before the first call
    spec, folder = model_from_args(options), results_folder(options, "panel")
    check_topics(spec, list({item.topic.slug: item.topic for item in items}.values()))
    (budget,) = budgets_from_args(options, spec)
    print_paths(folder=folder)
    answers = study.ask_panel(asked, spec, folder, bar, budget)
    print(missing_lines(answers[["answer"]], answers["reason"], "ratings"))
    print_paths(report=write_panel(answers, asked, spec, folder, data))
    return 0
