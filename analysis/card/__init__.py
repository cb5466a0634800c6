"""The bias card of a model: `run.py audit` (docs/card.md).

conditions   the conditions, as scenarios with the same agents, seats and seeds
protocol     runs the conditions within the budget, until intervals are narrow enough; the plan of `--dry-run`
interviews   interviews of personas and a judge's scores of lines, outside of debates
records      what was run, as tables whose rows have a block, and as the passages that the influence model is fitted to
sections     one file per section: its words, its estimates, its sentences
estimates    an estimate with its interval, or the reason why it is missing
labels       how the page words conditions, numbers and units
card         card.json and card.html
figure       the figure of a card, and the figure of several cards or remedies
comparison   several cards side by side: `run.py compare`
remedies     the core of a card with other settings: `run.py audit --remedies`
"""
