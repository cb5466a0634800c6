"""Mechanisms: formulas for how far a person moves after what it heard, whose numbers can be fitted to a run.

    x_i' = x_i + columns(what i knows) . coefficients + normal noise, kept within 0 and 10

The columns may depend on thresholds, such as the confidence of a bounded-confidence law. So least squares finds the
coefficients, and a grid the thresholds (docs/populations.md). The same formula moves a population
(agents/laws/fitted.py). Each module of this folder defines one mechanism; `--laws all,./mine.py` adds one of your own.
"""

from __future__ import annotations

from parley.agents.mechanisms.base import Mechanism, Situation
from parley.llm.registry import Registry

MECHANISMS = Registry("mechanism", __name__, "parley.mechanisms", ("columns", "contains"))

__all__ = ["MECHANISMS", "Mechanism", "Situation"]
