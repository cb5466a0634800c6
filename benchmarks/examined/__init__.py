"""The registry of the exam (benchmarks/exam.py): every statistic that Parley prints, with data whose truth is known.

`rooms.py` has statistics of rooms, `people.py` those of people, answers and judges, `choices.py` those of their choices,
`models.py` those of fitted models, `instruments.py` those of claims, flips and confirmations. Each file has a tuple ENTRIES.
`product.py` lists the functions of the product that make an interval or a p; a function without an entry here and without a line
in its ELSEWHERE fails a test.
`columns.csv` lists the printed columns with an interval or a P, and which entry stands for each (columns.py).

**A new statistic.** Add an Entry, count it (`python benchmarks/exam.py --only NAME`), and name it in columns.csv for each column
that prints it: `cd benchmarks && python -m examined.columns` prints the columns that lack a row.
**A new kind of data.** Add its name to the kinds of an entry, and what it draws to the entry's function. Columns whose rows are
`heavy` or `crossed` need entries with these kinds. docs/exam.md and exam.svg are made of exam.csv: after a conflict of two
changes, keep the rows of both in exam.csv, and run exam.py again.
"""

from __future__ import annotations

from examined.choices import ENTRIES as CHOICES
from examined.entry import Entry
from examined.instruments import ENTRIES as INSTRUMENTS
from examined.models import ENTRIES as MODELS
from examined.people import ENTRIES as PEOPLE
from examined.rooms import ENTRIES as ROOMS

ENTRIES: tuple[Entry, ...] = (*ROOMS, *PEOPLE, *CHOICES, *MODELS, *INSTRUMENTS)
