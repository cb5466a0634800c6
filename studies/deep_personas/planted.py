"""Invented surveys whose truth is the oracle's law of attributes: what people answer who have known sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from parley.agents.respondent import Group
from parley.analysis.polls.table import OPTIONS, PEOPLE, PLANTED, SUBJECTS, SurveyRow, SurveyTable, make_table
from parley.llm.backends.oracle.attribute_law import AttributeLaw
from parley.llm.backends.oracle.attributes import kinds_in
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.survey_law import PLANTED_SURVEY
from parley.llm.seeding import derive

EFFECT = 0.5
"""The planted effect of a sentence: `--llm oracle,attribute_effect=0.5` answers as the people of these surveys."""
GROUP = "the people of Lindmoor"
TYPICAL = (0, 0, 1)
"""Kinds of the sentences of each person in the survey of `run.py evolve`."""


def survey_of_texts(texts: Sequence[str], society: str, seed: int = 0) -> SurveyTable:
    """Return a survey of people who have the sentences of these backstories; PEOPLE of them answered."""
    return survey_of_kinds([kinds_in(banks(society), text) for text in texts], seed)


def survey_of_kinds(kinds: Sequence[Sequence[int]], seed: int = 0) -> SurveyTable:
    """Return a survey of people, each with sentences of these kinds, in equal parts."""
    law, rng, rows = AttributeLaw(effect=EFFECT), np.random.default_rng(derive(seed, "planted people")), []
    for subject in SUBJECTS:
        question = f"How satisfied are you with {subject} of Lindmoor?"
        usual = PLANTED_SURVEY.shares(question, OPTIONS)
        shares = np.mean([law.move(usual, question, OPTIONS, own) for own in kinds], axis=0)
        counts = rng.multinomial(PEOPLE, shares / shares.sum())
        drawn = tuple((counts / PEOPLE).tolist())
        rows.append(SurveyRow(question, OPTIONS, Group(GROUP), drawn, float(PEOPLE), (1.0, 2.0, 3.0, 4.0)))
    return make_table(rows, PLANTED, Path(PLANTED))
