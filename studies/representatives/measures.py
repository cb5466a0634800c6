"""Measures a trained representative on people and questions that it has not seen.

It is compared with the untrained model and with a stranger's representative: how likely each finds the critiques that
participants wrote, what each writes, and which critique a judge prefers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.formatting import count_table, format_estimate
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import Verdict, undecided
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import SHARE
from parley.analysis.table_export import write_csv
from parley.llm.errors import UserError
from parley.studies.representatives.likelihood import MEASURES, against, text_distance
from parley.studies.representatives.pipeline import DatasetBuilder, Lesson, TrainedRepresentative, text
from parley.studies.representatives.preference_judge import LOSS, TIE, WIN, compare_critiques, win_rate
from parley.studies.representatives.preference_judge import critique_table as verdict_table
from parley.studies.representatives.representation import (
    Author,
    RepresentationCase,
    WritingOrder,
    describe_split,
    read_texts,
    strangers,
    write_texts,
)
from parley.training.base_model import BaseModel
from parley.training.likelihood import likelihoods

if TYPE_CHECKING:
    from parley.llm.backends.hf.loading import Loaded

OWN, STRANGER = "own", "stranger"
TRAINED, BASE, PERSON = "trained", "untrained", "the person"
TITLES = {TRAINED: "trained", STRANGER: "trained, a stranger's", BASE: "untrained"}
BATCH = 8
ABOUT = (
    "The people and questions of this test are not in the training data. Brackets are 95% intervals over participants. The row "
    "*a stranger's* is the trained model with the prompt of another participant of the group."
)
JUDGED = (
    "says which of two critiques the participant would rather have written, in both orders. A verdict that changes with the "
    "order is a tie. The win rate is wins plus half the ties. With a win rate above 0.5 the trained model is preferred."
)
HUMAN = "the participant's own critique (golden)"
Texts = Mapping[str, str]
"""Texts by case key."""


def load(model: TrainedRepresentative) -> Loaded:
    """Load the model for scoring."""
    from parley.llm.backends.hf.loading import load_model

    base = model.base
    adapters = [str(model.folder)] if model.adapter else []
    name = base.name if model.adapter or model.folder is None else str(model.folder)
    return load_model(name, base.dtype, base.load, base.device, adapters)


def untrained(base: BaseModel, llm: str) -> TrainedRepresentative:
    """Return the model without training."""
    return TrainedRepresentative(llm, "", base, None)


def scored(cases: Sequence[RepresentationCase], knows: str, loaded: Loaded, seed: int) -> pd.DataFrame:
    """Return two rows per case, by whose prompt was given (`asked`): the participant's own, and a stranger's.

    The stranger is another participant of the same episode, drawn with the seed; without one there is no such row. Columns:
    case, episode, session, participant, asked, logp (nats, the end of the critique included), tokens, characters.
    """
    others = strangers(cases, seed)
    pairs = [
        (case, whose, about)
        for case in cases
        for whose, about in ((OWN, case), (STRANGER, others.get(case.key)))
        if about
    ]
    texts = [text(case, knows, about) for case, _, about in pairs]
    values = likelihoods(texts, loaded.model, loaded.tokenizer, BATCH, ended=True)
    return pd.DataFrame(
        {"case": case.key, "episode": case.episode, "session": case.session, "participant": case.participant,
         "asked": whose, "logp": value.logp, "tokens": value.tokens, "characters": len(written.reply)}
        for (case, whose, _), written, value in zip(pairs, texts, values, strict=True)
    )  # fmt: skip


def kept_scores(
    path: Path, cases: Sequence[RepresentationCase], knows: str, model: TrainedRepresentative, seed: int
) -> pd.DataFrame:
    """Return the rows of `scored`, from the file if it is there; else the model is loaded, and they are written.

    Errors: UserError if the file has other cases, for example those of another --limit.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        scored(cases, knows, load(model), seed).to_csv(unfinished, index=False)
        unfinished.replace(path)
    scores = pd.read_csv(path)
    if set(scores["case"]) != {case.key for case in cases}:
        raise UserError(
            f"{path} has the scores of other critiques: repeat the command as it was, or give another --out"
        )
    return scores


class RepresentativeTest(NamedTuple):
    """A trained representative, the spec of the untrained model, and the cases that both are tested on."""

    model: TrainedRepresentative
    llm: str
    lesson: Lesson
    cases: Sequence[RepresentationCase]
    seed: int

    @property
    def own(self) -> Texts:
        """The participants' own critiques."""
        return {case.key: case.critique or "" for case in self.cases}

    def likelihoods(self) -> dict[str, pd.DataFrame]:
        """Return the rows of `scored` of the three representatives."""
        models = (self.model, untrained(self.model.base, self.llm))
        after, before = (scored(self.cases, self.lesson.knows, load(model), self.seed) for model in models)
        tables = {TRAINED: after[after["asked"] == OWN], STRANGER: after[after["asked"] == STRANGER]}
        return tables | {BASE: before[before["asked"] == OWN]}

    def critiques(self, desk: CallDesk) -> dict[str, Texts]:
        """Return the critiques of the three representatives; one attempt each, at temperature 1."""
        others = strangers(self.cases, self.seed)
        own_orders = [WritingOrder(case, case) for case in self.cases]
        strange = [WritingOrder(case, others[case.key]) for case in self.cases if case.key in others]
        trained = Author(self.model.spec, self.model.adapter, self.lesson.knows)
        plans = {TRAINED: (own_orders, trained), STRANGER: (strange, trained)}
        plans[BASE] = (own_orders, Author(self.llm, "", self.lesson.knows))
        return {name: read_texts(orders, write_texts(orders, author, self.seed, desk))
                for name, (orders, author) in plans.items()}  # fmt: skip

    def verdicts(self, texts: Mapping[str, Texts], judge: str, desk: CallDesk) -> dict[str, pd.DataFrame]:
        """Return verdicts on the trained model's critiques against the stranger's, the untrained model's and the person's."""
        trained, tables = texts[TRAINED], {}
        for name in (STRANGER, BASE, PERSON):
            both = [case for case in self.cases if case.key in trained and case.key in texts[name]]
            requests = [compare_critiques(case, trained[case.key], texts[name][case.key], self.seed) for case in both]
            verdicts: list[Verdict] = desk.ask(requests, judge, f"verdicts {name}", undecided)
            tables[name] = verdict_table(both, dict(zip([case.key for case in both], verdicts, strict=True)))
        return tables


