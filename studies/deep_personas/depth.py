"""The command `run.py study depth`: how varied and consistent deep personas are, and what depth changes in a survey."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import print_calls, print_paths, results_folder, split_names
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import model_from_args, shared_budget, society_from_args
from parley.model.cli import Parser, add_option, positive
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.agents.deep_personas import DeepPersona
    from parley.studies.deep_personas.answers import DepthStudy

EXAMPLES = """study depth mine --llm oracle,attribute_effect=0.5 --survey planted --judge oracle
study depth mine --llm openai:gpt-4o-mini --survey survey.csv --group Kenya --depths 0,10,20"""


def parser() -> Parser:
    """Return the options of `run.py study depth`."""
    options = Parser(
        "study depth",
        "Measure deep personas (study personas --set deep): how much of the taxonomy personas cover, how "
        "different and how consistent personas are, and how the number of attributes (depth) changes "
        "answers to a survey (studies/deep_personas/README.md).",
        EXAMPLES,
        cli.society(),
        *cli.asking("runs/depth-<time>", "the model that answers the survey as each person", "oracle"),
        cli.dry_run("print the number of people and calls, and stop without calling a model"),
    )
    add_option(options, "FOLDER", "the folder that run.py study personas --set deep wrote", Path)
    add_option(options, "--people N", "only the first N people of each party (default: all)", positive)
    add_option(options, "--depths A,B[,C]", "numbers of attributes to compare (default: 0, half, all)", default="")
    add_option(options, "--judge SPEC", "the model that looks for contradictions (default: none)")
    add_option(options, "--checked N", "number of sentences about each person that the judge reads", positive, 5)
    about = (
        "a survey file as for run.py study distributions; or planted, for invented answers that follow "
        "from the attributes by the oracle's rule"
    )
    add_option(options, "--survey FILE", about)
    add_option(options, "--group NAME", "the group of the survey that the personas belong to (default: the only group)")
    about = "number of replies to each question if the model gives no probabilities"
    add_option(options, "--samples N", about, positive, 20)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study depth`."""
    options = parser().parse_args(words)
    from parley.agents.deep_personas import read_people
    from parley.agents.taxonomy import FILE, load_taxonomy
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.model.scenario_run import lock_folder
    from parley.studies.deep_personas.consistency import judge_people
    from parley.studies.deep_personas.report import Depths, write_depths

    people = first_of_party(read_people(options.folder), options.people)
    taxonomy = load_taxonomy(society_from_args(options).language, options.folder / FILE)
    about = Depths(people, taxonomy, depths_from_text(options.depths, people), options.seed)
    study = study_from_args(options, people, about.depths) if options.survey else None
    judge = "" if options.judge is None else options.judge
    calls = (study.calls if study else 0) + (len(people) * (options.checked + 2 * len(taxonomy.core)) if judge else 0)
    planned = f"{len(people):,} people, at most {calls:,} calls"
    if options.dry_run:
        return print_calls(planned, study.base.llm if study else "", judge)
    folder = results_folder(options, "depth")
    print_paths(folder=folder, calls=planned)
    specs = [spec for spec in (study.base.llm if study else "", judge) if spec]
    with lock_folder(folder):
        identity = {"depths": list(about.depths), "judge": judge, "checked": options.checked, "seed": options.seed}
        check_manifest(
            folder / "depth.json",
            {
                **identity,
                "people": [person.text() for person in people],
                **({"survey": study.to_dict()} if study else {}),
            },
            "measurement",
        )
        desk = CallDesk(folder, bar, options.keep_going, shared_budget(options, folder, *specs)) if specs else None
        judged = (
            (judge, judge_people(people, taxonomy, options.checked, judge, desk, options.seed))
            if judge and desk
            else None
        )
        answered = (study, study.ask(desk)) if study and desk else None
        if desk:
            print(desk.tally.line)
        print_paths(report=write_depths(about, folder, judged, answered))
    return 0


def first_of_party(people: Sequence[DeepPersona], count: int | None) -> tuple[DeepPersona, ...]:
    """Return the first people of each party, in the order of the files (None: all)."""
    return tuple(
        person
        for place, person in enumerate(people)
        if count is None or sum(other.party == person.party for other in people[:place]) < count
    )


def depths_from_text(text: str, people: Sequence[DeepPersona]) -> tuple[int, ...]:
    """Return the depths to compare, in order. Errors: UserError on what is no number, and on more than people have."""
    most = min(len(person.values) for person in people)
    if not text:
        return tuple(sorted({0, most // 2, most}))
    names = split_names(text)
    if not all(name.isdecimal() for name in names) or len(set(map(int, names))) < 2:
        raise UserError(f"--depths needs two or more numbers of attributes, such as 0,10,20, not {text}")
    if max(map(int, names)) > most:
        raise UserError(f"the people have {most} attributes: give at most {most} in --depths")
    return tuple(sorted(set(map(int, names))))


def study_from_args(options: argparse.Namespace, people: Sequence[DeepPersona], depths: tuple[int, ...]) -> DepthStudy:
    """Return the survey that is asked. Errors: UserError without a group, and if people are too few to exchange attributes."""
    from parley.analysis.polls.asking import Poll
    from parley.analysis.polls.published import read_survey
    from parley.analysis.polls.table import PLANTED
    from parley.llm.backends import check_spec
    from parley.studies.deep_personas.answers import DepthStudy
    from parley.studies.deep_personas.variety import survey_of_texts

    society, llm = society_from_args(options), model_from_args(options, "oracle")
    check_spec(llm)
    if len(people) < 2:
        raise UserError(
            "a survey needs at least 2 people, because attributes are exchanged between people: raise --people, or write more "
            "people with run.py study personas"
        )
    if options.survey == PLANTED:
        table = survey_of_texts([person.text() for person in people], society.name, seed=options.seed)
    else:
        table = read_survey(Path(options.survey))
    groups = list(dict.fromkeys(row.group.name for row in table.rows))
    if not options.group and len(groups) > 1:
        raise UserError(
            f"the survey has {len(groups)} groups: name the group of your personas with --group, such as {groups[0]}"
        )
    table = table.select([options.group] if options.group else [], None, options.seed)
    base = Poll(table, llm, society.language, "persona", options.samples, options.seed)
    return DepthStudy(base, tuple(people), depths)
