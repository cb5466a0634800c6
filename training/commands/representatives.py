"""`run.py representatives COMMAND`: episodes, train, measure, grid, substitute."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.llm.errors import unknown_name
from parley.model import cli
from parley.model.arguments import model_from_args, models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, amount, natural
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.training.representatives.pipeline import DatasetBuilder, Lesson


EXAMPLES = """representatives episodes --laps 16 --out runs/known
representatives train runs/known/episodes.jsonl --llm pocket --out runs/represented
representatives measure runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/represented
representatives grid runs/known/episodes.jsonl --llm pocket --out runs/grid
representatives substitute runs/known/episodes.jsonl --llm oracle --mediator-llm oracle --judge oracle"""
SOURCES = (
    ".jsonl files of episodes, run folders of deliberations, a folder of the public Habermas Machine data, or its two small "
    ".json files (docs/deliberation.md)"
)
LESSON: tuple[tuple[str, Any, str], ...] = (
    ("r", natural, "rank of LoRA; 0 trains all weights, as in the study (default: 0)"),
    ("rate", amount, "constant learning rate (default: 1e-5, pocket 1e-3; LoRA as run.py train)"),
    ("batch", natural, "examples per step (default: 32; the study 128)"),
    ("micro", natural, "examples that go through the model at a time (default: 8)"),
    ("epochs", amount, "most times through the data (default: 20)"),
    ("every", natural, "steps between two measurements on the validation side (default: 20)"),
    ("patience", natural, "measurements without a better loss before it stops (default: 3)"),
    ("length", natural, "most tokens of a prompt with its critique (default: 2048)"),
)


def representatives_parser() -> Parser:
    """The parser of the command itself; each of its commands has its own."""
    width = max(map(len, COMMANDS))
    listed = [f"  {name:<{width}}  {what}" for name, (_, _, what) in COMMANDS.items()]
    return Parser(
        "representatives",
        "Train and measure language agents that write the critique which a participant of a deliberation would write "
        "(docs/deliberation.md).",
        EXAMPLES,
        commands={name: make for name, (_, make, _) in COMMANDS.items()},
        usage="%(prog)s COMMAND EPISODES [EPISODES ...] [options]",
        epilog="\n".join(["commands (COMMAND --help says more):", *listed, "\n"]),
    )


def representatives(arguments: Sequence[str]) -> int:
    """Run one of the commands."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help"):
        representatives_parser().print_help()
        return 0
    if name not in COMMANDS:
        raise unknown_name("command of representatives", name, COMMANDS)
    return COMMANDS[name][0](arguments[1:])


def episodes_parser() -> Parser:
    """The options of `run.py representatives episodes`."""
    parser = Parser(
        "representatives episodes",
        "Run laps of the scenario consensus, each with 80 people of its own in 16 groups of five, three questions per group. "
        "An eighth as many laps are added for validation and for test, on questions of their own.",
        "representatives episodes --laps 16 --out runs/known",
        *cli.asking("runs/episodes-<time>", "the model that deliberates", "oracle"),
    )
    add_option(parser, "--laps N", "laps to train on", natural, default=16)
    add_option(parser, "--people SPEC", "the model that writes the people", default="oracle")
    return parser


def episodes(arguments: Sequence[str]) -> int:
    """`run.py representatives episodes`"""
    options = episodes_parser().parse_args(arguments)
    from parley.analysis.deliberation.population import populate

    *specs, people = models_from_args(options, "people")
    llm = only_model(specs, "oracle")
    out = options.out or Path("runs") / f"episodes-{time.strftime('%Y%m%d-%H%M%S')}"
    spending = shared_budget(options, out, llm, people)
    print(f"folder   {out}", flush=True)
    print(f"episodes {populate(options.laps, llm, people, options.seed, out, print, spending)}")
    return 0


def train_parser() -> Parser:
    """The options of `run.py representatives train`."""
    return lesson_parser("train", "Train a representative on the training side of some episodes.")


