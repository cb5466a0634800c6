"""The bias card: what a model does to a society made of it, measured by a fixed battery (docs/card.md): `run.py audit`.

claims.py      one row a quantity: estimate, interval, null, unit, or why there is none
conditions.py  the rooms of the battery, one scenario a condition       donors.py   lines that partners borrow from other rooms
held.py        the records of all batches together                      rooms.py    what the law is fitted to
sections/      a file a section: which conditions it wants, and its claims      battery.py  what is held in which order, until
when plan.py        the plan before anything is asked                        card.py     the files of a card; figure.py its
figure
"""
