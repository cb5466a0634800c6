"""Trains a representative on what its person gets: DPO on critiques that lead to better statements.

    outcomes/BASE/NAME/tries/       critiques of the trained representative, the statements that they lead to, their payoffs
    outcomes/BASE/NAME/adapters/    an adapter for the payoffs, and one for each shuffle of them
    outcomes/BASE/NAME/groups-N/    the test with N shuffles: groups simulated again (substitution_study.py)

The representative writes several critiques for each person of the training side. Each takes the place of the person's own
critique, the mediator writes the statement anew, and the payoff of that statement for the person is the critique's score. The
best critique is paired with the worst, the second best with the second worst, and so on. DPO begins with the representative
that wrote them. The null is the same training with a random half of the pairs turned round, as often as asked for.

The study names this as future work (Jarrett et al., section 7: to optimise the payoff discrepancy itself).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.representative import Representative, knowledge_line
from parley.analysis.formatting import slug
from parley.analysis.journaled_calls import CallDesk, check_manifest
from parley.llm.backends import identity_spec
from parley.llm.errors import UserError
from parley.studies.representatives.measures import kept_scores, untrained
from parley.studies.representatives.pipeline import DatasetBuilder, Lesson, TrainedRepresentative, written
from parley.studies.representatives.representation import Author, RepresentationCase, WritingOrder, write_texts
from parley.studies.representatives.resimulation import (
    Procedure,
    Substitution,
    Writer,
    check_capacity,
    score_payoffs,
    write_statements,
)
from parley.studies.representatives.substitution import ONE, OWN, Profile
from parley.studies.representatives.substitution_study import run_substitution
from parley.training.base_model import BaseModel
from parley.training.tuning.adapter import make_adapter
from parley.training.tuning.preferences import SHUFFLED, TRAINED, Preference, ScoredReply, lessons, preference_examples
from parley.training.tuning.recipe import DPO, Recipe

BEFORE = "before"
"""A writer of the test: the representative that DPO begins with."""
FEWEST_PAIRS = 2
USE = """## What it is for

