"""The command `run.py qualify`: can this model play people?"""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import print_paths, results_folder, split_names
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, society_from_args
from parley.model.cli import Parser, add_option
from parley.model.progress import bar


def qualify_parser() -> Parser:
    """Return the options of `run.py qualify`."""
    parser = Parser(
        "qualify",
        "Ask a model to play people whose position is known, and check whether its answers follow the position, in which way it "
        "has to be asked, and whether it reads which end of a scale is which. It begins with the verdict (docs/qualify.md).",
        "qualify --llm oracle",
        cli.society(),
        cli.topic("those of the society"),
        *cli.asking("runs/qualify-<time>"),
        cli.dry_run(),
    )
    add_option(
        parser, "--short", "three topics, without other orders, other words and the short debate", action="store_true"
    )
    return parser


def qualify(words: Sequence[str]) -> int:
    """Run `run.py qualify --llm SPEC`."""
    options = qualify_parser().parse_args(words)
    from parley.agents.topic import society_topics
    from parley.analysis.qualify.before_run import needs_qualification
    from parley.analysis.qualify.debate import debate_sentences, run_debate
    from parley.analysis.qualify.kept import keep_qualification
    from parley.analysis.qualify.measures import planted_order
    from parley.analysis.qualify.own_voice import own_voice, voice_sentences
    from parley.analysis.qualify.questions import Battery, ask_planted, battery_topics, questions
    from parley.analysis.qualify.report import write_qualification
    from parley.analysis.qualify.verdict import best_way, way_verdicts
    from parley.llm.backends import open_spec

    society = society_from_args(options)
    given = [society.qualified(name) for name in split_names(options.topic or "")]
    known = [society.qualified(name) for name in society.topics] or society_topics(society)
    battery = Battery(battery_topics(known, given, options.short), options.short, options.seed)
    spec = model_from_args(options)
    if options.dry_run:
        print(f"{len(questions(battery))} questions on {', '.join(battery.topics)}; nothing was asked")
        return 0
    folder = results_folder(options, "qualify")
    (budget,) = budgets_from_args(options, spec)
    print_paths(folder=folder)
    backend = open_spec(spec)
    answers = ask_planted(battery, spec, folder, bar, budget, backend)
    debate, lines = [], None
    if not battery.short:
        way = best_way(way_verdicts(planted_order(answers, battery.seed))).way
        tables = run_debate(battery, spec, folder, budget, backend, way)
        party, lines = own_voice(tables, battery, spec, folder, bar, budget, backend)
        debate = [*debate_sentences(tables), *voice_sentences(party, lines)]
    path, verdict = write_qualification(answers, battery, spec, folder, debate, lines)
    if not given and needs_qualification(spec):
        keep_qualification(folder, backend.identity, society.name)
    print(verdict.replace("**", ""))
    print_paths(report=path)
    return 0
