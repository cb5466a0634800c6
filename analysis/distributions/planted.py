"""An invented survey whose truth is the oracle's law of answers: four groups of an invented town, with 400 people each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from parley.agents.respondent import Group
from parley.analysis.distributions.survey_table import SurveyRow, SurveyTable, make_table
from parley.llm.backends.oracle.survey_law import PLANTED_SURVEY, SurveyLaw
from parley.llm.seeding import derive

PLANTED = "planted"
"""The name of this survey on the command line, given in place of a file."""
GROUPS = ("people of the harbour", "people of the old town", "people of the hills", "students of Lindmoor")
SUBJECTS = (
    "the tram", "the library", "the harbour", "the market", "the schools", "the hospital", "the parks", "the theatre",
    "the town council", "the water works", "the swimming pool", "the police", "the newspaper", "the ferries",
    "the football club", "the housing office", "the museum", "the fire brigade", "the bakeries", "the cycle paths",
    "the town festival", "the street lights", "the sports halls", "the allotments",
)  # fmt: skip
OPTIONS = ("Very satisfied", "Somewhat satisfied", "Somewhat dissatisfied", "Very dissatisfied")
PEOPLE = 400


def planted_survey(law: SurveyLaw = PLANTED_SURVEY, people: int = PEOPLE, seed: int = 0) -> SurveyTable:
    """Return the survey: answers of `people` people a group and question, drawn from the law.

    The groups answer as the law says; the seed draws who was asked.
    """
    return make_table(_rows(law, people, seed), PLANTED, Path(PLANTED))


def _rows(law: SurveyLaw, people: int, seed: int) -> Iterator[SurveyRow]:
    rng = np.random.default_rng(derive(seed, "planted survey"))
    for subject in SUBJECTS:
        question = f"How satisfied are you with {subject} of Lindmoor?"
        for name in GROUPS:
            counts = rng.multinomial(people, law.shares(question, OPTIONS, name))
            shares = tuple((counts / people).tolist())
            yield SurveyRow(question, OPTIONS, Group(name), shares, float(people), (1.0, 2.0, 3.0, 4.0))
