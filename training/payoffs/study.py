"""Trains payoff models and compares them with a judge, a ranking, self-report and blind baselines on people not trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from parley.analysis.deliberation.payoff_measures import ERROR, STATEMENT
from parley.analysis.deliberation.payoff_report import FIT, PEOPLE, QUESTIONS, Trained, score_all, write_payoffs
from parley.analysis.deliberation.payoffs import open_payoff
from parley.analysis.deliberation.representation import describe_split
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends.hf.reward import PAIRS, RATING
from parley.training.payoffs.pipeline import PayoffLesson, hold_out_people, train_payoff
from parley.training.representatives.pipeline import DatasetBuilder

FORM_MODELS = {RATING: Trained("trained on ratings", ERROR), PAIRS: Trained("trained on pairs", STATEMENT)}
"""How a form's model is called on the page, and the measure that decides for it."""
CONTROLS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    ", blind to the opinion": {"blind": True},
    ", labels shuffled": {"shuffled": True},
}


def run_payoffs(
    builder: DatasetBuilder, llm: str, lesson: PayoffLesson, forms: Sequence[str], judge: str, desk: CallDesk
) -> Path:
    """Train every form with its two controls, score three lots of episodes, write payoff.md; return its path.

    judge: the model that judges and ranks ("": neither).
    """
    train, people = hold_out_people(builder.sides["train"], builder.seed)
    cells = {FIT: builder.sides["validation"], PEOPLE: people, QUESTIONS: builder.sides["test"]}
    scorers: dict[str, tuple[Any, str]] = {}
    for form in forms:
        for mark, control in CONTROLS.items():
            own = replace(lesson, form=form, **control)
            out = train_payoff(llm, own, train, cells[FIT], builder.folder, builder.bar)
            scorers[f"{FORM_MODELS[form].name}{mark}"] = open_payoff(f"trained:{out}"), llm
    if judge:
        scorers |= {f"{name} ({judge})": (open_payoff(name), judge) for name in ("judge", "ranking")}
    scored = score_all(cells, scorers, builder.seed, desk)
    about = (
        f"{llm}. Split: {describe_split(builder.sides)}; {len(people)} episodes of the training part are held out as new people. "
        "`--payoff trained:FOLDER` uses a model; its folder is in payoffs/."
    )
    trained = [FORM_MODELS[form] for form in forms]
    return write_payoffs(scored, trained, builder.folder, [llm, *filter(None, [judge])], about, builder.seed)
