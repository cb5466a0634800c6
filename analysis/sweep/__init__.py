"""The report of a sweep: a tidy table, the effect of each setting, figures (docs/sweeps.md)."""
