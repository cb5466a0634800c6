"""Sealed bundles: runs as one RO-Crate that checks itself (docs/files.md).

prompts.py   every prompt and reply of a run as lines of JSON        crate.py    the metadata of an RO-Crate, and its faults
bundle.py    writes a bundle, with its seal                          check.py    checks a bundle, and derives it again
studies.py   folders of many runs: a bias card, a claim
"""
