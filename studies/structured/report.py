"""The report of an experiment of the UCL study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.datafiles import read_toml
from parley.agents.society import DEFAULT, PartyNames, load_society, party_name
from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.formatting import DASH, Column, count_phrase, estimate, format_span, frame_table, number
from parley.analysis.judge_quality import against_themselves, against_truth, confusion, confusion_table, truth, warning
from parley.analysis.metrics import broken_replies
from parley.analysis.qualify.in_reports import page_notes
from parley.analysis.report import Report
from parley.analysis.scores import contrasts, report
from parley.analysis.scores.table import casts
from parley.analysis.statistics.groups import holm
from parley.model.titles import seat_title
from parley.studies.structured.experiments import LETTERS, Experiment, ExperimentResult
from parley.studies.structured.yardstick import distances

PAPER = Path(__file__).with_name("paper.toml")
"""What the paper reports, by experiment."""
ALPHA = 0.05
Names = PartyNames
"""What one of a party's people is called, by party."""
DIFFERENT_PEOPLE = "Correlations are over all speakers and statements, so they include differences between parties."
JUDGES_ITSELF = (
    "As a judge, the oracle looks up its own sentences in a table: a correlation of 1.00 shows that the pipeline works, but "
    "nothing about other judges. " + DIFFERENT_PEOPLE
)
COMPARED = (
    ("contrasts", "Which agents differ", "The table compares mean scores of a party's statements."),
    ("drifts", "Which agents drift differently", "Slopes of a party's scores, in points per statement."),
)
UNIT = (
    "A cast is a group of people that debates in both conditions. With several casts, casts are compared in pairs (paired t). "
    "With one cast, runs are compared (Welch's t), and a result holds for the people of that cast only. With one cast, "
    "conditions with different persona texts (men and women) have no test, because any two texts differ. Effect sizes (per SD "
    "of the differences, or Hedges' g) have no interval. p is corrected (Holm) over the table, which begins with the smallest p."
)
MISSING = (
    "If more than 5% of the scores are missing, the column `whatever was said` has the range of the difference over all "
    "possible values of the missing scores. A score counts as its distance from the average of its agent and statement, so "
    "that missing agents do not shift a mean."
)
PUBLISHED = (
    "This report uses the **published procedure** (`--mode ucl`): statements are the units, scores are smoothed, and each "
    "place has one persona unless another cast was set. With only one persona per place, the published procedure cannot "
    "separate a difference between men and women from a difference between two texts."
)
DISTANCES = (
    "The distance of a wording from Parley's own is the mean absolute difference over topics and parties. Noise alone gives a "
    "distance above 0, so the paper's wording is compared with a rewording of Parley's prompts. P says how often the two "
    "distances differ at least as much if runs of both wordings are exchanged by chance. The paper prints its case, claim and "
    "judge prompts, but not its instructions to debaters. The oracle reads facts, not prompts, so wordings cannot differ with "
    "the oracle."
)
FIRST = (
    "The table has the mean score of all agents by the party of the first speaker. p comes from shuffling the parties of the "
    "first speakers over the runs of a cast."
)
NEEDED = (
    "The first columns are standard deviations of scores: between people, between runs of the same people, between statements "
    "of a run, and of the judge's error. The next columns have the runs per condition that are needed to detect a difference "
    "in mean score (two-sided 5%, power 80%). Brackets have the runs at the ends of the 95% interval of the standard "
    "deviation: plan with the higher number. At least five runs are needed for any conclusion."
)


def write(
    result: ExperimentResult, name: str, experiment: Experiment, folder: Path, judge: str, published: bool, command: str
) -> Path:
    """Write report.md with its figures and tables; return the path of the page. command: repeats the experiment."""
    made, names = dict(tables(result, experiment)), _names(result)
    Report(folder, "report").data(scores=result.scores, people=result.people, **made)
    scores = result.scores.assign(topic=result.scores["topic"].map(_heading))
    parts = report.ReportedTest(
        [*_models(result, folder), *_short(made, experiment, names)],
        [*_head(result, experiment, judge, command, published), *_judge_check(result, judge, made)],
        [*_foot(made, names), *_paper(name)],
    )
    looks = {party: about for header in result.headers.values() for party, about in header.parties.items()}
    arguments = scores, folder, published, experiment.title, compared(experiment), parts, result.people
    return report.write(*arguments, looks=looks)


