"""The parser of every command, and one parent parser per group of shared options (arguments.py reads their values).

A command lists its parents, so an option has the same meaning in every command:

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
from parley.llm.trust import FLAG
from parley.model.arguments import named_model
from parley.model.path_options import result_folder
from parley.model.placement import Workers, use_workers

Parent = argparse.ArgumentParser
OUTPUT, THEIRS = "seed and output", "set by the scenario"
MODELS = """
pocket: the small model that comes with Parley
oracle: the rule-based speaker, whose bias is known
openai:MODEL: any OpenAI-compatible server
smollm2: the model SmolLM2 on this machine; run.py models get smollm2 downloads the model
gguf:FILE: a GGUF file on this machine, through llama.cpp
hf:PATH_OR_ID: a model on this machine, through transformers
replay:RUN: the replies of an earlier run
fake: made-up replies, to try a command
chatter: random answers in the words of chat models, to try a command"""
TRAINABLE = """
pocket: the small model that comes with Parley
hf:PATH_OR_ID: a local model, through transformers"""
PARTY = (
    "\nPARTY=SPEC: the model of one party; first and second are the two debating parties of the society"
    "\n'first 2=SPEC': the model of one agent, here the second agent of the first party"
    "\n30%%=SPEC: the model of 30%% of the other agents, drawn by the seed"
    "\nGive --llm once for each model"
)

_TRUST = (
    "permit a Python file, a server or an API key that a settings file names; without permission the "
    "command stops. Examples: ./coin.py, lab.example:8000, LAB_KEY@lab.example. Repeatable (docs/files.md)"
)

NO_QUALIFY = (
    "skip the check whether a new model can play people (docs/models.md); reports then say that the "
    "model was not checked"
)


def program() -> str:
    """Return `parley` if it was started as `parley` or `python -m parley`, else `run.py`."""
    started = Path(sys.argv[0])
    as_module = started.name == "__main__.py" and started.resolve().parent == Path(__file__).resolve().parents[1]
    return "parley" if as_module or started.name == "parley" else "run.py"


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks of descriptions and help texts, and wraps long lines."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return [wrapped for line in text.splitlines() for wrapped in super(_Help, self)._split_lines(line, width)]


OF_MODELS = "--llm NAME[:MODEL]"
WANTED: Mapping[str, str] = {
    "--repetitions N": "n runs reps trials samples",
    "--rounds N": "round steps turns iterations",
    "--set size=N (in --scenario network), or a seat for each agent: --set seats=PARTY,PARTY": "agents size population",
    "--set personas=NAME (such as twins, voters, or a file), or --set seats=PARTY,PARTY": "personas persona people",
    "--set temperature=X": "temperature temp",
    OF_MODELS: "model models backend provider engine",
    "--base-url URL": "url api-base endpoint",
    "--llm openai:MODEL --base-url http://127.0.0.1:11434/v1 (a server on this machine)": "ollama vllm llamacpp lmstudio server",
    "--topic NAME": "topics subject question theme",
    "--society NAME": "country language lang nation parties party",
    "--out DIR": "output folder dir path save",
    "--seed N": "seeds random-seed rng",
    "--dry-run": "plan cost estimate",
    "--max-cost X": "budget limit",
}
"""Options by what people type who do not know their names; one is named where the command has it."""


class Parser(argparse.ArgumentParser):
    """The parser of a command. A mistake is a UserError of one line with the nearest right name; options cannot be abbreviated.

    examples: command lines without the name of the program, one per line. parents: parsers of shared options.
    commands: the parsers of subcommands by name.
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
        width = shutil.get_terminal_size().columns - 2
        super().__init__(
            prog=f"{program()} {command}".strip(),
            description="\n".join(fill(line, width) for line in description.splitlines()),
            epilog=keywords.pop("epilog", "") + _examples_text(examples),
            parents=parents,
            formatter_class=_Help,
            allow_abbrev=False,
            **keywords,
        )
        self.commands = commands or {}
        add_option(self, f"{FLAG} NAME", _TRUST, action="append")  # read by parley.llm.trust

    def format_help(self) -> str:
        """Return the help. Its first line names only the arguments that must be given."""
        required = filter(None, map(_required_argument, self._actions))
        self.usage = self.usage or " ".join(["%(prog)s", *required, "[options]"])
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse an unknown option with the nearest right name, then parse as argparse does."""
        given = sys.argv[1:] if args is None else args
        for word in takewhile(lambda word: word != "--", given):
            name = word.partition("=")[0]
            if name.startswith("--") and " " not in name and name not in self._option_string_actions:
                raise self._unknown_option(name)
        options, rest = super().parse_known_args(given, namespace)
        if "cluster" in options:
            use_workers(Workers(options.workers or 1, options.cluster or ""))
        return options, rest

    def _unknown_option(self, name: str) -> UserError:
        """Return the error of an unknown option: by what it may mean, else with the nearest names."""
        options = [option for option in self._option_string_actions if option.startswith("--")]
        for wanted, typed in WANTED.items():
            if name.removeprefix("--") in typed.split() and wanted.split()[0] in options:
                return UserError(f"unknown option {name!r}. You may want {wanted}")
        if name.removeprefix("--") in WANTED[OF_MODELS].split():
            wanted = f"{program()} audit --llm MODEL for each model, then {program()} compare FOLDER FOLDER"
            return UserError(f"unknown option {name!r}: {self.prog} uses no model. You may want {wanted}")
        return unknown_name("option", name, options)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise unknown_name(f"value of {'/'.join(action.option_strings) or action.dest}", str(value), action.choices)

    def error(self, message: str) -> Any:
        """Raise a UserError."""
        extra = message.removeprefix("unrecognized arguments: ").split()[0]
        if extra != message.split()[0] and "--scenario" in self._option_string_actions:
            from parley.model.scenario import preset_names

            if extra in preset_names():
                raise UserError(f"{extra} is a scenario: write --scenario {extra}")
        raise UserError(f"{message.removeprefix('argument ')} (see {self.prog} --help)")


def _required_argument(action: argparse.Action) -> str:
    """A positional argument or a required option, as the usage shows it; "" for any other option."""
    metavar = str(action.metavar or "").split("[")[0]
    if action.option_strings:
        return f"{action.option_strings[0]} {metavar.lstrip('[') or 'NAME'}" if action.required else ""
    return f"{metavar} [{metavar} ...]" if action.nargs == "+" else metavar


def _examples_text(examples: str) -> str:
    """The examples as complete command lines."""
    start = "parley" if program() == "parley" else "python run.py"
    lines = [f"  {start} {line.strip()}" for line in examples.splitlines() if line.strip()]
    return "\n".join([f"example{'s' if len(lines) > 1 else ''}:", *lines])


def natural(text: str) -> int:
    """Read a whole number of 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def port_number(text: str) -> int:
    """Read a port of this machine."""
    if (number := natural(text)) > 65535:
        raise argparse.ArgumentTypeError(f"must be at most 65535, but is {number}")
    return number


