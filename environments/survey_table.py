"""Reads a survey: a table (.csv, .tsv, also .gz or .bz2) with a respondent a line, and columns with answers.

`Survey` says which columns are which, and reads respondents with opinions from 0 to 10, parties and weights. Respondents
without an answer that is needed are left out and counted. Answers are never guessed: the ends of a scale are given, and an
answer outside them is an error.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parley.environments.raking import Codes, Floats, Margin, kish_size, rake_to_margins, read_margins
from parley.environments.text_columns import plain_texts, read_columns, without
from parley.llm.registry import Registry, UserError

SURVEYS = Registry("survey", __name__, "parley.surveys", ("read", "files"), colon="file")
TOP = 10.0
"""The highest opinion of the axis; the lowest is 0."""
NUMBER = re.compile(r"-?[\d.]+")
PARTY = re.compile(r"\w[\w-]*")
"""The code of a party: the name of its file without the ending, such as groenlinks-pvda or 50plus."""


@dataclass(frozen=True)
class Survey:
    """A survey file, and what its columns are. Each option names columns or values as they are written in the file.

    file      the table
    opinion   columns with opinions, one for each dimension
    low       the answer that means 0, one for all opinions or one for each; above `high` if the scale is reversed
    high      the answer that means 10
    party     the column with parties. A party is called as in the file, in small letters, with _ for other signs
    names     VALUE:NAME of parties that are to be called otherwise; two values of one name become one party
    variant   the column with the variant of the persona: male, female or an age (only for debates)
    variants  VALUE:NAME of variants
    weight    the column with weights (default: all equal)
    missing   values that are no answer, such as 99 or refused; of a weight, only those that are no numbers
    margins   a table with the columns variable, value and share, to which weights are raked
    """

    file: str
    opinion: tuple[str, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    party: str = ""
    names: tuple[str, ...] = ()
    variant: str = ""
    variants: tuple[str, ...] = ()
    weight: str = ""
    missing: tuple[str, ...] = ()
    margins: str = ""

    def __post_init__(self) -> None:
        sizes = {len(self.low), len(self.high)}
        if self.opinion and not sizes <= {1, len(self.opinion)}:
            raise ValueError("give the answers that mean 0 and 10 (low=1,high=7), once or for each opinion")
        if any(low == high for low, high in self.scales.values()):
            raise ValueError("low and high must be two different numbers")
        if len(set(self.opinion)) < len(self.opinion):
            raise ValueError("opinion names a column twice")
        if self.variant and not self.party:
            raise ValueError("variant only works with the column of the parties: add party=COLUMN")

    @property
    def scales(self) -> dict[str, tuple[float, float]]:
        """The answers that mean 0 and 10, by column of an opinion, in the order of dimensions."""
        low, high = (values * len(self.opinion) if len(values) == 1 else values for values in (self.low, self.high))
        return dict(zip(self.opinion, zip(low, high, strict=False), strict=False))

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read."""
        return tuple(filter(None, (self.file, self.margins)))

    def read(self) -> Respondents:
        """Return the respondents. Errors: UserError."""
        with _survey_errors(self.file):
            return _read(self, tuple(map(_stamp, self.files)))


@dataclass(frozen=True)
class Respondents:
    """The respondents who gave every answer that is needed, and how many did not.

    lines      (n,) the number of each respondent in the file, from 1
    weights    (n,) weights above 0 with mean 1, raked if there are margins
    opinions   (n, d) from 0 to 10
    kinds      the parties, PARTY or PARTY:VARIANT, in the order of the file; empty without parties
    codes      (n,) the place of each respondent's party in `kinds`; 0 without parties
    left_out   how many respondents were left out, by reason
    margins    the known margins, before and after raking
    """

    lines: Codes
    weights: Floats
    opinions: Floats
    kinds: tuple[str, ...]
    codes: Codes
    left_out: Mapping[str, int]
    margins: tuple[Margin, ...]

    @property
    def shares(self) -> dict[str, float]:
        """The weighted share of each party; empty without parties."""
        if not self.kinds:
            return {}
        sums = np.bincount(self.codes, self.weights, len(self.kinds)) / self.weights.sum()
        return dict(zip(self.kinds, sums.tolist(), strict=True))


def open_survey(spec: Any) -> Survey:
    """Return the survey of a spec, `FILE[,key=value]`; any other object as it is. Errors: UserError."""
    survey: Survey = SURVEYS.open(f"survey:{spec}" if isinstance(spec, str) else spec)
    return survey


def describe_survey(survey: Survey) -> Iterator[str]:
    """Yield lines on a survey: how many respondents, what weights cost, which margins are reached, who was left out.

    Errors: UserError.
    """
    respondents = survey.read()
    size, worth = len(respondents.weights), kish_size(respondents.weights)
    line = f"{survey.file}: {size:,} respondents, weights worth {worth:,.0f}"
    if respondents.margins:
        line += f"; largest miss of a margin {max(margin.miss for margin in respondents.margins):.1g}"
    yield f"{line}."
    if respondents.left_out:
        parts = ", ".join(f"{number:,} with {reason}" for reason, number in respondents.left_out.items())
        yield f"Left out: {parts}."


