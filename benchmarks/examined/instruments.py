"""Entries of the exam: the numbers of `study claim`, `study flips` and `study confirm`, where nothing is there.

Claims have 64 specifications, four topics with the same effect, and two sets of personas; the unit is a group of people. No
setting changes anything. Flips are shares of nine ratings of a group (`shares`), or normal. Openers begin anywhere, and the
others drift on their own.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from claims import CLAIM, NAMES, PLANTED, STRATA, draw_differences
from registered_tests import CASES, supported

from examined.entry import Entry, Outcome, claimed, outside
from parley.studies.claims.curve import draw_curve
from parley.studies.claims.dependence import people_p
from parley.studies.claims.variance import setting_share
from parley.studies.flips.decomposition import difference_row, is_shown
from parley.studies.flips.opener import anchor

CLAIMS, FLIPS, EVEN = "studies.claims.", "studies.flips.", (2, 10, 20, 40)
TOPICS, PARTIES = ("one", "two"), ("first", "second")


def _differences(rng: np.random.Generator, people: int, kind: str) -> pd.DataFrame:
    uneven = 1.0 if kind == "tastes" else 0.0
    return draw_differences(rng, topic=0.0, groups=people // 2, whole=kind == "rounded", uneven=uneven)


def _of_median(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    """Does the median over specifications differ from 0, in the direction of the claim?"""
    return claimed(draw_curve(CLAIM, _differences(rng, people, kind), rng).p)


def _of_settings(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    """Does the interval of the share of all settings hold 0?"""
    share = setting_share(_differences(rng, people, kind), NAMES, [], STRATA)
    return None if share.reason else outside((share.low, share.high), 0.0)


def _of_setting(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    """`tastes`: a setting matters in each group, and not on average. Does p (people) claim it?"""
    drawn = _differences(rng, people, kind)
    return claimed(people_p(drawn, PLANTED, setting_share(drawn, [PLANTED], NAMES[1:], STRATA)))


def _of_arms(rng: np.random.Generator, groups: int, kind: str) -> Outcome:
    """Are two arms called different, as the only difference that varies?"""
    shares = rng.binomial(9, 0.3, (2, groups)) / 9
    row = difference_row(shares[0] - shares[1] if kind == "shares" else rng.normal(0, 1, groups))
    return None if row["reason"] else float(is_shown(row | {"p_holm": row["p"]}))


def _of_opener(rng: np.random.Generator, groups: int, kind: str) -> Outcome:
    """Does the opener's rating move the others?"""
    rows = [
        (block, topic, party, rng.normal(), opener)
        for block in range(groups)
        for topic in TOPICS
        for opener in [np.round(rng.normal(5, 2)) if kind == "rounded" else rng.normal(5, 2)]
        for party in PARTIES
    ]
    return claimed(anchor(pd.DataFrame(rows, columns=["block", "topic", "party", "change", "opener"])).p)


def _of_confirmation(rng: np.random.Generator, units: int, kind: str) -> Outcome:
    """Is a registered claim supported that is not so?"""
    return float(supported(CASES[kind], rng, units)) if units >= 6 else None


ENTRIES = (
    Entry("claim: median over specifications", (CLAIMS + "curve._swapped",), _of_median, ("normal", "rounded"), unit="group",
          role="test", sizes=EVEN, sets=300),
    Entry("claim: share of all settings", (CLAIMS + "variance._share",), _of_settings, ("normal", "rounded"), unit="group",
          sizes=EVEN[1:], sets=300),
    Entry("claim: a setting, for people like these", (CLAIMS + "dependence.people_p",), _of_setting, ("normal", "tastes"),
          unit="group", role="test", sizes=EVEN, sets=200),
    Entry("flips: difference of two arms", (FLIPS + "decomposition.difference_row",), _of_arms, ("normal", "shares"),
          unit="group", role="test", at_most=True, sets=500),
    Entry("flips: what the opener does", (FLIPS + "opener.anchor",), _of_opener, ("normal", "rounded"), unit="group",
          role="test", sets=200),
    Entry("confirm: a registered effect", ("studies.claims.confirmation._p",), _of_confirmation,
          ("nothing", "nothing, two looks", "an effect as large as the bound"), unit="seed", role="test",
          sizes=EVEN, sets=300, at_most=True),
)  # fmt: skip
