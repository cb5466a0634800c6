"""A true report changes as people pass it on, with and without an official statement.

environment.py, round.py, tellers.py    people who pass a story on from day to day
events.py, tables.py                    what a record holds, and its table of versions
law.py, oracle.py                       the planted law of how a story changes, and versions and verdicts by it
versions.py, deviation.py               `run.py study judge --rubric deviation`: how far versions are from the report
refutation.py, command.py               `run.py study refutation`
"""

from parley.llm.studies import GROUPS_OF_PEOPLE, Study

STUDY = Study(
    "refutation",
    "pass a story on with an early, a late or no official statement",
    group=GROUPS_OF_PEOPLE,
    purposes={"speech retelling": "oracle:retell", "deviation": "oracle:judge_deviation"},
    law="law:plant_story",
    environments={"story": "environment:Story"},
    scenarios={"news_evolution": "News changes as it is passed on"},
    events="events",
    tables={"versions": "tables:VERSIONS"},
    rubrics={"deviation": "deviation:DEVIATIONS"},
)
