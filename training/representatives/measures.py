"""How likely a local model finds the critiques that participants wrote, as their own representative and as a stranger's.

A trained representative beside the model as it is and beside a stranger's, on people and questions that it has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.deliberation.likelihood import MEASURES, against, text_distance
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.deliberation.preference_judge import LOSS, TIE, WIN, compare_critiques, win_rate
from parley.analysis.deliberation.preference_judge import critique_table as verdict_table
from parley.analysis.deliberation.representation import (
    Author,
    RepresentationCase,
    Split,
    WritingOrder,
    describe_split,
    read_texts,
    strangers,
    write_texts,
)
from parley.analysis.formatting import cell, count_table, format_estimate, markdown_table
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import Verdict, undecided
from parley.llm.backends.hf.loading import Loaded, load_model
from parley.training.base_model import BaseModel
from parley.training.likelihood import likelihoods
from parley.training.representatives.pipeline import DatasetBuilder, Lesson, TrainedRepresentative, text

OWN, STRANGER = "own", "stranger"
BATCH = 8


def load(model: TrainedRepresentative) -> Loaded:
    """The model to be scored."""
    base = model.base
    if model.folder is None:
        return load_model(base.name, base.dtype, base.load, base.device)
    if model.adapter:
        return load_model(base.name, base.dtype, base.load, base.device, [str(model.folder)])
    return load_model(str(model.folder), base.dtype, base.load, base.device)


def scored(
    found: Sequence[RepresentationCase], knows: str, loaded: Loaded, seed: int, batch: int = BATCH
) -> pd.DataFrame:
    """Two rows a case: `asked` own (its own prompt) and stranger (that of another participant of the same episode, drawn with
    the seed; no row where there is none). Columns: case, episode, session, participant, asked, logp (nats, the end of the
    critique included), tokens, characters.
    """
    others = strangers(found, seed)
    pairs = [
        (case, asked, told) for case in found for asked, told in ((OWN, case), (STRANGER, others.get(case.key))) if told
    ]
    texts = [text(case, knows, asked) for case, _, asked in pairs]
    values = likelihoods(texts, loaded.model, loaded.tokenizer, batch, ended=True)
    rows: list[dict[str, Any]] = [
        {"case": case.key, "episode": case.episode, "session": case.session, "participant": case.participant,
         "asked": asked, "logp": value.logp, "tokens": value.tokens, "characters": len(one.reply)}
        for (case, asked, _), one, value in zip(pairs, texts, values, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def untrained(llm_base: BaseModel, llm: str) -> TrainedRepresentative:
    """The model as it is."""
    return TrainedRepresentative(llm, "", llm_base, None)


TRAINED, BASE, PERSON = "trained", "untrained", "the person"
TITLES = {TRAINED: "trained", STRANGER: "trained, a stranger's", BASE: "untrained"}
ABOUT = (
    "They are in no training data, nor are their questions. 95% intervals over participants. A stranger's: the same trained "
    "model, told of another participant of the same group."
)
JUDGED = (
    "says which of two critiques the participant would rather have written, in both orders; a verdict that turns with the order "
    "is a tie. Win rate: wins and half the ties. Above 0.5 the trained one is preferred."
)
HUMAN = "the participant's own critique (golden)"


def critique_likelihoods(
    workshop: DatasetBuilder, llm: str, lesson: Lesson, found: Sequence[RepresentationCase]
) -> dict[str, pd.DataFrame]:
    """The rows of `scored` for the trained model asked as itself and as a stranger, and for the model as it is."""
    model = workshop.model(llm, lesson)
    rows = scored(found, lesson.knows, load(model), workshop.seed)
    before = scored(found, lesson.knows, load(untrained(model.base, llm)), workshop.seed)
    own = {TRAINED: rows[rows["asked"] == OWN], STRANGER: rows[rows["asked"] == STRANGER]}
    return own | {BASE: before[before["asked"] == OWN]}


def critiques(
    workshop: DatasetBuilder, llm: str, lesson: Lesson, found: Sequence[RepresentationCase], desk: CallDesk
) -> dict[str, Mapping[str, str]]:
    """What each of the three writes, by case key; one try each, at temperature 1."""
    model, seed = workshop.model(llm, lesson), workshop.seed
    own = [WritingOrder(case, case) for case in found]
    others = strangers(found, seed)
    strange = [WritingOrder(case, others[case.key]) for case in found if case.key in others]
    trained, before = Author(model.spec, model.adapter, lesson.knows), Author(llm, "", lesson.knows)
    plans = {TRAINED: (own, trained), STRANGER: (strange, trained), BASE: (own, before)}
    return {
        name: read_texts(orders, write_texts(orders, author, seed, desk)) for name, (orders, author) in plans.items()
    }


def judged(
    found: Sequence[RepresentationCase], said: Mapping[str, Mapping[str, str]], judge: str, seed: int, desk: CallDesk
) -> dict[str, pd.DataFrame]:
    """Verdicts on the trained one's critiques against the stranger's, the untrained one's and the person's own."""
    own = {case.key: case.critique or "" for case in found}
    tables = {}
    for name, other in ((STRANGER, said[STRANGER]), (BASE, said[BASE]), (PERSON, own)):
        both = [case for case in found if case.key in said[TRAINED] and case.key in other]
        asked = [compare_critiques(case, said[TRAINED][case.key], other[case.key], seed) for case in both]
        verdicts: list[Verdict] = desk.ask(asked, judge, f"verdicts {name}", undecided)
        tables[name] = verdict_table(both, dict(zip([case.key for case in both], verdicts, strict=True)))
    return tables


def distances(found: Sequence[RepresentationCase], said: Mapping[str, Mapping[str, str]]) -> dict[str, ClusteredMean]:
    """How far what each wrote is from what the person wrote (0 to 1), mean over cases."""
    people = pd.Series([case.participant for case in found])
    far = {name: pd.Series([_far(case, own) for case in found], dtype=float) for name, own in said.items()}
    return {name: clustered_mean(values, people) for name, values in far.items()}


def _far(case: RepresentationCase, own: Mapping[str, str]) -> float:
    return text_distance(own[case.key], case.critique or "") if case.key in own else math.nan


def measure(workshop: DatasetBuilder, llm: str, lesson: Lesson, judge: str, limit: int | None, desk: CallDesk) -> Path:
    """All measures on the test side; measure.md, with likelihood.csv, critiques.csv and verdicts.csv. The path of the first."""
    found = workshop.tested(limit)
    rows = critique_likelihoods(workshop, llm, lesson, found)
    _csv(rows, "model", workshop.folder / "likelihood.csv")
    said = critiques(workshop, llm, lesson, found, desk)
    wrote = {PERSON: {case.key: case.critique or "" for case in found}, **said}
    lines = {name: [cell(own.get(case.key, "")) for case in found] for name, own in wrote.items()}
    pd.DataFrame({"case": [case.key for case in found], **lines}).to_csv(workshop.folder / "critiques.csv", index=False)
    verdicts = judged(found, said, judge, workshop.seed, desk) if judge else {}
    if verdicts:
        _csv(verdicts, "against", workshop.folder / "verdicts.csv")
    path = workshop.folder / "measure.md"
    path.write_text(
        "\n\n".join(_parts(found, rows, said, verdicts, llm, lesson, judge, workshop.sides)) + "\n", encoding="utf-8"
    )
    return path


def _csv(parts: Mapping[str, pd.DataFrame], column: str, path: Path) -> None:
    """Tables one below the other, named by a column."""
    pd.concat([part.assign(**{column: name}) for name, part in parts.items()]).to_csv(path, index=False)


def _parts(
    found: Sequence[RepresentationCase], rows: Mapping[str, pd.DataFrame], said: Mapping[str, Mapping[str, str]],
    verdicts: Mapping[str, pd.DataFrame], llm: str, lesson: Lesson, judge: str, sides: Split,
) -> Iterator[str]:  # fmt: skip
    people = len({case.participant for case in found})
    yield "# A representative measured"
    if note := disclaimers.is_own_model(llm, *filter(None, [judge])):
        yield f"> {note}"
    yield (
        f"{llm}, told {lesson.knows or 'the base'} ({lesson.name}): {len(found)} critiques of {people} participants. {ABOUT} "
        f"Split: {describe_split(sides)}."
    )
    yield "## How likely it finds what they wrote\n\nNats; higher is better."
    header = ["representative", *(name.replace("_", " ") for name in MEASURES)]
    body = [[TITLES[name], *(_told(of(part)) for of in MEASURES.values())] for name, part in rows.items()]
    yield markdown_table(header, body)
    gains = [[f"over {TITLES[name]}", _told(against(rows[TRAINED], rows[name]))] for name in (STRANGER, BASE)]
    yield markdown_table(["trained", "nats per critique"], gains)
    yield "## What it writes\n\nDistance in words from what the person wrote: 0 the same, 1 nothing in common."
    far = distances(found, said)
    body = [[TITLES[name], _told(one), str(one.n), str(len(found) - one.n)] for name, one in far.items()]
    yield markdown_table(["representative", "distance", "critiques", "silent"], body)
    if verdicts:
        yield _verdicts(verdicts, judge)


def _verdicts(verdicts: Mapping[str, pd.DataFrame], judge: str) -> str:
    """The autorater's part."""
    body = []
    for name, part in verdicts.items():
        counts = part["verdict"].value_counts()
        unread = part.loc[part["verdict"] == "", "reason"]
        title = HUMAN if name == PERSON else TITLES[name]
        body.append([title, _told(win_rate(part)), *(str(int(counts.get(kind, 0))) for kind in (WIN, TIE, LOSS)),
                     count_table(unread) or "0"])  # fmt: skip
    table = markdown_table(["against", "win rate", "wins", "ties", "losses", "not read"], body)
    return f"## What a judge prefers\n\n{judge} {JUDGED}\n\n{table}"


def _told(one: ClusteredMean) -> str:
    return format_estimate(one.value, one.low, one.high)
