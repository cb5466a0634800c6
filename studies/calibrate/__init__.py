"""Can the analysis find the planted values? Debates of speakers of known bias, each with its control."""

from parley.llm.studies import TRUE, Study

STUDY = Study("calibrate", "check whether the analysis recovers a known bias", TRUE)
