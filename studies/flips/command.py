"""The command `run.py study flips`: which part of the movement of ratings has which cause."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from parley.analysis.commands.card import BLOCKS, base_from_args, open_bench
from parley.analysis.commands.runs import print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import prices_from_args, with_base_url
from parley.model.cli import Parser, add_option, natural


def parser() -> Parser:
    """Return the options of `run.py study flips`."""
    options = Parser(
        "study flips",
        "Run the same agents alone, with empty talk, with partners who only state their position, with "
        "replies from other rooms, and in full debates. The report says how often each cause moves a "
        "rating across the middle of the scale (studies/flips/README.md).",
        "study flips --llm oracle,flips=conformity:0.4 --topic racism --blocks 6",
        cli.society(),
        cli.topic("the topics of the society"),
        cli.settings(),
        cli.model("the model whose flips are explained", required=True, parties=True),
        cli.budget(),
        cli.seed(None),
        cli.out("runs/flips-<time>"),
        cli.dry_run("print conditions, calls and cost, and stop without calling a model"),
    )
    about = "number of groups of personas; each group debates in every condition"
    add_option(options, "--blocks N", about, natural, BLOCKS)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study flips --llm SPEC`. Errors: UserError, also where a budget is spent; complete arms are kept."""
    options = parser().parse_args(words)
    from parley.analysis.card.conditions import Batch
    from parley.analysis.card.protocol import plan_lines, run_conditions
    from parley.model.scenario import parse_settings

    from . import arms
    from .report import write

    if "probe" in parse_settings(options.set):
        raise UserError("--set probe: this command asks about a statement and its opposite: leave out --set probe")
    base = base_from_args(options, with_base_url(options.llm, options.base_url)).with_settings(arms.SETTINGS)
    arms.check_items(base)
    first, chosen = Batch(base, results_folder(options, "flips")), arms.sections(arms)
    if options.dry_run:
        print(
            "\n".join(plan_lines(first, chosen, 1, 0.5, prices_from_args(options, base), "an explanation of the flips"))
        )
        return 0
    print_paths(folder=first.folder)
    study, stopped = run_conditions(first, chosen, 1, None, open_bench(first, options, partial(print, flush=True)))
    if stopped:
        raise UserError(stopped)
    print_paths(report=write(study, first.folder), figure=first.folder / "flips.png")
    return 0