def debaters(result: ExperimentResult) -> tuple[str, str]:
    """Return the two parties that debate."""
    header = next(iter(result.headers.values()))
    return load_society(str(header.scenario["society"])).debaters


def _names(result: ExperimentResult) -> PartyNames:
    """Return what one of a party's people is called, by party: the Default, the two debaters, and others."""
    names = {party: name for header in result.headers.values() for party, name in header.names.items()}
    return PartyNames({party: names[party] for party in (DEFAULT, *debaters(result), *names) if party in names})


def compared(experiment: Experiment) -> list[tuple[str, ...]] | None:
    """Return the sets of conditions that are tested against each other; None: every two."""
    return [*experiment.pairs, *experiment.together] or None


def tables(result: ExperimentResult, experiment: Experiment) -> Iterator[tuple[str, pd.DataFrame]]:
    """Return the tables of a report by name; `question` comes first: what the experiment was made for."""
    scores, people = result.scores, result.people
    parties = report.parties_of(scores, people)
    if experiment.main:
        parts = []
        for party in dict.fromkeys(party for _, _, party in experiment.main):
            pairs = [(first, second) for first, second, of in experiment.main if of == party]
            rows = contrasts.by_party(scores, parties, pairs, people)
            parts.append(rows[rows["party"] == party])
        question = pd.concat(parts, ignore_index=True)
        yield "question", question.assign(p_holm=holm(question["p"].to_numpy(dtype=float)))
    if experiment.pairs:
        yield "contrasts", contrasts.by_party(scores, parties, experiment.pairs, people)
        yield "drifts", contrasts.drifts(scores, parties, experiment.pairs, people)
    if experiment.first:
        yield "first_speaker", contrasts.first_speaker(scores, experiment.first, people)
    if experiment.yardstick:
        yield "distances", distances(scores, parties, experiment.yardstick)
    if experiment.quartets:
        yield "sharing", contrasts.sharing(scores, parties, experiment.quartets, debaters(result), people)
    spread = contrasts.components(scores, people)
    errors = (result.verdicts["score"] - truth(result.verdicts)).groupby(result.verdicts["topic"]).std()
    yield "components", spread.assign(judge=spread["topic"].map(errors))
    yield "runs_needed", contrasts.runs_needed(spread)
    yield "judge_quality", against_truth(result.verdicts)
    yield "self_report", against_themselves(result.verdicts, result.attitudes)


def _models(result: ExperimentResult, folder: Path) -> Iterator[str]:
    """Yield whether each model plays people, and whether the debates are broken: it is of no use to score what no one says."""
    alone = [
        header for header in result.headers.values() if not header.scenario.get("llms")
    ]  # mixed ones are made of these
    yield from page_notes(alone or list(result.headers.values()), folder)
    if broken := broken_replies.broken_line([result.faults]):
        yield broken


def _short(made: Mapping[str, pd.DataFrame], experiment: Experiment, names: Names) -> Iterator[str]:
    """Return the answer to the question that the experiment was made for, chosen before anything was run."""
    if doubt := warning(made["judge_quality"]):
        yield f"> {doubt}"
    yield (
        f"**{experiment.question}** This question was chosen before the experiment; all later results are exploratory."
    )
    if "question" in made:
        question = made["question"]
        yield _answer(question, "a difference")
        yield _contrasts(question, "question", names, MISSING if question["bound_low"].notna().any() else "")
    if "first_speaker" in made:
        rows = made["first_speaker"]
        yield _answer(rows[rows["moment"] == "opening"], "that opening statements depend on who speaks first")
        yield _answer(rows[rows["moment"] == "closing"], "that closing statements depend on who speaks first")
    if "distances" in made:
        yield from _further(made["distances"])
    if "sharing" in made:
        yield "Positive numbers mean that the Neutral moves toward the partisan that speaks through the Neutral's model."
        yield _answer(made["sharing"], "that the Neutral moves toward or away from that partisan")
        yield _test_table(made["sharing"], {"topic": _topic, "models": "effect"})


def _further(rows: pd.DataFrame) -> Iterator[str]:
    """Yield how far the paper's words are from ours, compared with a rewording of ours."""
    for row in rows.to_dict("records"):
        told = row["reason"] or f"P of the difference {report.p_value(row['p'])}"
        yield (
            f"{row['quantity'].capitalize()}: the paper's wording is {row['published']:.2f} from Parley's on average, a "
            f"rewording of Parley's {row['reworded']:.2f} ({told})."
        )


