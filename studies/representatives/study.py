"""The whole study of representatives in one folder: critiques, consensus, and what it helps to know; one page.

    critiques   each model, trained and untrained, own prompt and a stranger's: likelihood, and what a judge prefers
    consensus   groups with representatives of each model, trained and untrained, compared with none, strangers and the same again
    grid        what each thing that a representative knows adds, by model

The study has these as figures 2, 3 and 4 (Jarrett et al.). All steps keep what they did, so the same command continues. A
training ends when the validation loss has not fallen for `patience` measurements, or after `epochs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, estimate
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import with_interval
from parley.studies.representatives import grid
from parley.studies.representatives.likelihood import MEASURES, against
from parley.studies.representatives.measures import (
    BASE,
    OWN,
    PERSON,
    STRANGER,
    TRAINED,
    RepresentativeTest,
    kept_scores,
    untrained,
)
from parley.studies.representatives.pipeline import DatasetBuilder, Lesson
from parley.studies.representatives.preference_judge import win_rate
from parley.studies.representatives.representation import describe_split
from parley.studies.representatives.resimulation import Substitution, Writer
from parley.studies.representatives.substitution_study import run_substitution

CONSENSUS = "consensus"
AGAINST = {STRANGER: "a stranger's representative", BASE: "the untrained model", PERSON: "the person's own critique"}
READING = (
    "The people and questions of this test are not in the training data. Brackets hold 95% intervals, over participants for "
    "critiques and over groups (sessions) for consensus."
)
LIKELY = (
    "The log-probability of the person's own critique is in nats; higher is better. Gain is the log-probability with the "
    "person's own prompt minus that with the prompt of another participant of the group. A gain of 0 means that the model knows "
    "nothing about the person."
)
JUDGED = (
    "The win rate is how often a judge thinks that the person would rather have written the trained model's critique than "
    "another critique. The judge reads both orders, and ties count half. At a win rate of 0.5 neither critique is preferred. "
    "Against the person's own critique, do not expect a win rate above 0.5."
)
LIKELY_COLUMNS: Mapping[str, Column] = {
    "model": "model", "writer": "writer", "per token": estimate("per_token", 3), "per critique": estimate("per_critique"),
    "gain over a stranger": estimate("gain"), "critiques": "critiques",
}  # fmt: skip
WIN_COLUMNS: Mapping[str, Column] = {
    "model": "model", "against": "against", "win rate": estimate("value"), "verdicts": "verdicts", "not read": "unread",
}  # fmt: skip


@dataclass(frozen=True)
class StudyPlan:
    """What is compared. specs: the models (two sizes). choices: what the representatives of the grid know, as letters. shown: the
    measure of its figure (`unit_of`).

    judge, mediator, mediator_llm, payoff, repetitions: as in `Substitution`. limit: critiques and episodes that are tested.
    """

    specs: tuple[str, ...]
    choices: tuple[str, ...]
    lesson: Lesson
    judge: str = "oracle"
    mediator: str = "draft_revise"
    mediator_llm: str = "oracle"
    payoff: str = "judge"
    repetitions: int = 1
    limit: int | None = None
    shown: str = "per_token"


def run_study(builder: DatasetBuilder, plan: StudyPlan, desk_in: Callable[[Path], CallDesk]) -> Path:
    """Train, measure and simulate all of it; write study.md and return its path. desk_in: opens the desk of a folder."""
    likely, wins = [], []
    for spec in plan.specs:
        cases = builder.tested(plan.limit)
        test = RepresentativeTest(builder.model(spec, plan.lesson), spec, plan.lesson, cases, builder.seed)
        likely += list(_likely_rows(builder, test))
        folder = builder.folder / "critiques" / test.model.base.path_name
        wins += list(_win_rows(test, plan.judge, desk_in(folder)))
    consensus = run_substitution(
        builder.sides["test"][: plan.limit], _substitution(builder, plan), desk_in(builder.folder / CONSENSUS)
    )
    rows = grid.knowledge_grid(builder, plan.specs, plan.choices, plan.lesson)
    knowledge_page = grid.report(rows, builder.folder, plan.specs, plan.shown)
    return _write(builder, plan, pd.DataFrame(likely), pd.DataFrame(wins), consensus, knowledge_page)


def _likely_rows(builder: DatasetBuilder, test: RepresentativeTest) -> Iterator[dict[str, Any]]:
    """Yield a row for the trained and for the untrained model: measures with low and high, and the gain over a stranger."""
    models = {TRAINED: test.model, BASE: untrained(test.model.base, test.llm)}
    for writer, model in models.items():
        path = builder.folder / "critiques" / f"{test.model.base.path_name}-{test.lesson.name}-{writer}.csv"
        table = kept_scores(path, test.cases, test.lesson.knows, model, test.seed)
        own_scores, other = (table[table["asked"] == whose] for whose in (OWN, STRANGER))
        row: dict[str, Any] = {"model": test.model.base.path_name, "writer": writer, "critiques": len(own_scores)}
        for name, mean in {
            **{name: of(own_scores) for name, of in MEASURES.items()},
            "gain": against(own_scores, other),
        }.items():
            row |= {**with_interval(name, mean.value, (mean.low, mean.high)), "people": mean.clusters}
        yield row


def _win_rows(test: RepresentativeTest, judge: str, desk: CallDesk) -> Iterator[dict[str, Any]]:
    """Yield a row for each text that the trained model's critiques are compared with."""
    texts = {PERSON: test.own, **test.critiques(desk)}
    for name, verdicts in test.verdicts(texts, judge, desk).items():
        mean, unread = win_rate(verdicts), int((verdicts["verdict"] == "").sum())
        row = {
            "model": test.model.base.path_name,
            "against": AGAINST[name],
            "verdicts": len(verdicts),
            "unread": unread,
        }
        yield {**row, "people": mean.clusters, "value": mean.value, "low": mean.low, "high": mean.high}


