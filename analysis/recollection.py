"""`run.py study judge --rubric recall`: what agents recall without parts of their memory.

Every agent of one run is interviewed under each condition (agents/recollection.py), so people, life and questions are the same.
A judge scores how much of the truth an answer gives back, 0-10 (`own`). It also scores the same answer by the truth of a
stranger: the agent in the same seat of another room on the same topic (`stranger`). `recall` is own minus stranger, so it is 0 on
average for an answer that anyone could give, whatever the judge's habits. The unit is the repetition of a group: the same people
live on every topic of it.

Source: Park et al. 2023, section 6, whose ablation also interviews agents after a life with the full architecture. Departures:
right answers are known, and a judge scores them (theirs ranked believability, by people); no question about a reaction; each part
is left out alone (theirs one after the other); without memory nothing is left.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.agents.recollection import AGAIN, FULL
from parley.agents.reply_cleaning import one_line
from parley.analysis import disclaimers
from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import (
    Column,
    count_phrase,
    count_table,
    escape_markdown,
    estimate,
    format_estimate,
    format_number,
    number,
)
from parley.analysis.judging import Item, Judge, Verdict, load_rubric, missing
from parley.analysis.line_gaps import UNIT
from parley.analysis.report import Report
from parley.analysis.statistics.groups import Result, compare_paired, table
from parley.analysis.statistics.intervals import FEWEST, mean_interval
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

LONGEST = 100


def tree_summary(insights: pd.DataFrame) -> str:
    """Return how many insights there are, how deep they go, and how many cite nothing that can be read."""
    if insights.empty:
        return "No insight cites memories: set `reflect=N` and `evidence=true`."
    depths = insights["depth"].dropna()
    unknown = int(insights["depth"].isna().sum())
    levels = ", ".join(f"{count} of depth {depth}" for depth, count in depths.value_counts().sort_index().items())
    depth_sentence = (
        f"{levels}. An insight of depth 1 cites only replies. An insight of depth 2 also cites an insight of depth 1, "
        "and so on."
    )
    return f"{count_phrase(len(insights), 'insight')}: {depth_sentence} {unknown} without a depth, because no memory was cited."


def tree_lines(insights: pd.DataFrame) -> list[str]:
    """Return the tree of the deepest insight of a run as lines of a Markdown list, each cited memory below what cites it."""
    with_depth = insights.dropna(subset=["depth"])
    if with_depth.empty:
        return []
    deepest = with_depth.loc[with_depth["depth"].astype(int).idxmax()]
    agent_insights = insights[(insights["room"] == deepest["room"]) & (insights["agent"] == deepest["agent"])]
    return list(_branch(agent_insights.set_index("number"), int(deepest["number"]), 0, set()))


def _branch(insights: pd.DataFrame, number: int, level: int, seen: set[int]) -> Iterator[str]:
    """Yield an insight and what it cites. What has come before is named only once."""
    row, pad = insights.loc[number], "  " * level
    yield f"{pad}- insight {number} (round {row['round']}): {escape_markdown(row['text'])}"
    if number in seen:
        return
    seen.add(number)
    for parent in json.loads(row["parents"]):
        yield from _branch(insights, parent, level + 1, seen)
    for line in json.loads(row["lines"]):
        yield f"{pad}  - {escape_markdown(line[:LONGEST])}{'...' if len(line) > LONGEST else ''}"


RUBRIC = load_rubric("recall")
PAIR = ["room", "agent", "question"]
MEASURES = ("own", "stranger", "recall")


def score_interviews(tables: Tables, judge: Judge, seed: int) -> pd.DataFrame:
    """Return one row per answer that was asked for: the columns of `interviews`, the stranger's truth, own, stranger (0-10) and
    recall (NaN: missing), reasons.
    """
    answers = tables.interviews[tables.interviews["reason"] != "nothing_to_recall"].reset_index(drop=True)
    answers["foreign"] = stranger_truths(answers)
    items = [*_items(answers, "truth"), *_items(answers, "foreign")]
    verdicts = judge.judge_items(RUBRIC, items, seed)
    own_verdicts, stranger = verdicts[: len(answers)], verdicts[len(answers) :]
    for name, scores in (("own", own_verdicts), ("stranger", stranger)):
        answers[name] = pd.Series([score.value for score in scores], dtype="float64")
    answers["recall"] = answers["own"] - answers["stranger"]
    answers["reasons"] = [
        ", ".join(dict.fromkeys(score.reason for score in pair if score.value is None))
        for pair in zip(own_verdicts, stranger, strict=True)
    ]
    return answers.drop(columns="reason")


def stranger_truths(answers: pd.DataFrame) -> list[str | None]:
    """Return for each row the truth of the same question for the agent in the same seat of the next room on the same topic.

    The last room is followed by the first. None where no other room has one.
    """
    place = ["topic", "group", "seat", "question"]
    truths = answers[answers["condition"] == FULL].set_index([*place, "room"])["truth"]
    rooms = {
        key: list(dict.fromkeys(seat_truths.index.get_level_values("room")))
        for key, seat_truths in truths.groupby(level=place)
    }
    foreign_truths = []
    for row in answers[[*place, "room"]].itertuples(index=False):
        key, others = tuple(row[:-1]), rooms[tuple(row[:-1])]
        other = others[(others.index(row.room) + 1) % len(others)]
        foreign_truths.append(truths[(*key, other)] if other != row.room else None)
    return foreign_truths


def _items(answers: pd.DataFrame, truth: str) -> list[Item | Verdict]:
    """Return the judge's question about each answer. Equal answers to one question are one question to the judge."""
    items: list[Item | Verdict] = []
    for row in answers.to_dict("records"):
        if pd.isna(row["text"]):
            items.append(missing(f"no statement: {row['reason']}"))
        elif pd.isna(row[truth]):
            items.append(missing("nothing to compare: no other room on this topic"))
        else:
            slots = {"question": row["asked"], "truth": one_line(row[truth]), "statement": one_line(row["text"])}
            items.append(Item((row["room"], row["agent"], row["question"], truth, row["text"]), slots))
    return items


