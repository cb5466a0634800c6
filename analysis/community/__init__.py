"""Community: posts under two sets of rules, one post continued many times, compared with posts of people (docs/community.md).

outcomes.py   by room: share of posts that break each rule, replies, words; differences between sets of rules; continuations
origin.py     how well a judge distinguishes posts of people from those of the model
report.py     the report, its tables, sentences and figure
"""
