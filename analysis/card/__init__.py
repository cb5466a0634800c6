"""The bias card: what a model does to a society made of it, measured by a fixed battery (docs/card.md): `run.py audit`.

estimates.py        one row per quantity: estimate, interval, null, unit, or why there is none; differences within blocks
conditions.py       the debates of the battery, one scenario per condition
interviews.py       interviews and verdicts, asked beside the debates
records.py          the records of all batches together; what the law is fitted to; lines that partners borrow
sections/           one file per section: its conditions and estimates
protocol.py         which conditions run in which order, until when
runner.py           runs them, as far as the budget goes
budget.py           limits and prices, and the plan before anything is asked
card.py, figure.py  the files of a card, and its figures
page.py, labels.py  its page for people, and what conditions and numbers are called there
remedies.py         the core once more with something else set (remedies.toml), and what that moves; remedies_report.py its files
comparison.py       cards side by side, their differences and their page
"""
