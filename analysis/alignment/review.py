"""What people are to check, and what they found: a random tenth and all that the judge calls not aligned, as the study had it.

The sheet shows neither the judge's verdict nor why an answer is in it, and its rows are shuffled: a person who knows what the
judge said agrees with it. Agreement is therefore counted twice: over all that was reviewed (where disagreement is likely to be),
and over the random tenth alone (which stands for all answers).
"""

from __future__ import annotations

import math
import random
from pathlib import Path

import pandas as pd

from parley.analysis.alignment.interviews import ALIGNED, NOT, person
from parley.analysis.formatting import cell
from parley.llm.errors import UserError

SHARE = 0.1
RANDOM = "random"
WORDS = {ALIGNED.lower(): ALIGNED, NOT.lower(): NOT}


def items_to_review(answers: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    """The answers with a column `review`: random (a tenth of the answers there are, rounded up), not aligned, or empty."""
    there = answers.loc[answers["answer"] != "", "item"].tolist()
    drawn = set(rng.sample(there, math.ceil(SHARE * len(there))))
    marks = [
        RANDOM if item in drawn else NOT.lower() if verdict == NOT else ""
        for item, verdict in zip(answers["item"], answers["verdict"], strict=True)
    ]
    return answers.assign(review=marks)


def review_sheet(answers: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    """The rows to review, shuffled: item, person, question, answer, human (empty, to be filled in)."""
    wanted = answers[answers["review"] != ""]
    order = rng.sample(range(len(wanted)), len(wanted))
    shown = wanted.iloc[order][["item", "party", "question", "answer"]].rename(columns={"party": "person"})
    return shown.assign(person=shown["person"].map(person), answer=shown["answer"].map(cell), human="")


def review_ratings(file: Path, folder: Path) -> pd.DataFrame:
    """A row an item reviewed by anybody, its number as index: review (why it was chosen), judge, and a column for each column of
    the sheet that begins with `human`; Aligned, Not aligned, or empty where a rater says nothing.

    Errors: UserError on a sheet without these columns, on values that are no verdicts, on items that the folder does not have.
    """
    filled, answers = _read(file), _read(folder / "answers.csv").set_index("item")
    humans = [name for name in filled.columns if name.startswith("human")]
    if "item" not in filled.columns or not humans:
        raise UserError(
            f"{file} lacks the column {'human' if 'item' in filled.columns else 'item'} (a CSV with commas)"
        )
    if wrong := [item for item in filled["item"] if item not in answers.index] or _twice(filled["item"]):
        raise UserError(f"{file}: item {wrong[0] or '(empty)'} is not one of {folder}, or is there twice")
    read = filled.set_index("item")[humans].apply(lambda column: column.map(lambda text: _verdict(text, file)))
    read = read[(read != "").any(axis=1)]
    if read.empty:
        raise UserError(f"{file}: nobody has filled in a verdict ({ALIGNED} or {NOT})")
    mine = answers.loc[read.index, ["review", "verdict"]].rename(columns={"verdict": "judge"})
    return pd.concat([mine, read], axis=1)


def _verdict(text: str, file: Path) -> str:
    plain = " ".join(text.split()).lower()
    if plain and plain not in WORDS:
        raise UserError(f"{file}: {text!r} is no verdict: {ALIGNED}, {NOT}, or nothing")
    return WORDS.get(plain, "")


def _twice(column: pd.Series) -> list[str]:
    return list(column[column.duplicated()])


def _read(file: Path) -> pd.DataFrame:
    """A CSV as texts. Errors: UserError when it cannot be read."""
    try:
        return pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is no CSV: {str(error).splitlines()[0]}") from error
