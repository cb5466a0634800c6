"""Tests with unit, interval and effect size."""
