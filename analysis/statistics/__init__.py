"""Tests as a statistician would sign them.

Each states its unit, its n, an estimate, its interval (tests of spread and permutation tests have none), an effect size where
there is one, and a p that is corrected over the table it stands in.

    results.py      one row a test, corrected p               groups.py   several conditions, one number a unit
    mixed.py        repeated measures, rooms at random        permute.py  labels shuffled over rooms (speaking order)
    power.py        how many rooms for a difference      nulls.py    data without an effect, to test the tests
    verdicts.py    what each statistic says of nothing, by number of rooms and kind of data
"""
