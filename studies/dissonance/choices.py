"""Which of two beliefs people take, given how far both are from the beliefs that they have: relative dissonance.

A person's position is the mean of the vectors of the beliefs that it took before. The relative dissonance of a pair A, B is
d(A) / d(B), with Euclidean distances to that position. The fit is P(A) = 1 / (1 + r^slope): a logistic regression on log d(B) -
log d(A) without a constant, with errors clustered by person. Without an effect of dissonance the slope is 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from statsmodels.discrete.discrete_model import Logit

from parley.agents.laws import Codes
from parley.analysis.journaled_calls import run_journaled
from parley.analysis.statistics.clusters import effective_clusters, error_of, steps_without
from parley.analysis.statistics.intervals import ALIKE, FEWEST, Floats, clustered_share_interval, reach_of_mean, why_few
from parley.analysis.table_files import read_table
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar, Conversation, ask
from parley.llm.errors import UserError
from parley.llm.purposes import EMBEDDING
from parley.llm.request import Message, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

SHUFFLES = 199
BINS = 6
COLUMNS = ("person", "chosen", "rejected")
PAGE = "studies/dissonance/README.md"


def read_choices(path: Path) -> pd.DataFrame:
    """Return choices in the order of the file: person, chosen, rejected (and `order`, if the file has it, sorts them by person).

    Errors: UserError for a file that does not fit.
    """
    table = read_table(path, COLUMNS, PAGE, filled=COLUMNS, numbers=("order",))
    if (alike := table["chosen"] == table["rejected"]).any():
        raise UserError(f"{path}, row {alike.idxmax()}: chosen and rejected are the same belief: leave out the row")
    if "order" in table.columns:
        if (missing := table["order"].isna()).any():
            raise UserError(f"{path}, row {missing.idxmax()}: order is empty: number each choice of a person")
        table = table.sort_values(["person", "order"], kind="stable")
    return table[list(COLUMNS)].reset_index(drop=True)


def read_beliefs(path: Path) -> tuple[pd.DataFrame, pd.Series | None]:
    """Return vectors by belief (columns of numbers), and their texts where the file has a column `text`.

    Errors: UserError for a file that does not fit.
    """
    table = read_table(path, ("belief",), PAGE, filled=("belief",), numbers=lambda name: name not in ("belief", "text"))
    if (twice := table["belief"].duplicated()).any():
        raise UserError(f"{path}, row {twice.idxmax()}: {table['belief'][twice].iloc[0]} occurs twice: keep one row")
    if (lacking := table.isna()).any(axis=None):
        name = lacking.any().idxmax()
        raise UserError(
            f"{path}, row {lacking[name].idxmax()}: {name} is empty: every column other than belief and text must "
            "have a number of the vector"
        )
    vectors = table.set_index("belief")
    texts = vectors.pop("text") if "text" in table.columns else None
    if vectors.empty and texts is None:
        raise UserError(
            f"{path} has neither a vector nor a text for each belief: give columns of numbers, or the column text"
        )
    return vectors, texts


def embed(texts: pd.Series, spec: str, folder: Path, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """Return vectors by belief from a model that embeds texts; a belief without a vector is left out.

    The folder keeps a journal. Errors: UserError if the model embeds nothing.
    """
    conversations = [_embed_text(str(text)) for text in texts]
    with lock_folder(folder):
        vectors = run_journaled(
            conversations,
            spec,
            folder,
            bar,
            "embeddings",
            budget,
            None,
            lambda vector: vector if isinstance(vector, str) else None,
        )
    vectors_by_belief = {
        belief: vector for belief, vector in zip(texts.index, vectors, strict=True) if not isinstance(vector, str)
    }
    if not vectors_by_belief:
        raise UserError(
            f"{spec} gave no embedding of any belief: choose a model that embeds texts, as in openai:MODEL,api=embeddings"
        )
    return pd.DataFrame.from_dict(vectors_by_belief, orient="index", dtype=float)


def _embed_text(text: str) -> Conversation[list[float] | str]:
    """Return the embedding of a text, or the name of the failure."""
    reply = yield from ask(Request((Message("user", text),), Sampling(0.0, 1), 0, purpose=EMBEDDING))
    if reply.failure or not (reply.text or "").lstrip().startswith("["):
        return reply.failure.name if reply.failure else "no_embeddings"
    return [float(value) for value in json.loads(reply.text or "")]


class Exposures(NamedTuple):
    """Choices as places of beliefs among the vectors, for beliefs that have one.

    people: (n,) codes. chosen, rejected: (n,) places; -1: a belief without a vector. earlier: (n, beliefs) rows that average the
    vectors of what the person took before; an empty row for a first choice.
    """

    people: Codes
    chosen: Codes
    rejected: Codes
    earlier: csr_array

    def distances(self, vectors: Floats) -> tuple[Floats, Floats]:
        """Return the distances of the chosen and of the rejected belief to the person's position; NaN where one is unknown."""
        position, has_position = self.earlier @ vectors, np.diff(self.earlier.indptr) > 0
        has_position = has_position & (self.chosen >= 0) & (self.rejected >= 0)
        near, far = (np.linalg.norm(vectors[side] - position, axis=1) for side in (self.chosen, self.rejected))
        return np.where(has_position, near, np.nan), np.where(has_position, far, np.nan)

    def swapped(self, rng: np.random.Generator) -> Exposures:
        """Return the choices with what someone with as many choices or more (perhaps oneself) took before that choice."""
        sizes, order = np.bincount(self.people), np.argsort(self.people, kind="stable")
        starts, number = np.cumsum(sizes) - sizes, np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order)) - starts[self.people[order]]
        longest = np.argsort(-sizes, kind="stable")
        as_many = np.searchsorted(np.sort(-sizes), -sizes, side="right")
        other = longest[rng.integers(as_many)]
        return self._replace(earlier=self.earlier[order[starts[other[self.people]] + number]])

    def apart(self) -> Exposures:
        """Return the choices with the two beliefs of each left out of what was taken before it."""
        rows, beliefs = np.tile(np.arange(len(self.people)), 2), np.concatenate((self.chosen, self.rejected))
        has_belief = beliefs >= 0
        offered = csr_array((np.ones(has_belief.sum()), (rows[has_belief], beliefs[has_belief])), self.earlier.shape)
        earlier = csr_array(self.earlier - self.earlier.multiply(offered))
        earlier.eliminate_zeros()
        earlier.data /= earlier.sum(axis=1)[np.repeat(np.arange(len(self.people)), np.diff(earlier.indptr))]
        return self._replace(earlier=earlier)


