"""The bias card of a model: `run.py audit` (docs/card.md)."""
