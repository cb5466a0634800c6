"""A contest of laws: which formula of opinion change predicts a run best (docs/laws.md)."""
