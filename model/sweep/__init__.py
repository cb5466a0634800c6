"""Sweeps (docs/sweeps.md): every combination of some fields of a scenario with every seed, each cell a run folder of its own.

design.py            which cells there are, and which sweep a folder holds
runner.py            all cells: how many at once, under one budget
cell_runner.py       one cell, in whatever process it falls to
worker_processes.py  worker processes on this machine
ray_cluster.py       the same on a Ray cluster
"""
