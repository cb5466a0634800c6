"""Parley's commands: about a dozen at the first level, and every study as `study NAME`, listed by the question it answers.

The tables say where each command is. Its module is imported when the command runs, so that `--help` stays quick.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from parley.llm.errors import UserError, unknown_name
from parley.llm.studies import (
    MOVED,
    PEOPLE,
    QUESTIONS,
    READ,
    TRUE,
    WRITE,
    Command,
    Study,
    study_commands,
    study_of_folder,
)
from parley.model.cli import Parser, program
from parley.model.files import PARTIAL, RECORD

Run = Callable[[Sequence[str]], int]
FAMILIES = ("study", "export")
"""First words of commands of two words."""


class Place(NamedTuple):
    """Where a command is: its module, its function (the parser is that name with `_parser`), and what the command does."""

    module: str
    function: str
    about: str

    def load(self, suffix: str = "") -> Any:
        """Import the function, or with the suffix `_parser` the parser."""
        return getattr(import_module(f"parley.{self.module}"), self.function + suffix)


FIRST: Mapping[str, Mapping[str, Place]] = {
    "Run debates": {
        "run": Place("__main__", "run", "run the debates of a scenario (this is the default command)"),
        "branch": Place("analysis.commands.branch", "branch", "continue a run from a round with other settings"),
        "sweep": Place("analysis.commands.sweep", "sweep", "run a scenario with every combination of settings and seeds"),
        "population": Place("analysis.commands.population", "population", "simulate up to millions of agents with an opinion-dynamics model"),
        "study": Place("commands", "study", "run one of the studies: `study` lists them by question"),
    },
    "Know your model": {
        "models": Place("analysis.commands.models", "models", "list the models that you can use, and fetch one"),
        "qualify": Place("analysis.commands.models", "qualify", "check whether a model can play people, and which form of question the model needs"),
        "audit": Place("analysis.commands.card", "audit", "make the bias card of a model"),
        "train": Place("training.commands.tuning", "train", "fine-tune a model on its own partisan answers"),
    },
    "Read results": {
        "report": Place("analysis.commands.reports", "report", "write an HTML page about one or several runs"),
        "compare": Place("analysis.commands.reports", "compare", "compare runs, bias cards, or waves of a questionnaire"),
        "show": Place("analysis.commands.reports", "show", "print the prompts and the replies of an agent"),
        "export": Place("commands", "export", "write runs or a model for other programs: `export` lists the forms"),
    },
    "Write your own": {
        "new": Place("analysis.commands.writing", "new", "start a society, a party, a topic, personas or a study of your own"),
        "check": Place("analysis.commands.checking", "check", "list the faults of a society, a party, a topic, personas, a bundle, a card or tables"),
        "cluster-script": Place("analysis.commands.cluster", "cluster_script", "write the job file that runs a command on a Slurm cluster"),
        "completion": Place("__main__", "completion", "print a script that completes commands and options in your shell"),
    },
}  # fmt: skip
STUDIES: Mapping[str, Mapping[str, Place]] = {
    PEOPLE: {
        "questionnaire": Place("analysis.commands.surveys", "questionnaire", "ask the same survey questions on several dates, of several people or in several orders"),
        "validate": Place("analysis.commands.surveys", "validate", "check whether personas answer as their party would"),
        "human": Place("analysis.commands.human", "human", "compare a run with data from people"),
    },
    MOVED: {
        "intervene": Place("analysis.commands.branch", "intervene", "run the same debates with and without an intervention"),
        "fine-tuned": Place("training.commands.tuning", "fine_tuned", "run the same debates before and after fine-tuning"),
        "sweep-lora": Place("training.commands.export", "sweep_lora", "compare the effect and the cost of methods of fine-tuning"),
        "surrogate": Place("analysis.commands.population", "surrogate", "fit an opinion-dynamics model to a recorded run"),
    },
    TRUE: {
        "organisms": Place("training.commands.organisms", "organisms", "build models of known bias, and score the instruments on them"),
    },
    READ: {
        "judge": Place("analysis.commands.judge", "judge", "let a model score or tag every statement of a run"),
        "analyse": Place("analysis.commands.reports", "analyse", "compare conditions in a table of scores"),
        "import-log": Place("analysis.commands.exchange", "import_log", "convert a log of another framework to a run, and write a report"),
    },
    WRITE: {
        "personas": Place("analysis.commands.writing", "personas", "write personas with a model"),
        "questions": Place("analysis.commands.writing", "questions", "write divisive questions with a model"),
        "case": Place("analysis.commands.writing", "case", "write the case that opens a structured debate"),
    },
}  # fmt: skip
"""Studies by question, with those of parley/studies and of the user in `study_groups`."""
FORMS: Mapping[str, Place] = {
    "adapter": Place("training.commands.export", "export_adapter", "merge an adapter into its model, for vLLM, Ollama or llama.cpp"),
    "bundle": Place("analysis.commands.exchange", "export_bundle", "write runs as one sealed file with prompts and raw replies"),
    "eval": Place("analysis.commands.exchange", "export_eval", "write a run as an .eval file for the viewer of Inspect"),
    "own-lines": Place("analysis.commands.human", "export_own_lines", "write a file with everything that one person in a run wrote and rated"),
}  # fmt: skip
HINTS: Mapping[str, str] = {
    "run.py --list": "list scenario scenarios debates topics ls presets gallery",
    "run.py --ui (or --ui RUN, at a run)": "ui gui page app web serve browser watch open view replay",
    "run.py --help": "help hilfe ayuda aide man",
    "run.py --version": "version",
    'run.py --scenario echo_chamber --llm oracle (--topic "Should ...?" for a question of your own)': "demo example start debate debates simulate simulation quickstart",
    "the same command again, with the same --out: it continues": "resume continue restart",
    "run.py report RUN (and RUN/summary.md)": "plot figure figures chart html summary graph result results analyse analyze analysis summarise summarize stats",
    "--set personas=NAME for a run: simple, enhanced, twins, voters, or a file (docs/personas.md)": "personas personae",
    "--set size=N (in --scenario network), or a seat for each agent: --set seats=PARTY,PARTY": "size agents",
    "run.py show RUN --agent 1": "prompts replies transcript inspect",
    "run.py models (and --llm openai:MODEL --base-url URL, for a server)": "model llm llms ollama claude gpt gpt-4o openai anthropic vllm hf llama mistral",
    "run.py audit --llm MODEL": "bias card lean benchmark measure",
    "run.py train --party PARTY": "tune finetune fine-tune lora sft dpo",
    "run.py sweep": "batch grid batch_run",
    "run.py new": "create init topic persona society party agent",
    "run.py check": "verify validate-topic lint",
    "run.py branch": "fork branches",
    "run.py study": "studies experiment experiments replicate papers",
    "run.py export bundle RUN": "bundle zip archive",
    "the tables of a run in RUN/tables, as CSV and Parquet (docs/howto.md: R)": "csv table tables data parquet json excel xlsx r stata spss dataframe",
    "run.py study data (public files of people, and how to convert them)": "dataset datasets corpus download humans",
    "the same command with --dry-run: calls, tokens and cost": "cost costs price prices budget estimate plan",
    "Ctrl-C in its terminal; the same command with the same --out continues it": "stop abort cancel pause kill",
    "rm -r RUN, or Delete in run.py --ui": "delete remove rm clean",
    "docs/index.md": "docs doc documentation manual tutorial",
    "sh do.sh test": "test tests selftest",
    "CITATION.cff, and How to cite in docs/statistics.md": "cite citation bibtex",
}
"""What people type who do not know a command's name, by what they want."""


