"""Estimates from a few people and many predictions of a model: mixed-subjects designs."""

from parley.llm.studies import PEOPLE, Study

STUDY = Study("mixed", "estimate from a few people and the predictions of a model", group=PEOPLE)
