"""Which of two beliefs people take, by the distance to their own beliefs.

choices.py  choices and beliefs of a user's tables, the slope of relative dissonance, and its nulls
report.py   the page
command.py  `run.py study dissonance`
"""

from parley.llm.studies import MOVED, Study

STUDY = Study("dissonance", "measure from choices how much people prefer beliefs near their own beliefs", group=MOVED)