def study_groups() -> dict[str, dict[str, str]]:
    """Return all studies by question, each with what it does. Errors: UserError for a study whose name is taken."""
    groups = {
        question: {name: place.about for name, place in STUDIES.get(question, {}).items()} for question in QUESTIONS
    }
    for name, (_, command) in study_commands().items():
        if any(name in group for group in (*FIRST.values(), *STUDIES.values())):
            raise UserError(f"a study is called {name}, which is a command of Parley: rename the study")
        groups.setdefault(command.group, {})[name] = command.about
    return {question: group for question, group in groups.items() if group}


def commands() -> dict[str, str]:
    """Return every command that does something, with what it does: `audit`, `study bets`, `export bundle`."""
    first = {name: place.about for group in FIRST.values() for name, place in group.items() if name not in FAMILIES}
    of_studies = {f"study {name}": about for group in study_groups().values() for name, about in group.items()}
    return {**first, **of_studies, **{f"export {name}": place.about for name, place in FORMS.items()}}


def overview() -> str:
    """List the commands of the first level, in groups, one per line."""
    groups = {title: {name: place.about for name, place in group.items()} for title, group in FIRST.items()}
    return "\n\n".join(["commands (COMMAND --help explains one):", *_listed(groups)])


def _listed(groups: Mapping[str, Mapping[str, str]]) -> list[str]:
    width = max(len(name) for group in groups.values() for name in group)
    return [
        "\n".join(
            [
                title if title.endswith("?") else f"{title}:",
                *(f"  {name:<{width}}  {about}" for name, about in group.items()),
            ]
        )
        for title, group in groups.items()
    ]


def command(words: Sequence[str]) -> int:
    """Run the command that the words begin with, and return its exit code. Errors: UserError for an unknown one, with a hint."""
    run: Run = _part(words[0], "", words[1:])
    return run(words[1:])


def parser_of(name: str) -> Parser:
    """Return the parser of a command by its name, such as `audit` or `study bets`. Errors: as for `command`."""
    first, _, second = name.partition(" ")
    make = {"study": _study_part, "export": _form_part}[first](second, "_parser") if second else _part(first, "_parser")
    parser: Parser = make()
    return parser


