"""People hold one of two answers and see how many others hold each: measured, and compared with theory (README.md).

environment.py, members.py, round.py    the people, what each is told, and a round in which all answer at once
events.py, tables.py, group_consensus.py, run_report.py    what a record holds, its table, its metric, its summary
theory.py                               phases of large groups, and groups of N people exactly
law.py, oracle.py                       the planted law, and answers by it
fit.py, measures.py, predictions.py     the measured response curve, and groups compared with what it predicts
maps.py, report.py, command.py          `run.py study consensus-phases`
"""

from parley.llm.studies import GROUPS_OF_PEOPLE, Study

STUDY = Study(
    "consensus-phases",
    "measure conformity, bias and noise, and test what theory predicts for groups",
    group=GROUPS_OF_PEOPLE,
    purposes={"side": "oracle:answer_side"},
    law="law:ResponseLaw",
    environments={"two_answers": "environment:TwoAnswers"},
    scenarios={"consensus_phases": "Two answers, round by round"},
    events="events",
    tables={"sides": "tables:SIDES"},
    metrics={"group_consensus": "group_consensus"},
    run_report="run_report:REPORT",
)
