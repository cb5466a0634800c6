"""`run.py organisms`: builds models whose bias is known, and scores the instruments on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option
from parley.model.progress import bar

EXAMPLES = """organisms list
organisms build opinion-sft opinion-sft-placebo
organisms score
organisms score opinion-oracle opinion-oracle-placebo"""
ACTIONS = ("list", "build", "score")


def organisms_parser() -> Parser:
    """Return the options of `run.py organisms`."""
    parser = Parser(
        "organisms",
        "Build models with one planted bias of known size (organisms), by a prompt, by training or as a law of the oracle. Score "
        "the instruments on them: do they find the bias, is its size in their interval, do they leave controls alone? "
        "(docs/organisms.md)",
        EXAMPLES,
        cli.out("runs/organisms"),
    )
    about = (
        "list: print all organisms\nbuild: make these organisms\nscore: run the instruments on these organisms (default: all "
        "that are built, and those of the oracle)"
    )
    add_option(parser, "ACTION", about, choices=ACTIONS)
    add_option(parser, "NAME", "names of organisms", nargs="*")
    return parser


def organisms(words: Sequence[str]) -> int:
    """Run `run.py organisms`."""
    options = organisms_parser().parse_args(words)
    from parley.training.organisms.truth import load_truth, truth_names

    root = options.out or Path("runs") / "organisms"
    for name in options.name:
        load_truth(name)  # a misspelt name is an error before anything is built
    if options.action == "list":
        return list_organisms(options.name or truth_names(), root)
    if options.action == "score":
        return score_organisms(options.name, root)
    if not options.name:
        raise UserError("name the organisms to build, such as opinion-sft (python run.py organisms list prints all)")
    return build_organisms(options.name, root)


def list_organisms(names: Sequence[str], root: Path) -> int:
    """Print the organisms: road, variant, planted size, and whether they are built."""
    from parley.training.organisms.build import TRUTH
    from parley.training.organisms.truth import load_truth

    for name in names:
        truth = load_truth(name)
        built = "built" if (root / name / TRUTH).is_file() else ""
        print(
            f"{name:<28} {truth.road:<8} {truth.variant:<8} {truth.size:>6g} {truth.subject.unit:<22} {built}".rstrip()
        )
    return 0


def build_organisms(names: Sequence[str], root: Path) -> int:
    """Build organisms, and print the size that each really has."""
    from parley.training.organisms.build import build
    from parley.training.organisms.truth import load_truth

    for name in names:
        built = build(load_truth(name), root, bar)
        size = built.realised
        span = f"({size.low:.3g} to {size.high:.3g})" if size.known else f"(interval unknown: {size.reason})"
        print(f"{name}: planted {built.truth.size:g}, realised {size.value:.3g} {span} {built.truth.subject.unit}")
        print_paths(folder=built.folder)
    return 0


def score_organisms(names: Sequence[str], root: Path) -> int:
    """Run the instruments, and write the report."""
    from parley.training.organisms import score as scoring
    from parley.training.organisms.build import TRUTH, build
    from parley.training.organisms.truth import ORACLE, load_truth, truth_names

    chosen = names or [
        name for name in truth_names() if load_truth(name).road == ORACLE or (root / name / TRUTH).is_file()
    ]
    built = [build(load_truth(name), root, bar) for name in chosen]
    scores = scoring.score(built, root)
    page = scoring.write(scores, root)
    print("\n".join(scoring.sentences(scoring.score_table(scores))))
    print_paths(report=page, table=root / "organisms.csv")
    return 0
