"""Distributions of answers: those of a model compared with those of groups of people."""

from parley.llm.studies import PEOPLE, Study

STUDY = Study("distributions", "compare a model's survey answers with the answers of groups of people", group=PEOPLE)