def measure(builder: DatasetBuilder, llm: str, lesson: Lesson, judge: str, limit: int | None, desk: CallDesk) -> Path:
    """Write measure.md with likelihood.csv, critiques.csv and verdicts.csv on the test side; return the path of measure.md."""
    cases = builder.tested(limit)
    test = RepresentativeTest(builder.model(llm, lesson), llm, lesson, cases, builder.seed)
    scores = test.likelihoods()
    _write_csv(scores, "model", builder.folder / "likelihood.csv")
    texts = {PERSON: test.own, **test.critiques(desk)}
    columns = {name: [critiques.get(case.key, "") for case in cases] for name, critiques in texts.items()}
    table = pd.DataFrame({"case": [case.key for case in cases], **columns})
    write_csv(table, builder.folder / "critiques.csv")
    verdicts = test.verdicts(texts, judge, desk) if judge else {}
    if verdicts:
        _write_csv(verdicts, "against", builder.folder / "verdicts.csv")
    report = Report(builder.folder, "measure", "A representative measured")
    report.disclaim_models(llm, *filter(None, [judge]))
    people = len({case.participant for case in cases})
    report.add(
        f"{llm}, which knows {lesson.knows or 'the base'} ({lesson.name}): {len(cases)} critiques of {people} participants. "
        f"{ABOUT} Split: {describe_split(builder.sides)}."
    )
    _add_likelihoods(report, scores)
    _add_distances(report, test, texts)
    if verdicts:
        report.section("What a judge prefers", f"{judge} {JUDGED}")
        _add_verdicts(report, verdicts)
    return report.write()


def _write_csv(parts: Mapping[str, pd.DataFrame], column: str, path: Path) -> None:
    write_csv(pd.concat([model_rows.assign(**{column: name}) for name, model_rows in parts.items()]), path)


def _add_likelihoods(report: Report, scores: Mapping[str, pd.DataFrame]) -> None:
    report.section(
        "How likely the model finds the participants' critiques", "Log-probability in nats; higher is better."
    )
    rows = [
        [TITLES[name], *(_interval(of(model_scores)) for of in MEASURES.values())]
        for name, model_scores in scores.items()
    ]
    report.table(rows, ["representative", *(name.replace("_", " ") for name in MEASURES)])
    gains = {name: against(scores[TRAINED], scores[name]) for name in (STRANGER, BASE)}
    rows = [[f"over {TITLES[name]}", _interval(gain)] for name, gain in gains.items()]
    report.table(rows, ["trained", "nats per critique"])


def _add_distances(report: Report, test: RepresentativeTest, texts: Mapping[str, Texts]) -> None:
    report.section(
        "What it writes",
        "The distance in words from the person's critique is 0 for the same words and 1 for no word in common.",
    )
    means = distances(test.cases, {name: texts[name] for name in TITLES})
    rows = [[TITLES[name], _interval(mean), str(mean.n), str(len(test.cases) - mean.n)] for name, mean in means.items()]
    report.table(rows, ["representative", "distance", "critiques", "silent"])


def distances(cases: Sequence[RepresentationCase], texts: Mapping[str, Texts]) -> dict[str, ClusteredMean]:
    """Return the mean distance (0 to 1) between what each representative wrote and what the person wrote."""
    people = pd.Series([case.participant for case in cases])
    return {
        name: clustered_mean(pd.Series([_distance(case, written) for case in cases], dtype=float), people, bounds=SHARE)
        for name, written in texts.items()
    }


def _distance(case: RepresentationCase, texts: Texts) -> float:
    return text_distance(texts[case.key], case.critique or "") if case.key in texts else math.nan


def _add_verdicts(report: Report, verdicts: Mapping[str, pd.DataFrame]) -> None:
    rows = []
    for name, verdict_rows in verdicts.items():
        counts = verdict_rows["verdict"].value_counts()
        unread = verdict_rows.loc[verdict_rows["verdict"] == "", "reason"]
        title = HUMAN if name == PERSON else TITLES[name]
        wins = [str(int(counts.get(kind, 0))) for kind in (WIN, TIE, LOSS)]
        rows.append([title, _interval(win_rate(verdict_rows)), *wins, count_table(unread) or "0"])
    report.table(rows, ["against", "win rate", "wins", "ties", "losses", "not read"])


def _interval(mean: ClusteredMean) -> str:
    return format_estimate(mean.value, mean.low, mean.high)
