"""`run.py choose-side`: which side does a debater argue once it knows something of the judge? (docs/competing_debates.md)

effects.py   shifts toward the judge's side, with intervals over people and over topics, beside a detail without meaning
people.py    reads the choices of people
report.py    the report
"""
