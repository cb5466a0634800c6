"""A crowd of personas rates statements in seven dimensions of truthfulness and overall (docs/truthfulness.md).

statements.py  what is asked about a statement, and the statements of a user's table
measures.py    asks the crowd; agreement, experts, what each dimension adds
report.py      the page
command.py     `run.py truthfulness`
law.py         the planted truth of the oracle: what a crowd agrees on
oracle.py      ratings by that law
data/          the prompts, by language
"""

from parley.llm.studies import Study

STUDY = Study(
    "truthfulness",
    "let a crowd of personas rate the truthfulness of statements",
    purposes={"truthfulness": "oracle:answer_truthfulness"},
    law="law:CrowdLaw",
)
