"""Debates with roles, statements and a judge, and the published experiments with them."""

from parley.llm.studies import DEBATE, Study

STUDY = Study("structured", "run structured debates with roles, statements and a judge", group=DEBATE)
