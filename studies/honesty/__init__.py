"""The same conversation in neutral frames, for a reward, under pressure, before an audience (docs/honesty.md).

measures.py     the conditions, and the effects of frames on lines: toward the audience, by round, in size
known_lines.py  lines of known grade, which say what the grades of a judge are worth
report.py       the page
command.py      `run.py honesty`
"""

from parley.llm.studies import Study

STUDY = Study("honesty", "compare public lines with private ratings: neutral, for a reward, under pressure")
