"""The command `run.py study mixed`: an estimate from a few people and the predictions of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.llm.errors import UserError
from parley.model import cli, path_options
from parley.model.cli import Parser, add_option

EXAMPLES = """study mixed people.csv
study mixed people.csv --run control=runs/a --run news=runs/b --prices 1000,5,0.01"""


def parser() -> Parser:
    """Return the options of `run.py study mixed`."""
    options = Parser(
        "study mixed",
        "Estimate a mean or an effect from people's answers and a model's predictions, without the "
        "model's bias. The report says how many people's answers the predictions replace, and how many "
        "people to ask (studies/mixed_subjects/README.md).",
        EXAMPLES,
        cli.seed(),
        cli.out("FILE without .csv"),
    )
    add_option(
        options,
        "FILE",
        "a CSV file about people, with the columns person, outcome and predictions; the column condition is optional",
        Path,
    )
    add_option(
        options,
        "--control NAME",
        "the control condition, which is subtracted from the other condition (default: control, or the "
        "first condition)",
    )
    about = (
        "the folder of a run whose last ratings are the predictions; with conditions, CONDITION=FOLDER "
        "for each condition"
    )
    options.add_argument("--run", metavar="[CONDITION=]FOLDER", action="append", default=[], help=about)
    about = (
        "three numbers: the budget, the price of a person and the price of a prediction, such as "
        "1000,5,0.01. The report then plans how many people and predictions to buy"
    )
    add_option(options, "--prices NUMBERS", about)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study mixed FILE`."""
    options = parser().parse_args(words)
    from .people import read_people
    from .report import write_mixed

    prices = _prices(options.prices) if options.prices else None
    people = read_people(options.file, options.control, _runs(options.run))
    folder = options.out or path_options.folder_beside(options.file)
    report = write_mixed(people, folder, options.seed, prices)
    print_paths(report=report, table=folder / "estimates.csv")
    return 0


def _runs(given: Sequence[str]) -> dict[str, Path]:
    """Return the folder of each condition; the condition is empty if none is named."""
    pairs = [entry.rpartition("=")[::2] for entry in given]
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names) or ("" in names and len(names) > 1):
        raise UserError("--run: give one folder, or one CONDITION=FOLDER for each condition")
    return {name: Path(folder) for name, folder in pairs}


MOST = 10**12
"""Predictions that a budget pays for at most, so that numbers of them are exact."""


def _prices(text: str) -> tuple[float, float, float]:
    try:
        budget, person, prediction = (float(number) for number in text.split(","))
    except ValueError as error:
        raise UserError(f"--prices needs three numbers, such as 1000,5,0.01, not {text!r}") from error
    if not 0 < prediction < person <= budget < float("inf"):
        raise UserError(
            "--prices: a prediction must cost more than nothing and less than a person, and a person at most the budget"
        )
    if budget > MOST * prediction:
        raise UserError(f"--prices: the budget pays for more than {MOST:,} predictions: give all three in US dollars")
    return budget, person, prediction
