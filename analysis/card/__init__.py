"""The bias card: what a model does to a society made of it, measured by a fixed battery (docs/card.md): `run.py audit`.

claims.py      one row a quantity: estimate, interval, null, unit, or why there is none; differences within blocks
conditions.py  the rooms of the battery, one scenario a condition       donors.py   lines that partners borrow from other rooms
outside.py     interviews and verdicts, asked beside the debates        held.py     the records of all batches together
rooms.py       what the law is fitted to                                sections/   a file a section: its conditions and claims
battery.py     what is held in which order, until when                  holding.py  holds it, as far as the budget goes
plan.py        the plan before anything is asked                        card.py     the files of a card; figure.py its figure
page.py        its page, for people                             words.py    what conditions and numbers are called there
remedies.py    the core once more with something else set (remedies.toml), and what that moves; remedies_report.py its files
compare.py     cards side by side, and their differences; compare_page.py their page
costs.py       limits and prices                                        panels.py   the figure of remedies and of several cards
"""
