"""The experiments of the UCL study on structured debates: `run.py structured EXPERIMENT`.

experiments.py   which conditions each has, and what is compared     runner.py     debates and judge, condition by condition
report.py        what came out, beside what the paper reports
"""
