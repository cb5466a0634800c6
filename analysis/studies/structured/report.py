"""What the UCL study reports, by experiment. Facts for the eye: nothing here enters a computation.

The report of an experiment: what was run on what, scores by statement, contrasts, the judge, the paper's own numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.formatting import DASH, count_phrase, format_estimate, format_number, markdown_table
from parley.analysis.judge_quality import against_themselves, against_truth, confusion, confusion_table, truth, warning
from parley.analysis.report import Report
from parley.analysis.scores import report
from parley.analysis.scores.contrasts import (
    by_party,
    components,
    drifts,
    first_speaker,
    runs_needed,
    sharing,
    sorted_by_p,
)
from parley.analysis.scores.table import casts
from parley.analysis.statistics.results import holm
from parley.analysis.studies.structured.experiments import Experiment, ExperimentResult

REVERSION = {"neutral": (0.43, 0.31), "republican": (-2.18, -0.03), "democrat": (0.09, 0.07)}
"""Table 2: mean R with a closing statement and without."""
MODELS = {
    "climate change": ("0.005", "0.473", "0.384", "0.687", "0.029", "0.124"),
    "abortion": ("0.705", "0.403", "0.0001", "0.019", "0.842", "0.337"),
    "illegal immigration": ("3.5e-08", "0.532", "0.00017", "0.166", "0.001", "0.011"),
    "gun violence": ("2.3e-06", "0.159", "0.003", "0.008", "0.701", "0.316"),
}
"""Table 5: p by ANOVA and by Levene's test for Gemma/GPT, GPT/Llama, Gemma/Llama."""


def _reversion() -> list[str]:
    rows = [[agent, f"{closing:.2f}", f"{without:.2f}"] for agent, (closing, without) in REVERSION.items()]
    return [markdown_table(["agent", "mean R, closing (Table 2)", "without"], rows)]


def _models() -> list[str]:
    pairs = ("Gemma/GPT", "GPT/Llama", "Gemma/Llama")
    head = ["topic (Table 5)", *[f"{pair}: {test}" for pair in pairs for test in ("ANOVA p", "Levene p")]]
    return [markdown_table(head, [[topic, *values] for topic, values in MODELS.items()])]


def _said(*lines: str) -> Callable[[], Sequence[str]]:
    return lambda: ["\n".join(f"- {line}" for line in lines)]


PAPER: dict[str, Callable[[], Sequence[str]]] = {
    "baseline": _said(
        "Democrat and Neutral stay near where they began, the Neutral nearer to the Democrat; the Republican moves toward them.",
        "Llama and GPT are volatile; Gemma, DeepSeek and Qwen vary little.",
    ),
    "closing": _reversion,
    "models": _models,
    "orders": _said(
        "ANOVA of the order: abortion p = .00017, climate change p = .000035, gun violence p = .010; immigration not reported.",
        "Openings lean to the side of who speaks first; closings are alike.",
    ),
    "gender": _said(
        "Not informed: p = .0391, but for climate change. Informed: a mean gap of .32, p = .00281.",
        "Female Democrats against two males: p = .0327.",
    ),
    "echo": _said(
        "No echo chamber with two Republicans or two Democrats alone.",
        "With a Neutral: immigration (two Republicans), gun violence and abortion (two Democrats).",
        "Strongest: two female Democrats and a female Neutral, informed, on immigration.",
        "Republicans on abortion, medians: men 6.43 and 6.79, women 5.64 and 5.82 (p = .0206).",
        "Democrats on immigration, medians: women 2.78 and 2.35, men 3.47 and 3.01 (p = .0363).",
    ),
}


