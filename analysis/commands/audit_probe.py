"""The command `run.py audit-probe`: how much the answers to a survey question vary, and what their order does."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import print_paths, results_folder
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, society_from_args
from parley.model.cli import Parser, add_option, amount, positive
from parley.model.progress import bar


def audit_probe_parser() -> Parser:
    """Return the options of `run.py audit-probe`."""
    parser = Parser(
        "audit-probe",
        "Ask every persona the same survey question many times, with its answers in three orders. The report says how much "
        "people differ, how much one person varies, and whether the order of the answers matters (docs/presets.md).",
        "audit-probe --llm oracle --topic racism --repeats 20",
        cli.society(),
        cli.topic("the first of the society"),
        *cli.asking("runs/audit-probe-<time>"),
    )
    add_option(parser, "--probe NAME", "name of the topic's survey question to ask", default="attitude")
    add_option(parser, "--personas SET", "name of the set of personas to ask", default="voters")
    add_option(parser, "--repeats N", "number of answers per persona and order of the answers", positive, default=10)
    add_option(parser, "--temperature X", "sampling temperature of the model (default: 1)", amount, default=1.0)
    return parser


def audit_probe(words: Sequence[str]) -> int:
    """Run `run.py audit-probe --llm SPEC`."""
    options = audit_probe_parser().parse_args(words)
    from parley.agents.topic import load_topic
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.studies import probe_audit as study
    from parley.model.validation import check_topics

    names = ("topic", "probe", "personas", "repeats", "temperature", "seed")
    society = society_from_args(options)
    options.topic = society.qualified(options.topic or society.topics[0])
    options.personas = society.qualified(options.personas)
    audit = study.ProbeAudit(**{name: getattr(options, name) for name in names})
    audit.question, audit.people()  # a misspelt name is an error before the first call
    spec, folder = model_from_args(options), results_folder(options, "audit-probe")
    check_topics(spec, [load_topic(options.topic)])
    (budget,) = budgets_from_args(options, spec)
    print_paths(folder=folder)
    answers = study.audit_probe(audit, spec, folder, bar, budget)
    print(missing_lines(answers[["rating"]], answers["reason"], "ratings"))
    print_paths(report=study.write(answers, audit, spec, folder))
    return 0
