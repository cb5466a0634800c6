"""Surrogates: an opinion-dynamics model fitted to a recorded run (docs/populations.md)."""
