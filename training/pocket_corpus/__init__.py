"""What the pocket model is taught: chats that the oracle writes (docs/pocket.md). Benchmarks of capability ask about the same.

python -m parley.training.pocket_corpus.corpus --out work/corpus [--seed 0]    about 1.5 minutes

documents.py         chats, and questions asked apart from them
people.py            who speaks in the corpus
corpus_speaker.py    the oracle with puppets among the seats
debates.py           rooms of the real agents
listeners.py         one who listens and is asked after every line
survey_questions.py  questions for a stance, in speech and in surveys
unlabelled.py        a partisan whose party is not told
single_questions.py  interviews, surveys, backstories, questions
corpus.py            all of it, checked
"""
