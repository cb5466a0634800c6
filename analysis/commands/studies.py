"""The commands of presets that stand for a source each (docs/presets.md): rhetoric, personalised, prior-beliefs, audit-probe."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, scenario_from_args, study_budgets
from parley.model.cli import Parser, add_option, amount, natural
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.analysis.tables import Tables
    from parley.model.scenario import Scenario


def rhetoric_parser() -> Parser:
    """The options of `run.py rhetoric`."""
    parser = Parser(
        "rhetoric",
        "Let a model tag every utterance of a run: does it appeal to reason, feeling or character? Also report how far its "
        "readers moved, where a survey followed each utterance (--set also=attitude:turns).",
        "rhetoric runs/a --llm oracle",
        *cli.asking("RUN/rhetoric", "the model that tags"),
    )
    add_option(parser, "RUN", "a run folder", Path)
    return parser


def rhetoric(arguments: Sequence[str]) -> int:
    """`run.py rhetoric RUN --llm SPEC`: what every utterance of a run appeals to."""
    options = rhetoric_parser().parse_args(arguments)
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.rhetoric import APPEALS, tag_run, write_rhetoric
    from parley.analysis.tables import load

    tables, out = load(options.run), options.out or options.run / "rhetoric"
    if tables.utterances["text"].notna().sum() == 0:
        raise UserError(f"{options.run} holds no utterance to tag")
    spec = model_from_args(options)
    (limits,) = budgets_from_args(options, spec)
    found = tag_run(tables, out, spec, options.seed, bar, limits)
    said = found[found["text"].notna()]
    print(missing_lines(said[list(APPEALS)], said["reasons"], "utterances"))
    print(f"tags     {out / 'tags.csv'}\nreport   {write_rhetoric(found, tables, out, spec)}")
    return 0


def deviation_parser() -> Parser:
    """The options of `run.py deviation`."""
    parser = Parser(
        "deviation",
        "Let a model score how far each utterance of a run is from the news that came in, by role and round (preset news_roles, "
        "docs/presets.md). It measures the distance of opinions, not how a story changes.",
        "deviation runs/n --llm oracle",
        *cli.asking("RUN/deviation", "the model that scores"),
    )
    add_option(parser, "RUN", "a run folder", Path)
    add_option(parser, "--source TEXT", "the news (default: the first message that came from outside the debate)")
    return parser


def deviation(arguments: Sequence[str]) -> int:
    """`run.py deviation RUN --llm SPEC`: how far what is said is from the news."""
    options = deviation_parser().parse_args(arguments)
    from parley.analysis.deviation import judge_deviation, source_of, write
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.tables import load

    tables, out = load(options.run), options.out or options.run / "deviation"
    if tables.utterances["text"].notna().sum() == 0:
        raise UserError(f"{options.run} holds no utterance to set beside the news")
    source = options.source or source_of(tables, str(options.run))
    spec = model_from_args(options)
    (limits,) = budgets_from_args(options, spec)
    found = judge_deviation(tables, source, out, spec, options.seed, bar, limits)
    said = found[found["text"].notna()]
    print(missing_lines(said[["deviation"]], said["reason"], "verdicts"))
    print(f"verdicts {out / 'verdicts.csv'}\nreport   {write(found, tables, source, out, spec)}")
    return 0


def personalised_parser() -> Parser:
    """The options of `run.py personalised`."""
    parser = debates(
        "personalised",
        "Run debates in which the opponent is introduced as a person or an AI, with its demographics or without.",
    )
    add_option(parser, "--data FOLDER", "the folder with Salvi's table (docs/human.md)", Path)
    return parser


def personalised(arguments: Sequence[str]) -> int:
    """`run.py personalised`: the four conditions of Salvi et al., beside people."""
    options = personalised_parser().parse_args(arguments)
    from parley.analysis.studies import personalised as study

    def write(found: dict[str, Tables], folder: Path) -> Path:
        return study.write(found, options.data, folder)

    return _conditions(options, "personalised", "personalised", study.personalised, study.CONDITIONS, write)


def prior_beliefs_parser() -> Parser:
    """The options of `run.py prior-beliefs`."""
    return debates(
        "prior-beliefs",
        "Run debates before a judge in which debaters argue for their own belief or against it, in turn or at once.",
    )


def prior_beliefs(arguments: Sequence[str]) -> int:
    """`run.py prior-beliefs`: debates for and against one's own belief before a judge, in both protocols."""
    options = prior_beliefs_parser().parse_args(arguments)
    from parley.analysis.studies import prior_beliefs as study

    return _conditions(options, "prior-beliefs", "prior_beliefs", study.beliefs, study.CONDITIONS, study.write)


