"""What the commands share: one parser, and one parent parser for each group of shared options (arguments.py reads them).

A command names its parents, so that an option means the same wherever it stands:

    Parser("judge", "Let a model score ...", "judge runs/a --llm oracle", *asking("RUN/judge"))
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path
from textwrap import fill
from typing import Any

from parley.llm.errors import UserError, unknown_name

Parent = argparse.ArgumentParser
OUTPUT, THEIRS = "seed and output", "the scenario's"
MODELS = """
pocket: the small model in the box
oracle: the rule-based speaker, whose bias is known
openai:MODEL: any OpenAI-compatible server
hf:PATH_OR_ID: a local model, through transformers
replay:RUN: the replies of an earlier run
fake: made-up replies, to try a command"""
TRAINABLE = """
pocket: the small model in the box
hf:PATH_OR_ID: a local model, through transformers"""
PARTY = "\nPARTY=SPEC: the model of one party, or of one seat ('republican 2=SPEC'); repeat --llm for it"


def program() -> str:
    """`parley` where it was started as that (or as `python -m parley`), else `run.py`."""
    started = Path(sys.argv[0])
    module = started.name == "__main__.py" and started.resolve().parent == Path(__file__).resolve().parents[1]
    return "parley" if module or started.name == "parley" else "run.py"


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of a description and of a help text; longer ones are wrapped."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return [part for line in text.splitlines() for part in super(_Help, self)._split_lines(line, width)]


class Parser(argparse.ArgumentParser):
    """The parser of a command: a description, options in groups, examples. A mistake is a UserError of one line that names the
    nearest right word; an option is never guessed from its beginning.

    examples: as typed after the program's name, one a line. parents: of the shared options. commands: the parsers of a command
    that has commands of its own.
    """

    def __init__(
        self,
        command: str,
        description: str,
        examples: str,
        *parents: Parent,
        commands: Mapping[str, Callable[[], Parser]] | None = None,
        **keywords: Any,
    ):
        super().__init__(
            prog=f"{program()} {command}".strip(),
            description="\n".join(
                fill(line, shutil.get_terminal_size().columns - 2) for line in description.splitlines()
            ),
            epilog=keywords.pop("epilog", "") + _shown(examples),
            parents=parents,
            formatter_class=_Help,
            allow_abbrev=False,
            **keywords,
        )
        self.commands = commands or {}

    def format_help(self) -> str:
        """The help. Its first line names what has to be given, and leaves the rest to the groups."""
        self.usage = self.usage or " ".join(["%(prog)s", *filter(None, map(_needed, self._actions)), "[options]"])
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does. An unknown option is refused first, with the nearest right name."""
        given = sys.argv[1:] if args is None else args
        for word in takewhile(lambda word: word != "--", given):
            name = word.partition("=")[0]
            if name.startswith("--") and " " not in name and name not in self._option_string_actions:
                raise unknown_name("option", name, [one for one in self._option_string_actions if one.startswith("--")])
        return super().parse_known_args(given, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise unknown_name(f"value of {'/'.join(action.option_strings) or action.dest}", str(value), action.choices)

    def error(self, message: str) -> Any:
        """Errors: UserError, always."""
        raise UserError(f"{message.removeprefix('argument ')} (see --help)")


def _needed(action: argparse.Action) -> str:
    """A positional argument, or an option that has to be given, as the usage shows it; else nothing."""
    metavar = str(action.metavar or "").split("[")[0]
    if action.option_strings:
        return f"{action.option_strings[0]} {metavar.lstrip('[') or 'NAME'}" if action.required else ""
    return f"{metavar} [{metavar} ...]" if action.nargs == "+" else metavar


def _shown(examples: str) -> str:
    """The examples as a reader can copy them."""
    start = "parley" if program() == "parley" else "python run.py"
    lines = [f"  {start} {line.strip()}" for line in examples.splitlines() if line.strip()]
    return "\n".join([f"example{'s' if len(lines) > 1 else ''}:", *lines])


def natural(text: str) -> int:
    """A count given on the command line: 0, 1, 2, ..."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def positive(text: str) -> int:
    """A count of 1 or more."""
    if not (found := natural(text)):
        raise argparse.ArgumentTypeError("must be 1 or more, not 0")
    return found


def amount(text: str) -> float:
    """Money: a finite number of 0 or more."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return found


def price(text: str) -> tuple[float, float]:
    """`0.5,1.5`: money per million tokens in and out."""
    parts = text.split(",")
    if len(parts) != 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not IN,OUT, two numbers")
    return amount(parts[0]), amount(parts[1])


def add_option(to: Any, spec: str, about: str, kind: Any = None, default: Any = None, **more: Any) -> None:
    """Add `--name METAVAR`, or the positional `METAVAR`, to a parser or a group. Its help ends with the default.

    >>> add_option(parser := argparse.ArgumentParser(), "--limit N", "most items", natural, 5)
    >>> parser.parse_args([]).limit, "most items (default: 5)" in parser.format_help()
    (5, True)
    """
    name, _, metavar = spec.partition(" ")
    if not name.startswith("-"):
        name, metavar = str(more.pop("name", name.lower())), name
    default_note = f" (default: {default:g})" if isinstance(default, float) else f" (default: {default})"
    more |= {"metavar": metavar} if metavar else {}
    more |= {"type": kind} if kind else {}
    more |= {"default": default} if default is not None else {}
    usual = "" if default in (None, "", []) or "(default" in about else default_note
    to.add_argument(name, help=f"{about}{usual}", **more)


def _parent(title: str) -> tuple[Parent, Any]:
    """A parent parser, and its titled group of options."""
    parent = argparse.ArgumentParser(add_help=False)
    return parent, parent.add_argument_group(title)


def scenario(default: str = "") -> Parent:
    """Which scenario, and what happens to it from outside."""
    parent, group = _parent("debate")
    about = "a scenario's name (run.py --list shows all), or the path of a .toml preset"
    add_option(group, "--scenario NAME", about, default=default or None)
    about = (
        "an intervention before a round, in place of the preset's own (repeatable; docs/interventions.md), "
        "such as \"message round=3 to=democrat by=Ann text='...'\""
    )
    add_option(group, '--intervene "KIND KEY=VALUE ..."', about, action="append")
    return parent


def topic(usual: str = THEIRS, **more: Any) -> Parent:
    """What is debated. usual: the default, in words."""
    parent, group = _parent("debate")
    about = "topics, by name (run.py --list shows all), or paths of .toml files"
    add_option(group, "--topic SLUG[,SLUG]", f"{about}{_default_note(usual)}", **more)
    return parent


def repetitions(usual: str = THEIRS) -> Parent:
    """How often each debate is run."""
    parent, group = _parent("debate")
    about = f"debates for each topic and group, each with other agents{_default_note(usual)}"
    add_option(group, "--repetitions N", about, natural)
    return parent


def rounds(usual: str = THEIRS) -> Parent:
    """How long each debate is."""
    parent, group = _parent("debate")
    add_option(
        group, "--rounds N", f"rounds of a debate; every agent speaks once in each{_default_note(usual)}", natural
    )
    return parent


def settings(about: str = "set any field of the preset or of its environment (repeatable)") -> Parent:
    """Any other field of a scenario."""
    parent, group = _parent("debate")
    add_option(group, "--set KEY=VALUE", about, default=[], action="append")
    return parent


def seed(default: int | None = 0) -> Parent:
    """Which random draws. default: None leaves the seed to the scenario."""
    parent, group = _parent(OUTPUT)
    about = "random seed: the same seed gives the same results (default: 0)"
    add_option(group, "--seed N", about, natural, default)
    return parent


def out(usual: str, metavar: str = "DIR", about: str = "", required: bool = False) -> Parent:
    """Where results go."""
    parent, group = _parent(OUTPUT)
    folder = "the folder of the results; the same command with the same folder goes on where it stopped"
    about = about or (folder if metavar == "DIR" else "the file to write")
    add_option(group, f"--out {metavar}", f"{about}{_default_note(usual)}", Path, required=required)
    return parent


def dry_run(about: str = "print what would be asked, with tokens and cost, and ask nothing") -> Parent:
    """Whether anything is asked at all."""
    parent, group = _parent(OUTPUT)
    add_option(group, "--dry-run", about, action="store_true")
    return parent


def model(
    about: str = "the model that speaks",
    usual: str = THEIRS,
    parties: bool = False,
    trained: bool = False,
    required: bool = False,
) -> Parent:
    """Which models are asked, and where they are served. `options.llm` is a list.

    parties: each may have a model of its own. trained: it is one that can be trained here.
    """
    parent, group = _parent("model")
    kinds = f"{TRAINABLE if trained else MODELS}{PARTY if parties else ''}"
    spec = f"--llm {'[PARTY=]' if parties else ''}NAME[:MODEL][,KEY=VALUE]"
    note = "" if required else _default_note(usual)
    add_option(group, spec, f"{about}{note}{kinds}", default=[], action="append", required=required)
    about = (
        "where every openai:MODEL of this command is served that names no base_url of its own; several share the load "
        "(default: the OpenAI API)"
    )
    add_option(group, "--base-url URL[+URL]", about)
    return parent


def budget() -> Parent:
    """What may be spent on models: one budget for everything that a command asks, over all its starts with the same --out."""
    parent, group = _parent("budget")
    add_option(group, "--max-calls N", "stop cleanly after N calls to models (default: no limit)", natural)
    add_option(group, "--max-tokens N", "stop cleanly after about N tokens (default: no limit)", natural)
    add_option(group, "--max-cost X", "stop cleanly at about this cost (default: no limit)", amount)
    about = "money per million tokens, of the prompt and of the reply (default: that in llm/prices.toml)"
    add_option(group, "--price IN,OUT", about, price)
    add_option(group, "--prices FILE", "a table of prices like llm/prices.toml", Path)
    about = "go on where hardly any reply can be read (default: stop after the first survey, round or 20 replies)"
    add_option(group, "--keep-going", about, action="store_true")
    return parent


def retry_failures() -> Parent:
    """Whether calls are repeated that failed in an earlier start."""
    parent, group = _parent("budget")
    add_option(group, "--retry-failures", "ask the calls that failed again", action="store_true")
    return parent


def asking(folder: str, about: str = "the model to ask", usual: str = "", file: str = "") -> tuple[Parent, ...]:
    """The parents of a command that asks a model outside of debates: model, budget, seed, out.

    folder: the default of --out; without one --out has to be given, and is a `file` where that says what it holds.
    usual: the model where none is named; without one it has to be.
    """
    where = out("", "FILE", file, True) if file else out(folder, required=not folder)
    return model(about, usual, required=not usual), budget(), seed(), where


def debating(folder: str, own: Mapping[str, str] | None = None, trained: bool = False) -> tuple[Parent, ...]:
    """The parents of a command that runs debates: topic, repetitions, rounds, settings, model, budget, seed, out.

    own: the defaults that are not the scenario's, by the name of the option. trained: as of `model`.
    """
    usual = dict.fromkeys(("topic", "repetitions", "rounds", "llm"), THEIRS) | dict(own or {})
    return (
        topic(usual["topic"]),
        repetitions(usual["repetitions"]),
        rounds(usual["rounds"]),
        settings(),
        model(usual=usual["llm"], parties=not trained, trained=trained),
        budget(),
        seed(None),
        out(folder),
    )


def _default_note(usual: str) -> str:
    return f" (default: {usual})" if usual else ""
