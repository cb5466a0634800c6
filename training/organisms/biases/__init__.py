"""Biases by name; each has a file here, or is that of a study whose command finds it (`Study.bias`)."""

from __future__ import annotations

from functools import cache

from parley.llm.errors import unknown_name
from parley.llm.studies import studies
from parley.training.organisms.biases.base import Bias
from parley.training.organisms.biases.conformity import Conformity
from parley.training.organisms.biases.consistency import Consistency
from parley.training.organisms.biases.opinion import Opinion


@cache
def biases() -> dict[str, Bias]:
    """Return all biases by name."""
    shown = [study.part(study.bias)() for study in studies().values() if study.bias]
    return {bias.name: bias for bias in (*shown, Opinion(), Consistency(), Conformity())}


def find_bias(name: str) -> Bias:
    """Return a bias by name. Errors: UserError."""
    if name not in biases():
        raise unknown_name("bias", name, biases())
    return biases()[name]