def _distances(rows: pd.DataFrame) -> str:
    """Return the distances of both wordings from ours, and whether the paper's is further than chance puts it."""
    columns: dict[str, Column] = {
        "quantity": "quantity", "ours in other words": number("reworded"), "published": number("published"),
        "published further in": lambda row: f"{row['further']} of {row['cells']}", "runs": "runs",
        "P": lambda row: row["reason"] or report.p_value(row["p"]),
    }  # fmt: skip
    return frame_table(rows, columns)


def _answer(rows: pd.DataFrame, what: str) -> str:
    """Return how many tests find `what`, and how many comparisons have no test."""
    tested = rows[rows["p"].notna()]
    sentences = []
    if len(tested):
        sure, tests = int((tested["p_holm"] < ALPHA).sum()), count_phrase(len(tested), "test")
        sentences.append(f"{sure} of {tests} find {what} (p below .05 after Holm's correction).")
    for reason, count in rows.loc[rows["p"].isna(), "reason"].value_counts().items():
        sentences.append(f"{count_phrase(count, 'comparison')} could not be tested ({reason}).")
    return " ".join(sentences)


def _heading(slug: object) -> str:
    return load_topic(str(slug)).heading


def _head(result: ExperimentResult, experiment: Experiment, judge: str, command: str, published: bool) -> Iterator[str]:
    headers = result.headers.values()
    models = dict.fromkeys(disclaimers.model_label(header).partition(";")[0] for header in headers)
    ran = f"{' and '.join(models)}, judged by {judge}"
    yield f"UCL study, {experiment.figures}. This run: {ran}. The paper's own numbers are at the end of this report."
    yield from (f"> {note}" for note in dict.fromkeys(map(disclaimers.disclaimer, headers)) if note)
    yield f"    {command}"
    if published:
        yield PUBLISHED
    names = _names(result)
    if letters := _letters(debaters(result), names):
        yield letters
    people = result.people.drop_duplicates(["party", "person"]).groupby("party", sort=False).size()
    counts = ", ".join(f"{party_name(party, names)} {count}" for party, count in people.items())
    different = count_phrase(casts(result.people).nunique(), "cast")
    yield (
        f"Number of different people in each party: {counts}; {different}. Runs that have a person in common "
        "belong to the same cast."
    )
    yield "A score is from 1 (strongly disagrees) to 7 (strongly agrees) on the topic's claim; claims lean to different sides:"
    topics = [load_topic(slug) for slug in result.scores["topic"].unique()]
    yield "\n".join(f"- {topic.heading}: {topic.claim}" for topic in topics)


def _letters(parties: Sequence[str], names: Names) -> str:
    """Return what the study's letters mean ("": they are those of the parties)."""
    labels = [party_name(party, names) for party in parties]
    if all(label.startswith(letter) for letter, label in zip(LETTERS, labels, strict=True)):
        return ""
    meanings = ", ".join(f"{letter} is {label}" for letter, label in zip(LETTERS, labels, strict=True))
    return f"Letters in names of conditions stand for parties: N is the Neutral, {meanings}."


