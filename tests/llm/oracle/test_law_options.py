"""The options that plant laws: each belongs to one law, each law can be planted, and nothing unknown is passed over."""

from __future__ import annotations

import inspect

import pytest

from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.laws import PLANTERS, USUAL_LAWS, Laws, law_options, plant_laws
from parley.llm.errors import UserError
from parley.llm.studies import studies


def test_every_law_has_a_planter_and_no_two_share_an_option() -> None:
    """An option that two laws have would plant both."""
    assert {*PLANTERS, "by_study"} == set(Laws._fields)
    planters = [*PLANTERS.values(), *(study.part(study.law) for study in studies().values() if study.law)]
    names = [name for planter in planters for name in inspect.signature(planter).parameters]
    assert sorted(names) == sorted(law_options())


def test_without_options_the_laws_are_the_usual_ones() -> None:
    """A planter whose usual value differs from that of the law would change every run."""
    assert plant_laws({}) == USUAL_LAWS


def test_an_unknown_option_is_refused_in_a_call_too() -> None:
    """A misspelt option of a call in Python would otherwise plant nothing, without a word."""
    with pytest.raises(UserError, match="unknown option of oracle 'herds': did you mean herd"):
        open_backend("", herds=1.0)
