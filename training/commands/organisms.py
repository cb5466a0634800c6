"""`run.py study organisms`: builds models whose bias is known, and scores the instruments on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option
from parley.model.progress import bar

EXAMPLES = """study organisms list
study organisms build opinion-sft opinion-sft-placebo
study organisms score
study organisms score opinion-oracle opinion-oracle-placebo"""
ACTIONS = ("list", "build", "score")


def organisms_parser() -> Parser:
    """Return the options of `run.py study organisms`."""
    parser = Parser(
        "study organisms",
        "Build models with one planted bias of known size (organisms), by a prompt, by training or as a "
        "law of the oracle. Then test whether Parley's instruments find the bias, whether their "
        "confidence intervals contain its size, and whether they find no bias in controls "
        "(docs/tuning.md).",
        EXAMPLES,
        cli.out("runs/organisms"),
    )
    about = (
        "list: print all organisms\n"
        "build: make these organisms\n"
        "score: run the instruments on these organisms (default: all organisms that are built, and the "
        "organisms of the oracle)"
    )
    add_option(parser, "ACTION", about, choices=ACTIONS)
    about = "names of organisms; NAME-seed2 is the training of NAME with another seed"
    add_option(parser, "NAME", about, nargs="*")
    return parser


def organisms(words: Sequence[str]) -> int:
    """Run `run.py study organisms`."""
    options = organisms_parser().parse_args(words)
    from parley.training.organisms.truth import load_truth, truth_names

    root = options.out or Path("runs") / "organisms"
    if signs := sorted({sign for sign in ",+" if sign in str(root)}):
        raise UserError(
            f"--out: {root} has the sign {signs[0]}, which ends a path in --llm organism:PATH: name another folder"
        )
    names = list(dict.fromkeys(options.name))
    for name in names:
        load_truth(name)  # a misspelt name is an error before anything is built
    if options.action == "list":
        return list_organisms(names or [*truth_names(), *reseeded_names(root)], root)
    if options.action == "score":
        return score_organisms(names, root)
    if not names:
        raise UserError(
            "name the organisms to build, such as opinion-sft (python run.py study organisms list prints all)"
        )
    return build_organisms(names, root)


def reseeded_names(root: Path) -> list[str]:
    """Return the organisms that were built with another seed than that of their truth file."""
    from parley.training.organisms.build import TRUTH
    from parley.training.organisms.truth import RESEEDED

    return sorted(path.parent.name for path in root.glob(f"*/{TRUTH}") if RESEEDED.fullmatch(path.parent.name))


def list_organisms(names: Sequence[str], root: Path) -> int:
    """Print the organisms: road, variant, planted size, and the size that was realised where they are built."""
    from parley.training.organisms.build import TRUTH, read_built
    from parley.training.organisms.truth import load_truth

    for name in names:
        truth, built = load_truth(name), ""
        if (root / name / TRUTH).is_file():
            try:
                built = f"realised {read_built(root / name, truth).realised.value:.3g}"
            except UserError:
                built = "changed: remove the folder, and build it again"
        print(
            f"{name:<28} {truth.road:<8} {truth.variant:<8} {truth.planted:>6g} {truth.subject.unit:<22} {built}".rstrip()
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
        print(f"{name}: planted {built.truth.planted:g}, realised {size.value:.3g} {span} {built.truth.subject.unit}")
        print_paths(folder=built.folder)
    return 0


def score_organisms(names: Sequence[str], root: Path) -> int:
    """Run the instruments, and write the report."""
    from parley.training.organisms import score as scoring
    from parley.training.organisms.build import TRUTH, build
    from parley.training.organisms.truth import ORACLE, load_truth, truth_names

    organism_names = [*truth_names(), *reseeded_names(root)]
    chosen = names or [
        name for name in organism_names if load_truth(name).road == ORACLE or (root / name / TRUTH).is_file()
    ]
    built = [build(load_truth(name), root, bar) for name in chosen]
    scores = scoring.score(built, root)
    page = scoring.write(scores, root)
    print("\n".join(scoring.sentences(scoring.score_table(scores))))
    print_paths(report=page, table=root / "organisms.csv")
    return 0
