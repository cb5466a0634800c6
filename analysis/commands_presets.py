"""The commands of presets that stand for a source each (docs/presets.md): rhetoric, personalised, prior-beliefs, audit-probe."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.llm.errors import UserError
from parley.model.commandline import Parser, amount, bar, natural
from parley.model.options import add_limits, budget_of, budgets_of

if TYPE_CHECKING:
    from parley.analysis.tables import Tables
    from parley.model.scenario import Scenario


def rhetoric(arguments: Sequence[str]) -> int:
    """`run.py rhetoric RUN --llm SPEC`: what every utterance of a run appeals to."""
    parser = Parser(
        prog="run.py rhetoric",
        description="Have a model say of every utterance of a run whether it appeals to reason, feeling, character; and how far "
        "those who heard it moved, where they were asked (--set also=attitude:turns).",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a run folder")
    parser.add_argument("--llm", metavar="SPEC", required=True, help="the judge; any model, whatever the debaters are")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (RUN/rhetoric)")
    add_limits(parser, "folder")
    options = parser.parse_args(arguments)
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.rhetoric.report import write_rhetoric
    from parley.analysis.rhetoric.tags import APPEALS, tag_run
    from parley.analysis.tables import load

    tables, out = load(options.run), options.out or options.run / "rhetoric"
    if tables.utterances["text"].notna().sum() == 0:
        raise UserError(f"{options.run} holds no utterance to tag")
    (limits,) = budget_of(options, options.llm)
    found = tag_run(tables, out, options.llm, options.seed, bar, limits)
    said = found[found["text"].notna()]
    print(missing_lines(said[list(APPEALS)], said["reasons"], "utterances"))
    print(f"tags     {out / 'tags.csv'}\nreport   {write_rhetoric(found, tables, out, options.llm)}")
    return 0


def deviation(arguments: Sequence[str]) -> int:
    """`run.py deviation RUN --llm SPEC`: how far what is said is from the news."""
    parser = Parser(
        prog="run.py deviation",
        description="Have a model say how far every utterance of a run is from the news that came in, by role and step. This "
        "is the distance of opinions, not the evolution of a story (preset news_roles; docs/presets.md).",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a run folder")
    parser.add_argument("--llm", metavar="SPEC", required=True, help="the judge; any model, whatever the speakers are")
    parser.add_argument("--source", metavar="TEXT", help="the news (the first thing that was said from outside)")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (RUN/deviation)")
    add_limits(parser, "folder")
    options = parser.parse_args(arguments)
    from parley.analysis.deviation.judge import judge_deviation, source_of
    from parley.analysis.deviation.report import write
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.tables import load

    tables, out = load(options.run), options.out or options.run / "deviation"
    if tables.utterances["text"].notna().sum() == 0:
        raise UserError(f"{options.run} holds no utterance to set beside the news")
    source = options.source or source_of(tables, str(options.run))
    (limits,) = budget_of(options, options.llm)
    found = judge_deviation(tables, source, out, options.llm, options.seed, bar, limits)
    said = found[found["text"].notna()]
    print(missing_lines(said[["deviation"]], said["reason"], "verdicts"))
    print(f"verdicts {out / 'verdicts.csv'}\nreport   {write(found, tables, source, out, options.llm)}")
    return 0


def personalised(arguments: Sequence[str]) -> int:
    """`run.py personalised`: the four conditions of Salvi et al., beside people."""
    parser = debates(
        "personalised",
        "Debates in which the opponent is introduced as a person or an AI, and its demographics told or not.",
    )
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="folder with Salvi's table (docs/human.md)")
    options = parser.parse_args(arguments)
    from parley.analysis.commands import hold_all
    from parley.analysis.studies import personalised as study
    from parley.model.scenario import load_preset

    settings = given(options)
    folder, base = out_of(options, "personalised"), load_preset("personalised").with_settings(settings)
    print(f"folder   {folder}", flush=True)
    names = [name.replace(", ", "_") for name in study.CONDITIONS]
    limits = budgets_of(options, base, folder, names)
    found = hold_all(study.personalised(base), names, folder, tuple(settings), None, *limits)
    print(f"report   {study.write(found, options.data, folder)}")
    return 0


def prior_beliefs(arguments: Sequence[str]) -> int:
    """`run.py prior-beliefs`: debates for and against one's own belief before a judge, in both protocols."""
    parser = debates(
        "prior-beliefs",
        "Debates before a judge, for and against what the debaters believe, sequential and simultaneous.",
    )
    options = parser.parse_args(arguments)
    from parley.analysis.commands import hold_all
    from parley.analysis.studies import prior_beliefs as study
    from parley.model.scenario import load_preset

    settings = given(options)
    folder, base = out_of(options, "prior-beliefs"), load_preset("prior_beliefs").with_settings(settings)
    print(f"folder   {folder}", flush=True)
    names = list(study.CONDITIONS)
    limits = budgets_of(options, base, folder, names)
    found = hold_all(study.beliefs(base), names, folder, tuple(settings), None, *limits)
    print(f"report   {study.write(found, folder)}")
    return 0


