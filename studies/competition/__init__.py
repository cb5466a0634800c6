"""Two writers compete for an audience of personas: who wins, and who breaks rules.

writers.py          competitions and their cases; who writes, and who chooses
contest.py          messages, choices and verdicts of a contest; messages of a user's file
measures.py         outcomes by case, and what they support, in sentences
report.py           the page of a contest
training.py         a writer trained on what won, and its page
command.py          `run.py study compete`
oracle.py           the planted law: embellishments, what the audience makes of them, and a judge
data/               competitions, prompts and rubric, by language
"""

from parley.llm.studies import PERSUASION, Study

STUDY = Study(
    "compete",
    "let two writers compete for an audience, and measure which writer wins and which breaks rules",
    group=PERSUASION,
    purposes={"pitch": "oracle:write_pitch", "rivalry": "oracle:answer_rivalry", "misconduct": "oracle:judge_pitch"},
    law="oracle:CompetitionLaw",
)
