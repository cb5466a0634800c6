"""People choose one after another, with and without a planner.

environment.py, round.py, members.py    the people, their period, and a planner that is a model
events.py, tables.py, periods.py        what a record holds, and what is read of it
law.py, optimum.py, oracle.py           the planted law, the best planner, and answers by both
herding_time.py, wrong_cascades.py, welfare.py, signal_weights.py    measures, one file each
run_report.py, choice_rows.py, view.py  a run as a summary, and in the page
report.py, command.py                   `run.py study herding`: Bayesians and a model, with and without a planner
"""

from parley.llm.studies import GROUPS_OF_PEOPLE, Study

STUDY = Study(
    "herding",
    "let people choose one after another, with and without a planner",
    group=GROUPS_OF_PEOPLE,
    purposes={"decision": "oracle:answer_decision", "precision": "oracle:answer_precision"},
    law="law:Person",
    environments={"herding": "environment:Herding"},
    scenarios={"herding": "Choosing one after another"},
    events="events",
    tables={"decisions": "tables:DECISIONS"},
    metrics={name: name for name in ("herding_time", "wrong_cascades", "welfare", "signal_weights")},
    views=("view",),
    run_report="run_report:REPORT",
)
