"""The commands of `run.py` that train models: one parser and one function for each."""