DIFFERENT_PEOPLE = "Correlations are over all speakers and statements: that parties differ is a part of them."
JUDGES_ITSELF = (
    "The oracle reads the table that its sentences were taken from: 1.00 says that the pipeline is whole, and nothing of judges. "
    + DIFFERENT_PEOPLE
)
COMPARED = (
    ("contrasts", "Who differs", "Mean score of a party's statements."),
    ("drifts", "Who drifts otherwise", "Slope of a party's statements, points a statement."),
)
UNIT = (
    "The unit is the cast where there are several: the same people in both conditions, compared in pairs (paired t). With one "
    "cast it is the run (Welch's t), for these people alone, and conditions whose persona texts differ (men and women) have no "
    "test: one text differs from another in everything. Sizes (per SD of the differences, or Hedges' g) have no interval. p is "
    "corrected (Holm) over the table; the smallest comes first."
)
MISSING = (
    "Where more than 5% of the scores are missing: between what the difference would lie, whatever the missing scores had been. "
    "A score counts by what it is off the average of its agent and statement: who is missing does not shift a mean."
)
PUBLISHED = (
    "This is the **published procedure** (`--mode ucl`): statements as units, smoothed, one persona a seat unless another cast "
    "was set. With one persona it cannot tell a difference between men and women from one between two texts."
)
FIRST = (
    "Mean score of all agents by the party of the first speaker; labels are shuffled over the runs of the same people."
)
NEEDED = (
    "What scores differ by, as standard deviations: between people, between runs of the same people in the same condition, "
    "between single statements of a run, and the judge's error where the true score is known. Then the runs a condition for a "
    "difference in a run's mean score (two-sided 5%, power 80%), and in brackets those at the ends of the 95% interval of the "
    "standard deviation: plan with the higher one. Five at least, below which nothing is concluded."
)
ALPHA = 0.05


def write(
    found: ExperimentResult, name: str, experiment: Experiment, folder: Path, judge: str, published: bool, command: str
) -> Path:
    """Write report.md with its figures, and every table; the path of the first. `command` is what makes it again."""
    made = dict(tables(found, experiment))
    Report(folder, "report").data(scores=found.scores, people=found.people, **made)
    headed = found.scores.assign(topic=found.scores["topic"].map(_heading))
    told = report.ReportedTest(
        list(_short(made, experiment)),
        [*_head(found, experiment, judge, command, published), *_judging(found, judge, made)],
        [*_foot(made), *_paper(name)],
    )
    return report.write(headed, folder, published, experiment.title, compared(experiment), told, found.people)


def compared(experiment: Experiment) -> list[tuple[str, ...]] | None:
    """Return the sets of conditions that are tested against each other."""
    return [*experiment.pairs, *experiment.together] or None


def tables(found: ExperimentResult, experiment: Experiment) -> Iterator[tuple[str, pd.DataFrame]]:
    """Return the tables of a report by name, `question` first: what the experiment was made for."""
    parties = report.parties_of(found.scores)
    given = found.scores, parties
    if experiment.main:
        main = [
            part[part["party"] == party]
            for party in dict.fromkeys(party for _, _, party in experiment.main)
            for pairs in [[(one, other) for one, other, of in experiment.main if of == party]]
            for part in [by_party(*given, pairs, found.people)]
        ]
        together = pd.concat(main, ignore_index=True)
        yield "question", together.assign(p_holm=holm(together["p"].to_numpy(dtype=float)))
    if experiment.pairs:
        yield "contrasts", by_party(*given, experiment.pairs, found.people)
        yield "drifts", drifts(*given, experiment.pairs, found.people)
    if experiment.first:
        yield "first_speaker", first_speaker(found.scores, experiment.first, found.people)
    if experiment.quartets:
        yield "sharing", sharing(*given, experiment.quartets, found.people)
    spread = components(found.scores, found.people)
    errors = (found.verdicts["score"] - truth(found.verdicts)).groupby(found.verdicts["topic"]).std()
    yield "components", spread.assign(judge=spread["topic"].map(errors))
    yield "runs_needed", runs_needed(spread)
    yield "judge_quality", against_truth(found.verdicts)
    yield "self_report", against_themselves(found.verdicts, found.attitudes)


