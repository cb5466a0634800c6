"""Trains digital representatives: `python run.py representatives` (Jarrett et al., section 4; docs/deliberation.md)."""
