"""Competition: messages of rivals before an audience, how often each wins and how often each breaks a rule (docs/competition.md).

messages.py   messages of writers, those of a file of yours, and known messages with and without a planted sentence
judge.py      how good the judge is, on known messages
outcomes.py   by case: share of comparisons won, and share of messages that break a rule; differences between writers
verdicts.py   what these numbers support, in sentences
report.py     the report, its tables and its figure; training_report.py: of a writer before and after training on wins
"""
