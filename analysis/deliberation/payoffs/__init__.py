"""Payoff scorers: what a statement is worth to a participant. A file each (llm/registry.py).

A module has `UNIT` (what its numbers are), `MOST` (statements that it can score at once, None: any number) and
`score(episode, voice, statements, seed)`, a conversation that returns a `Verdict` for each statement. None of them is
the payoff model of the study (a fine-tuned model of 1B parameters, not published): they stand in for it, and
`analysis/deliberation/substitution.py` says how well where there are final ratings.
"""

from __future__ import annotations

from types import ModuleType

from parley.llm.registry import Registry

PAYOFFS = Registry("payoff scorer", __name__, "parley.payoffs", ("UNIT", "MOST", "score"), whole=True)


def names() -> list[str]:
    """Every scorer, sorted."""
    return PAYOFFS.names()


def open_payoff(name: str) -> ModuleType:
    """The scorer's module. Errors: UserError on an unknown name."""
    scorer: ModuleType = PAYOFFS.find(name)
    return scorer