def train(arguments: Sequence[str]) -> int:
    """`run.py representatives train`"""
    options = train_parser().parse_args(arguments)
    llm, workshop = model_from_args(options, "pocket"), opened(options)
    model = workshop.model(llm, lesson(options))
    print(f"data     {workshop.folder / 'data' / 'card.md'}\nmodel    {model.spec}\ncard     {model.folder}/README.md")
    return 0


def measure_parser() -> Parser:
    """The options of `run.py representatives measure`."""
    parser = lesson_parser(
        "measure",
        "Measure a representative on people and questions that it has not seen; it is trained first if it is not there.",
        cli.budget(),
    )
    add_option(parser, "--judge SPEC", "the model that compares critiques (default: none)", default="")
    add_option(parser, "--limit N", "most critiques to measure (default: all)", natural)
    return parser


def measure(arguments: Sequence[str]) -> int:
    """`run.py representatives measure`"""
    options = measure_parser().parse_args(arguments)
    from parley.analysis.journaled_calls import CallDesk
    from parley.training.representatives.measures import measure as measured

    *specs, judge = models_from_args(options, "judge")
    llm, workshop = only_model(specs, "pocket"), opened(options)
    spending = shared_budget(options, workshop.folder, llm, *filter(None, [judge]))
    desk = CallDesk(workshop.folder, bar, options.keep_going, spending)
    return told(desk, measured(workshop, llm, lesson(options), judge, options.limit, desk))


def grid_parser() -> Parser:
    """The options of `run.py representatives grid`."""
    parser = lesson_parser(
        "grid",
        "Train a representative for each choice of what it is told and each of two model sizes, and compare them.\n"
        "With one --llm the second size is the same model with every other layer.",
        many=True,
    )
    add_option(
        parser,
        "--choices LETTERS[,LETTERS]",
        "what it is told: base, D, OC, ..., or all for all 16 (default: base,D,O,C,P,OC,DOCP)",
    )
    return parser


def grid(arguments: Sequence[str]) -> int:
    """`run.py representatives grid`"""
    options = grid_parser().parse_args(arguments)
    from parley.training.base_model import base_model
    from parley.training.representatives import grid as study
    from parley.training.representatives.layer_pruning import halve_layers

    specs = models_from_args(options) or ["pocket"]
    drawn = "per_token" if len(specs) == 1 else "per_character"
    choices = chosen(options.choices, study.PAPER, study.EVERY)
    workshop = opened(options)
    if len(specs) == 1:
        base = base_model(specs[0])
        small = halve_layers(base, workshop.folder / f"half-of-{Path(base.name).name}")
        specs = [*specs, f"{base.kind}:{small}"]
    found = study.knowledge_grid(workshop, specs, choices, lesson(options))
    print(f"report   {study.report(found, workshop.folder, specs, drawn)}\nfigure   {workshop.folder / 'grid.png'}")
    return 0


def chosen(text: str | None, usual: Sequence[str], every: Sequence[str]) -> tuple[str, ...]:
    """`base,D,OC` as ("", "D", "OC"). Errors: UserError on a letter that is none."""
    from parley.agents.representative import parse_knowledge
    from parley.training.representatives.pipeline import NOTHING

    if text is None or text == "all":
        return tuple(usual if text is None else every)
    return tuple(dict.fromkeys("" if one == NOTHING else parse_knowledge(one) for one in text.split(",")))


def substitute_parser() -> Parser:
    """The options of `run.py representatives substitute`."""
    parser = Parser(
        "representatives substitute",
        "Simulate groups again with representatives in the place of one participant and of all, and compare what each "
        "participant gets.",
        "representatives substitute runs/known/episodes.jsonl --llm oracle",
        cli.repetitions("3"),
        *cli.asking("runs/substitute-<time>", "the representatives' model", "pocket"),
    )
    add_episodes(parser)
    for name, metavar, default, about in SUBSTITUTION:
        add_option(parser, f"{name} {metavar}", about, default=default)
    add_option(parser, "--limit N", "most episodes (default: all)", natural)
    return parser