def positive(text: str) -> int:
    """Read a whole number of 1 or more."""
    if not (number := natural(text)):
        raise argparse.ArgumentTypeError("must be 1 or more, but is 0")
    return number


def amount(text: str) -> float:
    """Read a finite number of 0 or more, such as an amount of money."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return number


def price(text: str) -> tuple[float, ...]:
    """Read a price such as `0.5,1.5` or `0.5,1.5,0.25,0.5`: US dollars per million tokens (llm/prices.py)."""
    parts = text.split(",")
    if not 2 <= len(parts) <= 4:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a price: write IN,OUT, two numbers such as 0.15,0.6, or IN,OUT,CACHED,BATCH"
        )
    return tuple(map(amount, parts))


def add_option(to: Any, spec: str, about: str, kind: Any = None, default: Any = None, **more: Any) -> None:
    """Add `--name METAVAR`, or the positional `METAVAR`, to a parser or a group. Its help ends with the default.

    >>> add_option(parser := argparse.ArgumentParser(), "--limit N", "most items", natural, 5)
    >>> parser.parse_args([]).limit, "most items (default: 5)" in parser.format_help()
    (5, True)
    """
    name, _, metavar = spec.partition(" ")
    if not name.startswith("-"):
        name, metavar = str(more.pop("name", name.lower())), name
    more |= {"metavar": metavar} if metavar else {}
    more |= {"type": kind} if kind else {}
    more |= {"default": default} if default is not None else {}
    if default not in (None, "", [], ()) and "(default" not in about:
        about += _default_note(f"{default:g}" if isinstance(default, float) else str(default))
    to.add_argument(name, help=about, **more)


def _default_note(usual: str) -> str:
    return f" (default: {usual})" if usual else ""


def _group(title: str) -> tuple[Parent, Any]:
    """A parent parser, and its group of options with this title."""
    parent = argparse.ArgumentParser(add_help=False)
    return parent, parent.add_argument_group(title)


def _parent(title: str, spec: str, about: str, kind: Any = None, default: Any = None, **more: Any) -> Parent:
    """A parent parser with one option."""
    parent, group = _group(title)
    add_option(group, spec, about, kind, default, **more)
    return parent


def scenario(default: str = "") -> Parent:
    """The options that choose a scenario and its interventions."""
    parent, group = _group("debate")
    about = "a scenario's name (run.py --list shows all), or the path of a .toml preset"
    add_option(group, "--scenario NAME", about, default=default or None)
    about = (
        "an intervention before a round, in place of the preset's interventions (repeatable; "
        "docs/interventions.md). Example: \"message round=3 to=second by=Ann text='...'\""
    )
    add_option(group, '--intervene "KIND KEY=VALUE ..."', about, action="append")
    return parent


def society() -> Parent:
    """The option that chooses a society."""
    about = (
        "the society whose people, topics and language are used: us (default), uk, germany, neutral, or "
        "the folder of your own society"
    )
    return _parent("debate", "--society NAME", f"{about} (docs/societies.md)")


def topic(usual: str = THEIRS, **more: Any) -> Parent:
    """The option that chooses topics. usual: the default, in words."""
    about = 'topics: names (run.py --list shows all), paths of .toml files, or a question, such as "Should cities ban cars?"'
    return _parent("debate", "--topic NAME[,NAME]", about + _default_note(usual), **more)


def repetitions(usual: str = THEIRS) -> Parent:
    """The option for the number of repetitions."""
    about = "number of debates per topic and group; each debate has different agents"
    return _parent("debate", "--repetitions N", about + _default_note(usual), natural)


def rounds(usual: str = THEIRS) -> Parent:
    """The option for the number of rounds."""
    about = (
        "number of rounds; every agent speaks once per round. With 0, Parley only asks for ratings, without a debate"
    )
    return _parent("debate", "--rounds N", about + _default_note(usual), natural)


def settings(
    about: str = "change a field of the scenario or of its environment, such as memory=last:6 (repeatable)",
) -> Parent:
    """The option that sets any other field of a scenario."""
    return _parent("debate", "--set KEY=VALUE", about, default=[], action="append")


def seed(default: int | None = 0) -> Parent:
    """The option for the random seed. With the default None, the scenario's seed is used."""
    about = "random seed; the same seed gives the same results (default: 0)"
    return _parent(OUTPUT, "--seed N", about, natural, default)


