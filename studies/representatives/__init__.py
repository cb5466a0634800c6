"""Digital representatives, agents that answer for a participant of a deliberation, and whom mediators suit.

Pages: README.md, docs/deliberation.md

population.py, representation.py    people of a known kind, and what a representative knows of its person
pipeline.py, measures.py, grid.py, study.py   data and training, what it measures, by knowledge and size, all on one page
likelihood.py, preference_judge.py  how likely the person's own critique is, and which of two a judge prefers
resimulation.py, substitution*.py   the group again with a representative, and what people get
ballots.py, ballot_*.py, step_*.py  ballots by every rule of choice; representatives and people at each step
payoffs/, payoff_*.py, outcome*.py  how content a participant is with a statement; training on it
fairness.py, fairness_study.py      whom the drafts of a mediator suit
command.py, payoff_command.py, mediators_command.py   `run.py study representatives COMMAND`, `run.py study mediators`
"""

from parley.llm.studies import GROUPS_OF_PEOPLE, Command, Study

STUDY = Study(
    "representatives",
    "test agents that answer in place of a participant",
    group=GROUPS_OF_PEOPLE,
    run="command:representatives",
    parser="command:representatives_parser",
    also=(
        Command(
            "mediators",
            "measure which side the drafts of mediators suit, and what the order of opinions changes",
            GROUPS_OF_PEOPLE,
            "mediators_command:mediators",
            "mediators_command:mediators_parser",
        ),
    ),
)
