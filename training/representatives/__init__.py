"""Digital representatives, trained: `python run.py representatives` (Jarrett et al., section 4; docs/deliberation.md).

dataset.py     cases of representation as training data, with a card
recipe.py      what is trained and how
dataset_builder.py    episodes, split, data, models in one folder, resumable
scoring.py     how likely a model finds the critiques that participants wrote
layer_pruning.py       a smaller model of the same kind
grid.py        what it helps to know: D, O, C, P and two sizes
"""
