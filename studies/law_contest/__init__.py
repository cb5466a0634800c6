"""A contest of laws: which formula of opinion change predicts a run best."""

from parley.llm.studies import MOVED, Study

STUDY = Study("fit-law", "find the law of opinion change that predicts a run best", group=MOVED)
