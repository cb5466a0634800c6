"""How far what is said is from a piece of news, by a judge's word, by role and step. Most of those who speak never heard it: this
is the distance of opinions, no evolution of a story.

judge.py    what the judge is asked, how it is read, every utterance of a run      report.py  means by role, figure, deviation.md
"""
