"""Surveys whose truth is known: people with hidden positions answer statements of planted strength.

planted      answers depend on one hidden position, some of them strongly
independent  answers do not depend on the person
shuffled     as planted, but the answers to each statement are dealt to other people: statements seem to be related, and are not
"""

from __future__ import annotations

import numpy as np

from parley.agents.known_person import SurveyItem
from parley.agents.language import load_language
from parley.analysis.survey_prediction.answers import Survey
from parley.llm.backends.oracle.position_law import INDEPENDENT, PLANTED, statements
from parley.llm.seeding import derive

SHUFFLED = "shuffled"
INVENTED = (PLANTED, INDEPENDENT, SHUFFLED)
LANGUAGES = ("en", "de")


def invent_survey(name: str, people: int = 100, seed: int = 0, language: str = "en") -> Survey:
    """Return an invented survey. `truth` is the probability with which each answer was drawn."""
    bank, words = statements(INDEPENDENT if name == INDEPENDENT else PLANTED, language), load_language(language)
    rng = np.random.default_rng(derive(seed, "invented survey", name))
    positions = rng.standard_normal(people)
    truth = np.array([[statement.agreement(float(position)) for statement in bank] for position in positions])
    values = (rng.random(truth.shape) < truth).astype(float)
    if name == SHUFFLED:
        values = rng.permuted(values, axis=0)
        truth = np.tile(truth.mean(axis=0), (people, 1))
    answers = (words.words("agrees"), words.words("disagrees"))
    items = tuple(SurveyItem(f"q{place}", one.text, answers) for place, one in enumerate(bank, 1))
    ids = tuple(f"person {number}" for number in range(1, people + 1))
    return Survey(name, ids, items, values, ((),) * people, np.ones(people), words, truth)
