"""`run.py study representatives COMMAND`: its commands and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import EPISODES, results_folder
from parley.llm.errors import UserError, unknown_name
from parley.model import cli, path_options
from parley.model.arguments import model_from_args, models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, natural, positive
from parley.model.progress import bar
from parley.studies.representatives.payoff_command import (
    EXAMPLES,
    LETTERS,
    SUBSTITUTION,
    dataset_builder,
    lesson_from_args,
    lesson_parser,
    outcomes,
    outcomes_parser,
    payoff,
    payoff_parser,
    print_report,
)
from parley.training.commands.tuning import from_args

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.representatives.pipeline import DatasetBuilder

TRAIN = "Train a representative on some of the episodes; the other episodes are kept for validation and test."
CHOICES = (
    "what each representative knows: base (only the current question), or letters of D (demographics), O (opinions), "
    "C (critiques) and P (positions), as in OC; all: the 16 combinations (default: base,D,O,C,P,OC,DOCP)"
)


def representatives_parser() -> Parser:
    """The parser of the command itself; each of its commands has its own."""
    width = max(map(len, COMMANDS))
    listed = [f"  {name:<{width}}  {what}" for name, (_, _, what) in COMMANDS.items()]
    return Parser(
        "study representatives",
        "Train and measure language agents that write the critique which a participant of a deliberation would write "
        "(docs/deliberation.md).",
        EXAMPLES,
        commands={name: make for name, (_, make, _) in COMMANDS.items()},
        usage="%(prog)s COMMAND EPISODES [EPISODES ...] [options]",
        epilog="\n".join(["commands (COMMAND --help explains one):", *listed, "\n"]),
    )


def representatives(arguments: Sequence[str]) -> int:
    """Run one of the commands."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help"):
        representatives_parser().print_help()
        return 0
    if name not in COMMANDS:
        raise unknown_name("command of representatives", name, COMMANDS)
    command, make_parser, _ = COMMANDS[name]
    return command(make_parser().parse_args(arguments[1:]))


STEPS = (
    ("--adapter", "NAME", "", "the adapter of --llm that represents people (default: none)"),
    ("--knows", "LETTERS", "OCP", f"what representatives know: {LETTERS}"),
    (
        "--payoff",
        "NAME",
        "judge",
        "how a statement is scored for a person from the person's opinion: judge, ranking or "
        "trained:FOLDER. Two opinions are alike if their scores are alike",
    ),
    ("--judge", "SPEC", "oracle", "the model that estimates a person's payoff from the person's opinion"),
)


def episodes_parser() -> Parser:
    """The options of `run.py study representatives episodes`."""
    parser = Parser(
        "study representatives episodes",
        "Run deliberations of the scenario consensus, in batches (laps). Each lap has 80 different people, in 16 groups of "
        "five, with three questions per group. Validation and test each add an eighth as many laps, on other questions.",
        "study representatives episodes --laps 16 --out runs/known",
        *cli.asking("runs/episodes-<time>", "the model that deliberates", "oracle"),
    )
    add_option(
        parser,
        "--laps N",
        "number of laps (batches) for training; 80 people deliberate in each lap",
        natural,
        default=16,
    )
    add_option(parser, "--people SPEC", "the model that writes the opinions of the simulated people", default="oracle")
    return parser


def episodes(options: argparse.Namespace) -> int:
    """Run many deliberations as training data."""
    from parley.studies.representatives.population import populate

    *specs, people = models_from_args(options, "people")
    llm, out = only_model(specs, "oracle"), results_folder(options, "episodes")
    spending = shared_budget(options, out, llm, people)
    print(f"folder   {out}", flush=True)
    print(f"episodes {populate(options.laps, llm, people, options.seed, out, print, spending)}")
    return 0


def train(options: argparse.Namespace) -> int:
    """Train a representative."""
    llm, builder = model_from_args(options, "pocket"), dataset_builder(options)
    model = builder.model(llm, lesson_from_args(options))
    print(f"data     {builder.folder / 'data' / 'card.md'}\nmodel    {model.spec}\ncard     {model.folder}/README.md")
    return 0


def measure_parser() -> Parser:
    """The options of `run.py study representatives measure`."""
    parser = lesson_parser(
        "measure",
        "Measure a representative on people and questions outside its training. If --out has no trained representative, a "
        "representative is trained first.",
        cli.budget(),
    )
    add_option(parser, "--judge SPEC", "the model that compares critiques (default: none)", default="")
    add_option(parser, "--limit N", "maximum number of critiques to measure (default: all)", natural)
    return parser


def measure(options: argparse.Namespace) -> int:
    """Measure a representative on the test side."""
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.representatives import measures

    *specs, judge = models_from_args(options, "judge")
    llm, builder = only_model(specs, "pocket"), dataset_builder(options)
    spending = shared_budget(options, builder.folder, llm, *filter(None, [judge]))
    desk = CallDesk(builder.folder, bar, options.keep_going, spending)
    return print_report(desk, measures.measure(builder, llm, lesson_from_args(options), judge, options.limit, desk))


