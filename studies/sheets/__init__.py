"""Sheets: reporting standards filled in from the folder of a run.

facts.py    what a fact is, and the run it is read from      design.py   facts on the design of a run
attributes.py  a fact on the attributes that ratings depend on
talk.py     facts on prompts and what agents say             results.py  facts on ratings, missing values, comparisons
forms.py    the forms (forms/NAME.toml, one per standard), and the answers of the author
sheet.py    writes a form as Markdown and HTML
"""

from parley.llm.studies import TRUE, Study

STUDY = Study("sheet", "fill in the forms PIMMUR, TRAILS, ODD, RAT-RS and control from the folder of a run", group=TRUE)
