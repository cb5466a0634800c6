"""What was found of personas, in words: alignment.md, its tables and its figure; review.md when people have looked."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from parley.agents.reply_cleaning import is_refusal
from parley.analysis.alignment.agreement import confusion_counts, rater_agreement
from parley.analysis.alignment.interviews import ALIGNED, NOT, WORDS, questions
from parley.analysis.alignment.persona_validation import Validation
from parley.analysis.alignment.review import RANDOM, review_ratings, review_sheet
from parley.analysis.alignment.share_heatmap import CELL, PARTIES, aligned_shares, draw_heatmap, pooled_share
from parley.analysis.bootstrap import FEWEST
from parley.analysis.disclaimers import LABELS, spec_label
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_number, join_phrases
from parley.analysis.reporting import Report
from parley.llm.backends import check_spec, identity_spec
from parley.llm.seeding import derive

PAPER = (
    "The UCL study (2025, section 3.1 and Fig 7; five other models, judged by Mistral 7B) reports for Republicans **84.5-100%** "
    "with simple and **89.3-100%** with enhanced personas. These are its numbers, not ours. The lowest of them (84.5 and 89.3, "
    'DeepSeek R1) stand for a "baseline" that pools the variant none and the three ages: 71 and 75 of 84 answers in its '
    "published data. Ours, pooled in the same way:"
)
OURS = (
    "{spec} is one of our own ({label}): its part in these shares says whether the pipeline works, and nothing about people or "
    "large language models."
)
SHEET = (
    "review.csv holds {all} answers: a random tenth ({tenth}) and all others that the judge calls not aligned ({others}). Fill "
    "in `human` with {aligned} or {not_aligned} (more people: more columns, human_2 and so on), then `python run.py validate "
    "--review FILE --out FOLDER`."
)
SHARES = (
    "Of the answers with a verdict; in brackets 95% intervals over people, since the answers of one person are "
    f"not independent. A cell with fewer than {FEWEST} people has none."
)
HOW = (
    "Only the random tenth stands for all answers; the rest is what the judge called not aligned, where people are likelier to "
    "disagree with it. 95% intervals: asymptotic for kappa, over answers for alpha and AC1. Where nearly all answers are called "
    "the same, kappa and alpha are low however often raters agree; AC1 is not. A dash: not defined, for want of answers or "
    "because only one verdict was ever given."
)


def write(answers: pd.DataFrame, validation: Validation, folder: Path) -> Path:
    """Write alignment.md with its table and figure, and review.csv, a sheet to fill in; the path of the first."""
    cells, marks = aligned_shares(answers), answers["review"].value_counts()
    report = Report(folder, "alignment", "Do the personas hold?")
    report.data(alignment=cells)
    review_sheet(answers, random.Random(derive(validation.seed, "sheet"))).to_csv(folder / "review.csv", index=False)
    _open(report, answers, validation)
    models = join_phrases([spec_label(spec) for spec in validation.models])
    caption = f"Answers that fit the persona's leaning: {models}, judged by {spec_label(validation.judge)}"
    report.figure(draw_heatmap(cells, caption), "alignment", "Shares of answers that fit")
    report.add(_missing(answers))
    report.section("Shares", SHARES)
    report.table(cells, _columns(CELL))
    report.section("Beside the paper", PAPER)
    report.table(pooled_share(answers), _columns(["personas", "party", "model"]))
    tenth, others = int(marks.get(RANDOM, 0)), int(marks.get(NOT.lower(), 0))
    report.section("For people to check")
    report.add(SHEET.format(all=tenth + others, tenth=tenth, others=others, aligned=ALIGNED, not_aligned=NOT))
    return report.write()


def _open(report: Report, answers: pd.DataFrame, validation: Validation) -> None:
    """Say who was asked what, and what has to be known of the models."""
    told = join_phrases([spec_label(spec) for spec in validation.models])
    people = len(answers[["personas", "party", "variant", "name"]].drop_duplicates())
    report.add(
        f"{count_phrase(people, 'persona')} ({join_phrases(validation.personas)}), each asked {len(questions())} "
        f"questions by {told}; {count_phrase(len(answers), 'answer')}, judged by {spec_label(validation.judge)} for "
        f"whether they fit the persona's leaning (it is told neither gender nor age). Seed {validation.seed}."
    )
    for spec in dict.fromkeys((*validation.models, validation.judge)):
        if label := LABELS.get(check_spec(spec).name):
            report.note(OURS.format(spec=spec, label=label))
    if identity_spec(validation.judge) in map(identity_spec, validation.models):
        report.note("The judge is one of the models interviewed: it judges its own answers, and models favor these.")


def _missing(answers: pd.DataFrame) -> str:
    without = answers[answers["verdict"] == ""]
    told = f"{len(without):,} of {len(answers):,} answers have no verdict"
    told += f": {count_table(without['reason'])}." if len(without) else "."
    long = int((answers["answer"].str.split().str.len() > WORDS).sum())
    refused = int(answers["answer"].map(is_refusal).sum())
    return f"{told} {long:,} are longer than the {WORDS} words asked for; {refused:,} step out of the role (judged all the same)."


def _columns(by: list[str]) -> Mapping[str, Column]:
    def shown(name: str) -> Column:
        return lambda row: PARTIES.get(str(row[name]), str(row[name]))

    return {name: shown(name) for name in by} | {
        "aligned, %": estimate("share", 1, 100),
        "people": "people",
        "judged": "judged",
        "missing": "missing",
    }


def _labelled(spec: str) -> str:
    label = LABELS.get(check_spec(spec).name)
    return f"{spec} ({label})" if label else spec


def write_review(file: Path, folder: Path) -> Path:
    """Read a sheet that people have filled in; write review.md and its table (agreement); the path of the first.

    Errors: UserError.
    """
    read = review_ratings(file, folder)
    found = rater_agreement(read)
    report = Report(folder, "review", "Judge and people")
    report.data(agreement=found)
    random_ones = int((read["review"] == RANDOM).sum())
    report.add(f"{count_phrase(len(read), 'answer')} reviewed, {random_ones} of them from the random tenth. {HOW}")
    drawn = dot_plot(
        found, ["sample", "raters", "measure"], "value", "agreement", "The judge and people, 95% intervals"
    )
    report.figure(drawn, "review", "Agreement of the judge and people")
    columns: Mapping[str, Column] = {
        "sample": "sample", "raters": "raters", "measure": "measure", "answers": "items",
        "agreed, %": lambda row: format_number(100 * row["agreed"], 1), "value": estimate("value"),
    }  # fmt: skip
    report.table(found, columns)
    for human in [name for name in read.columns if name not in ("review", "judge")]:
        counts = confusion_counts(read, human, (ALIGNED, NOT))
        body = [[f"judge: {name}", *map(str, line)] for name, line in zip(counts.index, counts.to_numpy(), strict=True)]
        report.section(f"The judge and {human}")
        report.table(body, ["", *(f"{human}: {name}" for name in counts.columns)])
    return report.write()
