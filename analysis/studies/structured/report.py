"""The report of an experiment: what was run on what, scores by statement, contrasts, the judge, the paper's own numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from agents.topic import load_topic
from analysis import honesty
from analysis.judge.quality import against_themselves, against_truth, confusion
from analysis.judge.report import confusion_table
from analysis.judge.verdicts import claim
from analysis.scores import report
from analysis.scores.contrasts import by_party, drifts, first_speaker, runs_needed
from analysis.studies.structured.experiments import Experiment
from analysis.studies.structured.hold import Found
from analysis.studies.structured.paper import PAPER
from analysis.wording import estimate, markdown_table, number

DIFFERENT_PEOPLE = "Correlations are over all speakers and statements: that parties differ is a part of them."
JUDGES_ITSELF = (
    "The oracle reads the table that its sentences were taken from: 1.00 says that the pipeline is whole, and nothing of judges. "
    + DIFFERENT_PEOPLE
)
COMPARED = (
    ("contrasts", "Who differs", "Mean score of a party's statements in a run; Welch's t, size is Hedges' g."),
    (
        "drifts",
        "Who drifts otherwise",
        "Points a statement; mixed model of single scores with runs at random, size per residual SD.",
    ),
)


def write(
    found: Found, name: str, experiment: Experiment, folder: Path, judge: str, published: bool, command: str
) -> Path:
    """Write report.md with its figures, and every table as CSV; the path of the first. `command` is what makes it again."""
    folder.mkdir(parents=True, exist_ok=True)
    found.scores.to_csv(folder / "scores.csv", index=False)
    tables = dict(_tables(found, experiment))
    for named, frame in tables.items():
        frame.to_csv(folder / f"{named}.csv", index=False)
    headed = found.scores.assign(topic=found.scores["topic"].map(lambda slug: load_topic(slug).heading))
    before = [*_head(found, experiment, judge, command), *_judging(found, judge, tables)]
    after = [*_foot(tables), *_paper(name)]
    return report.write(headed, folder, published, experiment.title, _chosen(experiment), before, after)


def _chosen(experiment: Experiment) -> list[tuple[str, ...]] | None:
    """The sets of conditions that are tested against each other."""
    whole = [tuple(experiment.conditions)] if experiment.together else []
    return [*experiment.pairs, *whole] if experiment.pairs or whole else None


def _tables(found: Found, experiment: Experiment) -> Iterator[tuple[str, pd.DataFrame]]:
    parties = report.parties_of(found.scores)
    names = list(experiment.conditions)
    pairs = experiment.pairs or ([(names[0], other) for other in names[1:]] if not experiment.first else [])
    if pairs:
        yield "contrasts", by_party(found.scores, parties, pairs)
        yield "drifts", drifts(found.scores, parties, pairs)
    if experiment.first:
        yield "first_speaker", first_speaker(found.scores, experiment.first)
    yield "runs_needed", runs_needed(found.scores)
    yield "judge_quality", against_truth(found.verdicts)
    yield "self_report", against_themselves(found.verdicts, found.attitudes)


def _head(found: Found, experiment: Experiment, judge: str, command: str) -> Iterator[str]:
    models = dict.fromkeys(honesty.model(header) for header in found.headers.values())
    ran = " and ".join(models)
    yield f"UCL study, {experiment.figures}. Run here on {ran}, judged by {judge}; the paper's own numbers come last."
    notes = dict.fromkeys(note for header in found.headers.values() if (note := honesty.note(header)))
    yield from (f"> {note}" for note in notes)
    yield f"    {command}"
    yield "A score is from 1 (strongly disagrees) to 7 (strongly agrees) on the topic's claim; claims lean to different sides:"
    topics = [load_topic(slug) for slug in found.scores["topic"].unique()]
    yield "\n".join(f"- {topic.heading}: {claim(topic)}" for topic in topics)


def _judging(found: Found, judge: str, tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    yield "## Can the judge be believed?"
    quality, own = tables["judge_quality"], tables["self_report"]
    if quality.empty:
        yield "Unchecked: no statement has a grade that is known beforehand."
    else:
        yield "Beside the known grades of our own speakers' sentences, and beside hidden self-reports after the same round."
    yield markdown_table(_JUDGED, [*_judged(quality, "known grade"), *_judged(own, "self-report")])
    yield JUDGES_ITSELF if judge.startswith("oracle") and len(quality) else DIFFERENT_PEOPLE
    if len(quality):
        yield "Statements by true score (rows) and score given (columns), both rounded."
        yield confusion_table(confusion(found.verdicts))


_JUDGED = ("topic", "beside the", "statements", "rank correlation", "score minus it")


def _judged(found: pd.DataFrame, what: str) -> Iterator[list[str]]:
    for row in found.to_dict("records"):
        yield [
            load_topic(row["topic"]).heading,
            what,
            str(row["statements"]),
            estimate(row["r"], row["r_low"], row["r_high"]),
            estimate(row["bias"], row["bias_low"], row["bias_high"]),
        ]


def _foot(tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    for named, title, note in COMPARED:
        if len(tables.get(named, ())):
            yield f"## {title}\n\n{note} p is corrected (Holm) over the table."
            yield _contrasts(tables[named])
    if "first_speaker" in tables:
        yield "## Who speaks first\n\nEverybody's mean score by the party of the first speaker; labels shuffled over runs."
        yield _first(tables["first_speaker"])
    yield "## How many runs?\n\nRuns a condition for a difference in a run's mean score, at two-sided 5%, by the spread found."
    yield _needed(tables["runs_needed"])


def _contrasts(found: pd.DataFrame) -> str:
    rows = [
        [load_topic(row["topic"]).heading, row["party"].title(), row["effect"], str(row["n"]),
         row["reason"] or estimate(row["estimate"], row["low"], row["high"], 3), number(row["size"]),
         number(row["p"], 4), number(row["p_holm"], 4)]
        for row in found.to_dict("records")
    ]  # fmt: skip
    return markdown_table(["topic", "party", "conditions", "runs", "difference", "size", "p", "corrected"], rows)


def _first(found: pd.DataFrame) -> str:
    parties = [name for name in ("default", "republican", "democrat") if name in found]
    rows = [
        [load_topic(row["topic"]).heading, row["moment"], *[number(row[party]) for party in parties], str(row["n"]),
         number(row["estimate"]), number(row["p"], 4), number(row["p_holm"], 4)]
        for row in found.to_dict("records")
    ]  # fmt: skip
    head = [f"{party.title()} first" for party in parties]
    return markdown_table(["topic", "statement", *head, "runs", "eta squared", "p", "corrected"], rows)


def _needed(found: pd.DataFrame) -> str:
    kept = found[found["power"] == found["power"].min()]
    differences = sorted(kept["difference"].unique())
    rows = []
    for topic, part in kept.groupby("topic", sort=False):
        rooms = part.set_index("difference")["rooms"]
        rows.append(
            [
                load_topic(str(topic)).heading,
                number(float(part["deviation"].iloc[0])),
                *[_count(rooms[one]) for one in differences],
            ]
        )
    head = [f"{one:g} points" for one in differences]
    return markdown_table(["topic", "SD between runs", *head], rows) + f"\n\nPower {kept['power'].iloc[0]:.0%}."


def _count(rooms: object) -> str:
    return number(None) if pd.isna(rooms) else str(rooms)


def _paper(name: str) -> Sequence[str]:
    """What the paper reports, marked as its own."""
    if name not in PAPER:
        return []
    ours = "Its own numbers, on its models and its judge (Mistral 7B); not ours. They are of smoothed scores, by statement."
    return [f"## In the paper\n\n{ours} Set beside them what `--mode ucl` says.", *PAPER[name]()]