def out(usual: str, metavar: str = "DIR", about: str = "", required: bool = False) -> Parent:
    """The option for the folder or file of the results."""
    folder = "the folder for the results. To continue a stopped command, repeat it with the same folder"
    about = about or (folder if metavar == "DIR" else "the file to write")
    kind = result_folder if metavar == "DIR" else Path
    return _parent(OUTPUT, f"--out {metavar}", about + _default_note(usual), kind, required=required)


def dry_run(about: str = "print the planned questions, tokens and cost, and stop without calling a model") -> Parent:
    """The option that prints the plan instead of running it."""
    return _parent(OUTPUT, "--dry-run", about, action="store_true")


def retry_failures() -> Parent:
    """The option that repeats calls that failed in an earlier start."""
    return _parent(
        "budget",
        "--retry-failures",
        "send again the calls to models that failed in an earlier start of this command",
        action="store_true",
    )


def model(
    about: str = "the model that writes the replies",
    usual: str = THEIRS,
    parties: bool = False,
    trained: bool = False,
    required: bool = False,
) -> Parent:
    """The options that choose models and their server. `options.llm` is a list.

    parties: a party may have its own model. trained: only models that can be trained here.
    """
    parent, group = _group("model")
    kinds = f"{TRAINABLE if trained else MODELS}{PARTY if parties else ''}"
    spec = f"--llm {'[PARTY=]' if parties else ''}NAME[:MODEL][,KEY=VALUE]"
    note = "" if required else _default_note(usual)
    add_option(group, spec, f"{about}{note}{kinds}", named_model, default=[], action="append", required=required)
    about = (
        "address of the server for each openai:MODEL that names no base_url, such as http://127.0.0.1:8000/v1; "
        "join several addresses with + to spread the calls over them (default: the OpenAI API)"
    )
    add_option(group, "--base-url URL[+URL]", about)
    return parent


