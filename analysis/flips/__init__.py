"""Every flip explained: which part of the movement of ratings each cause has (docs/flips.md).

arms.py            the arms of the comparison, as conditions of the bias card
decomposition.py   movement and flips of each arm, split into six parts that sum to the movement
opener.py          the opener's anchor
interviewer.py     sycophancy toward the interviewer
guesses.py         what agents think is studied
steered.py         the same debates without what tells agents how to behave
report.py          the page: sentences, tables, figure
"""
