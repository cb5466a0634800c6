"""Finds groups of opinion as Polis does, on as many components as the votes have, compared with two worlds without groups.

Polis (Small et al. 2021): missing votes become the statement's mean, people are projected on two principal components, positions
are stretched for people with few votes, and k-means takes the number of groups (2 to 5) with the best mean silhouette. Two
components merge groups that differ in unrelated ways, so more are kept if shuffled votes have fewer (Horn 1965). k-means
always finds groups. The same silhouette is therefore computed where there are none: for votes that are shuffled within each
statement, and for a spectrum without gaps: as many attitudes as components, cut into votes, with the shares of votes of each
statement and, about, the correlations between statements (tetrachoric). The largest attitude is distributed as that of these
people, smoothed to one peak: k-means splits flat and skewed attitudes better than normal ones. The others are normal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.vq import ClusterError, kmeans2
from scipy.spatial.distance import cdist

from parley.analysis.statistics.null import share_as_large
from parley.studies.opinion_groups.votes import people_to_group

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
FEWEST_PEOPLE, FEWEST_STATEMENTS = 20, 5
MOST_GROUPS, STARTS, STEPS = 5, 4, 12
FEWEST_COMPONENTS = 2
LEVEL = 0.05
FEWEST_SMOOTHED = 10
"""With fewer statements the largest attitude of a spectrum is normal: people are in lumps, which hide groups if smoothed."""
GRID, HALVINGS = 256, 20
MOST_COMPARED = 1000
"""The silhouette is that of so many people, drawn at random if there are more: it needs the distances of all pairs."""


@dataclass(frozen=True)
class Grouping:
    """People with their positions and groups (from 1), the silhouette, and its p in worlds without groups.

    people: columns x, y (the first two components), group. p_dealt, p_spectrum: share of worlds with a silhouette at least as
    large. reason: why nothing is claimed of groups; empty if there are groups. components: on how many people were projected.
    """

    people: pd.DataFrame
    silhouette: float
    p_dealt: float
    p_spectrum: float
    reason: str
    components: int = 0


def find_groups(
    votes: pd.DataFrame, rng: np.random.Generator, draws: int = 99, components: int | None = None
) -> Grouping:
    """Return the groups of opinion in votes (people × statements, NaN for no vote). The unit is the person.

    components: on how many people are projected; None: by parallel analysis (`count_components`); Polis takes 2.
    """
    kept = people_to_group(votes)
    if kept.shape[0] < FEWEST_PEOPLE or kept.shape[1] < FEWEST_STATEMENTS:
        return _unknown(
            f"the map needs {FEWEST_PEOPLE} people with enough votes and {FEWEST_STATEMENTS} statements, "
            f"but has {kept.shape[0]} and {kept.shape[1]}"
        )
    table = kept.to_numpy()
    seeds = rng.integers(2**63, size=draws)  # votes are dealt twice, so that not all worlds are in memory
    count = min(components or count_components(table, _dealt(table, seeds)), *table.shape)
    positions = project_people(table, count)
    if len(np.unique(positions.round(9), axis=0)) <= MOST_GROUPS:
        return _unknown(f"people have fewer than {MOST_GROUPS + 1} different positions")
    labels, score = best_split(positions, rng)
    loadings = _attitudes(table, count)
    largest = _centred(table) @ loadings[:, -1]
    width = one_peak_width(largest) if table.shape[1] >= FEWEST_SMOOTHED else np.inf
    spectrum = (_cut(table, loadings, _smoothed(largest, width, rng), rng) for _ in range(draws))
    p_dealt, p_spectrum = (_p(score, worlds, count, rng) for worlds in (_dealt(table, seeds), spectrum))
    people = pd.DataFrame(positions[:, :2], kept.index, ["x", "y"]).assign(group=_by_size(labels))
    return Grouping(people, score, p_dealt, p_spectrum, _why_none(p_dealt, p_spectrum), count)


def _p(score: float, worlds: Iterable[Floats], count: int, rng: np.random.Generator) -> float:
    """Return the share of worlds with a silhouette at least as large as the score; the data count as one of them."""
    widths = [best_split(project_people(world, count), rng)[1] for world in worlds]
    return share_as_large(widths, score)


def _why_none(p_dealt: float, p_spectrum: float) -> str:
    if p_dealt > LEVEL:
        return "votes on different statements correlate no more than by chance"
    return "people lie on a spectrum without gaps" if p_spectrum > LEVEL else ""


def _unknown(reason: str) -> Grouping:
    return Grouping(pd.DataFrame({"x": [], "y": [], "group": []}), np.nan, np.nan, np.nan, reason)


def project_people(table: Floats, components: int = FEWEST_COMPONENTS) -> Floats:
    """Return positions of people (people × components): principal components, stretched by the root of statements per vote."""
    left, sizes, _ = np.linalg.svd(_centred(table), full_matrices=False)
    stretch = np.sqrt(table.shape[1] / np.maximum(1, (~np.isnan(table)).sum(axis=1)))
    return np.asarray(left[:, :components] * sizes[:components] * stretch[:, None])


def count_components(table: Floats, dealt: Iterable[Floats]) -> int:
    """Return how many leading components are larger than in 95% of worlds with shuffled votes (Horn 1965), at least two.

    Votes of g groups that differ in unrelated ways have g - 1 such components.
    """
    sizes = np.linalg.svd(_centred(table), compute_uv=False)
    worlds = np.array([np.linalg.svd(_centred(world), compute_uv=False) for world in dealt])
    larger = ((1 + (worlds >= sizes).sum(axis=0)) / (1 + len(worlds))) <= LEVEL
    return max(FEWEST_COMPONENTS, int(np.argmin(np.append(larger, False))))


def _centred(table: Floats) -> Floats:
    """Return votes minus the mean of their statement; 0 where there is no vote."""
    means = np.nanmean(table, axis=0)
    return np.asarray(np.where(np.isnan(table), means, table) - means)


def best_split(points: Floats, rng: np.random.Generator) -> tuple[Labels, float]:
    """Return the groups (from 0) of the k-means solution with the best silhouette, and that silhouette.

    Numbers of groups that are tried: 2 to 5, or to one more than there are components.
    """
    compared = np.arange(len(points))
    if len(points) > MOST_COMPARED:
        compared = rng.choice(compared, MOST_COMPARED, replace=False)
    distances = cdist(points[compared], points[compared])
    splits = [(mean_silhouette(distances, labels[compared]), labels) for labels in _splits(points, rng)]
    score, labels = max(splits, key=lambda split: split[0], default=(np.nan, np.zeros(len(points), int)))
    return labels, float(score)


def _splits(points: Floats, rng: np.random.Generator) -> Iterator[Labels]:
    """Yield the best of several k-means solutions for each number of groups; a start that loses a group does not count."""
    for number in range(2, max(MOST_GROUPS, points.shape[1] + 1) + 1):
        tries = []
        for _ in range(STARTS):
            try:
                centres, labels = kmeans2(points, number, minit="++", missing="raise", iter=STEPS, rng=rng)
            except ClusterError:
                continue
            tries.append((float(((points - centres[labels]) ** 2).sum()), labels))
        if tries:
            yield min(tries, key=lambda attempt: attempt[0])[1]


def mean_silhouette(distances: Floats, labels: Labels) -> float:
    """Return the mean silhouette (Rousseeuw 1987); it is 0 for a person who is alone in a group."""
    member = np.eye(int(np.max(labels)) + 1)[labels]
    sizes, rows = member.sum(axis=0), np.arange(len(labels))
    sums = distances @ member
    inside = sums[rows, labels] / np.maximum(1, sizes[labels] - 1)
    means = np.divide(sums, sizes, out=np.full(sums.shape, np.inf), where=sizes > 0)  # an empty group is not near
    means[rows, labels] = np.inf
    nearest = means.min(axis=1)
    wider = np.maximum(inside, nearest)
    values = np.divide(nearest - inside, wider, out=np.zeros_like(inside), where=(wider > 0) & (sizes[labels] > 1))
    return float(values.mean())


def _dealt(table: Floats, seeds: Iterable[int]) -> Iterator[Floats]:
    """Yield worlds with shuffled votes; the same seeds give the same worlds."""
    yield from (_deal(table, np.random.default_rng(seed)) for seed in seeds)


def _deal(table: Floats, rng: np.random.Generator) -> Floats:
    """Return the table with the votes of each statement shuffled among the people who voted on it."""
    dealt = table.copy()
    for column in dealt.T:
        seen = ~np.isnan(column)
        column[seen] = rng.permutation(column[seen])
    return dealt


def _attitudes(table: Floats, count: int) -> Floats:
    """Return the loadings (statements × count) of votes on normal attitudes: factors of Pearson's tetrachoric correlations."""
    yes, no = ((table == 1).astype(float), (table <= 0).astype(float))
    alike, apart = (yes.T @ yes + 0.5) * (no.T @ no + 0.5), (yes.T @ no + 0.5) * (no.T @ yes + 0.5)
    correlations = np.cos(np.pi / (1 + np.sqrt(alike / apart)))
    np.fill_diagonal(correlations, 1)
    values, vectors = np.linalg.eigh(correlations)
    loadings = vectors[:, -count:] * np.sqrt(np.maximum(values[-count:], 0))
    return np.asarray(loadings / np.maximum(1, np.linalg.norm(loadings, axis=1, keepdims=True)))


