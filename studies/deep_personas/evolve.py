"""The command `study evolve`: personas evolve toward the answers of people."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import open_desk, print_calls, print_paths, results_folder
from parley.llm.errors import UserError, unknown_name
from parley.model import cli
from parley.model.arguments import model_from_args, shared_budget, society_from_args
from parley.model.cli import Parser, add_option, amount, positive

if TYPE_CHECKING:
    from parley.studies.deep_personas.evolution import EvolutionStudy

EXAMPLES = """study evolve planted --llm oracle,attribute_effect=0.5
study evolve survey.csv --group Kenya --llm openai:gpt-4o-mini --generations 5"""


def parser() -> Parser:
    """Return the options of `run.py study evolve`."""
    options = Parser(
        "study evolve",
        "Let a population of personas evolve toward a survey. A model rewrites attributes, and the "
        "personas survive whose answers fit half of the questions best. The other half of the questions "
        "tests the personas, in comparison with random selection (studies/deep_personas/README.md).",
        EXAMPLES,
        cli.society(),
        *cli.asking("runs/evolve-<time>", "the model that writes and answers", "oracle"),
        cli.dry_run("print the number of calls, and stop without calling a model"),
    )
    add_option(
        options,
        "FILE",
        "a survey file as for run.py study distributions; or planted, an invented survey that the oracle knows",
    )
    add_option(options, "--group NAME", "the group of the survey that is the target (default: the only group)")
    add_option(
        options,
        "--party NAME",
        "the party of the people (default: the party named default, people without a party)",
        default="default",
    )
    add_option(options, "--size N", "number of people in each candidate population", positive, 6)
    add_option(options, "--depth N", "number of attributes of a person", positive, 3)
    add_option(options, "--candidates N", "number of candidate populations that survive each generation", positive, 4)
    add_option(options, "--generations N", "number of generations", positive, 10)
    add_option(
        options,
        "--repeats N",
        "number of repetitions of the whole evolution; confidence intervals need at least 5",
        positive,
        6,
    )
    about = (
        "weight of coverage in the selection, 0 to 1 (0: only the fit to people counts; 1: only the "
        "number of different answers counts)"
    )
    add_option(options, "--coverage W", about, amount, 0.0)
    add_option(
        options, "--taxonomy FILE", "a taxonomy of your own (default: the taxonomy of the society's language)", Path
    )
    about = "number of replies to each question if the model gives no probabilities"
    add_option(options, "--samples N", about, positive, 20)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study evolve`."""
    options = parser().parse_args(words)
    study = study_from_args(options)
    from parley.analysis.formatting import count_phrase

    planned = f"{count_phrase(study.repeats, 'repetition')}, at most {study.calls:,} calls"
    if options.dry_run:
        return print_calls(planned, study.base.llm)
    from parley.studies.deep_personas.evolution_report import PEOPLE, write_evolution

    folder = results_folder(options, "evolve")
    print_paths(folder=folder, calls=planned)
    spending = shared_budget(options, folder, study.base.llm)
    with open_desk(options, folder / "evolve.json", study.to_dict(), "evolution", spending) as desk:
        done = study.run(desk)
        print_paths(report=write_evolution(study, done, folder), personas=folder / PEOPLE)
    return 0


def study_from_args(options: argparse.Namespace) -> EvolutionStudy:
    """Return what evolves. Errors: UserError on a file, group, party or taxonomy that is not there."""
    from parley.agents.taxonomy import load_taxonomy
    from parley.analysis.polls.asking import Poll
    from parley.analysis.polls.published import read_survey
    from parley.analysis.polls.table import PLANTED
    from parley.llm.backends import check_spec
    from parley.studies.deep_personas.evolution import EvolutionStudy
    from parley.studies.deep_personas.variety import TYPICAL, survey_of_kinds

    society, llm = society_from_args(options), model_from_args(options, "oracle")
    check_spec(llm)
    party = society.seat(options.party)
    if party not in society.parties:
        raise unknown_name(f"party of {society.name}", party, society.parties)
    if options.coverage > 1:
        raise UserError(f"--coverage is a weight from 0 to 1, not {options.coverage:g}")
    table = (
        survey_of_kinds([TYPICAL], seed=options.seed) if options.file == PLANTED else read_survey(Path(options.file))
    )
    groups = list(dict.fromkeys(row.group.name for row in table.rows))
    if not options.group and len(groups) > 1:
        raise UserError(f"the survey has {len(groups)} groups: name the target with --group, such as {groups[0]}")
    table = table.select([options.group] if options.group else [], None, options.seed)
    base = Poll(table, llm, society.language, "persona", options.samples, options.seed)
    taxonomy = load_taxonomy(society.language, options.taxonomy)
    numbers = {
        name: getattr(options, name) for name in ("size", "depth", "candidates", "generations", "repeats", "coverage")
    }
    return EvolutionStudy(base, society, taxonomy, party, **numbers)
