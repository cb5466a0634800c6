"""The commands of `run.py` that analyse runs and run studies: one parser and one function for each."""
