"""Conjoint experiments: effects of levels on choices, the best profile, and choices of people beside those of personas."""
