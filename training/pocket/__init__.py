"""The model in the box, from nothing: a corpus the oracle writes, a tokenizer, a small Llama, its evaluation (docs/pocket.md).

    python -m parley.training.pocket.corpus   --out work/corpus [--seed 0]                        about 1.5 minutes
    python -m parley.training.pocket.train    --corpus work/corpus/corpus.jsonl --out work/model  about 65 minutes, resumable
    python -m parley.training.pocket.evaluate work/model/model --out work/card                    about 15 minutes
    python -m parley.training.pocket.stance_transfer_check    work/model/model                                    about 2 minutes

The control organism is made alike from a corpus on which nothing moves: corpus and evaluate with --kappa 0 --mu 0.

    documents.py   chats, and questions asked apart from them     people.py    who speaks in the corpus
    stage.py       the oracle with puppets among the seats        debates.py   rooms of the real agents
    audience.py    one who listens, asked after every line        asks.py      questions for a stance, in speech and in surveys
    unlabelled.py  a partisan whose party is not told
    singles.py     interviews, surveys, backstories, questions    corpus.py    all of it, checked
    tokenizer.py   byte-level BPE, tokens for roles and people    rows.py      documents as rows, forks under a tree mask
    attention.py   attention for training on a CPU                muon.py      an optimiser for the same
    train.py       the training
    measures.py    what the model is measured by                  evaluate.py  measures it; card.py: its figures in words
    unity.py       do survey and speech share one stance?
"""
