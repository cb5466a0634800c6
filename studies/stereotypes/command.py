"""The command `run.py study stereotypes`: are personas individuals or stereotypes, and how do they see the other group?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.agents.own_topic import split_topics
from parley.analysis.commands.runs import print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, society_from_args
from parley.model.cli import Parser, add_option, natural
from parley.model.progress import bar


def parser() -> Parser:
    """Return the options of `run.py study stereotypes`."""
    parser = Parser(
        "study stereotypes",
        "Ask every persona of a set for its opinion on each topic, and for the answer that people of "
        "each party would give. Measure how alike the personas of a group are, and how wrong the "
        "personas are about the position of the other group (studies/stereotypes/README.md).",
        "study stereotypes --llm oracle,exaggeration=2 --personas twins",
        cli.society(),
        cli.topic("all topics on which personas take a position", default=""),
        *cli.asking("runs/stereotypes-<time>", "the model that plays the personas", "oracle"),
        cli.dry_run("print the number of personas, topics and calls, and stop without calling a model"),
    )
    add_option(parser, "--personas SET", "the set of personas", default="voters")
    about = "ask again with an interview in the prompt, of N questions about the persona's life (at most 10)"
    add_option(parser, "--interview N", about, natural, default=0)
    about = (
        "a CSV file with answers of people, for comparison: columns person, group, question and answer; "
        "the column about is optional"
    )
    add_option(parser, "--people FILE", about, Path)
    about = "lowest and highest answer in the files (default: 0,10)"
    add_option(parser, "--people-range LOW,HIGH", about, default="0,10")
    about = "a CSV file with answers of personas from another source, with the columns of --people; no model is called"
    add_option(parser, "--answers FILE", about, Path)
    return parser


def run(words: Sequence[str]) -> int:
    """Run `run.py study stereotypes`."""
    options = parser().parse_args(words)
    import pandas as pd

    from parley.agents.persona_generator import in_backstories
    from parley.analysis.journaled_calls import missing_lines
    from parley.llm.journal import shared_ledger
    from parley.model.files import JOURNAL
    from parley.studies.stereotypes import report
    from parley.studies.stereotypes.survey import PersonaSurvey, check_topics_of, life_questions, run_survey

    ends = _range(options.people_range)
    people = report.read_answers(options.people, ends) if options.people else None
    if people is not None:
        report.check_guesses(people, people, options.people)
    society = society_from_args(options)
    if options.answers:
        if options.llm or options.interview:
            raise UserError("--answers reads finished answers: leave out --llm and --interview")
        given = report.read_answers(options.answers, ends)
        report.check_guesses(given, given if people is None else people, options.answers)
        if options.dry_run:
            print("no calls: the answers are in a file")
            return 0
        answers, spec, title = {report.PLAIN: given}, "", options.answers.stem
        folder = results_folder(options, "stereotypes")
    else:
        spec, title = model_from_args(options, "oracle"), options.personas
        topics = check_topics_of(society, split_topics(options.topic), in_backstories(society))
        surveys = {report.PLAIN: PersonaSurvey(title, topics, 0, options.seed, society.name)}
        if options.interview:
            life_questions(society.language, options.interview)  # refuses more than there are
            surveys[report.INTERVIEW] = PersonaSurvey(title, topics, options.interview, options.seed, society.name)
        people_asked = surveys[report.PLAIN].people()  # refuses before anything is asked
        if options.dry_run:
            calls = sum(survey.calls for survey in surveys.values())
            print(f"{len(people_asked):,} personas, {len(topics):,} topics: {calls:,} calls")
            return 0
        (budget,), folder = budgets_from_args(options, spec), results_folder(options, "stereotypes")
        print_paths(folder=folder)
        places = {report.PLAIN: folder / "plain", report.INTERVIEW: folder / "interview"}
        ledger = shared_ledger(budget, [(places[source] / JOURNAL, budget) for source in surveys])
        answers = {
            source: run_survey(source_survey, spec, places[source], bar, budget, ledger)
            for source, source_survey in surveys.items()
        }
        every = pd.concat(answers.values())
        print(missing_lines(every[["answer"]], every["reason"], "answers"))
    if people is not None:
        report.check_common(next(iter(answers.values())), people, options.people)
    page = report.write(answers, people, title, spec, options.seed, folder)
    print_paths(report=page, table=folder / "measures.csv")
    return 0


def _range(text: str) -> tuple[float, float]:
    """Return LOW,HIGH as numbers. Errors: UserError."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low = high = 0.0
    if not low < high:
        raise UserError(f"--people-range is {text}, but must be LOW,HIGH with LOW below HIGH, such as 1,7")
    return low, high
