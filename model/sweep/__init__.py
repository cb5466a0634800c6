"""Sweeps: every combination of some settings with every seed, each cell in its own run folder (docs/sweeps.md)."""