def arguments_parser() -> Parser:
    """The options of `run.py arguments`."""
    return debates("arguments", "Measure how far a skeptic moves, by the kind of argument that a convincer uses.")


def arguments(given: Sequence[str]) -> int:
    """`run.py arguments`: a convincer who argues by knowledge, trust, status, support, or as it likes, before a skeptic."""
    options = arguments_parser().parse_args(given)
    from parley.analysis.studies import arguments as study

    return _conditions(options, "arguments", "persuasion", study.arguments, study.KINDS, study.write)


def bets_parser() -> Parser:
    """The options of `run.py bets`."""
    return debates(
        "bets", "Let debaters bet in private that they win, against another debater and against their own copy."
    )


def bets(arguments: Sequence[str]) -> int:
    """`run.py bets`: private bets against another debater, and against an own copy."""
    options = bets_parser().parse_args(arguments)
    from parley.analysis.studies import bets as study

    return _conditions(options, "bets", "bets", study.bets, study.CONDITIONS, study.write)


def _conditions(
    options: argparse.Namespace,
    command: str,
    preset: str,
    study: Callable[[Scenario], Generator[Scenario, Tables, dict[str, Tables]]],
    conditions: Iterable[str],
    write: Callable[[dict[str, Tables], Path], Path],
) -> int:
    """Hold a preset in all conditions of a study, each in a folder named after it, and write the report."""
    from parley.analysis.commands.runs import hold_all

    base, given = scenario_from_args(options, preset)
    folder = out_of(options, command)
    names = [name.replace(", ", "_").replace(" ", "_") for name in conditions]
    limits = study_budgets(options, base, folder, names)
    print(f"folder   {folder}", flush=True)
    found = hold_all(study(base), names, folder, given, None, *limits)
    print(f"report   {write(found, folder)}")
    return 0


def audit_probe_parser() -> Parser:
    """The options of `run.py audit-probe`."""
    parser = Parser(
        "audit-probe",
        "Ask every persona the same survey question many times, with its answers in three orders: do people differ, does "
        "a person vary, does the order matter? (docs/presets.md)",
        "audit-probe --llm oracle --topic racism --repeats 20",
        cli.topic("racism", default="racism"),
        *cli.asking("runs/audit-probe-<time>"),
    )
    add_option(parser, "--probe NAME", "a survey question of the topic", default="attitude")
    add_option(parser, "--personas SET", "a set of personas", default="voters")
    add_option(parser, "--repeats N", "answers per persona and answer order", natural, default=10)
    add_option(parser, "--temperature X", "the model's temperature (default: 1)", amount, default=1.0)
    return parser


def audit_probe(arguments: Sequence[str]) -> int:
    """`run.py audit-probe --llm SPEC`: variance of the answers to a survey question, and what their order does."""
    options = audit_probe_parser().parse_args(arguments)
    from parley.agents.topic import load_topic
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.studies import probe_audit as study
    from parley.model.validation import check_topics

    named = {name: getattr(options, name) for name in ("topic", "probe", "personas", "repeats", "temperature")}
    audit, folder = study.ProbeAudit(**named, seed=options.seed), out_of(options, "audit-probe")
    audit.question, audit.people()  # what is misspelt is told before anything is asked
    spec = model_from_args(options)
    check_topics(spec, [load_topic(options.topic)])
    (limits,) = budgets_from_args(options, spec)
    print(f"folder   {folder}", flush=True)
    found = study.audit_probe(audit, spec, folder, bar, limits)
    print(missing_lines(found[["rating"]], found["reason"], "ratings"))
    print(f"report   {study.write(found, audit, spec, folder)}")
    return 0


def debates(command: str, description: str) -> Parser:
    """The parser of a command that runs debates of a preset in several conditions."""
    folder, example = f"runs/{command}-<time>", f"{command} --llm oracle --repetitions 2"
    return Parser(command, f"{description} See docs/presets.md.", example, *cli.debating(folder))


def out_of(options: argparse.Namespace, command: str) -> Path:
    """The folder asked for, or a new one."""
    return options.out or Path("runs") / f"{command}-{time.strftime('%Y%m%d-%H%M%S')}"
