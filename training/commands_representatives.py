"""`run.py representatives COMMAND`: episodes, train, measure, grid, substitute."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.llm.errors import unknown_name
from parley.model.commandline import Parser, amount, bar, natural
from parley.model.options import add_keep_going

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.training.representatives.dataset_builder import DatasetBuilder
    from parley.training.representatives.recipe import Lesson

TEXT = """commands:
  episodes     hold many deliberations of people of a known kind, as data to train on
  train        train a representative on the training side of some episodes
  measure      how it does on people and questions that it has not seen
  grid         what it helps to know (D, O, C, P), by two model sizes
  substitute   put representatives in the place of participants and see what the group gets

EPISODES are .jsonl files, run folders of deliberations, a folder of the public Habermas Machine data, or its two small .json
files (docs/deliberation.md)
examples:
  python run.py representatives episodes --laps 16 --out runs/known
  python run.py representatives train runs/known/episodes.jsonl --llm pocket --out runs/represented
  python run.py representatives measure runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/represented
  python run.py representatives grid runs/known/episodes.jsonl --llm pocket --out runs/grid
  python run.py representatives substitute runs/known/episodes.jsonl --llm oracle --mediator-llm oracle --judge oracle"""
LESSON: tuple[tuple[str, Any, str], ...] = (
    ("r", natural, "rank of LoRA; 0: all weights, as in the study (0)"),
    ("rate", amount, "learning rate, constant (1e-5, pocket 1e-3; LoRA as run.py train)"),
    ("batch", natural, "examples a step (32; the study 128)"),
    ("micro", natural, "examples that go through the model at a time (8)"),
    ("epochs", amount, "most times through the data (20)"),
    ("every", natural, "steps between two looks at the validation side (20)"),
    ("patience", natural, "looks without a better one before it stops (3)"),
    ("length", natural, "most tokens of a prompt with its critique (2048)"),
)


def representatives(arguments: Sequence[str]) -> int:
    """Run one of the commands."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help"):
        overview().print_help()
        return 0
    if name not in COMMANDS:
        raise unknown_name("command of representatives", name, COMMANDS)
    return COMMANDS[name](arguments[1:])


def overview() -> Parser:
    found = Parser(
        prog="run.py representatives",
        usage="run.py representatives COMMAND EPISODES [EPISODES ...] [--help]",
        description="Language agents that write the critique which a participant of a deliberation would write.",
        epilog=TEXT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("command", metavar="COMMAND")
    return found


def episodes(arguments: Sequence[str]) -> int:
    """`run.py representatives episodes`"""
    parser = Parser(
        prog="run.py representatives episodes",
        description="Hold laps of the scenario consensus, each with 80 people of its own in 16 sessions of three questions; an "
        "eighth as many more for each of validation and test, on questions of their own.",
    )
    parser.add_argument("--laps", metavar="N", type=natural, default=16, help="laps to train on (16)")
    parser.add_argument("--llm", metavar="SPEC", default="oracle", help="the model that deliberates (oracle)")
    parser.add_argument("--people", metavar="SPEC", default="oracle", help="the model that writes the people (oracle)")
    parser.add_argument("--seed", metavar="N", type=natural, default=0, help="same seed, same episodes (0)")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder; what it holds is gone on with")
    add_keep_going(parser)
    options = parser.parse_args(arguments)
    from parley.analysis.deliberation.population import populate

    out = options.out or Path("runs") / f"episodes-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {out}", flush=True)
    print(
        f"episodes {populate(options.laps, options.llm, options.people, options.seed, out, print, options.keep_going)}"
    )
    return 0


def train(arguments: Sequence[str]) -> int:
    """`run.py representatives train`"""
    options = lesson_parser("train", "Train a representative.").parse_args(arguments)
    workshop = opened(options)
    model = workshop.model(options.llm, lesson(options))
    print(f"data     {workshop.folder / 'data' / 'card.md'}\nmodel    {model.spec}\ncard     {model.folder}/README.md")
    return 0


def measure(arguments: Sequence[str]) -> int:
    """`run.py representatives measure`"""
    parser = lesson_parser(
        "measure", "Measure a representative on the test side; it is trained first if it is not there."
    )
    parser.add_argument("--judge", metavar="SPEC", default="", help="the model that compares critiques (none)")
    parser.add_argument("--limit", metavar="N", type=natural, help="most critiques that are looked at (all)")
    add_keep_going(parser)
    options = parser.parse_args(arguments)
    from parley.analysis.journaled_calls import CallDesk
    from parley.training.representatives.measures import measure as measured

    workshop = opened(options)
    desk = CallDesk(workshop.folder, bar, options.keep_going)
    report = measured(workshop, options.llm, lesson(options), options.judge, options.limit, desk)
    return told(desk, report)


