"""Organisms: models with one planted bias of known size, to score instruments (docs/tuning.md).

truth       the truth file of an organism: bias, road, size, seed, digest of the data, what must be flagged
people      which personas are trained on, which measure the truth, and which the instruments ask
cases       questions with the planted probability of each answer, as training examples
biases      one file per bias: its questions, its exact size, its instrument
exact       the size that an organism really has, from the probabilities of its answers to held-out questions
build       makes the folder of an organism, which `--llm organism:FOLDER` opens
score       instruments on organisms: detection, coverage, controls
truths      the truth files, one per bias, with a table per organism
"""