def arguments(given_: Sequence[str]) -> int:
    """`run.py arguments`: a convincer who argues by knowledge, trust, status, support, or as it likes, before a skeptic."""
    parser = debates("arguments", "How far a skeptic moves, by the kind of argument that a convincer is asked for.")
    options = parser.parse_args(given_)
    from parley.analysis.studies import arguments as study

    return _conditions(options, "arguments", "persuasion", study.arguments, study.KINDS, study.write)


def bets(arguments: Sequence[str]) -> int:
    """`run.py bets`: private bets against another debater, and against an own copy."""
    parser = debates("bets", "Debaters bet in private how well they stand, against another and against their own copy.")
    options = parser.parse_args(arguments)
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
    from parley.analysis.commands import hold_all
    from parley.model.scenario import load_preset

    settings = given(options)
    folder, base = out_of(options, command), load_preset(preset).with_settings(settings)
    print(f"folder   {folder}", flush=True)
    names = [name.replace(", ", "_").replace(" ", "_") for name in conditions]
    found = hold_all(study(base), names, folder, tuple(settings), None, *budgets_of(options, base, folder, names))
    print(f"report   {write(found, folder)}")
    return 0


def audit_probe(arguments: Sequence[str]) -> int:
    """`run.py audit-probe --llm SPEC`: variance of the answers to a survey question, and what their order does."""
    parser = Parser(
        prog="run.py audit-probe",
        description="Ask every persona a survey question many times, its answers listed in three orders: do the people differ, "
        "does a person vary, does the order matter? See docs/presets.md.",
    )
    parser.add_argument("--llm", metavar="SPEC", required=True, help="the model")
    parser.add_argument("--topic", metavar="SLUG", default="racism", help="(racism)")
    parser.add_argument("--probe", metavar="NAME", default="attitude", help="a probe of the topic (attitude)")
    parser.add_argument("--personas", metavar="SET", default="voters", help="(voters)")
    parser.add_argument("--repeats", metavar="N", type=natural, default=10, help="times a person and order (10)")
    parser.add_argument("--temperature", metavar="X", type=amount, default=1.0, help="(1)")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder; an unfinished one is resumed")
    add_limits(parser, "folder")
    options = parser.parse_args(arguments)
    from parley.agents.topic import load_topic
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.studies import probe_audit as study
    from parley.model.validation import check_topics

    named = {name: getattr(options, name) for name in ("topic", "probe", "personas", "repeats", "temperature", "seed")}
    audit, folder = study.ProbeAudit(**named), out_of(options, "audit-probe")
    audit.question, audit.people()  # what is misspelt is told before anything is asked
    check_topics(options.llm, [load_topic(options.topic)])
    print(f"folder   {folder}", flush=True)
    (limits,) = budget_of(options, options.llm)
    found = study.audit_probe(audit, options.llm, folder, bar, limits)
    print(missing_lines(found[["rating"]], found["reason"], "ratings"))
    print(f"report   {study.write(found, audit, options.llm, folder)}")
    return 0


def debates(command: str, description: str) -> Parser:
    """The options that commands which hold debates of a preset have in common."""
    parser = Parser(prog=f"run.py {command}", description=f"{description} See docs/presets.md.")
    parser.add_argument("--topic", metavar="SLUG[,SLUG]", help="topics (those of the preset)")
    parser.add_argument("--repetitions", metavar="N", help="rooms per topic")
    parser.add_argument("--llm", metavar="SPEC", help="the model")
    parser.add_argument("--seed", metavar="N", help="same seed, same record")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="any field of the preset (repeatable)"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder; an unfinished one is resumed")
    add_limits(parser, "folder, by all conditions")
    return parser


def given(options: argparse.Namespace) -> dict[str, str]:
    """The settings that were given."""
    from parley.model.scenario import parse_settings

    named = {"topics": options.topic, "repetitions": options.repetitions, "llm": options.llm, "seed": options.seed}
    return parse_settings(options.set) | {key: value for key, value in named.items() if value is not None}


def out_of(options: argparse.Namespace, command: str) -> Path:
    """The folder asked for, or a new one."""
    return options.out or Path("runs") / f"{command}-{time.strftime('%Y%m%d-%H%M%S')}"