@contextmanager
def _survey_errors(file: str) -> Iterator[None]:
    """Turn every error of a survey file into a UserError of one line."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        path = getattr(error, "filename", None) or file
        raise UserError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    except (ValueError, pa.ArrowException) as error:
        raise UserError(f"survey {file}: {error}") from error


def _stamp(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _read(survey: Survey, stamps: tuple[tuple[int, int], ...]) -> Respondents:
    """Read a survey. stamps: when each file was changed, and its size: a changed file is read again."""
    target_margins = read_margins(survey.margins) if survey.margins else {}
    needed = list(dict.fromkeys(filter(None, (*survey.opinion, survey.party, survey.variant, *target_margins))))
    if not needed:
        raise ValueError("name a column, such as opinion=COLUMN,low=1,high=7 or party=COLUMN")
    read = read_columns(survey.file, [*needed, *filter(None, [survey.weight])])
    table = read.table
    gone = plain_texts(pa.array(survey.missing, pa.string())).to_pylist()
    answers = pa.table({name: without(table[name].combine_chunks(), gone) for name in needed})
    words = [value for value in gone if not NUMBER.fullmatch(value)]
    weights = np.ones(len(table))
    if survey.weight:
        given = pa.chunked_array([without(table[survey.weight].combine_chunks(), words)])
        weights = read.numbers(given, survey.weight, "weight")
    there, left_out = _complete(answers, weights, survey.weight)
    answers, weights = answers.filter(pa.array(there)), weights[there]
    kinds, codes = _kinds(answers, survey)
    weights, margins = rake_to_margins(weights, answers, target_margins)
    scales = survey.scales.items()
    opinions = [_on_axis(read.numbers(answers[name], name, f"answer to {name}"), name, *ends) for name, ends in scales]
    stacked = np.stack(opinions, axis=1) if opinions else np.empty((len(weights), 0))
    return Respondents(np.flatnonzero(there) + 1, weights, stacked, kinds, codes, left_out, margins)


def _complete(answers: pa.Table, weights: Floats, weight: str) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Return (n,) whether a respondent has all answers and a weight above 0, and how many have not, by the first reason.

    Errors: ValueError for a weight that cannot be, and if no respondent is left.
    """
    if len(wrong := weights[(weights < 0) | np.isinf(weights)]):
        raise ValueError(f"the {weight} is {wrong[0]:g} in one row, but a weight must be a number of 0 or more")
    lacking = {f"no answer to {name}": answers[name].is_null().to_numpy() for name in answers.column_names}
    lacking |= {f"no {weight}": np.isnan(weights), f"{weight} 0": weights == 0}
    there, left_out = np.ones(len(weights), dtype=bool), dict[str, int]()
    for reason, where in lacking.items():
        if number := int((there & where).sum()):
            left_out[reason] = number
        there &= ~where
    if not there.any():
        told = "; ".join(f"{number:,} have {reason}" for reason, number in left_out.items())
        raise ValueError(f"no respondent of the file can be used: {told or 'the file has no respondents'}")
    return there, left_out


def _on_axis(answers: Floats, name: str, low: float, high: float) -> Floats:
    """Return answers as opinions from 0 to 10. Errors: ValueError for an answer outside the scale."""
    inside = (min(low, high) <= answers) & (answers <= max(low, high))
    if not inside.all():
        wrong = f"{answers[~inside][0]:g}"
        raise ValueError(
            f"the answer {wrong} to {name} is outside the scale from low={low:g} to high={high:g}: correct the scale, "
            f"or add missing={wrong} if it is no answer"
        )
    return (answers - low) / (high - low) * TOP


def _kinds(answers: pa.Table, survey: Survey) -> tuple[tuple[str, ...], Codes]:
    """Return the different parties in the order of the file, and (n,) the place of each respondent's."""
    if not survey.party:
        return (), np.zeros(len(answers), dtype=np.int64)
    names = _named(answers[survey.party].combine_chunks(), survey.party, "names", survey.names)
    if survey.variant:
        variants = _named(answers[survey.variant].combine_chunks(), survey.variant, "variants", survey.variants)
        names = pc.binary_join_element_wise(names, variants, ":")
    encoded = names.dictionary_encode()
    return tuple(encoded.dictionary.to_pylist()), np.asarray(encoded.indices, dtype=np.int64)


def _named(texts: pa.Array, column: str, option: str, entries: Sequence[str]) -> pa.Array:
    """Return the name of each value. entries: VALUE:NAME. Errors: ValueError where a name is missing or not clear."""
    encoded = texts.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    given = {value.strip(): name.strip() for value, _, name in (entry.rpartition(":") for entry in entries)}
    if strange := [value for value in given if value not in values]:
        raise ValueError(f"{option} has {strange[0]!r}, but {column} has only {', '.join(sorted(values)[:20])}")
    names = {value: given.get(value) or re.sub(r"\W+", "_", value.lower()).strip("_") for value in values}
    unrenamed = [name for value, name in names.items() if value not in given]
    for value, name in names.items():
        if option == "names" and not (PARTY.fullmatch(name) if value in given else name.isidentifier()):
            raise ValueError(f"the value {value!r} of {column} cannot name a party: add names=({value}:NAME)")
        if value not in given and unrenamed.count(name) > 1:
            raise ValueError(f"two values of {column} would be called {name}: add {option}=({value}:NAME)")
    return pa.array([names[value] for value in values], pa.string()).take(encoded.indices)
