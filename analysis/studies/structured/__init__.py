"""The experiments of the UCL study on structured debates: `run.py structured EXPERIMENT`."""