def one_peak_width(places: Floats) -> float:
    """Return the smallest standard deviation of normal noise that leaves the density of places one peak (Silverman 1981).

    >>> 0.9 < one_peak_width(np.array([-1.0, 1.0])) < 1.1
    True
    """
    places = np.sort(places)[:: 1 + len(places) // MOST_COMPARED]
    grid, low, high = np.linspace(places[0], places[-1], GRID), 0.0, float(np.ptp(places))
    for _ in range(HALVINGS):
        width = (low + high) / 2
        density = np.exp(-0.5 * ((grid[:, None] - places) / width) ** 2).sum(axis=1)
        rises = np.diff(density) > 0
        has_one = not (rises[1:] & ~rises[:-1]).any()  # after a fall there is no rise
        low, high = (low, width) if has_one else (width, high)
    return high


def _smoothed(places: Floats, width: float, rng: np.random.Generator) -> Floats:
    """Return as many places, drawn from these and smoothed with normal noise, with mean 0 and variance 1; infinite: normal."""
    noise = rng.normal(size=len(places))
    if np.isinf(width):
        return noise
    drawn = rng.choice(places, len(places)) + width * noise
    return np.asarray((drawn - places.mean()) / np.hypot(places.std(), width))


def _cut(table: Floats, loadings: Floats, largest: Floats, rng: np.random.Generator) -> Floats:
    """Return votes of people with these places on the largest attitude, and normal ones on the others.

    Each statement keeps its shares of votes, each person what is missing.
    """
    unexplained = np.sqrt(np.maximum(0, 1 - (loadings**2).sum(axis=1)))
    places = np.column_stack([rng.normal(size=(len(table), loadings.shape[1] - 1)), largest])
    attitudes = places @ loadings.T + rng.normal(size=table.shape) * unexplained
    votes = table.copy()
    for column, attitude in zip(votes.T, attitudes.T, strict=True):
        seen = ~np.isnan(column)
        column[seen] = np.sort(column[seen])[np.argsort(np.argsort(attitude[seen]))]
    return votes


def _by_size(labels: Labels) -> Labels:
    """Return groups numbered from 1, the largest first."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.asarray(np.argsort(order)[labels] + 1)