SUBSTITUTION = (
    ("--adapter", "NAME", "", "the adapter of --llm that writes"),
    ("--knows", "LETTERS", "OC", "what representatives are told: any of D, O, C, P"),
    ("--mediator", "NAME[,key=value]", "draft_revise", "the mediator"),
    ("--mediator-llm", "SPEC", "oracle", "the mediator's model"),
    ("--payoff", "NAME", "judge", "how a statement is scored for a participant: judge, ranking, own"),
    ("--judge", "SPEC", "oracle", "the model that scores and compares statements"),
)


def substitute(arguments: Sequence[str]) -> int:
    """`run.py representatives substitute`"""
    options = substitute_parser().parse_args(arguments)
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.analysis.deliberation.substitution_study import Substitution, run_substitution
    from parley.analysis.journaled_calls import CallDesk

    *specs, options.mediator_llm, options.judge = models_from_args(options, "mediator_llm", "judge")
    options.llm = only_model(specs, "pocket")
    options.repetitions = 3 if options.repetitions is None else options.repetitions
    asked = Substitution(**{field.name: getattr(options, field.name) for field in fields(Substitution)})
    out = options.out or Path("runs") / f"substitute-{time.strftime('%Y%m%d-%H%M%S')}"
    spending = shared_budget(options, out, asked.llm, asked.mediator_llm, asked.judge)
    print(f"folder   {out}", flush=True)
    desk = CallDesk(out, bar, options.keep_going, spending)
    return told(desk, run_substitution(read_all(options.episodes)[: options.limit], asked, desk))


def told(desk: CallDesk, report: Path) -> int:
    """Say what is missing and where the report is."""
    print("\n".join(filter(None, [desk.tally.line, f"report   {report}"])))
    return 0


def lesson_parser(name: str, text: str, *parents: cli.Parent, many: bool = False) -> Parser:
    about = "a model to train (repeatable: two sizes)" if many else "the model that is trained"
    shared = cli.model(about, "pocket", trained=True), *parents, cli.seed(), cli.out("runs/representatives-<time>")
    example = next(line for line in EXAMPLES.splitlines() if line.startswith(f"representatives {name} "))
    parser = Parser(f"representatives {name}", text, example, *shared)
    add_episodes(parser)
    if not many:
        knows = "what it is told: any of D, O, C, P (default: OC)"
        add_option(parser, "--knows LETTERS", knows)
    for option, kind, told in LESSON:
        add_option(parser, f"--{option} {'X' if kind is amount else 'N'}", told, kind)
    return parser


def add_episodes(parser: Parser) -> None:
    """Which episodes."""
    add_option(parser, "EPISODES", SOURCES, Path, nargs="+")


def lesson(options: argparse.Namespace) -> Lesson:
    """What is trained, with the options that were given."""
    from parley.training.representatives.pipeline import Lesson

    given = {field.name: getattr(options, field.name, None) for field in fields(Lesson)}
    return replace(Lesson(), **{name: value for name, value in given.items() if value is not None})


def opened(options: argparse.Namespace) -> DatasetBuilder:
    """The folder with the episodes in it, split."""
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.training.representatives.pipeline import DatasetBuilder

    out = options.out or Path("runs") / f"representatives-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {out}", flush=True)
    return DatasetBuilder(read_all(options.episodes), options.seed, out, bar)


COMMANDS: dict[str, tuple[Callable[[Sequence[str]], int], Callable[[], Parser], str]] = {
    "episodes": (episodes, episodes_parser, "run many deliberations of people of a known kind, as training data"),
    "train": (train, train_parser, "train a representative on the training side of some episodes"),
    "measure": (measure, measure_parser, "measure it on people and questions that it has not seen"),
    "grid": (grid, grid_parser, "measure what it helps to know (D, O, C, P), by two model sizes"),
    "substitute": (
        substitute,
        substitute_parser,
        "put representatives in participants' places and compare what they get",
    ),
}
"""By their names: the function, its parser, what it does."""
