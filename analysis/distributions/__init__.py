"""Distributions of answers: those of a model compared with those of groups of people (docs/distributions.md).

survey_table.py    a survey as a table: question, options, group, shares, n; reads the form of Parley
published.py       reads GlobalOpinionQA, OpinionQA and SimBench
planted.py         an invented survey whose truth is the law of the oracle
asking.py          asks a model every question, with and without the name of the group
distances.py       total variation, Jensen-Shannon, Wasserstein, entropy
measures.py        scores, ceilings, nulls and steerability, with intervals over questions
worth.py           how many people a model is worth, by the coverage of confidence sets
report.py          the page, its tables and its figure
"""
