"""Payoff scorers: what a statement is worth to a participant. A file each (llm/registry.py).

A module has `UNIT` (what its numbers are), `MOST` (statements that it can score at once, None: any number) and
`score(episode, voice, statements, seed)`, a conversation that returns a `Verdict` for each statement. A scorer with a
model of its own also has `open_model(folder)`, which returns an object with these three and with `model`; its spec
names the folder (`trained:FOLDER`). `judge`, `ranking` and `own` replace the payoff model of the study, a
fine-tuned model of 1B parameters that is not published; `trained` is such a model, trained here (README.md).
`studies/representatives/substitution.py` says how good a scorer is where there are final ratings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.llm.registry import Registry
from parley.llm.request import Backend
from parley.llm.spec import split_path

PAYOFFS = Registry("payoff scorer", __name__, "parley.payoffs", ("UNIT", "MOST", "score"), whole=True)
AGREEMENT = "agreement, 1 to 7"
"""The unit of scorers on the scale of the ratings."""


def names() -> list[str]:
    """Every scorer, sorted."""
    return PAYOFFS.names()


def open_payoff(spec: str) -> Any:
    """Return the scorer that a spec names. Errors: UserError on an unknown name, and on a folder without a payoff model."""
    if split_path(spec):
        return PAYOFFS.find(spec)
    name, _, folder = spec.partition(":")
    scorer = PAYOFFS.find(name)
    opener = getattr(scorer, "open_model", None)
    if opener is None and folder:
        raise UserError(f"payoff {name} takes no folder: write {name}, or trained:FOLDER")
    if opener is None:
        return scorer
    if not folder:
        raise UserError(f"payoff {name} needs the folder of a model: {name}:FOLDER")
    return opener(Path(folder))


def own_model(scorer: Any) -> Backend | None:
    """Return the model that a scorer brings along, which is asked instead of the judge; None without one."""
    model: Backend | None = getattr(scorer, "model", None)
    return model


def scored_by(scorer: Any, judge: str) -> str:
    """Return who scores, for a report: the judge's spec, or a model trained on ratings, where the scorer brings one along."""
    return "a model trained on ratings" if own_model(scorer) else judge
