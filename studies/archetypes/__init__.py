"""Agents of one kind share survey answers: what that saves, and its error.

The kernel shares the answers (llm/answer_sharing.py).
"""

from parley.llm.studies import PEOPLE, Study

STUDY = Study(
    "archetypes", "let similar agents share survey answers, and measure the saved calls and the added error", PEOPLE
)
