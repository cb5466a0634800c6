"""Tests as a statistician would sign them.

Each states its unit, its n, an estimate, its interval (tests of spread and permutation tests have none), an effect size where
there is one, and a p that is corrected over the table it stands in.

    results.py           one row per test, corrected p
    groups.py            several conditions, one number per unit
    mixed_models.py      repeated measures, rooms at random
    permutation_test.py  labels shuffled over rooms (speaking order)
    power.py             how many rooms a difference needs
"""
