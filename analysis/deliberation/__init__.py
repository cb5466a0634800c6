"""Deliberations as data: episodes, who may stand in for whom, and how near a representative comes to the person.

episode.py      what one group did on one question, and its file format (docs/deliberation.md)
"""
