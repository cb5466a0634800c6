"""Deep personas: how varied and consistent they are, what depth changes in a survey, and their evolution toward targets.

variety.py       coverage of the taxonomy, and uniqueness with its nulls; invented surveys
consistency.py   contradictions, by a judge that is measured on planted ones
answers.py       answers of people at several depths, compared with a survey
depth.py, evolve.py   the two commands
report.py        the page of `run.py study depth`
evolution.py     a population evolves by rewriting and selection; the null is selection at random
evolution_report.py   the page of `run.py study evolve`
"""

from parley.llm.studies import PEOPLE, Command, Study

STUDY = Study(
    "depth",
    "measure the variety and the contradictions of deep personas, and the effect of depth",
    group=PEOPLE,
    run="depth:run",
    parser="depth:parser",
    also=(
        Command("evolve", "let a population of personas evolve toward a survey", PEOPLE, "evolve:run", "evolve:parser"),
    ),
)
