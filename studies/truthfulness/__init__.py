"""A crowd of personas rates statements in seven dimensions of truthfulness and overall."""

from parley.llm.studies import PEOPLE, Study

STUDY = Study(
    "truthfulness",
    "let a crowd of personas rate the truthfulness of statements",
    group=PEOPLE,
    purposes={"truthfulness": "oracle:answer_truthfulness"},
    law="oracle:CrowdLaw",
)
