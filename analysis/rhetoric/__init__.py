"""What an utterance appeals to (logos, pathos, ethos) by a judge's word, and whether hearers move more after one or the other.

tags.py    what the judge is asked, how it is read, every utterance of a run     report.py   the step of each hearer after a turn
report.py  shares by party, steps with and without an appeal, rhetoric.md
"""