def _judge_check(result: ExperimentResult, judge: str, made: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    yield "## Can the judge be believed?"
    quality = made["judge_quality"]
    if quality.empty:
        yield "The judge could not be checked, because no statement has a known grade."
    else:
        yield (
            "The judge's scores are compared with known grades of the oracle's or pocket's sentences, and with agents' "
            "private ratings after each round."
        )
    standards = {"judge_quality": "known grade", "self_report": "self-report"}
    rows = [made[name].assign(standard=standard).to_dict("records") for name, standard in standards.items()]
    yield frame_table(chain.from_iterable(rows), JUDGED)
    yield JUDGES_ITSELF if judge.startswith("oracle") and len(quality) else DIFFERENT_PEOPLE
    if len(quality):
        yield "The table counts statements by true score (rows) and score of the judge (columns), both rounded."
        yield confusion_table(confusion(result.verdicts))


def _topic(row: Mapping[str, Any]) -> str:
    return _heading(row["topic"])


JUDGED: Mapping[str, Column] = {
    "topic": _topic, "compared with": "standard", "statements": "statements",
    "rank correlation": lambda row: row["reason"] or estimate("r")(row), "score minus it": estimate("bias"),
}  # fmt: skip
TESTED: Mapping[str, Column] = {
    "n": lambda row: count_phrase(row["n"], row["unit"]),
    "difference": lambda row: ", ".join(filter(None, [estimate("estimate", 3)(row), row["reason"]])),
    "size": "size", "p": lambda row: report.p_value(row["p"]), "corrected": lambda row: report.p_value(row["p_holm"]),
}  # fmt: skip


def _test_table(rows: pd.DataFrame, columns: Mapping[str, Column]) -> str:
    """Return the tests with the smallest p, named by these columns."""
    return frame_table(contrasts.sorted_by_p(rows).head(report.ROWS), {**columns, **TESTED})


def _foot(made: Mapping[str, pd.DataFrame], names: Names) -> Iterator[str]:
    for name, title, note in COMPARED:
        if len(made.get(name, ())):
            yield f"## {title}\n\n{note} {UNIT}"
            yield _contrasts(made[name], name, names)
    if "distances" in made:
        yield f"## How far are the paper's words from Parley's?\n\n{DISTANCES}"
        yield _distances(made["distances"])
    if "first_speaker" in made:
        yield f"## Who speaks first\n\n{FIRST}"
        yield _first_speaker(made["first_speaker"], names)
    yield f"## How many runs?\n\n{NEEDED}"
    yield _runs_needed(made["components"], made["runs_needed"], names)


def _contrasts(rows: pd.DataFrame, name: str, names: Names, note: str = "") -> str:
    """Return the note, the tests with the smallest p, and how many more tests the CSV has."""
    columns: dict[str, Column] = {
        "topic": _topic,
        "party": lambda row: party_name(row["party"], names),
        "conditions": "effect",
    }
    if "bound_low" in rows and rows["bound_low"].notna().any():
        columns["missing"] = lambda row: f"{row['missing']:.0%}"
        columns["whatever was said"] = lambda row: format_span(row["bound_low"], row["bound_high"])
    more = report.more(len(rows) - report.ROWS, name)
    return "\n\n".join(filter(None, [note, _test_table(rows, columns), *more]))


def _first_speaker(rows: pd.DataFrame, names: Names) -> str:
    parties = [party for party in names if party in rows]
    columns: dict[str, Column] = {"topic": _topic, "statement": "moment"}
    columns |= {f"{party_name(party, names)} first": party for party in parties}
    columns |= {"runs": "n", "eta squared": "estimate", "p": TESTED["p"], "corrected": TESTED["corrected"]}
    return frame_table(contrasts.sorted_by_p(rows), columns)


def _runs_needed(spread: pd.DataFrame, needed: pd.DataFrame, names: Names) -> str:
    """Return the standard deviations of each topic and agent, and the runs that each difference needs: `12 (9 to 21)`."""
    needed = needed[needed["power"] == needed["power"].min()]
    columns: dict[str, Column] = {"topic": _topic, "agent": lambda row: seat_title(row["agent"], names)}
    columns |= {name: number(name) for name in ("person", "run", "statement", "judge")}
    rows = spread.set_index(["topic", "agent"])
    for difference, difference_rows in needed.groupby("difference"):
        counts = difference_rows.set_index(["topic", "agent"])
        rows[f"{difference:g} points"] = [_count(counts.loc[key]) for key in rows.index]
        columns[f"{difference:g} points"] = f"{difference:g} points"
    rows["basis"] = needed.groupby(["topic", "agent"])["basis"].first()
    return frame_table(rows.reset_index(), columns | {"for": "basis"})


def _count(row: pd.Series) -> str:
    if pd.isna(row["rooms"]):
        return DASH
    return (
        f"{row['rooms']} (range unknown)"
        if pd.isna(row["rooms_low"])
        else f"{row['rooms']} ({row['rooms_low']} to {row['rooms_high']})"
    )


def _paper(name: str) -> list[str]:
    """Return what the paper reports, marked as its own."""
    paper = read_toml(PAPER)
    if name not in paper:
        return []
    theirs = "The paper's numbers are smoothed scores by statement, on the paper's models and judge (Mistral 7B)."
    return [f"## In the paper\n\n{theirs} Compare the paper's numbers with `--mode ucl`.", paper[name].strip("\n")]
