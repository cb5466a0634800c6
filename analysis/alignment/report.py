"""What was found of personas, in words: alignment.md, its tables and its figure; review.md when people have looked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from parley.agents.reply_cleaning import is_refusal
from parley.analysis.alignment.agreement import confusion_counts, rater_agreement
from parley.analysis.alignment.interviews import ALIGNED, NOT, WORDS, questions
from parley.analysis.alignment.persona_validation import Validation
from parley.analysis.alignment.review import RANDOM, review_ratings, review_sheet
from parley.analysis.alignment.share_heatmap import CELL, PARTIES, aligned_shares, draw_heatmap, pooled_share
from parley.analysis.bootstrap import FEWEST
from parley.analysis.disclaimers import LABELS
from parley.analysis.formatting import (
    count_phrase,
    count_table,
    format_estimate,
    format_number,
    join_phrases,
    markdown_table,
)
from parley.analysis.plots import save
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
HOW = (
    "Only the random tenth stands for all answers; the rest is what the judge called not aligned, where people are likelier to "
    "disagree with it. 95% intervals: asymptotic for kappa, over answers for alpha and AC1. Where nearly all answers are called "
    "the same, kappa and alpha are low however often raters agree; AC1 is not. A dash: not defined, for want of answers or "
    "because only one verdict was ever given."
)


def write(answers: pd.DataFrame, validation: Validation, folder: Path) -> Path:
    """Write alignment.csv, review.csv, alignment.png and .svg, alignment.md; the path of the last."""
    cells = aligned_shares(answers)
    cells.to_csv(folder / "alignment.csv", index=False)
    review_sheet(answers, random.Random(derive(validation.seed, "sheet"))).to_csv(folder / "review.csv", index=False)
    names = join_phrases([_labelled(spec) for spec in validation.models])
    caption = f"Answers that fit the persona's leaning: {names}, judged by {_labelled(validation.judge)}"
    save(draw_heatmap(cells, caption), folder / "alignment")
    path = folder / "alignment.md"
    path.write_text("\n\n".join(_parts(answers, cells, validation)) + "\n", encoding="utf-8")
    return path


def _parts(answers: pd.DataFrame, cells: pd.DataFrame, validation: Validation) -> Iterator[str]:
    told = join_phrases([_labelled(spec) for spec in validation.models])
    people = len(answers[["personas", "party", "variant", "name"]].drop_duplicates())
    yield "# Do the personas hold?"
    yield (
        f"{count_phrase(people, 'persona')} ({join_phrases(validation.personas)}), "
        f"each asked {len(questions())} "
        f"questions by {told}; {count_phrase(len(answers), 'answer')}, judged by {_labelled(validation.judge)} for "
        f"whether they fit the persona's leaning (it is told neither gender nor age). Seed {validation.seed}."
    )
    yield from _notes(validation)
    yield "![Shares of answers that fit](alignment.png)"
    yield _missing(answers)
    yield (
        "## Shares\n\nOf the answers with a verdict; in brackets 95% intervals over people, since the answers of one person are "
        f"not independent. A cell with fewer than {FEWEST} people has none."
    )
    yield _table(cells, CELL)
    yield f"## Beside the paper\n\n{PAPER}"
    yield _table(pooled_share(answers), ["personas", "party", "model"])
    yield "## For people to check"
    marks = answers["review"].value_counts()
    tenth, others = int(marks.get(RANDOM, 0)), int(marks.get(NOT.lower(), 0))
    yield SHEET.format(all=tenth + others, tenth=tenth, others=others, aligned=ALIGNED, not_aligned=NOT)


def _notes(validation: Validation) -> Iterator[str]:
    for spec in dict.fromkeys((*validation.models, validation.judge)):
        if label := LABELS.get(check_spec(spec).name):
            yield f"> {OURS.format(spec=spec, label=label)}"
    if identity_spec(validation.judge) in map(identity_spec, validation.models):
        yield "> The judge is one of the models interviewed: it judges its own answers, and models favor these."


def _missing(answers: pd.DataFrame) -> str:
    without = answers[answers["verdict"] == ""]
    told = f"{len(without):,} of {len(answers):,} answers have no verdict"
    told += f": {count_table(without['reason'])}." if len(without) else "."
    long = int((answers["answer"].str.split().str.len() > WORDS).sum())
    refused = int(answers["answer"].map(is_refusal).sum())
    return f"{told} {long:,} are longer than the {WORDS} words asked for; {refused:,} step out of the role (judged all the same)."


def _table(found: pd.DataFrame, by: list[str]) -> str:
    rows = [
        [
            *(PARTIES.get(str(row[name]), str(row[name])) for name in by),
            _percent(row),
            str(row["people"]),
            str(row["judged"]),
            str(row["missing"]),
        ]
        for row in found.to_dict("records")
    ]
    return markdown_table([*by, "aligned, %", "people", "judged", "missing"], rows)


def _percent(row: dict[str, float]) -> str:
    share, low, high = (100 * row[name] for name in ("share", "low", "high"))
    return format_estimate(share, low, high, 1)


def _labelled(spec: str) -> str:
    label = LABELS.get(check_spec(spec).name)
    return f"{spec} ({label})" if label else spec


def write_review(file: Path, folder: Path) -> Path:
    """Read a sheet that people have filled in; write agreement.csv and review.md; the path of the last. Errors: UserError."""
    read = review_ratings(file, folder)
    found = rater_agreement(read)
    found.to_csv(folder / "agreement.csv", index=False)
    path = folder / "review.md"
    path.write_text("\n\n".join(_reviewed(read, found)) + "\n", encoding="utf-8")
    return path


def _reviewed(read: pd.DataFrame, found: pd.DataFrame) -> Iterator[str]:
    yield "# Judge and people"
    random_ones = int((read["review"] == RANDOM).sum())
    yield f"{count_phrase(len(read), 'answer')} reviewed, {random_ones} of them from the random tenth. {HOW}"
    rows = [
        [row["sample"], row["raters"], row["measure"], str(row["items"]), format_number(100 * row["agreed"], 1),
         format_estimate(row["value"], row["low"], row["high"])]
        for row in found.to_dict("records")
    ]  # fmt: skip
    yield markdown_table(["sample", "raters", "measure", "answers", "agreed, %", "value"], rows)
    for human in [name for name in read.columns if name not in ("review", "judge")]:
        counts = confusion_counts(read, human, (ALIGNED, NOT))
        body = [[f"judge: {name}", *map(str, line)] for name, line in zip(counts.index, counts.to_numpy(), strict=True)]
        yield f"## The judge and {human}"
        yield markdown_table(["", *(f"{human}: {name}" for name in counts.columns)], body)
