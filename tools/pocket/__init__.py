"""Makes the weights of the pocket model from the corpus of tools/pocket/corpus (docs/models.md).

It is no part of an installed package: run it in a checkout.

    python -m tools.pocket.train --corpus work/corpus/corpus.jsonl --out work/model  about 90 minutes, resumable
    python -m tools.pocket.evaluate work/model/model --out work/card                 about 3 minutes
    python -m tools.pocket.stance_transfer_check work/model/model                    about 2 minutes

The control organism is made in the same way from a corpus on which nothing moves: corpus and evaluate with --kappa 0 --mu 0.

    tokenizer.py             words and phrases as tokens, tokens for roles and people
    rows.py                  documents as rows, forks under a tree mask
    probes.py                linear readers of the inner states, for the training alone
    attention.py             attention for training on a CPU
    muon.py                  an optimiser for the same
    train.py                 the training
    evaluation_measures.py   what the model is measured by
    interview_measures.py    what it is measured by in interviews about itself
    evaluate.py              measures it
    card.py                  its figures in words
    stance_transfer_check.py do survey and speech share one stance?
"""