def _part(name: str, suffix: str, after: Sequence[str] = ()) -> Any:
    """Return the function of a command of the first level, or with the suffix `_parser` that of its parser.

    after: the words that were typed after the name, for a hint where there is no such command.
    """
    places = {name: place for group in FIRST.values() for name, place in group.items()}
    if name in places:
        return places[name].load(suffix)
    if any((Path(name) / record).is_file() for record in (RECORD, PARTIAL)):
        ways = ", ".join(f"{program()} {way} {name}" for way in ("--ui", "show", "report"))
        raise UserError(f"{name} is the folder of a run, not a command. You may want: {ways}")
    if os.sep in name or "/" in name or name in _study_names():
        wanted = _wanted([name])
        more = f". You may also want: {wanted}" if wanted else ""
        raise UserError(f"{name} is a study, so its command is {program()} study {name}{more}")
    raise _unknown(name, places, after)


def _wanted(words: Iterable[str]) -> str:
    """Return what is named by the first of these words that `HINTS` knows, also within a longer one: `summary(runs)`; or ""."""
    for word in chain.from_iterable(re.findall(r"[\w-]+", word.lower()) for word in words):
        for wanted, typed in HINTS.items():
            if word in typed.split():
                return wanted.replace("run.py", program())
    return ""


def _unknown(name: str, names: Collection[str], after: Sequence[str]) -> UserError:
    """Return the error of an unknown command, with what the person may have wanted."""
    from parley.model.scenario import preset_names

    if name in preset_names():
        return UserError(f"{name} is a scenario, so its command is {program()} --scenario {name}")
    if name.lower() == "help" and after and after[0] in names:
        return UserError(f"unknown command 'help'. You may want: {program()} {after[0]} --help")
    if wanted := _wanted([name]) or _wanted(takewhile(lambda word: not word.startswith("-"), after)):
        return UserError(f"unknown command {name!r}. You may want: {wanted}")
    near = get_close_matches(name, [*names, *_study_names()], n=3, cutoff=0.6)
    meant = [close if close in names else f"study {close}" for close in near]
    advice = f"did you mean {', '.join(meant)}?" if meant else f"there are {', '.join(sorted(names))}"
    return UserError(f"unknown command {name!r}: {advice} (`{program()} study` lists all studies)")


def _study_names() -> list[str]:
    return [name for group in study_groups().values() for name in group]


def study_parser() -> Parser:
    """The parser of `run.py study`: those of all studies."""
    return _family(
        "study",
        "Run a study: experiments that answer one question, most of them from a paper. Name a folder with a study of your own by "
        "its path (docs/extending.md).",
        "study bets --llm oracle\nstudy ./mine",
        study_groups(),
        {name: partial(parser_of, f"study {name}") for name in _study_names()},
        "[NAME]",
    )


def study(words: Sequence[str]) -> int:
    """Run `run.py study NAME ...`; without a name, list all studies by question."""
    if not words or words[0] in ("-h", "--help"):
        study_parser().print_help()
        return 0
    run: Run = _study_part(words[0], "")
    return run(words[1:])


def _study_part(name: str, suffix: str) -> Any:
    places = {name: place for group in STUDIES.values() for name, place in group.items()}
    if name in places:
        return places[name].load(suffix)
    if (declared := _declared(name)) is None:
        raise _unknown_study(name)
    home, entry = declared
    return home.part(entry.parser if suffix else entry.run)


def _declared(name: str) -> tuple[Study, Command] | None:
    """Return the study and its command of a name, or of a folder (`./mine`). Errors: UserError for a folder without one."""
    if "/" in name or os.sep in name:
        home = study_of_folder(Path(name))
        return home, home.commands[0]
    return study_commands().get(name)


def _unknown_study(name: str) -> UserError:
    if any(name in group for group in FIRST.values()):
        return UserError(f"{name} is not a study, so its command is {program()} {name}")
    return unknown_name("study", name, _study_names())


def export_parser() -> Parser:
    """The parser of `run.py export`: those of all forms."""
    return _family(
        "export",
        "Write runs, or a model that you trained, for other programs and other people.",
        "export bundle runs/a --out a.zip",
        {"forms": {name: place.about for name, place in FORMS.items()}},
        {name: partial(parser_of, f"export {name}") for name in FORMS},
        "FORM",
    )


def export(words: Sequence[str]) -> int:
    """Run `run.py export FORM ...`; without a form, list all."""
    if not words or words[0] in ("-h", "--help"):
        export_parser().print_help()
        return 0
    run: Run = _form_part(words[0], "", words[1:])
    return run(words[1:])


def _form_part(name: str, suffix: str, after: Sequence[str] = ()) -> Any:
    if name not in FORMS:
        unknown = unknown_name("form of export", name, FORMS)
        raise UserError(f"{unknown}. You may want: {wanted}") if (wanted := _wanted([name, *after])) else unknown
    return FORMS[name].load(suffix)


def _family(
    name: str,
    about: str,
    examples: str,
    groups: Mapping[str, Mapping[str, str]],
    parsers: Mapping[str, Callable[[], Parser]],
    second: str,
) -> Parser:
    """Return the parser of a command of two words, whose help lists the second ones."""
    listed = "\n\n".join([*_listed(groups), "\n"])
    return Parser(name, about, examples, commands=parsers, usage=f"%(prog)s {second} [options]", epilog=listed)