class Swapped(NamedTuple):
    """Slopes without the beliefs of a choice among the earlier ones: with one's own earlier beliefs, and with those of others.

    Of others: a slope that is unknown is left out.
    """

    own: float
    others: Floats


def exposures(choices: pd.DataFrame, beliefs: pd.Index) -> Exposures:
    """Return the choices by place. Every earlier choice of a person counts alike, also the same belief taken twice."""
    people = choices["person"].astype("category").cat.codes.to_numpy(dtype=np.int64)
    chosen, rejected = (beliefs.get_indexer(choices[side]).astype(np.int64) for side in ("chosen", "rejected"))
    taken: dict[int, list[int]] = {}
    rows, columns, values = [], [], []
    for place, (person, belief) in enumerate(zip(people.tolist(), chosen.tolist(), strict=True)):
        before = taken.setdefault(person, [])
        rows += [place] * len(before)
        columns += before
        values += [1 / max(len(before), 1)] * len(before)
        if belief >= 0:
            before.append(belief)
    return Exposures(people, chosen, rejected, csr_array((values, (rows, columns)), (len(choices), len(beliefs))))


def pairs(choices: pd.DataFrame, vectors: pd.DataFrame) -> pd.DataFrame:
    """Return choices with the distances to the person's position before them: person, chosen, rejected, near, far.

    near and far: distances of the chosen and of the rejected belief; NaN for a first choice and for a belief without a vector.
    """
    near, far = exposures(choices, vectors.index).distances(vectors.to_numpy(dtype=float))
    return choices.assign(near=near, far=far)


