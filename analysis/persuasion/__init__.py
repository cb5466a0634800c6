"""Comparisons of texts in pairs, and Bradley-Terry scores."""
