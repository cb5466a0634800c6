"""Raters: how severe and how reliable each is, and what is left without their errors."""

from parley.llm.studies import TRUE, Study

STUDY = Study("raters", "measure and correct the errors of raters who scored or coded items", group=TRUE)
