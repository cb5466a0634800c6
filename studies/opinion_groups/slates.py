"""Audits a slate of statements: which groups it covers, and whether it represents people as their number deserves.

Of n people and a slate of k statements, n/k people deserve a statement. Justified representation (JR, Aziz et al. 2017): no n/k
people agree with a common statement and with nothing on the slate. Extended (EJR): no l·n/k people agree with l common statements
while each agrees with fewer than l on the slate. EJR+ (Brill and Peters 2023) asks more than EJR and is quick to check. An absent
vote is no agreement.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Approvals = NDArray[np.bool_]
ROUNDING = 1e-9
MOST_SETS = 20_000
"""Sets of statements that are tried for EJR; with more it rests on EJR+."""


def is_justified(approvals: Approvals, slate: Sequence[int]) -> bool:
    """Return whether a slate (columns) of approvals (people × statements) gives justified representation."""
    uncovered = ~approvals[:, list(slate)].any(axis=1)
    return bool(np.max(approvals[uncovered].sum(axis=0), initial=0) * len(slate) < len(approvals))


def is_extended_plus(approvals: Approvals, slate: Sequence[int]) -> bool:
    """Return whether a slate gives EJR+; if it does, it gives EJR."""
    people, size = len(approvals), len(slate)
    has = approvals[:, list(slate)].sum(axis=1)
    rest = np.delete(approvals, list(slate), axis=1)
    return all(np.max(rest[has < level].sum(axis=0), initial=0) * size < level * people for level in range(1, size + 1))


def is_extended(approvals: Approvals, slate: Sequence[int]) -> bool | None:
    """Return whether a slate gives EJR: by EJR+ if that holds, otherwise by all sets of statements; None with too many sets."""
    if is_extended_plus(approvals, slate):
        return True
    if sum(comb(approvals.shape[1], level) for level in range(1, len(slate) + 1)) > MOST_SETS:
        return None
    return tries_all_sets(approvals, slate)


def tries_all_sets(approvals: Approvals, slate: Sequence[int]) -> bool:
    """Return whether a slate gives EJR, by all sets of statements."""
    people, size = len(approvals), len(slate)
    has = approvals[:, list(slate)].sum(axis=1)
    for level in range(1, size + 1):
        short = approvals[has < level]
        for chosen in combinations(range(approvals.shape[1]), level):
            if short[:, chosen].all(axis=1).sum() * size >= level * people:
                return False
    return True


def greedy_slate(approvals: Approvals, size: int) -> list[int]:
    """Return a slate that gives JR: each next statement has the most agreement among people who have none yet."""
    slate: list[int] = []
    left = np.ones(len(approvals), bool)
    for _ in range(size):
        gains = approvals[left].sum(axis=0) + approvals.sum(axis=0) / (len(approvals) + 1)
        gains[slate] = -1
        slate.append(int(np.argmax(gains)))
        left &= ~approvals[:, slate[-1]]
    return slate


def phragmen_slate(
    approvals: Approvals, size: int, chosen: Sequence[int] = (), loads: NDArray[np.float64] | None = None
) -> list[int]:
    """Return a slate by sequential Phragmén (1894): each statement costs 1, which those who agree with it share evenly.

    The next statement is the one after which the largest load of those who agree with it is least; of equals the first. It gives
    JR. chosen, loads: statements that are on the slate already, and the loads of people (default: none).
    """
    slate = list(chosen)
    load = np.zeros(len(approvals)) if loads is None else loads.copy()
    supporters = approvals.sum(axis=0)
    while len(slate) < size:
        after = np.where(supporters > 0, (1 + load @ approvals) / np.maximum(1, supporters), np.inf)
        slate.append(min(set(range(approvals.shape[1])) - set(slate), key=lambda column: (after[column], column)))
        if np.isfinite(after[slate[-1]]):
            load[approvals[:, slate[-1]]] = after[slate[-1]]
    return slate


def equal_shares_slate(approvals: Approvals, size: int) -> list[int]:
    """Return a slate by the method of equal shares (Peters and Skowron 2020); it gives EJR.

    Each of n people has size/n to spend and each statement costs 1. The next statement is the one for which no one pays more than
    the least amount. When no statement can be paid, the slate is filled by sequential Phragmén, from the money that is left.
    """
    slate: list[int] = []
    money = np.full(len(approvals), size / max(1, len(approvals)))
    while len(slate) < size:
        prices = [
            np.inf if column in slate else _price(money[approvals[:, column]]) for column in range(approvals.shape[1])
        ]
        best = int(np.argmin(prices))
        if not np.isfinite(prices[best]):
            break
        payers = approvals[:, best]
        money[payers] -= np.minimum(money[payers], prices[best])
        slate.append(best)
    return phragmen_slate(approvals, size, slate, -money)


def _price(money: NDArray[np.float64]) -> float:
    """Return the least amount that buys a statement for 1 if each pays it, or all that they have; infinite if they cannot."""
    left, paid = 1.0, np.sort(money)
    for place, payment in enumerate(paid):
        share = left / (len(paid) - place)
        if payment >= share - ROUNDING:
            return float(share)
        left -= float(payment)
    return float("inf")


def audit_slate(votes: pd.DataFrame, slate: Sequence[str], groups: pd.Series | None) -> dict[str, object]:
    """Return JR, EJR (yes, no, unknown), the share of people who agree with a statement of the slate, and the share per group.

    JR and EJR are unknown if no one agrees with any statement: then no one has a claim that a slate could fail.
    """
    approvals = (votes == 1).to_numpy()
    columns = [int(place) for place in votes.columns.get_indexer(pd.Index(slate))]
    words = {True: "yes", False: "no", None: "unknown"}
    wanted = bool(approvals.any())
    covered = pd.Series(approvals[:, columns].any(axis=1), votes.index)
    row: dict[str, object] = {
        "statements": ", ".join(slate),
        "jr": words[is_justified(approvals, columns) if wanted else None],
        "ejr": words[is_extended(approvals, columns) if wanted else None],
        "covered": float(covered.mean()),
    }
    if groups is not None:
        shares = covered.loc[groups.index].groupby(groups).mean()
        row |= {f"group {group}": float(share) for group, share in shares.items()}
    return row
