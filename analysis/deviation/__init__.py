"""How far what is said has moved from the news that it goes back to, by a judge's word, by role and step.

judge.py    what the judge is asked, how it is read, every utterance of a run      report.py  means by role, figure, deviation.md
"""
