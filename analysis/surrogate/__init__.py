"""Surrogates of language models (docs/populations.md): `fit.py` what happened between two surveys, `fit.py` the
response to it, `fidelity.py` predicted beside real rooms that it was not fitted to, `report.py` the file and what it says of
itself."""