def grid_parser() -> Parser:
    """The options of `run.py study representatives grid`."""
    parser = lesson_parser(
        "grid",
        "Train representatives with different knowledge and of two model sizes, and compare them.\n"
        "With one --llm, the second size is a smaller model that keeps every second layer.",
        many=True,
    )
    add_option(parser, "--choices LETTERS[,LETTERS]", CHOICES)
    return parser


def grid(options: argparse.Namespace) -> int:
    """Train and compare representatives by what they know and by model size."""
    from parley.studies.representatives import grid as knowledge

    named = list(dict.fromkeys(models_from_args(options))) or ["pocket"]
    choices = _choices(options.choices, knowledge.PAPER, knowledge.EVERY)
    builder = dataset_builder(options)
    specs = _two_sizes(named, builder)
    rows = knowledge.knowledge_grid(builder, specs, choices, lesson_from_args(options))
    page = knowledge.report(rows, builder.folder, specs, knowledge.unit_of(named))
    print(f"report   {page}\nfigure   {builder.folder / 'grid.png'}")
    return 0


def _two_sizes(specs: list[str], builder: DatasetBuilder) -> list[str]:
    """Return the models; a single one with a second size, the same model with every other layer."""
    from parley.training.base_model import base_model, halve_layers

    if len(specs) > 1:
        return specs
    base = base_model(specs[0])
    small = halve_layers(base, builder.folder / f"half-of-{Path(base.name).name}")
    return [*specs, f"{base.kind}:{small}"]


def study_parser() -> Parser:
    """The options of `run.py study representatives study`."""
    parser = lesson_parser(
        "study",
        "Run the whole study: train representatives of two model sizes, compare critiques with other writers, simulate groups "
        "with representatives, and vary what representatives know (studies/representatives/README.md).",
        cli.budget(),
        many=True,
    )
    for name, metavar, default, about in SUBSTITUTION:
        if name != "--adapter":
            add_option(parser, f"{name} {metavar}", about, default=default)
    add_option(parser, "--choices LETTERS[,LETTERS]", CHOICES)
    add_option(parser, "--repetitions N", "simulations of each group in each condition", positive, 1)
    add_option(parser, "--limit N", "maximum number of critiques and episodes to test (default: all)", natural)
    return parser


def study(options: argparse.Namespace) -> int:
    """Run the whole study and write one page."""
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.representatives import grid as knowledge
    from parley.studies.representatives.study import StudyPlan, run_study

    *specs, options.mediator_llm, options.judge = models_from_args(options, "mediator_llm", "judge")
    choices = _choices(options.choices, knowledge.PAPER, knowledge.EVERY)
    builder = dataset_builder(options)
    named = list(dict.fromkeys(specs)) or ["pocket"]
    options.specs, options.shown = tuple(_two_sizes(named, builder)), knowledge.unit_of(named)
    options.choices, options.lesson = tuple(choices), lesson_from_args(options)
    plan: StudyPlan = from_args(StudyPlan, options)
    spending = shared_budget(options, builder.folder, *plan.specs, plan.mediator_llm, plan.judge)

    def desk_in(folder: Path) -> CallDesk:
        folder.mkdir(parents=True, exist_ok=True)
        return CallDesk(folder, bar, options.keep_going, spending)

    print(f"report   {run_study(builder, plan, desk_in)}")
    return 0


def _choices(text: str | None, usual: Sequence[str], every: Sequence[str]) -> Sequence[str]:
    """Return `base,D,OC` as ("", "D", "OC"). Errors: UserError on an unknown letter."""
    from parley.agents.representative import parse_knowledge
    from parley.studies.representatives.pipeline import NOTHING

    if text is None or text == "all":
        return every if text else usual
    return list(dict.fromkeys("" if letters == NOTHING else parse_knowledge(letters) for letters in text.split(",")))


def substitute_parser() -> Parser:
    """The options of `run.py study representatives substitute`."""
    parser = Parser(
        "study representatives substitute",
        "Simulate groups again, with representatives in place of one participant or of all participants. "
        "The report compares how well the group's statement suits each participant.",
        "study representatives substitute runs/known/episodes.jsonl --llm oracle",
        cli.repetitions("3"),
        *cli.asking("runs/substitute-<time>", "the representatives' model; give --llm twice to compare two", "pocket"),
    )
    add_option(parser, "EPISODES", EPISODES, Path, nargs="+")
    for name, metavar, default, about in SUBSTITUTION:
        add_option(parser, f"{name} {metavar}", about, default=default)
    about = "also simulate groups in which one participant, and all participants, write no critique"
    add_option(parser, "--without-critiques", about, dest="mute", action="store_true")
    add_option(parser, "--limit N", "maximum number of episodes to simulate (default: all)", natural)
    return parser