def fit(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the slope of choices on relative dissonance, from `pairs`.

    people, choices (with both distances above 0), left_out, nearer (share that took the nearer belief), slope with its interval
    over people, and reason (why the slope or its interval is unknown).
    """
    used = rows[(rows["near"] > 0) & (rows["far"] > 0)]
    gain = (np.log(used["far"]) - np.log(used["near"])).to_numpy(dtype=float)
    gain = np.where(np.abs(gain) > ALIKE, gain, 0.0)  # equal distances, but for rounding, are on neither side
    people = used["person"].astype("category").cat.codes.to_numpy()
    counts = {"people": used["person"].nunique(), "choices": len(used), "left_out": len(rows) - len(used)}
    row = counts | {"nearer": float((gain > 0).mean()) if len(gain) else np.nan}
    row |= {"slope": np.nan, "low": np.nan, "high": np.nan, "reason": ""}
    if not len(gain):
        return row | {"reason": "no choice has earlier beliefs and vectors of both beliefs"}
    if not np.ptp(gain) > 0:
        return row | {"reason": "no variation of relative dissonance"}
    if (gain >= 0).all() or (gain <= 0).all():
        return row | {"reason": "every choice is on one side, so no finite slope fits"}
    slope = _slope_of(gain)
    row["slope"] = slope
    taken = 1 / (1 + np.exp(-slope * gain))
    sizes = np.bincount(people).astype(float)
    grams, scores = (
        np.bincount(people, each).astype(float) for each in (gain**2 * taken * (1 - taken), gain * (1 - taken))
    )
    if few := f"fewer than {FEWEST} people" if len(sizes) < FEWEST else why_few(len(sizes), "person", sizes):
        return row | {"reason": few}
    error = error_of(steps_without(grams[:, None, None], scores[:, None])[:, 0])
    reach = float(reach_of_mean(np.array([error]), np.array([effective_clusters(sizes)]))[0])
    return row | {"low": slope - reach, "high": slope + reach}


def _slope_of(gain: Floats) -> float:
    """Return the slope of a logit of the choices.

    Which of the two beliefs is called first is arbitrary and changes nothing; here it alternates.
    """
    took = np.arange(len(gain)) % 2
    signs = np.where(took == 1, 1.0, -1.0)
    return float(Logit(took, (gain * signs)[:, None]).fit(disp=0).params[0])


def swapped_slopes(choices: pd.DataFrame, vectors: pd.DataFrame, count: int = SHUFFLES) -> Swapped:
    """Return the slope, and the slopes if each person has the earlier beliefs of another: the null.

    It keeps what all people have in common: which beliefs are popular, also where popular beliefs are near to each other.
    """
    rng, matrix = np.random.default_rng(derive(0, "dissonance")), vectors.to_numpy(dtype=float)
    exposed = exposures(choices, vectors.index)
    slopes = [
        _slope(exposures.apart(), matrix) for exposures in (exposed, *(exposed.swapped(rng) for _ in range(count)))
    ]
    return Swapped(slopes[0], np.array([slope for slope in slopes[1:] if np.isfinite(slope)]))


def _slope(exposed: Exposures, matrix: Floats) -> float:
    near, far = exposed.distances(matrix)
    return float(fit(pd.DataFrame({"person": exposed.people, "near": near, "far": far}))["slope"])


def by_ratio(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the probability to choose as a function of relative dissonance: a row per bin of equal size.

    ratio (geometric mean of d(A) / d(B), A being the first of the two by name), choices, people, share that took A with its
    interval over people.
    """
    used = rows[(rows["near"] > 0) & (rows["far"] > 0)]
    first = used["chosen"] < used["rejected"]
    log = (np.log(used["near"]) - np.log(used["far"])) * np.where(first, 1, -1)
    if not len(used):
        return pd.DataFrame(columns=["ratio", "choices", "people", "share", "low", "high"])
    bins = pd.qcut(log.rank(method="first"), min(BINS, len(used)), labels=False)
    bin_rows = []
    for _, bin_choices in used.assign(log=log, took=first.astype(float)).groupby(bins):
        person_counts = bin_choices.groupby("person")["took"].agg(["sum", "size"]).to_numpy(dtype=float)
        low, high = clustered_share_interval(person_counts[:, 0], person_counts[:, 1])
        ratio, share = float(np.exp(bin_choices["log"].mean())), float(bin_choices["took"].mean())
        bin_rows.append(
            {
                "ratio": ratio,
                "choices": len(bin_choices),
                "people": len(person_counts),
                "share": share,
                "low": low,
                "high": high,
            }
        )
    return pd.DataFrame(bin_rows)