def _short(made: Mapping[str, pd.DataFrame], experiment: Experiment) -> Iterator[str]:
    """The answer to the question that the experiment was made for, decided on before anything was run."""
    if told := warning(made["judge_quality"]):
        yield f"> {told}"
    yield f"**{experiment.question}** This was chosen beforehand; everything below it is exploration."
    if "question" in made:
        found = made["question"]
        yield _answer(found, "a difference")
        yield _contrasts(found, "question", MISSING if found["bound_low"].notna().any() else "")
    if "first_speaker" in made:
        found = made["first_speaker"]
        yield _answer(found[found["moment"] == "opening"], "that openings differ by who speaks first")
        yield _answer(found[found["moment"] == "closing"], "that closings do")
    if "sharing" in made:
        yield "Does the Neutral side with the partisan on its own model? Positive: toward that partisan's side."
        yield _answer(made["sharing"], "that it does, or the contrary")
        yield _rows(made["sharing"], ["topic", "models"], lambda row: [_heading(row["topic"]), row["effect"]])


def _answer(found: pd.DataFrame, what: str) -> str:
    tested = found[found["p"].notna()]
    sure = tested[tested["p_holm"] < ALPHA]
    reasons = found.loc[found["p"].isna(), "reason"].value_counts()
    told = [f"{len(sure)} of {count_phrase(len(tested), 'test')} find {what} (p below .05 after Holm's correction)."]
    left = [f"{count_phrase(count, 'comparison')} without a test ({reason})." for reason, count in reasons.items()]
    return " ".join([*(told if len(tested) else []), *left])


def _heading(slug: object) -> str:
    return load_topic(str(slug)).heading


def _head(found: ExperimentResult, experiment: Experiment, judge: str, command: str, published: bool) -> Iterator[str]:
    models = dict.fromkeys(disclaimers.model_label(header).partition(";")[0] for header in found.headers.values())
    ran = " and ".join(models)
    yield f"UCL study, {experiment.figures}. Run here on {ran}, judged by {judge}; the paper's own numbers come last."
    notes = dict.fromkeys(note for header in found.headers.values() if (note := disclaimers.disclaimer(header)))
    yield from (f"> {note}" for note in notes)
    yield f"    {command}"
    if published:
        yield PUBLISHED
    yield _people(found.people)
    yield "A score is from 1 (strongly disagrees) to 7 (strongly agrees) on the topic's claim; claims lean to different sides:"
    topics = [load_topic(slug) for slug in found.scores["topic"].unique()]
    yield "\n".join(f"- {topic.heading}: {topic.claim}" for topic in topics)


def _people(people: pd.DataFrame) -> str:
    """How many different people there were, which is what a result generalises over."""
    counts = people.drop_duplicates(["party", "person"]).groupby("party", sort=False).size()
    told = ", ".join(f"{party.title()} {count}" for party, count in counts.items())
    different = count_phrase(casts(people).nunique(), "cast")
    return f"Different people by party: {told}; {different} (runs that share a person are of one cast)."


