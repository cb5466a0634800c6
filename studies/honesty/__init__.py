"""The same conversation in neutral frames, for a reward, under pressure, before an audience.

measures.py     the conditions, and the effects of frames on lines: toward the audience, by round, in size;
                the judge on lines of known grade
report.py       the page
command.py      `run.py study honesty`
"""

from parley.llm.studies import DEBATE, Study

STUDY = Study("honesty", "compare public messages with private ratings, for a reward or under pressure", group=DEBATE)
