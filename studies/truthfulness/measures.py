"""A crowd rates statements: agreement, experts, and what dimensions add to overall truthfulness.

Source: Soprano et al. 2021; README.md lists the departures. The unit of analysis is the statement.

A crowd that rates the truthfulness of statements: what is asked, and the statements of a user's table.

Source of the dimensions: Soprano et al. 2021, The Many Dimensions of Truthfulness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.language import Language, language_of_study
from parley.agents.persona import Persona
from parley.agents.probe import scales
from parley.agents.scales import Reading, read_rating
from parley.agents.society import load_society
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.respondents import draw_people
from parley.analysis.statistics.intervals import FEWEST, Ends, Floats, interval, nanmean, with_interval
from parley.llm.backends import identity_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling
from parley.llm.seeding import derive, digest
from parley.llm.user_file import read_user_table

OVERALL = "overall"
DIMENSIONS = (
    "correctness", "neutrality", "comprehensibility", "precision", "completeness", "trustworthiness", "informativeness",
)  # fmt: skip
ASPECTS = (OVERALL, *DIMENSIONS)
PURPOSE = "truthfulness"
SCALE = "agreement_1_7"


class Statement(NamedTuple):
    """A statement, who made it ("": unknown), and the experts' label (None: none)."""

    text: str
    speaker: str
    label: float | None


def compose_rating(person: Persona, statement: Statement, aspect: str, language: Language, seed: int) -> Request:
    """Ask a person how much they agree that a statement has a quality (ASPECTS)."""
    scale, means = scales(language)[SCALE], (language.words("means"), language.words("and"))
    prompts = language_of_study(language, Path(__file__).parent)
    text = prompts.prompt("truthfulness").fill(
        speaker=statement.speaker or prompts.words("speaker"), statement=statement.text,
        claim=prompts.words(aspect), low=scale.low, high=scale.high,
        anchors=scale.name_points(scale.points, *means),
    )  # fmt: skip
    messages = (Message("system", person.backstory), Message("user", text))
    facts: Facts = {"statement": statement.text, "dimension": aspect, "scale": scale}
    return Request(messages, Sampling(1.0, ANSWER_TOKENS), seed, scale.answers, PURPOSE, facts=facts)


def read_statements(path: Path) -> tuple[Statement, ...]:
    """Read a table with the columns statement, speaker (may be empty) and label (may be missing or empty; a number).

    Errors: UserError on a file that cannot be read, a missing column, an empty or repeated statement, and a label that is no
    number.
    """
    table = read_user_table(path, ("statement", "speaker"), "studies/truthfulness/README.md")
    texts = table.texts("statement")
    labels = table.numbers("label") if "label" in table.columns else [math.nan] * len(texts)
    if "" in texts:
        raise UserError(
            f"{path}, row {table.rows[texts.index('')]}: the statement is empty: write it, or leave out the row"
        )
    if len(texts) < 2 or len(set(texts)) < len(texts):
        raise UserError(f"{path} needs two or more statements, each only once")
    rows = zip(texts, table.texts("speaker"), labels, strict=True)
    return tuple(Statement(text, speaker, None if math.isnan(label) else label) for text, speaker, label in rows)


SHUFFLES = 200
FEWEST_STATEMENTS = 10
"""Statements that the interval of alpha needs."""
Cube = NDArray[np.float64]
"""(aspects, statements, people) ratings; NaN: missing."""


