"""Measures what fine-tuning costs in capability (docs/tuning.md): `python -m parley.training.capability.measure MODEL`."""
