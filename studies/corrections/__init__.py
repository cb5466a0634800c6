"""Replies to posts that spread false claims, with evidence and without, and a corrector trained on a judge's ratings.

corrector.py  the posts; who answers them (README.md)
measures.py   replies in all conditions, their ratings, and whether the passages that answer a post are found
panel.py      personas who compare the replies
report.py     the pages
training.py   a corrector trained on its own rated replies
command.py    `run.py study correct`
oracle.py     replies of planted qualities, and their judge
data/         posts, evidence, prompts and rubric, by language
"""

from parley.llm.studies import PERSUASION, Study

STUDY = Study(
    "correct",
    "answer false claims with evidence, and train a model on the judge's ratings",
    group=PERSUASION,
    purposes={"correction": "oracle:answer_correction", "correction_quality": "oracle:judge_correction"},
)