def repetition_means(verdicts: pd.DataFrame, measure: str, questions: list[str]) -> pd.DataFrame:
    """Return the mean of a measure by UNIT (rows) and condition (columns): over pairs of agent and question, then over rooms.

    A pair with a missing number in any condition is left out of all, so that every condition has the same pairs.
    """
    chosen = verdicts[verdicts["question"].isin(questions)]
    wide = chosen.pivot(index=[*UNIT, *PAIR], columns="condition", values=measure)[list(chosen["condition"].unique())]
    return wide.dropna().groupby(level=[*UNIT, "room"]).mean().groupby(level=UNIT).mean()


def lived(verdicts: pd.DataFrame) -> list[str]:
    """Return the questions about what the agents lived: all but those about their personas, which every prompt holds."""
    return list(verdicts.loc[verdicts["about"] != "self", "question"].unique())


def by_condition(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return one row per question (and `all`, those of `lived`) and condition: repetitions, own, stranger, recall with its
    95% interval over repetitions.

    All three are means over the same pairs, those with recall, so that recall is own minus stranger.
    """
    verdicts = verdicts.assign(**{name: verdicts[name].where(verdicts["recall"].notna()) for name in MEASURES})
    rows = []
    for name, chosen in (
        ("all", lived(verdicts)),
        *((question, [question]) for question in verdicts["question"].unique()),
    ):
        means = {measure: repetition_means(verdicts, measure, chosen) for measure in MEASURES}
        for condition in means["recall"]:
            recall = means["recall"][condition].to_numpy(dtype=float)
            low, high = mean_interval(recall)
            sizes = {measure: float(np.mean(means[measure][condition])) for measure in MEASURES}
            counts = {"question": name, "condition": condition, "repetitions": len(recall)}
            rows.append({**counts, **sizes, "low": low, "high": high})
    return pd.DataFrame(rows, columns=["question", "condition", "repetitions", *MEASURES, "low", "high"])


def differences(verdicts: pd.DataFrame) -> tuple[pd.DataFrame, Result]:
    """Return what each part of the memory is worth: one row per condition, recall without the part minus recall with all of it,
    within repetitions, with p corrected by Holm; and the same for two interviews with all of it, which differ by chance alone.
    """
    means = repetition_means(verdicts, "recall", lived(verdicts))
    results = {
        condition: compare_paired(condition, (means[condition] - means[FULL]).to_numpy(dtype=float), "repetitions")
        for condition in means
        if condition != FULL
    }
    null = results.pop(AGAIN)
    return table(results.values()), null


def sentences(effects: pd.DataFrame, null: Result) -> list[str]:
    """Return what was found, one sentence per part of the memory, and first whether the same interview twice differs."""
    if null.n < FEWEST:
        return [
            f"The run has {null.n} repetitions, and a verdict needs at least {FEWEST}. Run more with `--repetitions`."
        ]
    lines = []
    if null.p < 0.05:
        lines.append(
            f"In a second interview with all of the memory, recall is {amount((null.estimate, null.low, null.high), HIGHER)}, "
            "although nothing was left out. A difference of this size shows no effect of memory."
        )
    for row in effects.to_dict("records"):
        what = row["effect"].removeprefix("without ").capitalize()
        if np.isnan(row["p"]):
            estimate = amount((row["estimate"], np.nan, np.nan), HIGHER)
            lines.append(f"{what}: without this part, recall is {estimate} in every repetition, so there is no test.")
        elif row["p_holm"] < 0.05:
            estimate = amount((row["estimate"], row["low"], row["high"]), HIGHER, "of 10 points")
            lines.append(f"{what}: without this part, recall is {estimate}.")
        else:
            lines.append(
                f"{what}: recall without this part cannot be distinguished from recall with all of the memory."
            )
    return [f"- {line}" for line in lines]


def draw_recall(points: pd.DataFrame, caption: str) -> Figure:
    """Draw recall by condition, over all questions."""
    chosen = points[points["question"] == "all"]
    return dot_plot(chosen, ["condition"], "recall", "Recall (0: as for a stranger)", caption)


def write_recall(verdicts: pd.DataFrame, tables: Tables, folder: Path, spec: str) -> Path:
    """Write recall.md, its tables and its figure; return the path of the first."""
    points = by_condition(verdicts)
    effects, null = differences(verdicts)
    report = Report(folder, "recall", "What agents recall with parts of their memory left out")
    report.data(recall=points, differences=effects)
    report.add(
        f"All agents of one run were interviewed after the last round, with all of their memory (`{FULL}`, and `{AGAIN}` with "
        f"other random numbers) and with a part of the memory left out. {spec} scored from 0 to 10 how much of the truth each "
        "answer tells. The judge scores each answer twice: against the agent's own life, and against the life of a stranger in "
        "the same role of another room. Recall is the first score minus the second score. If an answer says nothing about the "
        "agent's own life, recall is 0 on average. Brackets are 95% intervals over repetitions, because the same people live on "
        "every topic of a repetition. `all` covers the questions about what agents lived. `self` asks about the persona, which "
        "every prompt contains, and is a control."
    )
    report.disclaim(tables.header)
    report.lines(sentences(effects, null))
    _add_missing(report, verdicts, tables)
    report.figure(draw_recall(points, disclaimers.model_label(tables.header)), "recall", "Recall by condition")
    heads: dict[str, Column] = {name: name for name in ("question", "condition", "repetitions")}
    heads |= {"own truth": number("own"), "stranger's truth": number("stranger"), "recall": estimate("recall")}
    report.table(points, heads)
    report.section("Differences from the full memory")
    shown: dict[str, Column] = {
        "condition": "effect",
        "repetitions": "n",
        "difference": estimate("estimate"),
        "p (Holm)": lambda row: "< 0.001" if row["p_holm"] < 0.001 else format_number(row["p_holm"], 3),
    }
    report.table(effects, shown)
    report.add(f"{AGAIN}: {format_estimate(null.estimate, null.low, null.high)} (expected: 0).")
    report.section("Trees of insights", tree_summary(tables.insights))
    report.lines(tree_lines(tables.insights))
    return report.write()


def _add_missing(report: Report, verdicts: pd.DataFrame, tables: Tables) -> None:
    """Add what could not be asked, or not be scored."""
    unasked = tables.interviews[tables.interviews["reason"] == "nothing_to_recall"]
    if len(unasked):
        report.add(
            "Some questions were not asked, because the agent had lived nothing that the question is about: "
            f"{count_table(unasked['question'])}."
        )
    unread = verdicts.loc[verdicts["recall"].isna(), "reasons"]
    report.missing(len(unread), len(verdicts), "answers have no score", count_table(unread))


def plan_interviews(tables: Tables, run: Path) -> str:
    """Return how many answers a run has. Errors: UserError for a run whose interviews cannot be compared."""
    answers = tables.interviews[tables.interviews["reason"] != "nothing_to_recall"]
    if tables.interviews.empty:
        raise UserError(f"{run} has no interviews: run a scenario with interview=all, such as --scenario days")
    if answers.empty or not lived(answers):
        raise UserError(
            f"{run} has no interviews about what agents lived: run it with interview=all, and with a model whose "
            "replies can be read"
        )
    if not tables.finished:
        raise UserError(f"{run} is not finished: repeat the command of the run")
    return f"{len(tables.interviews):,} answers"