def _substitution(builder: DatasetBuilder, plan: StudyPlan) -> Substitution:
    """Return the study of consensus: representatives of every model, trained and untrained, and groups without critiques."""
    writers = []
    for spec in plan.specs:
        model = builder.model(spec, plan.lesson)
        writers.append(Writer(f"{model.base.path_name}, {TRAINED}", model.spec, model.adapter))
        writers.append(Writer(f"{model.base.path_name}, {BASE}", spec))
    first, *others = writers
    return Substitution(
        llm=first.spec, adapter=first.adapter, knows=plan.lesson.knows, mediator=plan.mediator,
        mediator_llm=plan.mediator_llm, payoff=plan.payoff, judge=plan.judge, repetitions=plan.repetitions,
        seed=builder.seed, others=tuple(others), mute=True, name=first.name,
    )  # fmt: skip


def _write(
    builder: DatasetBuilder,
    plan: StudyPlan,
    likely: pd.DataFrame,
    wins: pd.DataFrame,
    consensus: Path,
    knowledge_page: Path,
) -> Path:
    report = Report(builder.folder, "study", "Digital representatives: the whole study")
    report.disclaim_models(*plan.specs, plan.judge, plan.mediator_llm)
    models, cases = ", ".join(map(str, likely["model"].unique())), len(builder.tested(plan.limit))
    report.add(
        f"Models: {models}. What representatives know: {plan.lesson.knows or 'the base'}. "
        f"{count_phrase(cases, 'critique')} tested. Split: {describe_split(builder.sides)}.",
        READING,
    )
    report.section("Critiques", LIKELY)
    shown = likely.rename(columns={"gain_low": "low", "gain_high": "high"})
    title, note = "Gain over a stranger's representative", "Critiques of people not seen in training"
    report.figure(dot_plot(shown, ["model", "writer"], "gain", "nats per critique", note, title), "critiques", title)
    report.table(likely, LIKELY_COLUMNS)
    report.add(JUDGED)
    report.table(wins, WIN_COLUMNS)
    report.section(
        "Consensus", f"Payoffs of groups with representatives: [{consensus.stem}.md]({CONSENSUS}/{consensus.name})."
    )
    if (drawn := consensus.with_suffix(".png")).exists():
        report.picture(drawn, "Payoff discrepancy by who is substituted")
    report.section("What knowledge helps", f"[{knowledge_page.stem}.md]({knowledge_page.name}) has the table.")
    report.picture(builder.folder / "grid.png", "What knowledge helps")
    report.data(likelihoods=likely, wins=wins)
    return report.write()
