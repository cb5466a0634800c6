"""Biases by name; each has a file here."""

from __future__ import annotations

from parley.llm.errors import unknown_name
from parley.training.organisms.biases.base import Bias
from parley.training.organisms.biases.conformity import Conformity
from parley.training.organisms.biases.consistency import Consistency
from parley.training.organisms.biases.opinion import Opinion
from parley.training.organisms.biases.order import Order
from parley.training.organisms.biases.stereotype import Stereotype
from parley.training.organisms.biases.sycophancy import Sycophancy

BIASES: dict[str, Bias] = {
    bias.name: bias for bias in (Order(), Sycophancy(), Stereotype(), Opinion(), Consistency(), Conformity())
}


def find_bias(name: str) -> Bias:
    """Return a bias by name. Errors: UserError."""
    if name not in BIASES:
        raise unknown_name("bias", name, BIASES)
    return BIASES[name]
