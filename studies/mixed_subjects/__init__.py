"""Estimates from a few people and many predictions of a model: mixed-subjects designs."""

from parley.llm.studies import PEOPLE, Study

STUDY = Study("mixed", "estimate a mean or an effect from a few people and a model's predictions", group=PEOPLE)
