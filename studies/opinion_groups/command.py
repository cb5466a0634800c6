"""The command `run.py study opinion-groups`: groups of opinion in a table of votes, and the audit of slates of statements."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, results_folder, split_names
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option, positive

EXAMPLES = """study opinion-groups planted
study opinion-groups runs/town
study opinion-groups votes.csv --slate "More trains,Cheaper rents"
study opinion-groups votes.csv --slate "Yes, more trains" --slate "Cheaper rents" """
FEWEST_DRAWS, DRAWS = 19, 99
COMPONENTS = (
    "number of principal components from which groups are formed; Polis uses 2 (default: chosen by "
    "parallel analysis, at least 2)"
)


def parser() -> Parser:
    """Return the options of `run.py study opinion-groups`."""
    options = Parser(
        "study opinion-groups",
        "Find groups of people who vote alike on statements, what each group wants and what unites the groups, and check "
        "whether a slate of statements represents people (studies/opinion_groups/README.md). No model is called.",
        EXAMPLES.strip(),
        cli.seed(),
        cli.out("runs/opinion-groups-<time>"),
    )
    about = (
        "the votes\n"
        "a CSV file with the columns person, statement and vote (agree, disagree or pass)\n"
        "a run folder, whose agents vote by their ratings\n"
        "planted: an invented society of three groups"
    )
    add_option(options, "FILE", about)
    about = (
        "with a run: the survey whose ratings are counted as votes\n"
        "first: before the debate (default)\n"
        "last: after the last round"
    )
    add_option(options, "--survey WHICH", about, choices=("first", "last"), default="first")
    about = "the statements of a slate to audit, separated by commas; repeat the option if a statement has a comma"
    add_option(options, "--slate A[,B]", about, default=[], action="append")
    add_option(
        options,
        "--size N",
        "number of statements of a slate that the command chooses, if --slate is left out",
        positive,
        3,
    )
    add_option(
        options,
        "--draws N",
        "number of artificial data sets without groups that the data are compared with, for each kind of "
        "artificial data",
        positive,
        DRAWS,
    )
    add_option(options, "--components N", COMPONENTS, positive)
    return options


def slate_statements(given: Sequence[str], known_statements: Collection[str]) -> list[str]:
    """Return the statements of a slate, each once: a text is one statement if it is known, or else a list with commas.

    >>> slate_statements(["Yes, trains", "Rents,Parks"], ["Yes, trains", "Rents", "Parks"])
    ['Yes, trains', 'Rents', 'Parks']
    """
    names = [name for text in given for name in ([text] if text in known_statements else split_names(text))]
    return list(dict.fromkeys(names))


def run(words: Sequence[str]) -> int:
    """Run `run.py study opinion-groups FILE`."""
    options = parser().parse_args(words)
    import numpy as np

    from parley.analysis.tables import load
    from parley.studies.opinion_groups.report import NAME, Search, write_groups
    from parley.studies.opinion_groups.votes import PLANTED, planted_votes, read_votes, run_votes

    if options.draws < FEWEST_DRAWS:
        raise UserError(f"--draws must be at least {FEWEST_DRAWS}: with fewer data sets, p cannot be as small as .05")
    if options.components == 1:
        raise UserError("--components must be at least 2: the map of people has two axes")
    path, parties = Path(options.file), None
    if options.file == PLANTED:
        votes = planted_votes(np.random.default_rng(options.seed), 3)[0]
    elif path.is_dir():
        votes, parties = run_votes(load(path), options.survey)
    else:
        votes = read_votes(path)
    slate = slate_statements(options.slate, votes.columns)
    if unknown := [name for name in slate if name not in votes]:
        raise UserError(f"--slate: there are no votes on {unknown[0]!r}; name statements of the file")
    folder = results_folder(options, "opinion-groups")
    search = Search(options.seed, options.draws, options.components)
    page = write_groups(votes, slate, options.size, search, folder, parties)
    figure = folder / f"{NAME}.png"
    print_paths(report=page, **({"figure": figure} if figure.exists() else {}))
    return 0