def grid(arguments: Sequence[str]) -> int:
    """`run.py representatives grid`"""
    parser = lesson_parser(
        "grid", "Train one for each choice of what is known and each of two sizes, and score them.", many=True
    )
    parser.add_argument(
        "--choices",
        metavar="LETTERS[,LETTERS]",
        help="what is known: base, D, OC, ... or all 16 (base,D,O,C,P,OC,DOCP)",
    )
    options = parser.parse_args(arguments)
    from parley.training.base_model import base_model
    from parley.training.representatives import grid as study
    from parley.training.representatives.layer_pruning import halve_layers

    specs = options.llm or ["pocket"]
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
    from parley.training.representatives.recipe import NOTHING

    if text is None or text == "all":
        return tuple(usual if text is None else every)
    return tuple(dict.fromkeys("" if one == NOTHING else parse_knowledge(one) for one in text.split(",")))


def substitute(arguments: Sequence[str]) -> int:
    """`run.py representatives substitute`"""
    parser = Parser(
        prog="run.py representatives substitute",
        description="Re-simulate groups with representatives in the place of one participant and of all, and compare payoffs.",
    )
    add_episodes(parser)
    parser.add_argument("--llm", metavar="SPEC", default="pocket", help="the representatives' model (pocket)")
    parser.add_argument("--adapter", metavar="NAME", default="", help="the adapter of --llm that writes (none)")
    parser.add_argument("--knows", metavar="LETTERS", default="OC", help="what they are told: any of D, O, C, P (OC)")
    parser.add_argument("--mediator", metavar="NAME[,key=value]", default="draft_revise", help="(draft_revise)")
    parser.add_argument("--mediator-llm", metavar="SPEC", default="oracle", help="the mediator's model (oracle)")
    parser.add_argument(
        "--payoff", metavar="NAME", default="judge", help="the payoff scorer: judge, ranking, own (judge)"
    )
    parser.add_argument(
        "--judge", metavar="SPEC", default="oracle", help="the model that scores and compares statements (oracle)"
    )
    parser.add_argument("--repetitions", metavar="N", type=natural, default=3, help="re-simulations of each (3)")
    parser.add_argument("--limit", metavar="N", type=natural, help="most episodes (all)")
    add_keep_going(parser)
    options = parser.parse_args(arguments)
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.analysis.deliberation.substitution_study import Substitution, run_substitution
    from parley.analysis.journaled_calls import CallDesk

    asked = {field.name: getattr(options, field.name) for field in fields(Substitution)}
    out = options.out or Path("runs") / f"substitute-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {out}", flush=True)
    desk = CallDesk(out, bar, options.keep_going)
    return told(desk, run_substitution(read_all(options.episodes)[: options.limit], Substitution(**asked), desk))


def told(desk: CallDesk, report: Path) -> int:
    """Say what is missing and where the report is."""
    print("\n".join(filter(None, [desk.tally.line, f"report   {report}"])))
    return 0


def lesson_parser(name: str, text: str, many: bool = False) -> Parser:
    parser = Parser(prog=f"run.py representatives {name}", description=text)
    add_episodes(parser)
    if many:
        told = "a model to train, twice for two sizes (pocket); of one the second is the same with every other layer"
        parser.add_argument("--llm", metavar="SPEC", action="append", help=told)
    else:
        parser.add_argument("--llm", metavar="SPEC", default="pocket", help="the model that is trained (pocket)")
        parser.add_argument("--knows", metavar="LETTERS", help="what it is told: any of D, O, C, P (OC)")
    for option, kind, told in LESSON:
        parser.add_argument(f"--{option}", metavar="X" if kind is amount else "N", type=kind, help=told)
    return parser


def add_episodes(parser: Parser) -> None:
    parser.add_argument("episodes", metavar="EPISODES", nargs="+", type=Path)
    parser.add_argument("--seed", metavar="N", type=natural, default=0, help="same seed, same split, same model (0)")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder; what it holds is gone on with")


def lesson(options: argparse.Namespace) -> Lesson:
    """What is trained, with the options that were given."""
    from parley.training.representatives.recipe import Lesson

    given = {field.name: getattr(options, field.name, None) for field in fields(Lesson)}
    return replace(Lesson(), **{name: value for name, value in given.items() if value is not None})


def opened(options: argparse.Namespace) -> DatasetBuilder:
    """The folder with the episodes in it, split."""
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.training.representatives.dataset_builder import DatasetBuilder

    out = options.out or Path("runs") / f"representatives-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {out}", flush=True)
    return DatasetBuilder(read_all(options.episodes), options.seed, out, bar)


COMMANDS = {"episodes": episodes, "train": train, "measure": measure, "grid": grid, "substitute": substitute}
"""By their names."""