def substitute(options: argparse.Namespace) -> int:
    """Simulate groups again with representatives, and compare."""
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.representatives.resimulation import Substitution, Writer
    from parley.studies.representatives.substitution_study import run_substitution

    *specs, options.mediator_llm, options.judge = models_from_args(options, "mediator_llm", "judge")
    options.llm, *others = list(dict.fromkeys(specs)) or ["pocket"]
    if others and options.adapter:
        raise UserError("--adapter belongs to one --llm: write adapters=DIR into one --llm, or give a single --llm")
    options.others = tuple([Writer(spec, spec) for spec in others])
    options.repetitions = 3 if options.repetitions is None else options.repetitions
    study, out = from_args(Substitution, options), results_folder(options, "substitute")
    spending = shared_budget(options, out, study.llm, *others, study.mediator_llm, study.judge)
    print(f"folder   {out}", flush=True)
    desk = CallDesk(out, bar, options.keep_going, spending)
    return print_report(desk, run_substitution(read_all(options.episodes)[: options.limit], study, desk))


def ballots_parser() -> Parser:
    """The options of `run.py study representatives ballots`."""
    parser = Parser(
        "study representatives ballots",
        "Count ballots by every voting rule, compare predicted ballots with members' own ballots (--set "
        "mediator=habermas,ballots=both), and count the final votes (--set vote=final). No model is "
        "called.",
        "study representatives ballots runs/consensus --out runs/ballots",
        cli.out("runs/ballots-<time>"),
    )
    add_option(parser, "RUN", "run folders of deliberations", path_options.recorded_run, nargs="+")
    return parser


def ballots(options: argparse.Namespace) -> int:
    """Write the report on the ballots of some runs."""
    from parley.studies.representatives.ballot_report import write_ballots
    from parley.studies.representatives.ballots import read_ballots

    ballots_read, out = read_ballots(options.run), results_folder(options, "ballots")
    out.mkdir(parents=True, exist_ok=True)
    print(f"report   {write_ballots(ballots_read, out)}")
    return 0


def steps_parser() -> Parser:
    """The options of `run.py study representatives steps`."""
    parser = Parser(
        "study representatives steps",
        "Let representatives write the opinions, rank the candidates and cast the votes of people in "
        "recorded sessions, and measure how near representatives come to what people did. The report "
        "compares a representative with a stranger's representative, and with the person asked again.",
        "study representatives steps runs/consensus --llm oracle --out runs/steps",
        *cli.asking("runs/steps-<time>", "the representatives' model", "pocket"),
    )
    add_option(parser, "EPISODES", EPISODES, Path, nargs="+")
    for name, metavar, default, about in STEPS:
        add_option(parser, f"{name} {metavar}", about, default=default)
    about = (
        "do not ask people a second time, for example because the people's model is missing. The report "
        "then lacks the upper limit for the scores of representatives"
    )
    add_option(parser, "--once", about, dest="again", action="store_false")
    return parser


def steps(options: argparse.Namespace) -> int:
    """Compare representatives with people at each step."""
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.representatives.step_report import write_steps
    from parley.studies.representatives.step_study import StepStudy, compare_steps

    *specs, options.judge = models_from_args(options, "judge")
    options.llm = only_model(specs, "pocket")
    settings, out = from_args(StepStudy, options), results_folder(options, "steps")
    spending = shared_budget(options, out, settings.llm, settings.judge)
    print(f"folder   {out}", flush=True)
    desk = CallDesk(out, bar, options.keep_going, spending)
    return print_report(desk, write_steps(compare_steps(options.episodes, settings, desk), settings, out))


COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], Callable[[], Parser], str]] = {
    "episodes": (episodes, episodes_parser, "run many deliberations of simulated people, as training data"),
    "train": (
        train,
        partial(lesson_parser, "train", TRAIN),
        "train a representative on some of the episodes; the other episodes are kept for validation and test",
    ),
    "measure": (measure, measure_parser, "measure a representative on people and questions outside its training"),
    "grid": (grid, grid_parser, "measure what each kind of knowledge of a representative adds, for two model sizes"),
    "study": (study, study_parser, "run the whole study for two model sizes: critiques, consensus and knowledge"),
    "payoff": (payoff, payoff_parser, "train a payoff model on ratings, and compare it with other scorers"),
    "outcomes": (
        outcomes,
        outcomes_parser,
        "train a representative further on critiques that raise its person's payoff, and measure what changes",
    ),
    "ballots": (
        ballots,
        ballots_parser,
        "count ballots by every voting rule, and compare predicted ballots with members' own ballots",
    ),
    "steps": (steps, steps_parser, "compare representatives with people at each step: opinion, ballots, final vote"),
    "substitute": (substitute, substitute_parser, "replace participants by representatives, and compare payoffs"),
}
"""By name: the function, its parser, what it does."""
