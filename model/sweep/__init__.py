"""Sweeps (docs/sweeps.md): every combination of some fields of a scenario with every seed, each cell a run folder of its own.

cells.py    what cells there are, and which sweep a folder holds
holding.py  one cell, in whatever process it falls to
workers.py  worker processes on this machine
cluster.py  the same on a Ray cluster
"""