def _judging(found: ExperimentResult, judge: str, made: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    yield "## Can the judge be believed?"
    quality, own = made["judge_quality"], made["self_report"]
    if quality.empty:
        yield "Unchecked: no statement has a grade that is known beforehand."
    else:
        yield "Compared with the known grades of our own speakers' sentences, and with hidden self-reports after the same round."
    yield markdown_table(_JUDGED, [*_judged(quality, "known grade"), *_judged(own, "self-report")])
    yield JUDGES_ITSELF if judge.startswith("oracle") and len(quality) else DIFFERENT_PEOPLE
    if len(quality):
        yield "Statements by true score (rows) and score given (columns), both rounded."
        yield confusion_table(confusion(found.verdicts))


_JUDGED = ("topic", "compared with", "statements", "rank correlation", "score minus it")


def _judged(found: pd.DataFrame, what: str) -> Iterator[list[str]]:
    for row in found.to_dict("records"):
        yield [
            _heading(row["topic"]),
            what,
            str(row["statements"]),
            row["reason"] or format_estimate(row["r"], row["r_low"], row["r_high"]),
            format_estimate(row["bias"], row["bias_low"], row["bias_high"]),
        ]


def _foot(made: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    for named, title, note in COMPARED:
        if len(made.get(named, ())):
            yield f"## {title}\n\n{note} {UNIT}"
            yield _contrasts(made[named], named)
    if "first_speaker" in made:
        yield f"## Who speaks first\n\n{FIRST}"
        yield _first(made["first_speaker"])
    yield f"## How many runs?\n\n{NEEDED}"
    yield _needed(made["components"], made["runs_needed"])


def _contrasts(found: pd.DataFrame, named: str, note: str = "") -> str:
    """The rows with the smallest p; how many more there are."""
    bounded = "bound_low" in found and found["bound_low"].notna().any()
    names = ["topic", "party", "conditions", *(["missing", "whatever was said"] if bounded else [])]

    def begin(row: Mapping[str, Any]) -> list[str]:
        ends = (
            f"{format_number(row['bound_low'])} to {format_number(row['bound_high'])}"
            if bounded and pd.notna(row["bound_low"])
            else DASH
        )
        lost = [f"{row['missing']:.0%}", ends] if bounded else []
        return [_heading(row["topic"]), row["party"].title(), row["effect"], *lost]

    return "\n\n".join(filter(None, [note, _rows(found, names, begin), *report.more(len(found) - report.ROWS, named)]))


def _rows(found: pd.DataFrame, names: Sequence[str], begin: Callable[[Mapping[str, Any]], list[str]]) -> str:
    rows = [
        [*begin(row), count_phrase(row["n"], row["unit"]),
         ", ".join(filter(None, [format_estimate(row["estimate"], row["low"], row["high"], 3), row["reason"]])),
         format_number(row["size"]), report.p_value(row["p"]), report.p_value(row["p_holm"])]
        for row in sorted_by_p(found).head(report.ROWS).to_dict("records")
    ]  # fmt: skip
    return markdown_table([*names, "n", "difference", "size", "p", "corrected"], rows)


def _first(found: pd.DataFrame) -> str:
    parties = [name for name in ("default", "republican", "democrat") if name in found]
    rows = [
        [_heading(row["topic"]), row["moment"], *[format_number(row[party]) for party in parties], str(row["n"]),
         format_number(row["estimate"]), report.p_value(row["p"]), report.p_value(row["p_holm"])]
        for row in sorted_by_p(found).to_dict("records")
    ]  # fmt: skip
    head = [f"{party.title()} first" for party in parties]
    return markdown_table(["topic", "statement", *head, "runs", "eta squared", "p", "corrected"], rows)


def _needed(spread: pd.DataFrame, needed: pd.DataFrame) -> str:
    kept = needed[needed["power"] == needed["power"].min()]
    differences = sorted(kept["difference"].unique())
    rows = []
    for row in spread.to_dict("records"):
        mine = kept[(kept["topic"] == row["topic"]) & (kept["agent"] == row["agent"])].set_index("difference")
        counts = [_count(mine.loc[one]) for one in differences]
        deviations = [format_number(row[name]) for name in ("person", "run", "statement", "judge")]
        rows.append([_heading(row["topic"]), row["agent"].title(), *deviations, *counts, str(mine["basis"].iloc[0])])
    head = [f"{one:g} points" for one in differences]
    return markdown_table(["topic", "agent", "person", "run", "statement", "judge", *head, "for"], rows)


def _count(row: pd.Series) -> str:
    """`12 (9 to 21)`."""
    return DASH if pd.isna(row["rooms"]) else f"{row['rooms']} ({row['rooms_low']} to {row['rooms_high']})"


def _paper(name: str) -> Sequence[str]:
    """What the paper reports, marked as its own."""
    if name not in PAPER:
        return []
    ours = "Its own numbers, on its models and its judge (Mistral 7B); not ours. They are of smoothed scores, by statement."
    return [f"## In the paper\n\n{ours} Set beside them what `--mode ucl` says.", *PAPER[name]()]
