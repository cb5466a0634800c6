"""The registry of the exam (benchmarks/exam.py): every statistic that Parley prints, with data whose truth is known.

`rooms.py` has statistics of rooms, `people.py` those of people, answers and judges, `models.py` those of fitted models,
`instruments.py` those of claims, flips and confirmations. Each file has a tuple ENTRIES. `product.py` lists the functions of the
product that make an interval or a p; a function without an entry here and without a line in its ELSEWHERE fails a test.
"""

from __future__ import annotations

from examined.entry import Entry
from examined.instruments import ENTRIES as INSTRUMENTS
from examined.models import ENTRIES as MODELS
from examined.people import ENTRIES as PEOPLE
from examined.rooms import ENTRIES as ROOMS

ENTRIES: tuple[Entry, ...] = (*ROOMS, *PEOPLE, *MODELS, *INSTRUMENTS)