@dataclass(frozen=True)
class TruthfulnessStudy:
    """The statements, the model, the set of personas, and how many of them rate (0: all)."""

    statements: tuple[Statement, ...]
    llm: str
    personas: str
    crowd: int = 0
    seed: int = 0

    @cached_property
    def people(self) -> tuple[Persona, ...]:
        """The crowd. Errors: as draw_people."""
        return draw_people(self.personas, self.crowd, self.seed, "truthfulness", "crowd")

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        people = [person.backstory for person in self.people]
        shown = [f"{statement.speaker}: {statement.text}" for statement in self.statements]
        return {
            "llm": identity_spec(self.llm), "statements": digest(*shown).hex(), "people": digest(*people).hex(),
            "seed": self.seed,
        }  # fmt: skip

    def run(self, desk: CallDesk) -> pd.DataFrame:
        """Ask everyone about everything; return one row per rating: statement (from 1), respondent, aspect, rating, reason."""
        trials = list(product(range(len(self.statements)), self.people, ASPECTS))
        readings = desk.ask(
            [self._rate(*trial) for trial in trials], self.llm, "ratings", lambda reading: reading.reason
        )
        rows = [
            (number + 1, f"{person.party} {person.name}", aspect, reading.value, reading.reason or "")
            for (number, person, aspect), reading in zip(trials, readings, strict=True)
        ]
        table = pd.DataFrame(rows, columns=["statement", "respondent", "aspect", "rating", "reason"])
        return table.astype({"rating": "float64"})

    def _rate(self, number: int, person: Persona, aspect: str) -> Conversation[Reading]:
        statement, language = self.statements[number], load_society(person.society).language
        seed = derive(self.seed, "truthfulness", statement.text, person.party, person.id, aspect)
        reply = yield from ask(compose_rating(person, statement, aspect, language, seed))
        if reply.failure:
            return Reading(None, reply.failure.name)
        scale = scales(language)[SCALE]
        return Reading(scale.expected(reply.answers)) if reply.answers else read_rating(reply.text, scale)


def cube_of(ratings: pd.DataFrame) -> Cube:
    """Return the ratings as (aspects, statements, people)."""
    wide = ratings.pivot(index="statement", columns=["aspect", "respondent"], values="rating")
    return np.stack([wide[aspect].to_numpy(dtype=float) for aspect in ASPECTS])


def alpha(ratings: Floats) -> tuple[float, float, float]:
    """Return Krippendorff's alpha for interval data with its 95% interval over statements; NaN where it is undefined.

    ratings: (statements, people); NaN: missing. The interval leaves out one statement at a time, on Fisher's scale of an
    intraclass correlation of so many ratings a statement. There is none below
    `FEWEST_STATEMENTS`: of five statements it missed the truth in 8% of the sets, and without that scale in 13% (docs/exam.md).
    Sources: Krippendorff 2011, section on interval data; Fisher 1925, Statistical Methods for Research Workers, section 39.
    """
    sums = _pair_sums(ratings)
    sums = sums[sums[:, 0] > 0]
    value = float(_alpha(sums.sum(axis=0))) if len(sums) else math.nan
    if len(sums) < FEWEST_STATEMENTS:
        return value, math.nan, math.nan
    others = float(sums[:, 0].mean()) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = interval(sums, lambda drawn: _scaled(_alpha(drawn.sum(axis=-2)), others), sums[:, 0])
    ends = np.exp(2 * np.array([low, high]))
    first, last = map(float, (ends - 1) / (ends + others))
    return value, first, last


def _scaled(values: Floats, others: float) -> Floats:
    """Fisher's z of an intraclass correlation, which spreads alike at any value."""
    return np.log((1 + others * values) / (1 - values)) / 2


def _at_most_one(ends: Ends) -> Ends:
    """Return an interval that does not reach beyond 1, the largest value that is possible."""
    low, high = ends
    return min(low, 1.0), min(high, 1.0)


def _pair_sums(ratings: Floats) -> Floats:
    """Return (..., statements, 4) sums over people: n, x, xx, squared differences; all 0 below two ratings."""
    n, x, xx = np.isfinite(ratings).sum(axis=-1), np.nansum(ratings, axis=-1), np.nansum(ratings**2, axis=-1)
    sums = np.stack([n, x, xx, 2 * (n * xx - x * x) / np.maximum(n - 1, 1)], axis=-1)
    return np.where((n > 1)[..., None], sums, 0.0)


def _alpha(sums: Floats) -> Floats:
    """1 - observed / expected disagreement, from sums over statements: n, x, xx, squared differences within."""
    n, x, xx, within = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = 2 * (n * xx - x * x) / (n * (n - 1))
        return np.asarray(np.where(expected > 1e-12, 1 - within / n / expected, np.nan))


