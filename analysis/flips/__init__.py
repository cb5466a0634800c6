"""Every flip explained: which part of the movement of ratings each cause has (docs/flips.md).

arms.py            the arms of the comparison, as conditions of the bias card
decomposition.py   movement and flips of each arm, split into six parts that sum to the movement
report.py          the page: sentences, tables, figure
"""