A representative trained on outcomes is a **research instrument** for studying deliberations in which representatives pursue the
payoff of their person. The training rewarded payoffs after a mediator and a scorer, not likeness to the person: do not let the
representative speak for a person. The licence of the base model also applies."""


@dataclass(frozen=True)
class OutcomePlan:
    """What is trained and how. lesson: of the representative that DPO begins with. recipe: of DPO.

    how: the mediator and the scorer; each critique takes part in `how.repetitions` simulations of its group. tries: critiques for
    each person. shuffles: nulls. limit: training cases, test episodes and test critiques, at most.
    """

    spec: str
    lesson: Lesson
    recipe: Recipe
    how: Procedure
    tries: int = 6
    shuffles: int = 1
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.tries < FEWEST_PAIRS:
            raise UserError(f"--tries is {self.tries}: a pair needs at least 2 critiques of a person")
        if not self.lesson.r:
            raise UserError("training on outcomes needs an adapter (LoRA): set --r 1 or more")
        check_capacity(self.how.payoff, self.how.repetitions, self.tries, "--tries")

    def described(self) -> dict[str, Any]:
        """Return what decides critiques, payoffs and adapters; a repeated command may have more shuffles."""
        how = asdict(self.how) | {name: identity_spec(getattr(self.how, name)) for name in ("mediator_llm", "judge")}
        return {"tries": self.tries, "limit": self.limit, "how": how, "recipe": asdict(self.recipe)}

    @property
    def writers(self) -> tuple[str, ...]:
        """The names of the adapters: that of the payoffs, and those of the shuffles."""
        return TRAINED, *(f"{SHUFFLED} {number}" for number in range(1, self.shuffles + 1))


class Tries(NamedTuple):
    """Scored critiques of the training side, their table, and how many have no score, by reason."""

    replies: list[ScoredReply]
    table: pd.DataFrame
    left_out: Counter[str]


class Outcome(NamedTuple):
    """A finished training.

    tries: a row per critique of the training side. given: preferences by adapter. ties: pairs left out. payoffs: of the test, a
    row per re-simulation and person. likely: by writer, the rows of `scored`. groups: the page of the test.
    """

    tries: pd.DataFrame
    given: Mapping[str, list[Preference]]
    ties: int
    left_out: Counter[str]
    payoffs: pd.DataFrame
    likely: Mapping[str, pd.DataFrame]
    groups: Path


def train_outcomes(builder: DatasetBuilder, plan: OutcomePlan, desk_in: Callable[[Path], CallDesk]) -> Outcome:
    """Try, pair, train and test. desk_in: opens the desk of a folder.

    Errors: UserError if fewer than two pairs of critiques differ in their payoff.
    """
    first = builder.model(plan.spec, plan.lesson)
    folder = outcome_folder(builder, plan, first.base)
    folder.mkdir(parents=True, exist_ok=True)
    check_manifest(folder / "outcomes.json", plan.described(), "training on outcomes")
    tries = try_critiques(builder, plan, first, desk_in(folder / "tries"))
    seed = builder.seed
    sets, ties = lessons(tries.replies, DPO, plan.shuffles, seed)
    if len(sets[TRAINED]) < FEWEST_PAIRS:
        raise UserError(
            f"{len(sets[TRAINED])} pairs of critiques differ in the payoff of their person ({ties} tie), too few for a "
            "training: give a larger --tries, or choose another --mediator, --payoff or --llm"
        )
    models = {BEFORE: first} | {
        name: _adapter(builder, plan, first, name, preferences) for name, preferences in sets.items()
    }
    groups = _test_groups(builder, plan, models, desk_in(folder / f"groups-{plan.shuffles}"))
    cases = builder.tested(plan.limit)
    likely = {
        name: kept_scores(folder / "likely" / f"{slug(name)}.csv", cases, plan.lesson.knows, model, seed)
        for name, model in models.items()
    }
    payoffs = pd.read_csv(groups.parent / "payoffs.csv")
    return Outcome(tries.table, sets, ties, tries.left_out, payoffs, likely, groups)


def outcome_folder(builder: DatasetBuilder, plan: OutcomePlan, base: BaseModel) -> Path:
    """Return the folder of a training: of its base and of the representative that it begins with."""
    return builder.folder / "outcomes" / base.path_name / plan.lesson.name


def try_critiques(builder: DatasetBuilder, plan: OutcomePlan, first: TrainedRepresentative, desk: CallDesk) -> Tries:
    """Return critiques of the representative for each training case, with the mean payoff of what they lead to.

    A critique that was written twice is one reply; its score is the mean over all statements that it led to.
    """
    cases = written(builder.sides["train"]).cases[: plan.limit]
    orders = [WritingOrder(case, case, number) for case in cases for number in range(plan.tries)]
    author = Author(first.spec, first.adapter, plan.lesson.knows)
    critiques = write_texts(orders, author, builder.seed, desk)
    episodes = {episode.id: episode for episode in builder.sides["train"]}
    times, texts, plans = plan.how.repetitions, {}, []
    for order, critique in zip(orders, critiques, strict=True):
        for number in range(order.number * times, (order.number + 1) * times):
            texts[order.case.key, OWN, number] = critique
            plans.append((episodes[order.case.episode], Profile(ONE, order.case.participant, number)))
    payoffs = score_payoffs(write_statements(plans, texts, plan.how, desk), plan.how, desk)
    payoffs["critique"] = [texts[f"{case.id} {where.who}", OWN, where.number].text or "" for case, where in plans]
    return _scored_tries(payoffs, {case.key: case for case in cases}, plan.lesson.knows)


def _scored_tries(payoffs: pd.DataFrame, cases: Mapping[str, RepresentationCase], knows: str) -> Tries:
    scored = payoffs.dropna(subset=["value"])
    means = scored.groupby(["episode", "session", "participant", "critique"], sort=False)["value"]
    table = means.agg(payoff="mean", statements="count").reset_index()
    replies = []
    for row in table.itertuples():
        case = cases[f"{row.episode} {row.participant}"]
        messages = tuple(Representative(case.brief, knows).messages())
        replies.append(ScoredReply(messages, knowledge_line(str(row.critique)), float(row.payoff)))
    return Tries(replies, table, Counter(payoffs.loc[payoffs["value"].isna(), "reason"]))


def _adapter(
    builder: DatasetBuilder, plan: OutcomePlan, first: TrainedRepresentative, name: str, given: Sequence[Preference]
) -> TrainedRepresentative:
    """Return the representative of an adapter, trained unless it is there."""
    recipe = replace(plan.recipe, party=f"outcomes-{slug(name)}", method=DPO, r=plan.lesson.r, seed=builder.seed)
    margin = round(fmean(preference.margin for preference in given), 3)
    how = plan.how
    data: dict[str, Any] = {"pairs": len(given), "mean margin": margin, "payoff": how.payoff, "judge": how.judge}
    data |= {"mediator": f"{how.mediator} on {how.mediator_llm}"}
    examples = preference_examples(given, DPO, builder.seed)
    folder = outcome_folder(builder, plan, first.base)
    out = make_adapter(
        folder, recipe.filled(first.base.kind), first.base, examples, data, USE, builder.bar, first.folder
    )
    spec = f"{untrained(first.base, plan.spec).spec},adapters={out}"
    return TrainedRepresentative(spec, out.name.replace(".", "_"), first.base, out)


def _test_groups(
    builder: DatasetBuilder, plan: OutcomePlan, models: Mapping[str, TrainedRepresentative], desk: CallDesk
) -> Path:
    """Simulate the groups of the test side with each writer, and without critiques; return the page."""
    first, *others = (Writer(name, model.spec, model.adapter) for name, model in models.items())
    settings = Substitution(
        llm=first.spec, adapter=first.adapter, name=first.name, others=tuple(others), knows=plan.lesson.knows, mute=True,
        mediator=plan.how.mediator, mediator_llm=plan.how.mediator_llm, payoff=plan.how.payoff, judge=plan.how.judge,
        repetitions=plan.how.repetitions, seed=builder.seed,
    )  # fmt: skip
    return run_substitution(builder.sides["test"][: plan.limit], settings, desk)