def rank_correlation(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Return Spearman's rho with its 95% interval over statements, on Fisher's scale.

    NaN where it is undefined; no interval below `FEWEST` statements or at rho = 1. Source: Bonett and Wright 2000.
    """
    both = np.isfinite(x) & np.isfinite(y)
    x, y, n = x[both], y[both], int(both.sum())
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, math.nan, math.nan
    rho = float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])
    if n < FEWEST or abs(rho) > 1 - 1e-9:
        return rho, math.nan, math.nan
    reach = 1.96 * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return rho, math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)


def added(cube: Cube, aspect: int) -> tuple[float, float, float]:
    """Return the share of what the crowd agrees on in a dimension that is not in its overall ratings, with its 95% interval.

    It is 1 - r2 of the levels of statements in the dimension and overall. Variances and covariance are those between ratings of
    different people, so noise of a rating does not count. NaN where the crowd does not agree on one of the two.
    """
    pair = cube[[aspect, ASPECTS.index(OVERALL)]]
    pair = pair - np.stack([nanmean(ratings)[None] for ratings in pair])
    sums = np.column_stack([_between(pair[i], pair[j]) for i, j in ((0, 0), (1, 1), (0, 1))])
    sums = sums[np.isfinite(sums).all(axis=1)]
    if not len(sums):
        return math.nan, math.nan, math.nan
    return float(_unshared(sums[None])[0]), *_at_most_one(interval(sums, _unshared, None))


def _between(x: Floats, y: Floats) -> Floats:
    """Return for each statement the mean product of the x of one person and the y of another."""
    a, b = np.isfinite(x), np.isfinite(y)
    left, right = np.where(a, x, 0.0), np.where(b, y, 0.0)
    total = left.sum(axis=1) * right.sum(axis=1) - (left * right).sum(axis=1)
    pairs = a.sum(axis=1) * b.sum(axis=1) - (a & b).sum(axis=1)
    return np.where(pairs > 0, total / np.maximum(pairs, 1), np.nan)


def _unshared(sums: Floats) -> Floats:
    variance, overall, both = np.moveaxis(sums.mean(axis=-2), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where((variance > 1e-9) & (overall > 1e-9), 1 - both**2 / (variance * overall), np.nan))


def _shuffled(ratings: Floats, labels: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return (SHUFFLES,) alphas and correlations with the labels, with each person's ratings shuffled among statements."""
    dealt = rng.permuted(np.tile(ratings, (SHUFFLES, 1, 1)), axis=1)
    correlated = [rank_correlation(means, labels)[0] for means in nanmean(dealt, -1)]
    return _alpha(_pair_sums(dealt).sum(axis=-2)), np.array(correlated)


def row_means(ratings: Floats) -> Floats:
    """Return the mean rating of each statement; NaN where there is none."""
    return nanmean(ratings, 1)


def measure(cube: Cube, labels: Floats, rng: np.random.Generator) -> pd.DataFrame:
    """Return one row per aspect: statements (rated ones), mean, alpha, expert (rho of means and labels) and added; and nulls.

    alpha, expert and added have low and high. alpha_null, expert_null: the 95th percentile of their size when each person's
    ratings are shuffled among statements.
    """
    rows = []
    for number, aspect in enumerate(ASPECTS):
        ratings = cube[number]
        means = row_means(ratings)
        null = _shuffled(ratings, labels, rng)
        row: dict[str, Any] = {
            "aspect": aspect,
            "statements": int(np.isfinite(means).sum()),
            "mean": float(nanmean(means)),
        }
        values = {"alpha": alpha(ratings), "expert": rank_correlation(means, labels)}
        values["added"] = added(cube, number) if aspect in DIMENSIONS else (math.nan,) * 3
        for name, triple in values.items():
            row |= with_interval(name, triple[0], triple[1:])
        bounds = [float(np.quantile(np.abs(draws), 0.95)) if np.isfinite(draws).all() else math.nan for draws in null]
        rows.append(row | {"alpha_null": bounds[0], "expert_null": bounds[1]})
    return pd.DataFrame(rows)


def correlations(cube: Cube) -> pd.DataFrame:
    """Return Spearman's rho of the mean ratings of statements, for every two aspects."""
    means = [row_means(ratings) for ratings in cube]
    table = [[rank_correlation(first, other)[0] for other in means] for first in means]
    return pd.DataFrame(table, index=list(ASPECTS), columns=list(ASPECTS))
