"""Logs of other frameworks as run folders of Parley, and runs as `.eval` files (docs/files.md).

log        what a log says, in plain rows: ratings, lines, acts, links, calls
mapping    MAP.toml: which column is what, the scale of the ratings, and the main question
record     these rows as the events of a record, and the run folder
report     the report of such a folder: which sections apply, and what the log lacks for the others
formats    one file per format; the folder is the list of formats
eval_file  a run as an `.eval` file of Inspect (`run.py export eval`)
"""
