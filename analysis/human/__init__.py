"""How people change their opinions, measured in the same way on public human data and on a run (docs/human.md).

`table.py` one table for every source, `readers.py` and `debate.py` the public files, `rooms.py` the run, `measures.py` what is
measured, `figure.py` and `report.py` what is shown.
"""
