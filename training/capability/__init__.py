"""Measures what fine-tuning costs in capability (docs/capability.md): `python -m parley.training.capability.measure MODEL`."""
