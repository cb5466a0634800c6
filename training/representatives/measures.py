"""Measures a trained representative on people and questions that it has not seen.

It is compared with the untrained model and with a stranger's representative: how likely each finds the critiques that
participants wrote, what each writes, and which critique a judge prefers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.deliberation.likelihood import MEASURES, against, text_distance
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.deliberation.preference_judge import LOSS, TIE, WIN, compare_critiques, win_rate
from parley.analysis.deliberation.preference_judge import critique_table as verdict_table
from parley.analysis.deliberation.representation import (
    Author,
    RepresentationCase,
    WritingOrder,
    describe_split,
    read_texts,
    strangers,
    write_texts,
)
from parley.analysis.formatting import cell, count_table, format_estimate, markdown_table
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import Verdict, undecided
from parley.training.base_model import BaseModel
from parley.training.likelihood import likelihoods
from parley.training.representatives.pipeline import DatasetBuilder, Lesson, TrainedRepresentative, text

if TYPE_CHECKING:
    from parley.llm.backends.hf.loading import Loaded

OWN, STRANGER = "own", "stranger"
TRAINED, BASE, PERSON = "trained", "untrained", "the person"
TITLES = {TRAINED: "trained", STRANGER: "trained, a stranger's", BASE: "untrained"}
BATCH = 8
ABOUT = (
    "Neither these people nor these questions are in the training data. 95% intervals over participants. A stranger's: the same "
    "trained model, with the prompt of another participant of the same group."
)
JUDGED = (
    "says which of two critiques the participant would rather have written, in both orders. A verdict that changes with the "
    "order is a tie. Win rate: wins and half the ties. Above 0.5 the trained model is preferred."
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
        (case, asked, about)
        for case in cases
        for asked, about in ((OWN, case), (STRANGER, others.get(case.key)))
        if about
    ]
    texts = [text(case, knows, about) for case, _, about in pairs]
    values = likelihoods(texts, loaded.model, loaded.tokenizer, BATCH, ended=True)
    return pd.DataFrame(
        {"case": case.key, "episode": case.episode, "session": case.session, "participant": case.participant,
         "asked": asked, "logp": value.logp, "tokens": value.tokens, "characters": len(written.reply)}
        for (case, asked, _), written, value in zip(pairs, texts, values, strict=True)
    )  # fmt: skip


class _Measurement(NamedTuple):
    """The likelihoods and texts of each representative by its name, and verdicts by what it was compared with."""

    cases: Sequence[RepresentationCase]
    likelihoods: Mapping[str, pd.DataFrame]
    texts: Mapping[str, Texts]
    verdicts: Mapping[str, pd.DataFrame]


def measure(builder: DatasetBuilder, llm: str, lesson: Lesson, judge: str, limit: int | None, desk: CallDesk) -> Path:
    """Write measure.md with likelihood.csv, critiques.csv and verdicts.csv on the test side; return the path of measure.md."""
    cases = builder.tested(limit)
    model = builder.model(llm, lesson)
    scores = _compare_likelihoods(builder, model, llm, lesson, cases)
    _write_csv(scores, "model", builder.folder / "likelihood.csv")
    texts = _write_critiques(model, llm, lesson.knows, cases, builder.seed, desk)
    own = {case.key: case.critique or "" for case in cases}
    columns = {
        name: [cell(texts_.get(case.key, "")) for case in cases] for name, texts_ in {PERSON: own, **texts}.items()
    }
    pd.DataFrame({"case": [case.key for case in cases], **columns}).to_csv(
        builder.folder / "critiques.csv", index=False
    )
    verdicts = _judge_critiques(cases, {**texts, PERSON: own}, judge, builder.seed, desk) if judge else {}
    if verdicts:
        _write_csv(verdicts, "against", builder.folder / "verdicts.csv")
    parts = _page(_Measurement(cases, scores, texts, verdicts), llm, lesson, judge, describe_split(builder.sides))
    path = builder.folder / "measure.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _compare_likelihoods(
    builder: DatasetBuilder, model: TrainedRepresentative, llm: str, lesson: Lesson, cases: Sequence[RepresentationCase]
) -> dict[str, pd.DataFrame]:
    after = scored(cases, lesson.knows, load(model), builder.seed)
    before = scored(cases, lesson.knows, load(untrained(model.base, llm)), builder.seed)
    return {
        TRAINED: after[after["asked"] == OWN],
        STRANGER: after[after["asked"] == STRANGER],
        BASE: before[before["asked"] == OWN],
    }


def _write_critiques(
    model: TrainedRepresentative, llm: str, knows: str, cases: Sequence[RepresentationCase], seed: int, desk: CallDesk
) -> dict[str, Texts]:
    """Return the critiques of each of the three representatives; one attempt each, at temperature 1."""
    others = strangers(cases, seed)
    own = [WritingOrder(case, case) for case in cases]
    strange = [WritingOrder(case, others[case.key]) for case in cases if case.key in others]
    trained, before = Author(model.spec, model.adapter, knows), Author(llm, "", knows)
    plans = {TRAINED: (own, trained), STRANGER: (strange, trained), BASE: (own, before)}
    return {
        name: read_texts(orders, write_texts(orders, author, seed, desk)) for name, (orders, author) in plans.items()
    }


def _judge_critiques(
    cases: Sequence[RepresentationCase], texts: Mapping[str, Texts], judge: str, seed: int, desk: CallDesk
) -> dict[str, pd.DataFrame]:
    """Return verdicts on the trained model's critiques against the stranger's, the untrained model's and the person's own."""
    trained, tables = texts[TRAINED], {}
    for name in (STRANGER, BASE, PERSON):
        both = [case for case in cases if case.key in trained and case.key in texts[name]]
        requests = [compare_critiques(case, trained[case.key], texts[name][case.key], seed) for case in both]
        verdicts: list[Verdict] = desk.ask(requests, judge, f"verdicts {name}", undecided)
        tables[name] = verdict_table(both, dict(zip([case.key for case in both], verdicts, strict=True)))
    return tables


def distances(cases: Sequence[RepresentationCase], texts: Mapping[str, Texts]) -> dict[str, ClusteredMean]:
    """Return the mean distance (0 to 1) between what each representative wrote and what the person wrote."""
    people = pd.Series([case.participant for case in cases])
    return {
        name: clustered_mean(pd.Series([_distance(case, own) for case in cases], dtype=float), people)
        for name, own in texts.items()
    }


def _distance(case: RepresentationCase, texts: Texts) -> float:
    return text_distance(texts[case.key], case.critique or "") if case.key in texts else math.nan


def _write_csv(parts: Mapping[str, pd.DataFrame], column: str, path: Path) -> None:
    pd.concat([part.assign(**{column: name}) for name, part in parts.items()]).to_csv(path, index=False)


def _page(results: _Measurement, llm: str, lesson: Lesson, judge: str, split: str) -> Iterator[str]:
    cases, scores = results.cases, results.likelihoods
    people = len({case.participant for case in cases})
    yield "# A representative measured"
    if note := disclaimers.is_own_model(llm, *filter(None, [judge])):
        yield f"> {note}"
    yield (
        f"{llm}, which knows {lesson.knows or 'the base'} ({lesson.name}): {len(cases)} critiques of {people} participants. "
        f"{ABOUT} Split: {split}."
    )
    yield "## How likely it finds the participants' critiques\n\nNats; higher is better."
    header = ["representative", *(name.replace("_", " ") for name in MEASURES)]
    yield markdown_table(
        header, [[TITLES[name], *(_interval(of(part)) for of in MEASURES.values())] for name, part in scores.items()]
    )
    gains = [[f"over {TITLES[name]}", _interval(against(scores[TRAINED], scores[name]))] for name in (STRANGER, BASE)]
    yield markdown_table(["trained", "nats per critique"], gains)
    yield "## What it writes\n\nDistance in words from the person's critique: 0 the same, 1 no word in common."
    rows = [
        [TITLES[name], _interval(mean), str(mean.n), str(len(cases) - mean.n)]
        for name, mean in distances(cases, results.texts).items()
    ]
    yield markdown_table(["representative", "distance", "critiques", "silent"], rows)
    if results.verdicts:
        yield f"## What a judge prefers\n\n{judge} {JUDGED}\n\n{_verdict_table(results.verdicts)}"


def _verdict_table(verdicts: Mapping[str, pd.DataFrame]) -> str:
    rows = []
    for name, part in verdicts.items():
        counts = part["verdict"].value_counts()
        unread = part.loc[part["verdict"] == "", "reason"]
        title = HUMAN if name == PERSON else TITLES[name]
        wins = [str(int(counts.get(kind, 0))) for kind in (WIN, TIE, LOSS)]
        rows.append([title, _interval(win_rate(part)), *wins, count_table(unread) or "0"])
    return markdown_table(["against", "win rate", "wins", "ties", "losses", "not read"], rows)


def _interval(mean: ClusteredMean) -> str:
    return format_estimate(mean.value, mean.low, mean.high)