def workers(what: str = "the rooms of a run", usual: str = "1") -> Parent:
    """The options that say how many processes work, and where. what: what is divided among them."""
    parent, group = _group("workers")
    add_option(group, "--workers N", f"number of processes that share {what}{_default_note(usual)}", positive)
    add_option(
        group,
        "--cluster ADDRESS",
        "run the workers on a Ray cluster: HOST:PORT, auto to find one, or local to start one here (default: no cluster)",
    )
    return parent


def budget() -> Parent:
    """The options that limit calls, tokens and cost. They count all starts of a command with the same --out."""
    parent, group = _group("budget")
    add_option(group, "--max-calls N", "stop after N model calls, and keep the results (default: no limit)", natural)
    add_option(group, "--max-tokens N", "stop after about N tokens, and keep the results (default: no limit)", natural)
    add_option(
        group, "--max-cost X", "stop at about this cost in US dollars, and keep the results (default: no limit)", amount
    )
    about = (
        "US dollars per million prompt tokens (IN) and reply tokens (OUT), such as 0.15,0.6. Optional "
        "third number: the price of cached prompt tokens. Optional fourth number: the fraction of all "
        "prices that a batch costs, such as 0.5 (default: from llm/prices.toml)"
    )
    add_option(group, "--price IN,OUT", about, price)
    add_option(
        group, "--prices FILE", "a file with the prices of several models, in the format of llm/prices.toml", Path
    )
    about = "continue even if almost no reply is readable (default: stop after the first survey, round or 20 replies)"
    add_option(group, "--keep-going", about, action="store_true")
    return parent


def asking(folder: str, about: str = "the model to ask", usual: str = "", file: str = "") -> tuple[Parent, ...]:
    """Return the parents of a command that asks a model outside of debates: model, budget, seed, out.

    folder: the default of --out; with "", --out is required. file: what the output file holds, if --out is a file.
    usual: the default model; with "", --llm is required.
    """
    where = out("", "FILE", file, True) if file else out(folder, required=not folder)
    return model(about, usual, required=not usual), budget(), seed(), where


def debating(
    folder: str, own_defaults: Mapping[str, str] | None = None, trained: bool = False, divided: Parent | None = None
) -> tuple[Parent, ...]:
    """Return the parents of a command that runs debates: topic, repetitions, rounds, settings, model, workers, budget, seed, out.

    own_defaults: those that are not the scenario's, by the name of the option. trained: as for `model`. divided: the options of
    workers that share something else than rooms.
    """
    usual = dict.fromkeys(("topic", "repetitions", "rounds", "llm"), THEIRS) | dict(own_defaults or {})
    unchecked = () if trained else (_parent("model", "--no-qualify", NO_QUALIFY, action="store_true"),)
    return (
        society(),
        topic(usual["topic"]),
        repetitions(usual["repetitions"]),
        rounds(usual["rounds"]),
        settings(),
        model(usual=usual["llm"], parties=not trained, trained=trained),
        *unchecked,
        divided or workers(),
        budget(),
        seed(None),
        out(folder),
    )
