"""Estimates from a few people and many predictions of a model: mixed-subjects designs (docs/mixed_subjects.md)."""
