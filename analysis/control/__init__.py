"""`run.py control`: is what a scenario fixes what its run shows? (docs/control.md)

makeup.py   what sits, speaks and happens, compared with the scenario
events.py   is everything fixed before the first reply?
shown.py    do ratings and lines depend on the attributes that agents were given?
report.py   control.md, its table and figure
"""
