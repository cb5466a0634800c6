"""Scores of single statements (1-7, by a judge), as in the UCL study: what its figures and tables are made of.

table.py       the tidy table, from a CSV               reversion.py   do speakers return to where they began?
gradients.py   slopes, spread, the echo-chamber rule    ucl.py         the published procedure, beside run-level tests
"""
